// The type in which operands of different types are computed (the "mutual derivation" table of the
// aclnn pages), and into which types a result may be written.
#pragma once

#include "tensor/dtype.h"

namespace belay::tensor {

// kUndefined where the table has no entry.
DType Promote(DType a, DType b);

// The type of a tensor combined with a scalar. The scalar is weak: it decides only when it is of a
// higher class (bool < int < float < complex) than the tensor, and a float scalar then means f32.
DType PromoteScalar(DType tensor, DType scalar);

// A result computed in `from` may be written as `to`: never from complex to real, from float to
// integer, or from anything else to bool.
bool CanCast(DType from, DType to);

}  // namespace belay::tensor
