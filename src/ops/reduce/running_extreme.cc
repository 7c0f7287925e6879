// The largest or least element so far, and where it is.
#include <cmath>

#include "ops/reduce/reduce.h"

namespace belay::ops {
namespace {

template <class T>
struct RunningExtremeBody {
  int x, values, places;
  int64_t outer, size, inner;
  bool largest;

  // Of equal ones the last; a NaN stays.
  bool Better(T x, T best) const {
    if (x != x) return true;
    return best == best && (largest ? x >= best : x <= best);
  }

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const T*>(frame.at[x]);
    auto* value = reinterpret_cast<T*>(frame.at[values]);
    auto* place = reinterpret_cast<int64_t*>(frame.at[places]);
    for (int64_t line = 0; line < outer * inner; ++line) {
      const int64_t first = line / inner * size * inner + line % inner;
      T best = from[first];
      int64_t where = 0;
      for (int64_t k = 0, at = first; k < size; ++k, at += inner) {
        if (Better(from[at], best)) best = from[at], where = k;
        value[at] = best, place[at] = where;
      }
    }
  }
};

template <class T>
void PlanRunningAs(Plan& plan, bool largest, const Operand& x, int dim, const Operand& values,
                   const Operand& places) {
  RunningExtremeBody<T> body{x.binding, values.binding, places.binding, 1, 1, 1, largest};
  const Shape shape = x.shape();
  for (int i = 0; i < shape.rank(); ++i)
    (i < dim ? body.outer : i == dim ? body.size : body.inner) *= shape[i];
  plan.SetBody(body);
}

}  // namespace

void PlanRunningExtreme(Plan& plan, bool largest, const Operand& x, int dim, const Operand& values,
                        const Operand& places) {
  if (x.tensor->empty()) return;
  if (x.dtype() == DType::kF64) return PlanRunningAs<double>(plan, largest, x, dim, values, places);
  PlanRunningAs<int64_t>(plan, largest, x, dim, values, places);
}

}  // namespace belay::ops
