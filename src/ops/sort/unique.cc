// The different values of a tensor, in their order.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"
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

// Keys are DOUBLE or INT64, which hold all values of the type; each NaN is a value of its own, behind the
// others.
struct UniqueBody {
  int keys;
  bool floats;
  int64_t count;
  DType type;
  Target values, inverse, counts;
  Scratch<int64_t> order;

  void operator()(const Frame& frame) const { floats ? Run<double>(frame) : Run<int64_t>(frame); }

  template <class T>
  void Run(const Frame& frame) const {
    const T* from = reinterpret_cast<const T*>(frame.at[keys]);
    int64_t* places = order.At(frame);
    std::iota(places, places + count, int64_t{0});
    std::sort(places, places + count, [&](int64_t a, int64_t b) {
      if (Less(from[a], from[b])) return true;
      return !Less(from[b], from[a]) && a < b;
    });
    char* to = frame.at[values.binding] + values.at;
    int64_t *groups = inverse.Numbers(frame), *sizes = counts.Numbers(frame), found = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T key = from[places[i]];
      if (i == 0 || !(key == from[places[i - 1]])) {
        tensor::Convert(type, to + found * static_cast<int64_t>(BytesOf(type)),
                        floats ? DType::kF64 : DType::kI64, &key, 1);
        if (sizes != nullptr) sizes[found] = 0;
        ++found;
      }
      if (sizes != nullptr) ++sizes[found - 1];
      if (groups != nullptr) groups[places[i]] = found - 1;
    }
    values.told->Tell(Shape{found});
    if (counts.told != nullptr) counts.told->Tell(Shape{found});
  }

  static bool Less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
  static bool Less(int64_t a, int64_t b) { return a < b; }
};

// As many numbers as there are elements at most, one after the other.
void CheckRoom(const Operand& out, int64_t count) {
  if (!out.present())
    Fail(tensor::kNullArgument, "op-masked-result", "{} is asked for, but it is null", out.name);
  if (out.tensor->count() == count && tensor::IsPacked(out.shape(), out.tensor->strides)) return;
  Fail(tensor::kInvalidArgument, "op-packed-out", "{} {} has room for {} elements, one after the other",
       out.name, out.shape().ToString(), count);
}

}  // namespace

void Unique2(Plan& plan, DType, const Operand& self, bool /*sorted*/, bool returnInverse, bool returnCounts,
             const Operand& out, const Operand& inverseOut, const Operand& countsOut) {
  const int64_t count = self.tensor->count();
  CheckSameType(self, out);
  CheckRoom(out, count);
  std::vector<const Operand*> given = {&self};
  for (const auto& [asked, result] :
       {std::pair(returnInverse, &inverseOut), std::pair(returnCounts, &countsOut)}) {
    if (asked) CheckRoom(*result, count), given.push_back(result);
  }
  const bool floats = IsFloat(self.dtype());
  const DType wide = floats ? DType::kF64 : DType::kI64;
  const Told values = plan.TellsShapeOf(out.binding),
             counts = returnCounts ? plan.TellsShapeOf(countsOut.binding) : nullptr;
  PlanThrough(
      plan, tensor::PackedOf(wide, self.shape()), given, out,
      [&](Plan& part, const auto& in, const Operand& keys) { Copy(part, wide, in[0], keys); },
      [&](Plan& part, const auto& in, const Operand& keys, const Operand& to) {
        UniqueBody body{keys.binding,       floats, count, self.dtype(),
                        Target(to, values), {},     {},    Scratch<int64_t>(part, count)};
        if (returnInverse) body.inverse = Target(in[1], nullptr);
        if (returnCounts) body.counts = Target(in[returnInverse ? 2 : 1], counts);
        part.SetCost(500 + static_cast<uint64_t>(count) * 50);
        part.SetBody(body);
      });
}

void Unique(Plan& plan, DType compute, const Operand& self, bool sorted, bool returnInverse,
            const Operand& out, const Operand& inverseOut) {
  Unique2(plan, compute, self, sorted, returnInverse, false, out, inverseOut, {});
}

}  // namespace belay::ops::kernels
