#include "ops/index/scatter.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

// The input becomes the result before anything is written to it, unless they are one tensor.
struct Start {
  StridedCopy copy;
  int out = -1, self = -1;
  Start() = default;
  Start(const Operand& result, const Operand& input) : out(result.binding), self(input.binding) {
    if (out != self) copy = StridedCopy(*result.tensor, *input.tensor);
  }
  void Run(const Frame& frame) const {
    if (out != self) copy.Run(frame.at[out], frame.at[self]);
  }
};

void CheckScatter(const Operand& self, const Operand& index, const Operand& source, Combination how,
                  const Operand& out) {
  if (!IsInt(index.dtype())) {
    Fail(kInvalidArgument, "op-dtype", "{} is {}; indices are ACL_INT32 or ACL_INT64", index.name,
         NameOf(index.dtype()));
  }
  CheckSameType(self, out);
  CheckSameType(source, out);
  CheckShape(out, self.tensor->shape);
  const bool complex =
      out.dtype() == DType::kC64 && (how == Combination::kAdd || how == Combination::kMultiply);
  if (how != Combination::kReplace && !complex) CheckNumeric(out);
}

struct ScatterElementsBody {
  Start start;
  Indices index;
  LoopNest nest;  // places, out, source
  Combiner combine;
  Combination how;
  DType type;
  int64_t size, step;
  int bindings[3];

  void operator()(const Frame& frame) const {
    const std::span<int64_t> places = index.Places(frame, bindings[2], size);
    start.Run(frame);
    char* base[3] = {reinterpret_cast<char*>(places.data()), frame.at[bindings[0]] + nest.offset(1),
                     frame.at[bindings[1]] + nest.offset(2)};
    switch (how == Combination::kReplace ? Replaced(BytesOf(type)) : type) {
      case DType::kU8:
        return ScatterAs<uint8_t>(base);
      case DType::kU16:
        return ScatterAs<uint16_t>(base);
      case DType::kI32:
        return ScatterAs<int32_t>(base);
      case DType::kI64:
        return ScatterAs<int64_t>(base);
      case DType::kF32:
        return ScatterAs<float>(base);
      case DType::kF64:
        return ScatterAs<double>(base);
      default:
        ScatterAny(base);
    }
  }

  // What elements of so many bytes may be taken for where they are only moved.
  static DType Replaced(size_t bytes) {
    return bytes == 1   ? DType::kU8
           : bytes == 2 ? DType::kU16
           : bytes == 4 ? DType::kI32
           : bytes == 8 ? DType::kI64
                        : DType::kUndefined;
  }

  // In loops of their own, in which nothing is decided.
  template <class T>
  void ScatterAs(char* const* base) const {
    if (how == Combination::kReplace) return ScatterBy<T, Combination::kReplace>(base);
    if constexpr (sizeof(T) < sizeof(int32_t)) return ScatterAny(base);
    if (how == Combination::kAdd) return ScatterBy<T, Combination::kAdd>(base);
    if (how == Combination::kMultiply) return ScatterBy<T, Combination::kMultiply>(base);
    if (how == Combination::kMax) return ScatterBy<T, Combination::kMax>(base);
    ScatterBy<T, Combination::kMin>(base);
  }

  void ScatterAny(char* const* base) const {
    Scatter(base, [this](char* to, const char* from) { combine(to, from, 1); });
  }

  template <class T, Combination kHow>
  void ScatterBy(char* const* base) const {
    Scatter(base, [](char* to, const char* from) {
      T a, b;
      std::memcpy(&a, to, sizeof(a)), std::memcpy(&b, from, sizeof(b));
      a = Combined(kHow, a, b, T{1});
      std::memcpy(to, &a, sizeof(a));
    });
  }

  template <class One>
  void Scatter(char* const* base, const One& one) const {
    nest.Walk(base, 0, nest.count(), [&](char** at, int64_t n) {
      const int64_t steps[3] = {nest.step(0), nest.step(1), nest.step(2)}, along = step;
      for (int64_t i = 0; i < n; ++i) {
        int64_t place;
        std::memcpy(&place, at[0] + i * steps[0], sizeof(place));
        one(at[1] + i * steps[1] + place * along, at[2] + i * steps[2]);
      }
    });
  }
};

// Blocks from one tensor that come to places of another, each rounded once.
struct OncePerPlace {
  Scratch<int64_t> room;
  OncePerPlace() = default;
  OncePerPlace(Plan& plan, Combination how, DType type, int64_t blocks) {
    if (blocks > 1 && RoundsEach(how, type)) room = Scratch<int64_t>(plan, 2 * blocks);
  }
  bool needed() const { return room.count() > 0; }

  // The blocks by their places, and those of one place in their order.
  template <class PlaceOf>
  std::span<int64_t> Sorted(const Frame& frame, const PlaceOf& place_of) const {
    const std::span<int64_t> order(room.At(frame), static_cast<size_t>(room.count() / 2));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return std::pair(place_of(a), a) < std::pair(place_of(b), b); });
    return order;
  }

  // `from_of`: where a block lies, in bytes behind `in`; a place is one behind `out`.
  template <class PlaceOf, class FromOf>
  void Run(const Frame& frame, std::span<const int64_t> order, const BlockCombiner& combine, char* out,
           const char* in, const PlaceOf& place_of, const FromOf& from_of) const {
    int64_t* behind = room.At(frame) + order.size();
    for (size_t i = 0; i < order.size();) {
      const int64_t place = place_of(order[i]);
      size_t n = 0;
      for (; i < order.size() && place_of(order[i]) == place; ++i) behind[n++] = from_of(order[i]);
      combine.Together(out + place, in, {behind, n});
    }
  }
};

struct ScatterNdBody {
  Start start;
  OncePerPlace once;
  NamedBlocks named;
  std::vector<int64_t> row_in;
  BlockCombiner combine;
  int64_t offsets[2];
  int bindings[2];  // out, updates

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> places = named.Offsets(frame);
    start.Run(frame);
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    if (once.needed()) {
      const auto place = [&](int64_t row) { return places[static_cast<size_t>(row)]; };
      return once.Run(frame, once.Sorted(frame, place), combine, out, in, place,
                      [this](int64_t row) { return row_in[static_cast<size_t>(row)]; });
    }
    constexpr size_t kAhead = 8;  // indices name places that the processor does not foresee
    for (size_t row = 0; row < row_in.size(); ++row) {
      if (row + kAhead < row_in.size()) __builtin_prefetch(out + places[row + kAhead], 1);
      combine(out + places[row], in + row_in[row]);
    }
  }
};

struct ScatterRowsBody {
  Start start;
  OncePerPlace once;
  Indices index;
  std::vector<int64_t> outer_out, outer_in;
  BlockCombiner combine;
  int64_t size, out_step, in_step;
  int64_t offsets[2];
  int bindings[3];

  void operator()(const Frame& frame) const {
    const std::span<int64_t> places = index.Places(frame, bindings[2], size);
    start.Run(frame);
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    const auto place = [&](int64_t row) { return places[static_cast<size_t>(row)] * out_step; };
    const auto row_in = [this](int64_t row) { return row * in_step; };
    const std::span<int64_t> order = once.needed() ? once.Sorted(frame, place) : std::span<int64_t>();
    for (size_t o = 0; o < outer_out.size(); ++o) {
      if (once.needed()) {
        once.Run(frame, order, combine, out + outer_out[o], in + outer_in[o], place, row_in);
        continue;
      }
      for (size_t i = 0; i < places.size(); ++i) {
        combine(out + outer_out[o] + places[i] * out_step,
                in + outer_in[o] + static_cast<int64_t>(i) * in_step);
      }
    }
  }
};

struct OneHotBody {
  Indices index;
  LoopNest nest;  // places, out without the axis
  int64_t depth, step, bytes;
  int64_t value_offsets[2];
  int bindings[4];  // out, index, on, off
  int64_t out_at = 0,
          whole = 0;  // the result and its elements, where all are filled first; 0: a row at a time

  void operator()(const Frame& frame) const {
    const std::span<int64_t> places = index.Read(frame, bindings[1]);
    const char* on = frame.at[bindings[2]] + value_offsets[0];
    const char* off = frame.at[bindings[3]] + value_offsets[1];
    char* base[2] = {reinterpret_cast<char*>(places.data()), frame.at[bindings[0]] + nest.offset(1)};
    if (whole > 0) return Whole(base, frame.at[bindings[0]] + out_at, on, off);
    nest.WalkAll(
        base,
        [&](char** at, int64_t n) {
          const bool across =
              std::abs(nest.step(1)) < std::abs(step);  // which of the two is nearer in memory
          for (int64_t k = 0; across && k < depth; ++k)
            MoveRow(at[1] + k * step, nest.step(1), off, 0, n, bytes);
          for (int64_t i = 0; i < n; ++i) {
            int64_t place;
            std::memcpy(&place, at[0] + i * nest.step(0), sizeof(place));
            char* to = at[1] + i * nest.step(1);
            if (!across) MoveRow(to, step, off, 0, depth, bytes);
            if (place < 0) place += depth;
            if (place >= 0 && place < depth) MoveRow(to + place * step, bytes, on, bytes, 1, bytes);
          }
        },
        [] {});
  }

  void Whole(char* const* base, char* out, const char* on, const char* off) const {
    constexpr int64_t kPiece = 64 * 1024;
    ParallelFor(whole, kPiece, [&](int64_t begin, int64_t end) {
      MoveRow(out + begin * bytes, bytes, off, 0, end - begin, bytes);
    });
    nest.WalkAll(
        base,
        [&](char** at, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            int64_t place;
            std::memcpy(&place, at[0] + i * nest.step(0), sizeof(place));
            if (place < 0) place += depth;
            if (place < 0 || place >= depth) continue;
            char* to = at[1] + i * nest.step(1) + place * step;
            if (bytes == 4) {
              std::memcpy(to, on, 4);
            } else {
              std::memcpy(to, on, static_cast<size_t>(bytes));
            }
          }
        },
        [] {});
  }
};

Combination Reduction(int64_t number) {
  if (number < 0 || number > 4) Fail(kInvalidArgument, "op-reduction", "there is no reduction {}", number);
  return static_cast<Combination>(number);
}

// The sides of a scatter along one dimension: walked together, places count along the dimension of `to`.
struct ElementSides {
  Tensor to, from, places;
  int64_t size, step;

  ElementSides(const Operand& index, const Operand& source, int64_t dim, const Operand& out);
};

ElementSides::ElementSides(const Operand& index, const Operand& source, int64_t dim, const Operand& out)
    : to(*out.tensor), from(*source.tensor) {
  const int axis = rules::WrapDim(out, dim);
  const Shape& shape = index.tensor->shape;
  CheckLength("the shape of index", shape.rank(), to.shape.rank());
  CheckLength("the shape of the source", from.shape.rank(), shape.rank());
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] > from.shape[d] || (d != axis && shape[d] > to.shape[d])) {
      Fail(kInvalidArgument, "op-index-shape", "{} of shape {} is larger than {} {} or {} {}", index.name,
           shape.ToString(), source.name, from.shape.ToString(), out.name, to.shape.ToString());
    }
  }
  const bool scalar = to.shape.rank() == 0;
  size = scalar ? 1 : to.shape[axis];
  step = tensor::StepOf(to, axis);
  if (!scalar) to.strides[axis] = 0;
  to.shape = from.shape = shape;
  places = PackedPlaces(shape);
}

// scatter(part, values, index, out): what scatters values into what is there, both packed and of a wide type
// that is rounded at the end.
template <class Scatter>
void PlanWidened(Plan& plan, DType wide, const Operand& self, const Operand& index, const Operand& source,
                 const Operand& out, const Scatter& scatter) {
  PlanThrough(
      plan, tensor::PackedOf(wide, self.shape()), {&self, &index, &source}, out,
      [&](Plan& part, const auto& in, const Operand& sums) { kernels::Copy(part, wide, in[0], sums); },
      [&](Plan& part, const auto& in, const Operand& sums, const Operand& to) {
        PlanThrough(
            part, tensor::PackedOf(wide, source.shape()), {&in[1], &in[2], &sums}, to,
            [&](Plan& copy, const auto& from, const Operand& values) {
              kernels::Copy(copy, wide, from[1], values);
            },
            [&](Plan& rest, const auto& from, const Operand& values, const Operand& end) {
              Sequence parts(rest);
              parts.Add([&](Plan& sum) { scatter(sum, values, from[0], from[2]); });
              parts.Add([&](Plan& last) { kernels::Copy(last, wide, from[2], end); });
              parts.Finish();
            });
      });
}

}  // namespace

void PlanScatterElements(Plan& plan, const Operand& self, int64_t dim, const Operand& index,
                         const Operand& source, Combination how, const Operand& out) {
  CheckScatter(self, index, source, how, out);
  const ElementSides sides(index, source, dim, out);
  const bool single = index.shape().rank() == 0 || index.shape()[rules::WrapDim(out, dim)] == 1;
  if (!single && RoundsEach(how, out.dtype())) {
    return PlanWidened(plan, DType::kF32, self, index, source, out,
                       [&](Plan& part, const Operand& values, const Operand& where, const Operand& to) {
                         PlanScatterElements(part, to, dim, where, values, how, to);
                       });
  }
  ScatterElementsBody body;
  body.start = Start(out, self);
  auto bytes = static_cast<int64_t>(BytesOf(out.dtype()));
  body.size = sides.size, body.step = sides.step;
  body.index = Indices(plan, *index.tensor);
  body.nest = LoopNest(index.shape(), {Operand{&sides.places}, Operand{&sides.to}, Operand{&sides.from}});
  body.nest.MakeRowsLong();  // what comes to one place comes along the dimension, in its order in any case
  body.combine = Combiner(out.dtype(), how, bytes, bytes);
  body.how = how, body.type = out.dtype();
  body.bindings[0] = out.binding;
  body.bindings[1] = source.binding;
  body.bindings[2] = index.binding;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count() + sides.places.count() * 4));
  plan.SetBody(body);
}

namespace {

// Of each place, what comes first replaces what is there, unless that counts too. All that comes is combined
// with it, and may be divided by how many there are.
struct ScatterGroupsBody {
  Indices index;
  LoopNest nest;  // places, out, source: out is packed, of f64 or i64
  Combiner combine;
  Scratch<int64_t> counts;  // for each element of out
  int64_t size, step, start;
  bool divides, floats;
  int bindings[3];  // out, source, index

  void operator()(const Frame& frame) const {
    const std::span<int64_t> places = index.Places(frame, bindings[2], size);
    int64_t* seen = counts.At(frame);
    std::fill_n(seen, counts.count(), start);
    char* out = frame.at[bindings[0]];
    char* base[3] = {reinterpret_cast<char*>(places.data()), out + nest.offset(1),
                     frame.at[bindings[1]] + nest.offset(2)};
    nest.Walk(base, 0, nest.count(), [&](char** at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        int64_t place;
        std::memcpy(&place, at[0] + i * nest.step(0), sizeof(place));
        char* to = at[1] + i * nest.step(1) + place * step;
        const char* from = at[2] + i * nest.step(2);
        if (seen[(to - out) / kBytes]++ == 0) {
          std::memcpy(to, from, kBytes);
        } else {
          combine(to, from, 1);
        }
      }
    });
    if (divides)
      floats ? Divide(reinterpret_cast<double*>(out), seen) : Divide(reinterpret_cast<int64_t*>(out), seen);
  }

  static constexpr int64_t kBytes = 8;

  void Divide(double* out, const int64_t* seen) const {
    for (int64_t i = 0; i < counts.count(); ++i) {
      if (seen[i] > 1) out[i] /= static_cast<double>(seen[i]);
    }
  }
  // Towards minus infinity.
  void Divide(int64_t* out, const int64_t* seen) const {
    for (int64_t i = 0; i < counts.count(); ++i) {
      if (seen[i] > 1) out[i] = out[i] / seen[i] - (out[i] % seen[i] < 0 ? 1 : 0);
    }
  }
};

void PlanScatterGroups(Plan& plan, const Operand& source, int64_t dim, const Operand& index, Combination how,
                       bool with_self, bool divides, const Operand& out) {
  const ElementSides sides(index, source, dim, out);
  ScatterGroupsBody body;
  body.index = Indices(plan, *index.tensor);
  body.nest = LoopNest(index.shape(), {Operand{&sides.places}, Operand{&sides.to}, Operand{&sides.from}});
  body.combine = Combiner(out.dtype(), how, ScatterGroupsBody::kBytes, ScatterGroupsBody::kBytes);
  body.counts = Scratch<int64_t>(plan, out.tensor->count());
  body.size = sides.size, body.step = sides.step;
  body.start = with_self ? 1 : 0;
  body.divides = divides, body.floats = IsFloat(out.dtype());
  body.bindings[0] = out.binding;
  body.bindings[1] = source.binding;
  body.bindings[2] = index.binding;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count() + sides.places.count() * 8));
  plan.SetBody(body);
}

}  // namespace

void PlanScatterNd(Plan& plan, const Operand& self, const Operand& index, const Operand& updates,
                   Combination how, const Operand& out) {
  CheckScatter(self, index, updates, how, out);
  const Tensor& to = *out.tensor;
  const Tensor& from = *updates.tensor;
  const Shape& names = index.tensor->shape;
  int64_t depth = names.rank() == 0 ? 0 : names.back(0);
  if (depth < 1 || depth > to.shape.rank()) {
    Fail(kInvalidArgument, "op-index-depth", "{} of shape {} does not name elements of {} {}", index.name,
         names.ToString(), out.name, to.shape.ToString());
  }
  int rows = names.rank() - 1, behind = static_cast<int>(depth);
  Shape wanted = Shape::Of(names.data(), rows);
  for (int d = behind; d < to.shape.rank(); ++d) wanted.push_back(to.shape[d]);
  CheckShape(updates, wanted);
  ScatterNdBody body;
  body.start = Start(out, self);
  body.named = NamedBlocks(plan, index, to, 0);
  body.row_in = OffsetsOf(from, 0, rows);
  body.once = OncePerPlace(plan, how, to.dtype, static_cast<int64_t>(body.row_in.size()));
  body.combine =
      BlockCombiner(DimsOf(to, behind, to.shape.rank()), DimsOf(from, rows, from.shape.rank()), how);
  body.offsets[0] = OffsetOf(to);
  body.offsets[1] = OffsetOf(from);
  body.bindings[0] = out.binding;
  body.bindings[1] = updates.binding;
  plan.SetCost(100 + static_cast<uint64_t>(to.count() + from.count()));
  plan.SetBody(body);
}

namespace {

// A tensor without dimensions is a vector of one element; the source may have none either.
void PlanScatterOntoOne(Plan& plan, const Operand& self, int64_t dim, const Operand& index,
                        const Operand& source, Combination how, double factor, const Operand& out) {
  Tensor views[3] = {*self.tensor, *source.tensor, *out.tensor};
  for (Tensor& view : views) {
    if (view.shape.rank() == 0) view.shape = view.strides = Shape{1};
  }
  PlanScatterRows(plan, {&views[0], nullptr, self.binding, self.name}, dim, index,
                  {&views[1], nullptr, source.binding, source.name}, how, factor,
                  {&views[2], nullptr, out.binding, out.name});
}

}  // namespace

void PlanScatterRows(Plan& plan, const Operand& self, int64_t dim, const Operand& index,
                     const Operand& source, Combination how, double factor, const Operand& out) {
  int axis = rules::WrapDim(out, dim);
  if (out.shape().rank() == 0 && self.shape().rank() == 0) {
    return PlanScatterOntoOne(plan, self, dim, index, source, how, factor, out);
  }
  CheckScatter(self, index, source, how, out);
  const Tensor& to = *out.tensor;
  const Tensor& from = *source.tensor;
  Shape wanted = to.shape;
  wanted[axis] = index.tensor->count();
  CheckShape(source, wanted);
  ScatterRowsBody body;
  body.start = Start(out, self);
  body.index = Indices(plan, *index.tensor);
  body.once = OncePerPlace(plan, how, to.dtype, index.tensor->count());
  body.outer_out = OffsetsOf(to, 0, axis);
  body.outer_in = OffsetsOf(from, 0, axis);
  int rank = to.shape.rank();
  body.combine = BlockCombiner(DimsOf(to, axis + 1, rank), DimsOf(from, axis + 1, rank), how, factor);
  auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  body.size = to.shape[axis];
  body.out_step = to.strides[axis] * bytes;
  body.in_step = from.strides[axis] * bytes;
  body.offsets[0] = OffsetOf(to);
  body.offsets[1] = OffsetOf(from);
  body.bindings[0] = out.binding;
  body.bindings[1] = source.binding;
  body.bindings[2] = index.binding;
  plan.SetCost(100 + static_cast<uint64_t>(from.count() + (self.binding == out.binding ? 0 : to.count())));
  plan.SetBody(body);
}

void PlanOneHot(Plan& plan, const Operand& index, int axis, const Operand& on, const Operand& off,
                const Operand& out) {
  CheckNumeric(index);
  CheckSameType(on, out);
  CheckSameType(off, out);
  Tensor to = *out.tensor;
  Tensor rest = DimsOf(to, 0, axis), behind = DimsOf(to, axis + 1, to.shape.rank());
  for (int d = 0; d < behind.shape.rank(); ++d) {
    rest.shape.push_back(behind.shape[d]);
    rest.strides.push_back(behind.strides[d]);
  }
  rest.offset = to.offset;
  CheckShape(index, rest.shape);
  CheckLength("each value", on.tensor->count() + off.tensor->count(), 2);
  if (to.empty()) return;
  OneHotBody body;
  body.index = Indices(plan, *index.tensor);
  Tensor places = PackedPlaces(rest.shape);
  body.nest = LoopNest(rest.shape, {Operand{&places}, Operand{&rest}});
  body.bytes = static_cast<int64_t>(BytesOf(to.dtype));
  body.depth = to.shape[axis];
  body.step = to.strides[axis] * body.bytes;
  body.value_offsets[0] = OffsetOf(*on.tensor);
  body.value_offsets[1] = OffsetOf(*off.tensor);
  body.bindings[0] = out.binding;
  body.bindings[1] = index.binding;
  body.bindings[2] = on.binding;
  body.bindings[3] = off.binding;
  // Filling runs that are this short takes longer than coming back for the ones.
  constexpr int64_t kShortRun = 512;
  const bool across = std::abs(body.nest.step(1)) < std::abs(body.step);
  const int64_t run = body.bytes * (across ? body.nest.row() : body.depth);
  if (run < kShortRun && SameLayout(to.shape, to.strides, PackedStrides(to.shape)))
    body.whole = to.count(), body.out_at = OffsetOf(to);
  plan.SetCost(100 + static_cast<uint64_t>(to.count()));
  plan.SetBody(body);
}

namespace kernels {

void Scatter(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index, const Operand& src,
             int64_t reduction, const Operand& out) {
  PlanScatterElements(plan, self, dim, index, src, Reduction(reduction), out);
}

// Reduction 5 is the mean. What is not done in place at once is combined as DOUBLE or INT64 and rounded once.
void ScatterReduce(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index,
                   const Operand& src, int64_t reduction, bool includeSelf, const Operand& out) {
  constexpr int64_t kMean = 5;
  const bool mean = reduction == kMean;
  const Combination how = mean ? Combination::kAdd : Reduction(reduction);
  if (how == Combination::kReplace || (includeSelf && !mean))
    return PlanScatterElements(plan, self, dim, index, src, how, out);
  CheckScatter(self, index, src, how, out);
  ElementSides(index, src, dim, out);  // so that what does not fit is told of
  const DType wide = IsFloat(out.dtype()) ? DType::kF64 : DType::kI64;
  PlanWidened(plan, wide, self, index, src, out,
              [&](Plan& part, const Operand& values, const Operand& where, const Operand& to) {
                PlanScatterGroups(part, values, dim, where, how, includeSelf, mean, to);
              });
}

void ScatterAdd(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index, const Operand& src,
                const Operand& out) {
  PlanScatterElements(plan, self, dim, index, src, Combination::kAdd, out);
}

void ScatterNd(Plan& plan, DType, const Operand& data, const Operand& indices, const Operand& updates,
               const Operand& out) {
  PlanScatterNd(plan, data, indices, updates, Combination::kReplace, out);
}

void IndexCopy(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index,
               const Operand& source, const Operand& out) {
  PlanScatterRows(plan, self, dim, index, source, Combination::kReplace, 1, out);
}

void IndexAdd(Plan& plan, DType, const Operand& self, int64_t dim, const Operand& index,
              const Operand& source, const Scalar& alpha, const Operand& out) {
  if (alpha.Imaginary() != 0) {
    Fail(kInvalidArgument, "op-alpha", "alpha is {}, which cannot be converted to {}", alpha.ToString(),
         NameOf(DType::kF32));
  }
  PlanScatterRows(plan, self, dim, index, source, Combination::kAdd, alpha.ToDouble(), out);
}

// The slices that an index of more dimensions names have these in the place of `dim`.
void IndexAddInMode(Plan& plan, DType compute, const Operand& self, int64_t dim, const Operand& index,
                    const Operand& source, const Scalar& alpha, int64_t mode, const Operand& out) {
  if (mode != 0) Fail(kInvalidArgument, "op-index-mode", "mode is {}; only 0 is supported", mode);
  const int more = index.shape().rank() - 1, axis = rules::WrapDim(self, dim);
  if (more < 1) return IndexAdd(plan, compute, self, dim, index, source, alpha, out);
  const int rank = self.shape().rank();
  if (rank == 0 || rank + more > tensor::kMaxRank) {
    Fail(kInvalidArgument, "op-rank", "{} has shape {} and {} has {}; the source has up to eight dimensions",
         self.name, self.shape().ToString(), index.name, index.shape().ToString());
  }
  Shape wanted = Shape::Filled(rank + more, 0);
  for (int d = 0; d < wanted.rank(); ++d) {
    const bool behind = d > axis + more;
    wanted[d] = d < axis ? self.shape()[d] : behind ? self.shape()[d - more] : index.shape()[d - axis];
  }
  CheckShape(source, wanted);
  PlanThrough(
      plan, tensor::PackedOf(source.dtype(), wanted), {&self, &index, &source}, out,
      [&](Plan& part, const auto& in, const Operand& packed) { Copy(part, source.dtype(), in[2], packed); },
      [&](Plan& part, const auto& in, const Operand& packed, const Operand& to) {
        Shape rows = self.shape();
        rows[axis] = index.tensor->count();
        const Tensor flat = tensor::PackedOf(source.dtype(), rows);
        IndexAdd(part, compute, in[0], axis, in[1], {&flat, nullptr, packed.binding, source.name}, alpha, to);
      });
}

void OneHot(Plan& plan, DType, const Operand& self, int64_t depth, const Operand& onValue,
            const Operand& offValue, int64_t axis, const Operand& out) {
  if (axis < -1) {
    Fail(tensor::kInvalidArgument, "op-one-hot-axis", "axis is {}; it is -1 (the last) or counts from 0",
         axis);
  }
  int at = rules::WrapDim(out, axis);
  CheckLength("the one-hot dimension", out.tensor->shape.rank() == 0 ? 0 : out.tensor->shape[at], depth);
  PlanOneHot(plan, self, at, onValue, offValue, out);
}

}  // namespace kernels
}  // namespace belay::ops
