// Operators that only look at shapes or give the same elements another one.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/layout/eye.h"

namespace belay::graph::translate {
namespace {

// 0 keeps a size (unless `zero_is_zero`), -1 takes what is left.
Shape ResolvedShape(const Translation& node, const Shape& from, const std::vector<int64_t>& wanted,
                    bool zero_is_zero) {
  if (wanted.size() > tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  Shape shape;
  int open = -1;
  int64_t product = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t size = wanted[i];
    if (size == 0 && !zero_is_zero) {
      if (static_cast<int>(i) >= from.rank())
        node.Refuse("a size of 0 copies a dimension that the input lacks");
      size = from[static_cast<int>(i)];
    }
    if (size == -1) {
      if (open >= 0) node.Refuse("only one size may be -1");
      open = static_cast<int>(i);
      size = 1;
    }
    if (size < 0) node.Refuse("a size is negative");
    if (__builtin_mul_overflow(product, size, &product))
      node.Refuse("the shape has more elements than can be counted");
    shape.push_back(size);
  }
  if (open >= 0) shape[open] = product == 0 ? 0 : CountOf(from) / product;
  return shape;
}

// No order at all turns the dimensions round.
void Permute(Translation& node, std::vector<int64_t> order) {
  int rank = node.shape(0).rank();
  if (order.empty()) {
    for (int d = rank - 1; d >= 0; --d) order.push_back(d);
  }
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  if (order.size() != static_cast<size_t>(rank)) node.Refuse("perm must name each dimension once");
  std::vector<int64_t> axes;
  for (int64_t axis : order) {
    axes.push_back(node.Axis(axis, rank));
    if (seen[static_cast<size_t>(axes.back())]) node.Refuse("perm must name each dimension once");
    seen[static_cast<size_t>(axes.back())] = true;
  }
  Tensor view = Translation::Transposed(node.in(0), axes);
  if (IsPacked(view.shape, view.strides)) return node.OutSame(0, node.in(0), view.shape);
  Tensor out = node.Out(0, view.dtype, view.shape);
  node.Copy(view, out);
}

Constant Numbers(std::span<const int64_t> values, DType dtype, const Shape& shape) {
  if (!tensor::CanConvert(dtype, DType::kI64)) {
    Fail(kTypeInvalid, "graph-constant-type", "numbers cannot be given as {}", NameOf(dtype));
  }
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  tensor::Convert(dtype, tensor->mutable_data(), DType::kI64, values.data(),
                  static_cast<int64_t>(values.size()));
  return tensor;
}

Constant Sizes(const Shape& shape, int first, int end, DType dtype) {
  std::vector<int64_t> sizes(shape.begin() + first, shape.begin() + std::max(first, end));
  return Numbers(sizes, dtype, {static_cast<int64_t>(sizes.size())});
}

// Without the dimensions of `axes`; no axes at all: without those of size one.
void DropAxes(Translation& node, const std::vector<int64_t>& axes) {
  const Shape& from = node.shape(0);
  uint32_t dropped = 0;
  for (int64_t axis : axes) {
    int d = node.Axis(axis, from.rank());
    if (from[d] != 1)
      node.Refuse("dimension " + std::to_string(d) + " of " + from.ToString() + " is not of size 1");
    dropped |= 1u << d;
  }
  Shape shape;
  for (int d = 0; d < from.rank(); ++d) {
    bool drop = axes.empty() ? from[d] == 1 : (dropped >> d & 1) != 0;
    if (!drop) shape.push_back(from[d]);
  }
  node.OutSame(0, node.in(0), shape);
}

void AddAxes(Translation& node, const std::vector<int64_t>& axes) {
  const Shape& from = node.shape(0);
  int rank = from.rank() + static_cast<int>(axes.size());
  if (rank > tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  uint32_t added = 0;
  for (int64_t axis : axes) {
    uint32_t bit = 1u << node.Axis(axis, rank);
    if ((added & bit) != 0) node.Refuse("axes names a dimension twice");
    added |= bit;
  }
  Shape shape;
  for (int d = 0, next = 0; d < rank; ++d) shape.push_back((added >> d & 1) != 0 ? 1 : from[next++]);
  node.OutSame(0, node.in(0), shape);
}

Shape ShapeFrom(const Translation& node, const std::vector<int64_t>& sizes) {
  if (sizes.size() > tensor::kMaxRank) node.Refuse("more than eight dimensions are not supported");
  return Shape::Of(sizes.data(), static_cast<int>(sizes.size()));
}

void RepeatTo(Translation& node, const Shape& shape) {
  if (shape == node.shape(0)) return node.OutSame(0, node.in(0), shape);
  if (!BroadcastsTo(node.shape(0), shape)) {
    node.Refuse("shape " + node.shape(0).ToString() + " does not broadcast to " + shape.ToString());
  }
  Tensor out = node.Out(0, node.dtype(0), shape);
  node.Copy(node.in(0), out);
}

// -1 keeps a size.
Shape BroadcastTarget(const Translation& node, std::vector<int64_t> sizes) {
  const Shape& from = node.shape(0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto d = static_cast<int>(i) - static_cast<int>(sizes.size()) + from.rank();
    if (sizes[i] == -1 && d >= 0) sizes[i] = from[d];
  }
  return ShapeFrom(node, sizes);
}

void FillWith(Translation& node, const Tensor& value, const std::vector<int64_t>& dims) {
  if (value.count() != 1) node.Refuse("the value must be one element");
  Tensor out = node.Out(0, value.dtype, ShapeFrom(node, dims));
  node.Copy(Translation::Reshaped(value, {}), out);
}

Constant Same(DType dtype, const Shape& shape, int64_t value) {
  std::vector<int64_t> values(static_cast<size_t>(CountOf(shape)), value);
  return Numbers(values, dtype, shape);
}

template <class T>
Constant RangeOf(const Translation& node, T start, T limit, T delta, DType dtype, DType compute) {
  if (delta == 0) node.Refuse("delta is 0");
  double length = (static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta);
  double most = node.Bool("is_closed") ? std::floor(length) + 1 : std::ceil(length);
  if (most > 1e10) node.Refuse("a range of " + std::to_string(most) + " numbers is beyond reason");
  std::vector<T> values(static_cast<size_t>(std::max(0.0, most)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<T>(i) * delta;
  auto tensor = std::make_shared<HostTensor>(dtype, Shape{static_cast<int64_t>(values.size())});
  tensor::Convert(dtype, tensor->mutable_data(), compute, values.data(), tensor->count());
  return tensor;
}

}  // namespace

void Identity(Translation& node) { node.OutSame(0, node.in(0), node.shape(0)); }

void Reshape(Translation& node) {
  const Shape& from = node.shape(0);
  node.OutSame(0, node.in(0), ResolvedShape(node, from, node.ints(1), node.Int("allowzero") != 0));
}

void Transpose(Translation& node) { Permute(node, node.ints(1)); }
void TransposeD(Translation& node) { Permute(node, node.Ints("perm")); }

void ShapeOf(Translation& node) {
  const Shape& shape = node.shape(0);
  int64_t rank = shape.rank();
  auto place = [rank](int64_t at) {
    return static_cast<int>(std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank));
  };
  node.OutValue(0, Sizes(shape, place(node.Int("start")), place(node.Int("end")), node.Type("dtype")));
}

void ShapeN(Translation& node) {
  for (int i = 0; i < node.input_count(); ++i) {
    node.OutValue(i, Sizes(node.shape(i), 0, node.shape(i).rank(), node.Type("dtype")));
  }
}

void Size(Translation& node) {
  int64_t count = node.in(0).count();
  node.OutValue(0, Numbers({&count, 1}, node.Type("dtype"), {}));
}
void Rank(Translation& node) { node.OutValue(0, IntConstant(node.shape(0).rank(), DType::kI32)); }

void Squeeze(Translation& node) { DropAxes(node, node.Ints("axis")); }
void SqueezeV3(Translation& node) { DropAxes(node, node.has(1) ? node.ints(1) : std::vector<int64_t>()); }
void Unsqueeze(Translation& node) { AddAxes(node, node.Ints("axes")); }
void UnsqueezeV2(Translation& node) { AddAxes(node, node.Ints("axis")); }
void UnsqueezeV3(Translation& node) { AddAxes(node, node.ints(1)); }

void Flatten(Translation& node) {
  const Shape& shape = node.shape(0);
  int64_t axis = node.Int("axis");
  int at = axis == shape.rank() ? shape.rank() : node.Axis(axis, shape.rank());
  int64_t before = 1;
  for (int d = 0; d < at; ++d) before *= shape[d];
  int64_t after = 1;
  for (int d = at; d < shape.rank(); ++d) after *= shape[d];
  node.OutSame(0, node.in(0), {before, after});
}

void FlattenV2(Translation& node) {
  const Shape& from = node.shape(0);
  if (from.rank() == 0) return node.OutSame(0, node.in(0), {1});
  int first = node.Axis(node.Int("axis"), from.rank()), last = node.Axis(node.Int("end_axis"), from.rank());
  Shape shape;
  for (int d = 0; d < from.rank(); ++d) {
    if (d > first && d <= last) {
      shape.back(0) *= from[d];
    } else {
      shape.push_back(from[d]);
    }
  }
  node.OutSame(0, node.in(0), shape);
}

// Both sides may be the longer one, in each dimension.
void Expand(Translation& node) {
  auto wanted = BroadcastTarget(node, node.ints(1));
  auto shape = tensor::BroadcastShapes(node.shape(0), wanted);
  if (!shape)
    node.Refuse("shape " + node.shape(0).ToString() + " does not broadcast to " + wanted.ToString());
  RepeatTo(node, *shape);
}
void ExpandD(Translation& node) { RepeatTo(node, BroadcastTarget(node, node.Ints("shape"))); }
void BroadcastTo(Translation& node) { RepeatTo(node, BroadcastTarget(node, node.ints(1))); }
void BroadcastToD(Translation& node) { RepeatTo(node, BroadcastTarget(node, node.Ints("shape"))); }

void Fill(Translation& node) { FillWith(node, node.in(1), node.ints(0)); }
void FillD(Translation& node) { FillWith(node, node.in(0), node.Ints("dims")); }

void Range(Translation& node) {
  DType dtype = node.dtype(0);
  if (IsFloat(dtype)) {
    auto real = [&](int i) { return node.value(i).Reals().at(0); };
    return node.OutValue(0, RangeOf(node, real(0), real(1), real(2), dtype, DType::kF64));
  }
  auto whole = [&](int i) { return node.ints(i).at(0); };
  node.OutValue(0, RangeOf(node, whole(0), whole(1), whole(2), dtype, DType::kI64));
}

void CastLike(Translation& node) {
  Tensor out = node.Out(0, node.dtype(1), node.shape(0));
  node.Copy(node.in(0), out);
}

void AttentionMask(Translation& node) {
  const Shape& from = node.shape(0);
  const std::vector<int64_t> keys = node.ints(1);
  const bool lengths = from.rank() == 1;
  if (keys.size() != 4) node.Refuse("keys have four dimensions");
  if (from.rank() < 1 || from.rank() > 3 || from[0] != keys[0] || (!lengths && from.back(0) != keys[2])) {
    node.Refuse("a mask of shape " + from.ToString() + " is not supported");
  }
  Shape view{from[0], 1, from.rank() == 3 ? from[1] : 1, lengths ? 1 : from.back(0)};
  node.OutSame(0, node.in(0), view);
  std::vector<int64_t> against(lengths ? static_cast<size_t>(keys[2]) : 1);
  std::iota(against.begin(), against.end(), 0);
  node.OutValue(1, Numbers(against, node.dtype(0), {static_cast<int64_t>(against.size())}));
}

void Eye(Translation& node) {
  int64_t rows = node.Int("num_rows"), columns = node.Int("num_columns");
  if (columns == 0) columns = rows;
  std::vector<int64_t> batch = node.Ints("batch_shape");
  Tensor one = node.Temporary(node.Type("dtype"), {rows, columns});
  node.Step("Eye",
            [&](ops::Plan& plan) { ops::DiagonalOnes(plan, rows, columns, 0, WrittenTo(plan, one, "y")); });
  batch.push_back(rows);
  batch.push_back(columns);
  Tensor out = node.Out(0, one.dtype, ShapeFrom(node, batch));
  node.Copy(one, out);
}

void EyeLike(Translation& node) {
  const Shape& shape = node.shape(0);
  if (shape.rank() != 2)
    node.Refuse("the input has shape " + shape.ToString() + "; two dimensions are needed");
  DType dtype = node.Bool("like_input") ? node.dtype(0) : node.Type("dtype");
  Tensor out = node.Out(0, dtype, shape);
  int64_t k = node.Int("k");
  node.Step("EyeLike", [&](ops::Plan& plan) {
    ops::DiagonalOnes(plan, shape[0], shape[1], k, WrittenTo(plan, out, "y"));
  });
}

void OnesLike(Translation& node) { node.OutValue(0, Same(node.dtype(0), node.shape(0), 1)); }
void ZerosLike(Translation& node) { node.OutValue(0, Same(node.dtype(0), node.shape(0), 0)); }

}  // namespace belay::graph::translate
