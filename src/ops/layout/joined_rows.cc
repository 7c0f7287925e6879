#include "ops/layout/joined_rows.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "ops/layout/moves.h"

namespace belay::ops {
namespace {

struct JoinedRowsBody {
  struct Piece {
    int binding;
    int64_t bytes, at;  // of a row; where it begins in the result's
  };
  std::vector<Piece> pieces;
  int64_t rows = 1, row_bytes = 0;
  int whole;
  bool apart;  // the whole is what is read

  void operator()(const Frame& frame) const {
    constexpr int64_t kWorthSharing = 256 * 1024, kNear = 16 * 1024;
    const int64_t together = std::max<int64_t>(1, kNear / row_bytes);  // rows that stay in the first cache
    ParallelFor(rows, std::max<int64_t>(1, kWorthSharing / row_bytes), [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += together) {
        const int64_t n = std::min(together, end - first);
        char* row = frame.at[whole] + first * row_bytes;
        for (const Piece& piece : pieces) {
          char* part = frame.at[piece.binding] + first * piece.bytes;
          if (apart) {
            MoveRow(part, piece.bytes, row + piece.at, row_bytes, n, piece.bytes);
          } else {
            MoveRow(row + piece.at, row_bytes, part, piece.bytes, n, piece.bytes);
          }
        }
      }
    });
  }
};

bool IsWhole(const Operand& operand, DType dtype) {
  return operand.dtype() == dtype && operand.tensor->offset == 0 &&
         IsPacked(operand.shape(), operand.tensor->strides);
}

bool PlanRows(Plan& plan, std::span<const Operand> pieces, int axis, const Operand& whole, bool apart) {
  constexpr int64_t kFewestRows = 16;
  JoinedRowsBody body;
  body.whole = whole.binding, body.apart = apart;
  for (int d = 0; d < axis; ++d) body.rows *= whole.shape()[d];
  if (body.rows < kFewestRows || !IsWhole(whole, whole.dtype())) return false;
  for (const Operand& piece : pieces) {
    if (!IsWhole(piece, whole.dtype())) return false;
    const int64_t bytes = piece.tensor->count() / body.rows * static_cast<int64_t>(BytesOf(whole.dtype()));
    if (bytes == 0) continue;
    body.pieces.push_back({piece.binding, bytes, body.row_bytes});
    body.row_bytes += bytes;
  }
  if (body.row_bytes == 0) return false;
  plan.SetCost(20 + static_cast<uint64_t>(whole.tensor->count()) / 4);
  plan.SetBody(body);
  return true;
}

}  // namespace

bool PlanJoinedRows(Plan& plan, std::span<const Operand> pieces, int axis, const Operand& out) {
  return PlanRows(plan, pieces, axis, out, false);
}

bool PlanPartedRows(Plan& plan, const Operand& self, int axis, std::span<const Operand> pieces) {
  return PlanRows(plan, pieces, axis, self, true);
}

}  // namespace belay::ops
