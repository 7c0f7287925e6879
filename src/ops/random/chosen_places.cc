#include "ops/random/chosen_places.h"

#include <algorithm>
#include <utility>

#include "ops/packed_doubles.h"

namespace belay::ops {

void PlanChosenPlaces(Plan& plan, const Operand& x, std::shared_ptr<RandomSequence> sequence,
                      const Operand& places, const Operand& mask) {
  const Shape shape = x.shape();
  const int64_t count = mask.tensor->count(), elements = x.tensor->count();
  const auto work = [=, sequence = std::move(sequence)](const double* const* in, double* const* out) {
    const Philox philox = sequence->Take(static_cast<uint64_t>(elements + 1) / 2);
    int64_t left = std::count_if(in[0], in[0] + elements, [](double v) { return v != 0; }), chosen = 0;
    for (int64_t i = 0; i < elements && chosen < count; ++i) {
      if (in[0][i] == 0) continue;
      // As many as are wanted of those that are left (Knuth's algorithm S).
      const double u = philox.Uniform(static_cast<uint64_t>(i));
      if (u * static_cast<double>(left--) >= static_cast<double>(count - chosen)) continue;
      int64_t rest = i;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        out[0][chosen * shape.rank() + d] = static_cast<double>(rest % shape[d]);
        rest /= shape[d];
      }
      out[1][chosen++] = 1;
    }
    std::fill(out[0] + chosen * shape.rank(), out[0] + count * shape.rank(), 0.0);
    std::fill(out[1] + chosen, out[1] + count, 0.0);
  };
  PlanDoubles(plan, {&x}, {&places, &mask}, static_cast<uint64_t>(elements) * 10, work);
}

}  // namespace belay::ops
