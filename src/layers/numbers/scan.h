// Looks for what is no number among the elements of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace belay::numbers {

struct Values {
  static constexpr size_t kNone = SIZE_MAX;
  size_t nan = kNone;     // the first element that is one
  bool infinity = false;  // before that, of either sign
};

// Bytes of an element that may be NaN and is looked at; 0: it is not, as it is an integer or has less than 16
// bits.
size_t BytesOfScanned(tensor::DType type);

// Elements of that type, one behind the other.
Values Scan(const void* begin, size_t bytes, tensor::DType type);

}  // namespace belay::numbers
