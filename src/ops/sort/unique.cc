// The different values of a tensor, or the different slices along a dimension: of all in their order, or of
// those that follow one another.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rules.h"
#include "ops/scratch.h"
#include "ops/sort/keys.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

using Told = std::shared_ptr<tensor::ToldShape>;

// Where a result goes; binding -1: it was not asked for.
struct Target {
  int binding = -1;
  int64_t at = 0;
  Told told;

  Target() = default;
  Target(const Operand& in_part, Told shape)
      : binding(in_part.binding), at(OffsetOf(*in_part.tensor)), told(std::move(shape)) {}
  int64_t* Numbers(const Frame& frame) const {
    return binding < 0 ? nullptr : reinterpret_cast<int64_t*>(frame.at[binding] + at);
  }
};

// What is compared: slices along a dimension, or the elements of a tensor that lies flat.
struct Slices {
  Shape shape;  // of the tensor, in one dimension where it lies flat
  int axis = 0;
  int64_t count = 1, outer = 1, inner = 1;  // slices, and the elements of one before and behind the dimension

  Slices(const Operand& self, bool flat, int64_t dim) {
    flat = flat || self.shape().rank() == 0;
    axis = flat ? 0 : rules::WrapDim(self, dim);
    shape = flat ? Shape{self.tensor->count()} : self.shape();
    for (int d = 0; d < shape.rank(); ++d) (d < axis ? outer : d == axis ? count : inner) *= shape[d];
  }
  int64_t elements() const { return outer * inner; }
  // The tensor with the dimension in front.
  Tensor InFront(const Tensor& self) const {
    if (self.shape.rank() != shape.rank()) return self;
    Tensor view = tensor::WithoutDim(self, axis);
    view.shape = Shape{shape[axis]}, view.strides = tensor::Strides{self.strides[axis]};
    for (int d = 0; d < shape.rank(); ++d) {
      if (d != axis) view.shape.push_back(shape[d]), view.strides.push_back(self.strides[d]);
    }
    return view;
  }
};

// Keys are of a type that holds all values of the tensor's, slice by slice. A NaN is equal to nothing, and
// comes behind the numbers.
struct UniqueBody {
  int keys;
  DType wide, type;
  Slices slices;
  bool sorted;
  Target values, inverse, counts;
  Scratch<int64_t> order;  // of the slices, and the first one of each group
  Scratch<WideKey> keyed;  // of numbers: twice as many, to sort them

  void operator()(const Frame& frame) const {
    if (wide == DType::kU64) return Run<uint64_t>(frame);
    wide == DType::kI64 ? Run<int64_t>(frame) : Run<double>(frame);
  }

  template <class T>
  void Run(const Frame& frame) const {
    const T* from = reinterpret_cast<const T*>(frame.at[keys]);
    int64_t *places = order.At(frame), *firsts = places + slices.count;
    std::iota(places, firsts, int64_t{0});
    const int64_t numbers = slices.elements() * (wide == DType::kC128 ? 2 : 1);  // of a slice
    if (sorted && OfNumbers()) {
      PlacesInOrder(from, slices.count, keyed.At(frame), places);
    } else if (sorted) {
      std::sort(places, firsts, [from, numbers](int64_t a, int64_t b) {
        const int first = Compared(from + a * numbers, from + b * numbers, numbers);
        return first < 0 || (first == 0 && a < b);
      });
    }
    int64_t *groups = inverse.Numbers(frame), *sizes = counts.Numbers(frame), found = 0;
    for (int64_t i = 0; i < slices.count; ++i) {
      const T* slice = from + places[i] * numbers;
      if (i == 0 || !std::equal(slice, slice + numbers, from + places[i - 1] * numbers)) {
        firsts[found] = places[i];
        if (sizes != nullptr) sizes[found] = 0;
        ++found;
      }
      if (sizes != nullptr) ++sizes[found - 1];
      if (groups != nullptr) groups[places[i]] = found - 1;
    }
    Write(frame, firsts, found);
  }

  bool OfNumbers() const { return slices.elements() == 1 && wide != DType::kC128; }

  // -1: a comes first.
  template <class T>
  static int Compared(const T* a, const T* b, int64_t numbers) {
    for (int64_t k = 0; k < numbers; ++k) {
      if (Less(a[k], b[k])) return -1;
      if (Less(b[k], a[k])) return 1;
    }
    return 0;
  }
  template <class T>
  static bool Less(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a < b || (std::isnan(b) && !std::isnan(a));
    return a < b;
  }

  void Write(const Frame& frame, const int64_t* firsts, int64_t found) const {
    const auto bytes = static_cast<int64_t>(BytesOf(type)), wide_bytes = static_cast<int64_t>(BytesOf(wide));
    char* to = frame.at[values.binding] + values.at;
    for (int64_t o = 0; o < slices.outer; ++o) {
      for (int64_t g = 0; g < found; ++g, to += slices.inner * bytes) {
        const int64_t element = firsts[g] * slices.elements() + o * slices.inner;
        tensor::Convert(type, to, wide, frame.at[keys] + element * wide_bytes, slices.inner);
      }
    }
    Shape shape = slices.shape;
    shape[slices.axis] = found;
    values.told->Tell(shape);
    if (counts.told != nullptr) counts.told->Tell(Shape{found});
  }
};

// As many numbers as there are elements at most, one after the other.
void CheckRoom(const Operand& out, int64_t count) {
  if (!out.present())
    Fail(tensor::kNullArgument, "op-masked-result", "{} is asked for, but it is null", out.name);
  if (out.tensor->count() == count && tensor::IsPacked(out.shape(), out.tensor->strides)) return;
  Fail(tensor::kInvalidArgument, "op-packed-out", "{} {} has room for {} elements, one after the other",
       out.name, out.shape().ToString(), count);
}

DType KeyType(DType type) {
  if (IsComplex(type)) return DType::kC128;
  if (type == DType::kU64) return DType::kU64;
  return IsFloat(type) ? DType::kF64 : DType::kI64;
}

// Null for a result that is not asked for.
void PlanUnique(Plan& plan, const Operand& self, const Slices& slices, bool sorted, const Operand& out,
                const Operand* inverse, const Operand* counts) {
  CheckSameType(self, out);
  CheckRoom(out, self.tensor->count());
  if (slices.elements() == 0 && slices.count > 0)
    Fail(tensor::kInvalidArgument, "op-empty-dim", "{} {} has slices without elements", self.name,
         self.shape().ToString());
  std::vector<const Operand*> given = {&self};
  for (const Operand* result : {inverse, counts}) {
    if (result != nullptr) CheckRoom(*result, slices.count), given.push_back(result);
  }
  const DType wide = KeyType(self.dtype());
  const Told values = plan.TellsShapeOf(out.binding),
             told_counts = counts != nullptr ? plan.TellsShapeOf(counts->binding) : nullptr;
  PlanThrough(
      plan, tensor::PackedOf(wide, slices.InFront(*self.tensor).shape), given, out,
      [&](Plan& part, const auto& in, const Operand& keys) {
        const Tensor view = slices.InFront(*in[0].tensor);
        Copy(part, wide, {&view, nullptr, in[0].binding, in[0].name}, keys);
      },
      [&](Plan& part, const auto& in, const Operand& keys, const Operand& to) {
        UniqueBody body{keys.binding,
                        wide,
                        self.dtype(),
                        slices,
                        sorted,
                        Target(to, values),
                        {},
                        {},
                        Scratch<int64_t>(part, slices.count * 2),
                        {}};
        if (sorted && body.OfNumbers()) body.keyed = Scratch<WideKey>(part, slices.count * 2);
        if (inverse != nullptr) body.inverse = Target(in[1], nullptr);
        if (counts != nullptr) body.counts = Target(in[inverse != nullptr ? 2 : 1], told_counts);
        part.SetCost(500 + static_cast<uint64_t>(self.tensor->count()) * (sorted ? 50 : 5));
        part.SetBody(body);
      });
}

const Operand* Asked(bool asked, const Operand& result) { return asked ? &result : nullptr; }

}  // namespace

void Unique2(Plan& plan, DType, const Operand& self, bool /*sorted*/, bool returnInverse, bool returnCounts,
             const Operand& out, const Operand& inverseOut, const Operand& countsOut) {
  PlanUnique(plan, self, Slices(self, true, 0), true, out, Asked(returnInverse, inverseOut),
             Asked(returnCounts, countsOut));
}

void Unique(Plan& plan, DType, const Operand& self, bool /*sorted*/, bool returnInverse, const Operand& out,
            const Operand& inverseOut) {
  PlanUnique(plan, self, Slices(self, true, 0), true, out, Asked(returnInverse, inverseOut), nullptr);
}

void UniqueDim(Plan& plan, DType, const Operand& self, bool /*sorted*/, bool returnInverse, int64_t dim,
               const Operand& out, const Operand& inverseOut, const Operand& countsOut) {
  rules::WrapDim(self, dim);
  PlanUnique(plan, self, Slices(self, false, dim), true, out, Asked(returnInverse, inverseOut), &countsOut);
}

void UniqueConsecutive(Plan& plan, DType, const Operand& self, bool returnInverse, bool returnCounts,
                       int64_t dim, const Operand& out, const Operand& inverseOut, const Operand& countsOut) {
  constexpr int64_t kFlat = 1000;  // what callers that name no dimension give
  if (dim != kFlat) rules::WrapDim(self, dim);
  PlanUnique(plan, self, Slices(self, dim == kFlat, dim), false, out, Asked(returnInverse, inverseOut),
             Asked(returnCounts, countsOut));
}

}  // namespace belay::ops::kernels
