#include "ops/layout/moved_axes.h"

#include <algorithm>

namespace belay::ops {
namespace {

bool GoesByEvenSteps(const AxisMap& map) {
  if (map.empty() || std::find(map.begin(), map.end(), kNoSource) != map.end()) return false;
  for (size_t i = 2; i < map.size(); ++i) {
    if (map[i] - map[i - 1] != map[1] - map[0]) return false;
  }
  return true;
}

}  // namespace

int64_t TimesOf(const MovedAxis& axis, int64_t element) {
  int64_t times = 1;
  while (times < axis.size && axis.Source(times) == axis.Source(0)) ++times;
  if (times == 1 || axis.size % times != 0) return 0;
  for (int64_t i = 0; i < axis.size; ++i) {
    if (axis.Source(i) != axis.Source(0) + i / times * element) return 0;
  }
  return times;
}

void MovedAxes::Add(const AxisMap& map, int64_t step, int64_t in_step) {
  const auto size = static_cast<int64_t>(map.size());
  if (GoesByEvenSteps(map)) {
    first += map[0] * in_step;
    return AddEven(size, step, size > 1 ? (map[1] - map[0]) * in_step : 0);
  }
  MovedAxis axis{size, step, 0, {}};
  axis.sources.reserve(map.size());
  for (int64_t source : map) axis.sources.push_back(source == kNoSource ? kNoSource : source * in_step);
  axes.push_back(std::move(axis));
}

void MovedAxes::AddEven(int64_t size, int64_t step, int64_t in_step) {
  if (size == 1) return;
  MovedAxis* outer = axes.empty() ? nullptr : &axes.back();
  if (outer == nullptr || !outer->even() || outer->step != size * step || outer->in_step != size * in_step)
    return axes.push_back({size, step, in_step, {}});
  outer->size *= size, outer->step = step, outer->in_step = in_step;
}

}  // namespace belay::ops
