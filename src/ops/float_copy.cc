#include "ops/float_copy.h"
#include "base/copy_memory.h"

#include <cstring>

namespace belay::ops {

FloatCopy::FloatCopy(const Operand& operand) : binding_(operand.binding) {
  const Tensor packed = PackedLike(operand.shape(), DType::kF32, false);
  load_ = Conversion(operand, packed, true);
  store_ = Conversion(operand, packed, false);
}

void FloatCopy::Load(float* to, const Frame& frame) const {
  const char* from = frame.at[binding_] + load_.offset();
  if (load_.needed()) return load_.Load(from, reinterpret_cast<char*>(to));
  CopyMemory(to, from, static_cast<size_t>(load_.bytes()));
}

void FloatCopy::Store(const Frame& frame, const float* from) const {
  char* to = frame.at[binding_] + store_.offset();
  if (store_.needed()) return store_.Store(to, reinterpret_cast<const char*>(from));
  CopyMemory(to, from, static_cast<size_t>(store_.bytes()));
}

}  // namespace belay::ops
