#include "ops/layout/joined_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"

namespace belay::ops {
namespace {

// Small pieces without a call.
void Move(char* to, const char* from, int64_t bytes) {
  switch (bytes) {
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    case 16:
      std::memcpy(to, from, 16);
      return;
    default:
      std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

struct JoinedRowsBody {
  struct Piece {
    int binding;
    int64_t bytes, at;  // of a row; where it begins in the result's
  };
  std::vector<Piece> pieces;
  int64_t rows, row_bytes;
  int out;

  void operator()(const Frame& frame) const {
    constexpr int64_t kWorthSharing = 256 * 1024;
    ParallelFor(rows, std::max<int64_t>(1, kWorthSharing / row_bytes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        char* row = frame.at[out] + r * row_bytes;
        for (const Piece& piece : pieces) {
          Move(row + piece.at, frame.at[piece.binding] + r * piece.bytes, piece.bytes);
        }
      }
    });
  }
};

bool IsWhole(const Operand& operand, DType dtype) {
  return operand.dtype() == dtype && operand.tensor->offset == 0 &&
         IsPacked(operand.shape(), operand.tensor->strides);
}

}  // namespace

bool PlanJoinedRows(Plan& plan, std::span<const Operand> pieces, int axis, const Operand& out) {
  constexpr int64_t kFewestRows = 16;
  JoinedRowsBody body{{}, 1, 0, out.binding};
  for (int d = 0; d < axis; ++d) body.rows *= out.shape()[d];
  if (body.rows < kFewestRows || !IsWhole(out, out.dtype())) return false;
  for (const Operand& piece : pieces) {
    if (!IsWhole(piece, out.dtype())) return false;
    const int64_t bytes = piece.tensor->count() / body.rows * static_cast<int64_t>(BytesOf(out.dtype()));
    body.pieces.push_back({piece.binding, bytes, body.row_bytes});
    body.row_bytes += bytes;
  }
  plan.SetCost(20 + static_cast<uint64_t>(out.tensor->count()) / 4);
  plan.SetBody(body);
  return true;
}

}  // namespace belay::ops
