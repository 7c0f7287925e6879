// The arithmetic of collectives: always in the order of the ranks, so that results repeat bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/operations.h"
#include "tensor/dtype.h"

namespace belay::coll {

// outs[j][i] = ins[0][i] op ins[1][i] op ..., for `count` elements. 16-bit floats are folded in f32 and
// rounded once; integers wrap; a NaN wins. An output may be an input, or lie apart from all.
void ReduceInto(tensor::DType type, Reduction op, std::byte* const* outs, size_t out_count,
                const std::byte* const* ins, size_t in_count, size_t count);

}  // namespace belay::coll
