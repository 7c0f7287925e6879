// The gradient of a table from which rows were taken.
#include "ops/index/indices.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/pipeline.h"
#include "tensor/codes.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Rows of the gradient in the order of the table's rows that they belong to, so that each row of the table is
// added up by one core, in the order in which the indices stand, and rounded once: in f32, and the sums of
// many in f64.
struct EmbeddingGradBody {
  Indices indices;
  Scratch<int64_t> first_of, next_of, members_of;
  std::vector<int64_t> rows;  // byte offsets of the gradient's
  int64_t table_rows, width, padding;
  bool by_frequency;
  DType type, out_type;
  int64_t grad_offset, grad_step, out_offset, out_row, out_step;
  int bindings[3];  // out, grad, indices

  struct Order {
    int64_t* first;  // of each row of the table, in `members`; and the end
    int64_t* members;
  };

  void operator()(const Frame& frame) const {
    const Order order = Sorted(frame);
    const int64_t grain = std::max<int64_t>(1, 64 * 1024 / std::max<int64_t>(width, 1));
    ParallelFor(table_rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(frame, order, row);
    });
  }

  // By counting.
  Order Sorted(const Frame& frame) const {
    const std::span<const int64_t> chosen = indices.Read(frame, bindings[2]);
    const Order order{first_of.At(frame), members_of.At(frame)};
    std::fill_n(order.first, table_rows + 1, int64_t{0});
    for (int64_t index : chosen) {
      if (index < 0 || index >= table_rows) {
        Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", index,
             table_rows);
      }
      ++order.first[index + 1];
    }
    for (int64_t row = 0; row < table_rows; ++row) order.first[row + 1] += order.first[row];
    int64_t* next = next_of.At(frame);
    std::copy_n(order.first, table_rows, next);
    for (size_t i = 0; i < chosen.size(); ++i) order.members[next[chosen[i]]++] = static_cast<int64_t>(i);
    return order;
  }

  void Row(const Frame& frame, const Order& order, int64_t row) const {
    const int64_t first = order.first[row];
    const int64_t count = row == padding ? 0 : order.first[row + 1] - first;
    const char* grad = frame.at[bindings[1]] + grad_offset;
    char* out = frame.at[bindings[0]] + out_offset + row * out_row;
    const Lane from(type, type, grad_step), to(out_type, DType::kF32, out_step);
    const float share = by_frequency && count > 0 ? 1 / static_cast<float>(count) : 1;
    constexpr int64_t kMany = 64;
    alignas(64) float sum[kBlock], block[kBlock];
    alignas(64) double total[kBlock];
    for (int64_t c = 0; c < width; c += kBlock) {
      const int64_t n = std::min(kBlock, width - c);
      std::fill_n(sum, n, 0.0f);
      if (count > kMany) std::fill_n(total, n, 0.0);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t at = rows[static_cast<size_t>(order.members[first + k])];
        const auto* x = static_cast<const float*>(from.Load(block, grad + at + c * grad_step, n));
        if (count > kMany) {
          for (int64_t i = 0; i < n; ++i) total[i] += static_cast<double>(x[i]);
        } else {
          for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
        }
      }
      if (count > kMany)
        std::transform(total, total + n, sum, [](double x) { return static_cast<float>(x); });
      if (by_frequency) {
        for (int64_t i = 0; i < n; ++i) sum[i] *= share;
      }
      to.Store(out + c * out_step, sum, n, false);
    }
  }
};

}  // namespace

namespace kernels {

void EmbeddingDenseBackward(Plan& plan, DType, const Operand& grad, const Operand& indices,
                            int64_t numWeights, int64_t paddingIdx, bool scaleGradByFreq,
                            const Operand& out) {
  const Shape shape = grad.shape(), places = indices.shape();
  const int leading = places.rank();
  if (shape.rank() != leading + 1 || !std::equal(places.begin(), places.end(), shape.begin())) {
    Fail(tensor::kInvalidArgument, "op-embedding-shape",
         "grad {} has one dimension more than indices {}, whose sizes are those before it", shape.ToString(),
         places.ToString());
  }
  CheckShape(out, {numWeights, shape[leading]});
  if (out.tensor->empty()) return;
  plan.SetCost(500 + static_cast<uint64_t>(out.tensor->count() + grad.tensor->count()));
  plan.SetBody(EmbeddingGradBody{Indices(plan, *indices.tensor),
                                 {plan, numWeights + 1},
                                 {plan, numWeights},
                                 {plan, indices.tensor->count()},
                                 OffsetsOf(*grad.tensor, 0, leading),
                                 numWeights,
                                 shape[leading],
                                 paddingIdx,
                                 scaleGradByFreq,
                                 grad.dtype(),
                                 out.dtype(),
                                 OffsetOf(*grad.tensor),
                                 StepOf(*grad.tensor, leading),
                                 OffsetOf(*out.tensor),
                                 StepOf(*out.tensor, 0),
                                 StepOf(*out.tensor, 1),
                                 {out.binding, grad.binding, indices.binding}});
}

}  // namespace kernels
}  // namespace belay::ops
