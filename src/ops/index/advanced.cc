#include "ops/index/advanced.h"

#include <algorithm>

#include "base/error.h"
#include "ops/index/gather.h"
#include "ops/index/scatter.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

// Which dimensions have an index, and how x[indices] is put together.
struct Places {
  std::vector<int> named, others;  // dimensions of x
  size_t front = 0;                // how many of the others stand in front of the indices
  Shape indices, picked;

  Places(const Shape& x, const IndexShapes& given);

  // x with the named dimensions in front.
  Tensor NamedFirst(const Tensor& x) const;
  // x[indices] with the dimensions of the indices in front.
  Tensor IndicesFirst(const Tensor& of) const;
};

Places::Places(const Shape& x, const IndexShapes& given) {
  if (given.size() > static_cast<size_t>(x.rank()))
    Fail(kInvalidArgument, "op-index-count", "{} indices name elements of {}", given.size(), x.ToString());
  for (int d = 0; d < x.rank(); ++d) {
    const Shape* shape = static_cast<size_t>(d) < given.size() ? given[static_cast<size_t>(d)] : nullptr;
    (shape != nullptr ? named : others).push_back(d);
    if (shape == nullptr) continue;
    const std::optional<Shape> both = BroadcastShapes(indices, *shape);
    if (!both) {
      Fail(kInvalidArgument, "op-broadcast",
           "an index of the shape {} does not broadcast to the others, which make {}", shape->ToString(),
           indices.ToString());
    }
    indices = *both;
  }
  if (named.empty())
    Fail(kInvalidArgument, "op-index-count", "no dimension of {} has an index", x.ToString());
  if (indices.rank() == tensor::kMaxRank ||
      indices.rank() + static_cast<int>(others.size()) > tensor::kMaxRank)
    Fail(kInvalidArgument, "op-index-count", "the indices have eight dimensions, or what they name has more");
  const bool neighbours = named.back() - named.front() + 1 == static_cast<int>(named.size());
  front = neighbours ? static_cast<size_t>(named.front()) : 0;
  for (size_t i = 0; i < front; ++i) picked.push_back(x[others[i]]);
  for (const int64_t size : indices) picked.push_back(size);
  for (size_t i = front; i < others.size(); ++i) picked.push_back(x[others[i]]);
}

Tensor Ordered(const Tensor& t, const std::vector<int>& order) {
  Tensor view = t;
  for (size_t i = 0; i < order.size(); ++i) {
    view.shape[static_cast<int>(i)] = t.shape[order[i]];
    view.strides[static_cast<int>(i)] = t.strides[order[i]];
  }
  return view;
}

Tensor Places::NamedFirst(const Tensor& x) const {
  std::vector<int> order = named;
  order.insert(order.end(), others.begin(), others.end());
  return Ordered(x, order);
}

Tensor Places::IndicesFirst(const Tensor& of) const {
  std::vector<int> order(static_cast<size_t>(of.shape.rank()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(front);
  std::rotate(order.begin(), begin, begin + indices.rank());
  return Ordered(of, order);
}

IndexShapes ShapesOf(const OperandList& indices) {
  IndexShapes shapes;
  for (const Operand& index : indices) shapes.push_back(index.present() ? &index.tensor->shape : nullptr);
  return shapes;
}

// The tensors of indices, of which the places are made before they are used.
std::vector<const Operand*> GivenOf(const OperandList& indices) {
  std::vector<const Operand*> given;
  for (const Operand& index : indices) {
    if (!index.present()) continue;
    if (!IsInt(index.dtype())) {
      Fail(kInvalidArgument, "op-dtype", "{} is {}; indices are ACL_INT32 or ACL_INT64", index.name,
           NameOf(index.dtype()));
    }
    given.push_back(&index);
  }
  return given;
}

// [indices..., one place for each named dimension]
Tensor NamesFor(const Places& places) {
  Shape shape = places.indices;
  shape.push_back(static_cast<int64_t>(places.named.size()));
  return tensor::PackedOf(DType::kI64, shape);
}

// `names` from the first operands of `in`.
void WriteNames(Plan& part, const ThroughBody::Inputs& in, const Operand& names) {
  Sequence copies(part);
  const int last = names.shape().rank() - 1;
  for (int64_t i = 0; i < names.shape()[last]; ++i) {
    Tensor to = tensor::WithoutDim(*names.tensor, last);
    to.offset += i;
    copies.Add([&](Plan& copy) {
      kernels::Copy(copy, DType::kI64, in[static_cast<size_t>(i)], {&to, nullptr, names.binding, names.name});
    });
  }
  copies.Finish();
}

Operand Seen(const Operand& operand, const Tensor& as) {
  return {&as, nullptr, operand.binding, operand.name};
}

}  // namespace

Shape IndexedShape(const Shape& x, const IndexShapes& indices) { return Places(x, indices).picked; }

void PlanIndex(Plan& plan, const Operand& x, const OperandList& indices, const Operand& out) {
  const Places places(x.shape(), ShapesOf(indices));
  CheckSameType(x, out);
  CheckShape(out, places.picked);
  std::vector<const Operand*> inputs = GivenOf(indices);
  const size_t count = inputs.size();
  if (out.tensor->empty()) return;
  if (places.others.empty() && count <= kMostNaming) return PlanPick(plan, x, inputs, out);
  inputs.push_back(&x);
  PlanThrough(plan, NamesFor(places), inputs, out, WriteNames,
              [&](Plan& part, const auto& in, const Operand& names, const Operand& result) {
                const Tensor from = places.NamedFirst(*in[count].tensor),
                             to = places.IndicesFirst(*result.tensor);
                PlanGatherNd(part, Seen(in[count], from), 0, names, Seen(result, to));
              });
}

void PlanIndexPut(Plan& plan, const Operand& x, const OperandList& indices, const Operand& values,
                  Combination how, const Operand& out) {
  const Places places(x.shape(), ShapesOf(indices));
  CheckSameType(values, out);
  CheckShape(out, x.shape());
  if (!BroadcastsTo(values.shape(), places.picked)) {
    Fail(kInvalidArgument, "op-broadcast",
         "{} has the shape {}, which does not broadcast to the indexed elements, {}", values.name,
         values.shape().ToString(), places.picked.ToString());
  }
  std::vector<const Operand*> inputs = GivenOf(indices);
  const size_t count = inputs.size();
  inputs.push_back(&values);
  const bool in_place = x.binding == out.binding;
  if (!in_place) inputs.push_back(&x);
  PlanThrough(plan, NamesFor(places), inputs, out, WriteNames,
              [&](Plan& part, const auto& in, const Operand& names, const Operand& result) {
                const Operand& old = in_place ? result : in[count + 1];
                const Tensor spread = tensor::Expanded(*in[count].tensor, places.picked);
                const Tensor from = places.NamedFirst(*old.tensor), to = places.NamedFirst(*result.tensor),
                             updates = places.IndicesFirst(spread);
                PlanScatterNd(part, Seen(old, from), names, Seen(in[count], updates), how, Seen(result, to));
              });
}

namespace kernels {
namespace {

bool IsEmptyVector(const Operand& index) { return index.tensor->shape == Shape{0}; }

bool HasIndex(const OperandList& indices) {
  return std::any_of(indices.begin(), indices.end(), [](const Operand& index) { return index.present(); });
}

bool PicksShape(const Shape& x, const OperandList& indices, const Shape& picked) {
  Shape together;
  for (const Operand& index : indices) {
    const std::optional<Shape> both =
        index.present() ? BroadcastShapes(together, index.tensor->shape) : together;
    if (!both) return false;
    together = *both;
  }
  return HasIndex(indices) && IndexedShape(x, ShapesOf(indices)) == picked;
}

// A dimension without an index has a tensor of the shape [0] in its place. A mask that selects nothing is an
// index of that shape, too; the result's shape tells which it is.
OperandList IndicesOf(const Operand& self, const OperandList& list, const Shape& picked) {
  OperandList indices = list;
  std::vector<size_t> unsure;
  for (size_t i = 0; i < list.size() && list.size() <= static_cast<size_t>(self.shape().rank()); ++i) {
    if (!IsEmptyVector(list[i])) continue;
    indices[i] = {};
    if (IsInt(list[i].dtype())) unsure.push_back(i);
  }
  for (unsigned are_indices = 0; are_indices < 1u << unsure.size(); ++are_indices) {
    OperandList reading = indices;
    for (size_t i = 0; i < unsure.size(); ++i) {
      if ((are_indices >> i & 1) != 0) reading[unsure[i]] = list[unsure[i]];
    }
    if (PicksShape(self.shape(), reading, picked)) return reading;
  }
  return HasIndex(indices) ? indices : list;
}

// Values tell no shape, for they broadcast. What stands in for an index has the tensor's own type in the only
// client whose source is known; one of an index's type is a mask's that selects nothing, and nothing may be
// written.
OperandList IndicesToPut(const Operand& self, const OperandList& list) {
  const bool any = std::any_of(list.begin(), list.end(), [](const Operand& index) {
    return IsInt(index.dtype()) && !index.tensor->empty();
  });
  OperandList indices = list;
  for (Operand& index : indices) {
    const bool is_index = IsInt(index.dtype()) && (!any || index.dtype() != self.dtype());
    if (IsEmptyVector(index) && !is_index) index = {};
  }
  return indices;
}

}  // namespace

void Index(Plan& plan, DType, const Operand& self, const OperandList& indices, const Operand& out) {
  PlanIndex(plan, self, IndicesOf(self, indices, out.shape()), out);
}

// Indices beyond their dimension stop the stream with an error, whatever `unsafe` says.
void IndexPut(Plan& plan, DType, const Operand& self, const OperandList& indices, const Operand& values,
              bool accumulate, bool /*unsafe*/, const Operand& out) {
  PlanIndexPut(plan, self, IndicesToPut(self, indices), values,
               accumulate ? Combination::kAdd : Combination::kReplace, out);
}

}  // namespace kernels
}  // namespace belay::ops
