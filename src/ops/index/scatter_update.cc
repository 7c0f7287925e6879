// Blocks that are written over parts of a tensor, each where a number says.
#include "base/error.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/strided_copy.h"
#include "ops/rules.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct BlocksBody {
  StridedCopy copy;  // of one block
  Indices places;
  int to, from, numbers;  // bindings
  int64_t count, size, length;
  int64_t to_at, to_member, step, from_at, from_member;  // bytes; step: along the dimension of the places

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> at = places.Read(frame, numbers);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = at[static_cast<size_t>(i)];
      if (place < 0 || place > size - length) {
        Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements",
             place < 0 ? place : place + length - 1, size);
      }
      copy.RunHere(frame.at[to] + to_at + i * to_member + place * step,
                   frame.at[from] + from_at + i * from_member);
    }
  }
};

}  // namespace

namespace kernels {

// Its one form is in place: self is out.
void ScatterUpdate(Plan& plan, DType, const Operand& self, const Operand& indices, const Operand& updates,
                   int64_t axis, const Operand& out) {
  CheckSameType(self, updates);
  const Tensor &to = *out.tensor, &from = *updates.tensor;
  const int along = rules::WrapDim(out, axis), rank = to.shape.rank();
  bool fits = along > 0 && from.shape.rank() == rank && indices.shape() == Shape{from.shape[0]};
  for (int d = 0; d < rank && fits; ++d)
    fits = d == 0 || d == along ? from.shape[d] <= to.shape[d] : from.shape[d] == to.shape[d];
  if (!fits) {
    Fail(
        tensor::kInvalidArgument, "op-scatter-update",
        "{} has the shape {}, {} has {}, {} has {}, and axis is {}; each member of the second fits the first along an "
        "axis behind the first one, and has one index",
        out.name, to.shape.ToString(), updates.name, from.shape.ToString(), indices.name,
        indices.shape().ToString(), axis);
  }
  if (from.empty()) return;
  Tensor window = tensor::WithoutDim(to, 0), block = tensor::WithoutDim(from, 0);
  window.shape = block.shape;
  plan.SetCost(100 + static_cast<uint64_t>(from.count()));
  plan.SetBody(BlocksBody{StridedCopy(window, block),
                          {plan, *indices.tensor},
                          out.binding,
                          updates.binding,
                          indices.binding,
                          from.shape[0],
                          to.shape[along],
                          from.shape[along],
                          tensor::OffsetOf(to),
                          tensor::StepOf(to, 0),
                          tensor::StepOf(to, along),
                          tensor::OffsetOf(from),
                          tensor::StepOf(from, 0)});
}

}  // namespace kernels
}  // namespace belay::ops
