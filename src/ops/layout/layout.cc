// Results that are a rearrangement of one tensor.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/layout/rearranged.h"
#include "ops/layout/shuffled.h"
#include "ops/layout/strided_copy.h"
#include "ops/layout/transposed.h"
#include "ops/rules.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

std::vector<AxisMap> IdentityMaps(const Shape& shape) {
  std::vector<AxisMap> maps;
  for (int64_t size : shape) maps.push_back(IdentityMap(size));
  return maps;
}

Shape LengthsOf(const std::vector<AxisMap>& maps) {
  Shape shape;
  for (const AxisMap& map : maps) shape.push_back(static_cast<int64_t>(map.size()));
  return shape;
}

void Rearrange(Plan& plan, const Operand& self, const Operand& out, const std::vector<AxisMap>& maps,
               const void* fill = nullptr) {
  CheckSameType(self, out);
  CheckShape(out, LengthsOf(maps));
  PlanRearranged(plan, self, out, maps, fill);
}

struct CopyOnly {
  StridedCopy copy;
  int bindings[2];
  void operator()(const Frame& frame) const { copy.Run(frame.at[bindings[0]], frame.at[bindings[1]]); }
};

void PlanCopyOf(Plan& plan, const Operand& self, const Tensor& view, const Operand& out) {
  CheckSameType(self, out);
  CheckShape(out, view.shape);
  if (view.empty()) return;
  Operand viewed{&view, nullptr, self.binding, self.name};
  if (PlanTransposed(plan, viewed, out) || PlanShuffledCopy(plan, viewed, out)) return;
  plan.SetCost(20 + static_cast<uint64_t>(view.count()) / 4);
  plan.SetBody(CopyOnly{StridedCopy(*out.tensor, view), {out.binding, self.binding}});
}

// `pairs`: (before, after) from the last dimension on.
void Pad(Plan& plan, const Operand& self, std::span<const int64_t> pairs, PadMode mode, const void* fill,
         const Operand& out) {
  const Shape& shape = self.tensor->shape;
  auto padded = static_cast<int>(pairs.size() / 2);
  if (pairs.size() % 2 != 0 || padded > shape.rank()) {
    Fail(kInvalidArgument, "op-pad-pairs",
         "{} paddings do not fit {} dimensions: two for each, from the last one on", pairs.size(),
         shape.rank());
  }
  std::vector<AxisMap> maps = IdentityMaps(shape);
  for (int i = 0; i < padded; ++i) {
    auto at = static_cast<size_t>(2 * i);
    auto d = static_cast<size_t>(shape.rank() - 1 - i);
    int64_t before = pairs[at], after = pairs[at + 1];
    bool too_far = mode == PadMode::kReflect && std::max(before, after) >= shape.back(i);
    if (too_far && shape.back(i) > 0) {
      Fail(kInvalidArgument, "op-pad",
           "a dimension of {} elements cannot be padded by {} and {}: reflection needs less", shape.back(i),
           before, after);
    }
    maps[d] = PaddedMap(shape.back(i), before, after, mode);
  }
  Rearrange(plan, self, out, maps, fill);
}

int64_t ClampedPlace(int64_t place, int64_t size) {
  if (place < 0) place += size;
  return std::clamp<int64_t>(place, 0, size);
}

// A shift to the right of less than `size`.
int64_t Wrapped(int64_t shift, size_t size) {
  auto n = static_cast<int64_t>(size);
  return (shift % n + n) % n;
}

// Moves each element from a place of its own to another: for views that no row of even steps covers.
struct MoveEach {
  std::vector<int64_t> to, from;  // bytes
  size_t element;
  int bindings[2];
  void operator()(const Frame& frame) const {
    for (size_t i = 0; i < to.size(); ++i) {
      std::memcpy(frame.at[bindings[0]] + to[i], frame.at[bindings[1]] + from[i], element);
    }
  }
};

std::vector<int64_t> PlacesOf(const Tensor& view) {
  auto bytes = static_cast<int64_t>(tensor::BytesOf(view.dtype));
  std::vector<int64_t> places = OffsetsOf(view.shape, view.strides, bytes);
  for (int64_t& place : places) place += view.offset * bytes;
  return places;
}

void RollAsRow(Plan& plan, const Operand& x, int64_t shift, const Operand& out) {
  CheckSameType(x, out);
  CheckShape(out, x.tensor->shape);
  if (x.tensor->empty()) return;
  Tensor self = *x.tensor, to = *out.tensor;
  if (IsPacked(self.shape, self.strides) && IsPacked(to.shape, to.strides)) {
    self.shape = to.shape = Shape{self.count()};
    self.strides = to.strides = Shape{1};
    AxisMap map = IdentityMap(self.shape[0]);
    std::rotate(map.begin(), map.end() - Wrapped(shift, map.size()), map.end());
    return PlanRearranged(plan, {&self, nullptr, x.binding, x.name}, {&to, nullptr, out.binding, out.name},
                          {map}, nullptr);
  }
  MoveEach body{
      PlacesOf(*out.tensor), PlacesOf(*x.tensor), tensor::BytesOf(x.dtype()), {out.binding, x.binding}};
  std::rotate(body.from.begin(), body.from.end() - Wrapped(shift, body.from.size()), body.from.end());
  plan.SetCost(20 + static_cast<uint64_t>(x.tensor->count()) / 4);
  plan.SetBody(std::move(body));
}

// How many elements n of them become.
int64_t Repeated(int64_t n, int64_t repeats) {
  if (repeats < 0) Fail(kInvalidArgument, "op-repeats", "repeats is {}; it must not be negative", repeats);
  int64_t count;
  if (!__builtin_mul_overflow(n, repeats, &count)) return count;
  Fail(kInvalidArgument, "op-repeats", "{} repeats of {} elements are too many", repeats, n);
}

// A tensor that repeats, seen with a dimension more for each that does: a copy of one onto the other.
struct TiledViews {
  Tensor in, out;
};

std::optional<TiledViews> ViewsOfTiles(const Tensor& in, std::span<const int64_t> repeats,
                                       const Tensor& out) {
  TiledViews views{in, out};
  views.in.shape = views.in.strides = views.out.shape = views.out.strides = Shape();
  const auto add = [&](int64_t size, int64_t in_stride, int64_t out_stride) {
    views.in.shape.push_back(size), views.in.strides.push_back(in_stride);
    views.out.shape.push_back(size), views.out.strides.push_back(out_stride);
  };
  if (out.shape.rank() != in.shape.rank()) return std::nullopt;
  int needed = in.shape.rank();
  for (int d = 0; d < in.shape.rank(); ++d) {
    const int64_t times = repeats[static_cast<size_t>(d)];
    int64_t size;
    if (__builtin_mul_overflow(in.shape[d], times, &size) || out.shape[d] != size) return std::nullopt;
    if (times != 1 && in.shape[d] != 1) ++needed;
  }
  if (needed > tensor::kMaxRank) return std::nullopt;
  for (int d = 0; d < in.shape.rank(); ++d) {
    const int64_t times = repeats[static_cast<size_t>(d)];
    if (times != 1) add(times, 0, out.strides[d] * in.shape[d]);
    if (times == 1 || in.shape[d] != 1) add(in.shape[d], in.strides[d], out.strides[d]);
  }
  return views;
}

}  // namespace

namespace kernels {

void Permute(Plan& plan, DType, const Operand& self, std::span<const int64_t> dims, const Operand& out) {
  const Tensor& from = *self.tensor;
  CheckLength("dims", static_cast<int64_t>(dims.size()), from.shape.rank());
  Tensor view = from;
  uint32_t seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int dim = rules::WrapDim(self, dims[i]);
    seen |= 1u << dim;
    view.shape[static_cast<int>(i)] = from.shape[dim];
    view.strides[static_cast<int>(i)] = from.strides[dim];
  }
  if (seen != (1u << dims.size()) - 1)
    Fail(kInvalidArgument, "op-permutation", "dims names a dimension twice");
  PlanCopyOf(plan, self, view, out);
}

void Slice(Plan& plan, DType, const Operand& self, int64_t dim, int64_t start, int64_t end, int64_t step,
           const Operand& out) {
  if (step < 1) Fail(kInvalidArgument, "op-step", "step is {}; it must be positive", step);
  int axis = rules::WrapDim(self, dim);
  Tensor view = *self.tensor;
  if (view.shape.rank() == 0) Fail(kInvalidArgument, "op-dim", "{} has no dimension to slice", self.name);
  int64_t size = view.shape[axis];
  start = ClampedPlace(start, size);
  end = std::max(ClampedPlace(end, size), start);
  view.offset += start * view.strides[axis];
  view.shape[axis] = end == start ? 0 : (end - start - 1) / step + 1;
  if (view.shape[axis] > 1) view.strides[axis] *= step;
  plan.ReadsOnly(self.binding, view);
  PlanCopyOf(plan, self, view, out);
}

void Roll(Plan& plan, DType, const Operand& x, std::span<const int64_t> shifts, std::span<const int64_t> dims,
          const Operand& out) {
  CheckShape(out, x.tensor->shape);
  if (dims.empty() && shifts.size() == 1) return RollAsRow(plan, x, shifts[0], out);
  CheckLength("shifts", static_cast<int64_t>(shifts.size()), static_cast<int64_t>(dims.size()));
  std::vector<AxisMap> maps = IdentityMaps(x.tensor->shape);
  for (size_t i = 0; i < shifts.size() && !x.tensor->empty(); ++i) {
    const int at = rules::WrapDim(x, dims[i]);
    if (maps.empty()) continue;  // a scalar has a dimension 0 by name only
    AxisMap& map = maps[static_cast<size_t>(at)];
    std::rotate(map.begin(), map.end() - Wrapped(shifts[i], map.size()), map.end());
  }
  Rearrange(plan, x, out, maps);
}

void Flip(Plan& plan, DType, const Operand& self, std::span<const int64_t> dims, const Operand& out) {
  std::vector<AxisMap> maps = IdentityMaps(self.tensor->shape);
  uint32_t turned = 0;
  for (int64_t dim : dims) {
    if (maps.empty()) continue;
    int at = rules::WrapDim(self, dim);
    if ((turned >> at & 1) != 0) Fail(kInvalidArgument, "op-dims-twice", "dims names dimension {} twice", at);
    turned |= 1u << at;
    std::reverse(maps[static_cast<size_t>(at)].begin(), maps[static_cast<size_t>(at)].end());
  }
  Rearrange(plan, self, out, maps);
}

void Repeat(Plan& plan, DType compute, const Operand& self, std::span<const int64_t> repeats,
            const Operand& out) {
  int rank = static_cast<int>(repeats.size());
  const Shape& shape = self.tensor->shape;
  if (rank < shape.rank() || rank > tensor::kMaxRank) {
    Fail(kInvalidArgument, "op-repeats", "{} repeats do not fit {} dimensions", rank, shape.rank());
  }
  Tensor view = *self.tensor;
  view.shape = view.strides = Shape::Filled(rank, 1);
  for (int d = 0; d < rank; ++d) {
    int from = d - (rank - shape.rank());
    if (from >= 0) {
      view.shape[d] = shape[from];
      view.strides[d] = self.tensor->strides[from];
    }
    int64_t times = repeats[static_cast<size_t>(d)];
    if (times < 0)
      Fail(kInvalidArgument, "op-repeats", "repeats[{}] is {}; it must not be negative", d, times);
  }
  if (const std::optional<TiledViews> views = ViewsOfTiles(view, repeats, *out.tensor)) {
    CheckSameType(self, out);
    const Operand from{&views->in, nullptr, self.binding, self.name};
    const Operand to{&views->out, nullptr, out.binding, out.name};
    return PlanShuffledCopy(plan, from, to) ? void() : Copy(plan, compute, from, to);
  }
  std::vector<AxisMap> maps;
  for (int d = 0; d < rank; ++d) maps.push_back(TiledMap(view.shape[d], repeats[static_cast<size_t>(d)]));
  Rearrange(plan, {&view, nullptr, self.binding, self.name}, out, maps);
}

void RepeatInterleave(Plan& plan, DType, const Operand& self, int64_t repeats, int64_t dim, int64_t size,
                      const Operand& out) {
  auto axis = static_cast<size_t>(rules::WrapDim(self, dim));
  std::vector<AxisMap> maps = IdentityMaps(self.tensor->shape);
  if (maps.empty()) Fail(kInvalidArgument, "op-dim", "{} has no dimension to repeat along", self.name);
  auto n = static_cast<int64_t>(maps[axis].size());
  CheckLength("the repeated dimension", Repeated(n, repeats), size);
  maps[axis].clear();
  for (int64_t i = 0; i < size; ++i) maps[axis].push_back(i / repeats);
  Rearrange(plan, self, out, maps);
}

void RepeatInterleaveInt(Plan& plan, DType compute, const Operand& self, int64_t repeats, int64_t size,
                         const Operand& out) {
  CheckSameType(self, out);
  CheckLength("out", Repeated(self.tensor->count(), repeats), size);
  CheckShape(out, Shape{size});
  if (size == 0) return;
  // The result as a tensor of self's shape with one dimension more.
  Tensor from = *self.tensor, to = *out.tensor;
  if (from.shape.rank() == tensor::kMaxRank)
    Fail(kInvalidArgument, "op-repeats", "{} has {} dimensions already", self.name, tensor::kMaxRank);
  from.shape.push_back(repeats);
  from.strides.push_back(0);
  to.shape = from.shape;
  to.strides = tensor::PackedStrides(to.shape);
  for (int d = 0; d < to.shape.rank(); ++d) to.strides[d] *= out.tensor->strides[0];
  Copy(plan, compute, {&from, nullptr, self.binding, self.name}, {&to, nullptr, out.binding, out.name});
}

void ConstantPad(Plan& plan, DType, const Operand& self, std::span<const int64_t> pad, const Scalar& value,
                 const Operand& out) {
  unsigned char fill[16] = {};
  DType part = out.dtype();  // a real value is the first part of a complex one
  if (tensor::IsComplex(part) && !tensor::IsComplex(value.dtype())) {
    part = part == DType::kC128 ? DType::kF64 : DType::kF32;
  }
  if (!tensor::IsComplex(part) && !tensor::CanConvert(part, value.dtype())) {
    Fail(kInvalidArgument, "op-promote", "value ({}) and {} ({}) have no common type", NameOf(value.dtype()),
         self.name, NameOf(self.dtype()));
  }
  tensor::Convert(part, fill, value.dtype(), value.data(), 1);
  Pad(plan, self, pad, PadMode::kConstant, fill, out);
}

void ReflectionPad(Plan& plan, DType, const Operand& self, std::span<const int64_t> padding,
                   const Operand& out) {
  Pad(plan, self, padding, PadMode::kReflect, nullptr, out);
}

void ReplicationPad(Plan& plan, DType, const Operand& self, std::span<const int64_t> padding,
                    const Operand& out) {
  Pad(plan, self, padding, PadMode::kEdge, nullptr, out);
}

}  // namespace kernels
}  // namespace belay::ops
