// Elements that a row of indices names, each index checked and used in one go.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace belay::ops {

// What a row of indices names: of `size` places `across` bytes apart, for each index `along` bytes further.
struct NamedRow {
  int64_t size, across, along;
};

// to[k] = the element that named[k] names, counted from the end where it is negative. Each index is read
// once. False: one is beyond `size`, and what stands behind it is left as it was.
using PickLoop = bool (*)(char* to, const char* from, const char* named, int64_t n, const NamedRow& row);

// For indices that follow each other, as the elements of the result do; null where there is none.
PickLoop PickLoopFor(DType index, int64_t bytes, const NamedRow& row);

}  // namespace belay::ops
