#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/index/place_loops.cc"
#include "ops/index/place_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

// Each index is read once, as somebody may change it meanwhile. Without a sign, so that nothing overflows:
// the highest bit of `beyond` tells.
struct Place {
  uint64_t place, beyond;
  Place(int64_t given, int64_t size)
      : place(static_cast<uint64_t>(given) + static_cast<uint64_t>(given < 0 ? size : 0)),
        beyond(place | (static_cast<uint64_t>(size) - 1 - place)) {}
};

bool PlacesOf(const int64_t* given, int64_t n, int64_t size, int64_t begin, int64_t along, int64_t across,
              int64_t* offsets) {
  constexpr int64_t kNarrow = int64_t{1} << 31;
  uint64_t beyond = 0;
  if (size <= kNarrow && across >= 0 && across < kNarrow) {  // products of 32 bits, which every processor has
    const auto step = static_cast<uint32_t>(across);
    for (int64_t k = 0; k < n; ++k) {
      const Place place(given[k], size);
      beyond |= place.beyond;
      offsets[k] = begin + static_cast<int64_t>(uint64_t{static_cast<uint32_t>(place.place)} * step);
    }
    for (int64_t k = 0, gone = 0; along != 0 && k < n; ++k, gone += along) offsets[k] += gone;
  } else {
    for (int64_t k = 0; k < n; ++k) {
      const Place place(given[k], size);
      beyond |= place.beyond;
      offsets[k] = begin + k * along + static_cast<int64_t>(place.place * static_cast<uint64_t>(across));
    }
  }
  return beyond >> 63 == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(PlacesOf);
PlaceLoop BestPlaceLoop() { return BELAY_SIMD_CALL(PlacesOf); }
}  // namespace belay::ops
#endif
