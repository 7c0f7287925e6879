// A packed f32 stand-in for an operand, for kernels that compute on packed floats only.
#pragma once

#include "ops/conv/channels_last.h"

namespace belay::ops {

class FloatCopy {
 public:
  FloatCopy() = default;
  explicit FloatCopy(const Operand& operand);

  bool present() const { return binding_ >= 0; }
  void Load(float* to, const Frame& frame) const;
  void Store(const Frame& frame, const float* from) const;

 private:
  int binding_ = -1;
  Conversion load_, store_;
};

}  // namespace belay::ops
