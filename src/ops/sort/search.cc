#include "ops/sort/search.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// NaN comes last.
bool SearchedBefore(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool SearchedBefore(int64_t a, int64_t b) { return a < b; }

template <class T>
struct SearchBody {
  int64_t count, length, each;  // values, elements of a row of `sorted`, values that share one
  bool right;
  int64_t offsets[3];
  int bindings[3];  // sorted, values, out

  void operator()(const Frame& frame) const {
    const auto* sorted = reinterpret_cast<const T*>(frame.at[bindings[0]] + offsets[0]);
    const auto* values = reinterpret_cast<const T*>(frame.at[bindings[1]] + offsets[1]);
    auto* out = reinterpret_cast<int64_t*>(frame.at[bindings[2]] + offsets[2]);
    const auto before = [](T a, T b) { return SearchedBefore(a, b); };
    ParallelFor(count, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = sorted + i / each * length;
        const T* at = right ? std::upper_bound(row, row + length, values[i], before)
                            : std::lower_bound(row, row + length, values[i], before);
        out[i] = at - row;
      }
    });
  }
};

}  // namespace

void PlanSearchSorted(Plan& plan, const Operand& sorted, const Operand& values, bool right,
                      const Operand& out) {
  const int64_t count = out.tensor->count();
  if (count == 0) return;
  const Shape rows = sorted.shape(), shape = values.shape();
  const int64_t each = rows.rank() == 1 ? count : shape.back(0);
  plan.SetCost(100 + static_cast<uint64_t>(count) * 20);
  const auto set = [&](auto type) {
    plan.SetBody(SearchBody<decltype(type)>{
        count,
        rows.back(0),
        each,
        right,
        {OffsetOf(*sorted.tensor), OffsetOf(*values.tensor), OffsetOf(*out.tensor)},
        {sorted.binding, values.binding, out.binding}});
  };
  values.dtype() == DType::kF64 ? set(double{}) : set(int64_t{});
}

}  // namespace belay::ops
