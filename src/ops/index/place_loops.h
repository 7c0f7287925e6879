// Places that indices name.
#pragma once

#include <cstdint>

namespace belay::ops {

// offsets[k] = begin + k * along + place * across, where `place` is given[k], counted from the end if it is
// negative. False: an index is beyond `size`, and the offsets are good for nothing.
using PlaceLoop = bool (*)(const int64_t* given, int64_t n, int64_t size, int64_t begin, int64_t along,
                           int64_t across, int64_t* offsets);
PlaceLoop BestPlaceLoop();

}  // namespace belay::ops
