// A packed f32 stand-in for an operand, for kernels that compute on packed floats only.
#pragma once

#include "ops/loop_nest.h"
#include "ops/pipeline.h"

namespace belay::ops {

class FloatCopy {
 public:
  FloatCopy() = default;
  explicit FloatCopy(const Operand& operand);

  bool present() const { return binding_ >= 0; }
  int64_t count() const { return load_.count(); }
  void Load(float* to, const Frame& frame) const;
  void Store(const Frame& frame, const float* from) const;

 private:
  int binding_ = -1;
  LoopNest load_;   // stand-in, operand
  LoopNest store_;  // operand, stand-in
  Lane load_lane_, store_lane_;
};

}  // namespace belay::ops
