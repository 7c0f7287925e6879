// Places that indices name, and what is added there.
#pragma once

#include <cstdint>

namespace belay::ops {

// offsets[k] = begin + k * along + place * across, where `place` is given[k], counted from the end if it is
// negative. False: an index is beyond `size`, and the offsets are good for nothing.
using PlaceLoop = bool (*)(const int64_t* given, int64_t n, int64_t size, int64_t begin, int64_t along,
                           int64_t across, int64_t* offsets);
PlaceLoop BestPlaceLoop();

// Rows of `depth` indices, each of a dimension of its own: offsets[r] is the sum of place * steps[k] over a
// row, which may lie where the row's indices or earlier ones did. False as above.
using RowPlaceLoop = bool (*)(const int64_t* given, int64_t rows, int64_t depth, const int64_t* sizes,
                              const int64_t* steps, int64_t* offsets);
RowPlaceLoop BestRowPlaceLoop();

// Combines a row with what is there: to[i] += from[i] * factor, or without a factor the product and the
// larger or smaller one, of which NaN is either.
using RowLoop = void (*)(const float* from, int64_t n, float factor, float* to);
RowLoop BestAddRowLoop();
RowLoop BestMultiplyRowLoop();
RowLoop BestMaxRowLoop();
RowLoop BestMinRowLoop();

}  // namespace belay::ops
