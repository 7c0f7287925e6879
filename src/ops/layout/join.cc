// Several tensors side by side in one, and one taken apart.
#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/joined_rows.h"
#include "ops/layout/strided_copy.h"
#include "ops/rules.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

struct JoinPiece {
  StridedCopy copy;
  int out, in;  // bindings
};

struct PiecesBody {
  std::vector<JoinPiece> pieces;
  void operator()(const Frame& frame) const {
    for (const JoinPiece& piece : pieces) piece.copy.Run(frame.at[piece.out], frame.at[piece.in]);
  }
};

// `size` of a dimension of a view, from `first` on.
Tensor Part(const Tensor& whole, int axis, int64_t first, int64_t size) {
  Tensor part = whole;
  part.offset += first * whole.strides[axis];
  part.shape[axis] = size;
  return part;
}

void SetPieces(Plan& plan, PiecesBody body) {
  int64_t count = 0;
  for (const JoinPiece& piece : body.pieces) count += piece.copy.count();
  if (count == 0) return;
  plan.SetCost(20 * body.pieces.size() + static_cast<uint64_t>(count) / 4);
  plan.SetBody(body);
}

void CheckConvertible(const Operand& from, const Operand& to) {
  if (CanConvert(to.dtype(), from.dtype())) return;
  Fail(kInvalidArgument, "op-out-dtype", "{} is {}, which cannot be written to {} ({})", from.name,
       NameOf(from.dtype()), to.name, NameOf(to.dtype()));
}

Shape Resized(const Shape& shape, int axis, int64_t size) {
  Shape result = shape;
  result[axis] = size;
  return result;
}

}  // namespace

namespace kernels {

void Cat(Plan& plan, DType, const OperandList& tensors, int64_t dim, const Operand& out) {
  int axis = rules::WrapDim(out, dim);
  const Tensor& to = *out.tensor;
  PiecesBody body;
  std::vector<Operand> joined;
  int64_t first = 0;
  for (const Operand& item : tensors) {
    const Tensor& from = *item.tensor;
    if (from.shape == Shape{0}) continue;  // an empty vector joins everything
    if (from.shape.rank() != to.shape.rank() || to.shape.rank() == 0 ||
        first + from.shape[axis] > to.shape[axis] ||
        Resized(from.shape, axis, 0) != Resized(to.shape, axis, 0)) {
      Fail(kInvalidArgument, "op-cat",
           "a tensor of shape {} does not fit into {} of shape {} along dimension {}", from.shape.ToString(),
           out.name, to.shape.ToString(), axis);
    }
    CheckConvertible(item, out);
    Tensor place = Part(to, axis, first, from.shape[axis]);
    body.pieces.push_back({StridedCopy(place, from), out.binding, item.binding});
    joined.push_back(item);
    first += from.shape[axis];
  }
  if (first != (to.shape.rank() == 0 ? 0 : to.shape[axis])) CheckShape(out, Resized(to.shape, axis, first));
  if (to.shape.rank() > 0 && PlanJoinedRows(plan, joined, axis, out)) return;
  SetPieces(plan, std::move(body));
}

void Stack(Plan& plan, DType, const OperandList& tensors, int64_t dim, const Operand& out) {
  int axis = rules::WrapDim(out, dim);
  const Tensor& to = *out.tensor;
  CheckLength("the stacked dimension", to.shape.rank() == 0 ? 0 : to.shape[axis],
              static_cast<int64_t>(tensors.size()));
  PiecesBody body;
  for (const Operand& item : tensors) {
    Tensor place = to;
    place.offset += static_cast<int64_t>(body.pieces.size()) * to.strides[axis];
    place.shape = place.strides = {};
    for (int d = 0; d < to.shape.rank(); ++d) {
      if (d == axis) continue;
      place.shape.push_back(to.shape[d]);
      place.strides.push_back(to.strides[d]);
    }
    CheckShape(item, place.shape);
    CheckConvertible(item, out);
    body.pieces.push_back({StridedCopy(place, *item.tensor), out.binding, item.binding});
  }
  SetPieces(plan, std::move(body));
}

void SplitWithSize(Plan& plan, DType, const Operand& self, std::span<const int64_t> sizes, int64_t dim,
                   const OperandList& outs) {
  int axis = rules::WrapDim(self, dim);
  CheckLength("splitSizes", static_cast<int64_t>(sizes.size()), static_cast<int64_t>(outs.size()));
  PiecesBody body;
  int64_t first = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    int64_t rest = self.tensor->shape.rank() == 0 ? 0 : self.tensor->shape[axis] - first;
    if (sizes[i] < 0 || sizes[i] > rest) {
      Fail(kInvalidArgument, "op-split", "splitSizes[{}] is {}, but only {} are left of dimension {}", i,
           sizes[i], rest, axis);
    }
    Tensor part = Part(*self.tensor, axis, first, sizes[i]);
    CheckShape(outs[i], part.shape);
    CheckSameType(self, outs[i]);
    body.pieces.push_back({StridedCopy(*outs[i].tensor, part), outs[i].binding, self.binding});
    first += sizes[i];
  }
  if (self.tensor->shape.rank() > 0 && first != self.tensor->shape[axis]) {
    Fail(kInvalidArgument, "op-split", "splitSizes sum to {}, but dimension {} has {}", first, axis,
         self.tensor->shape[axis]);
  }
  if (PlanPartedRows(plan, self, axis, outs)) return;
  SetPieces(plan, std::move(body));
}

}  // namespace kernels
}  // namespace belay::ops
