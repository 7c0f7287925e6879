// The arithmetic of collectives: always in the order in which the operands are given, so that results repeat
// bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/operations.h"
#include "tensor/dtype.h"

namespace belay::coll {

// Of the type of the result. Of a result of 16-bit floats, or in f32: a partial result of them; and the other
// way round.
struct Operand {
  const std::byte* at;
  tensor::DType type;
};

// outs[j][i] = ins[0][i] op ins[1][i] op ..., for `count` elements. 16-bit floats are folded in f32 and
// rounded once; integers wrap; a NaN wins. An output may be an input of its type, or lie apart from all.
void ReduceInto(tensor::DType type, Reduction op, std::byte* const* outs, size_t out_count,
                const Operand* ins, size_t in_count, size_t count);

// The type of a partial result, which is reduced further.
tensor::DType PartialType(tensor::DType type, Reduction op);

}  // namespace belay::coll
