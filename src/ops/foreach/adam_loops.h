// A step of Adam with decoupled weight decay.
#pragma once

#include <cstdint>

namespace belay::ops {

struct AdamStep {
  float sign;                          // of the gradient: -1 where the sum is to grow
  float rest1, kept2, rest2, epsilon;  // 1 - beta1, beta2, 1 - beta2
  float size, root, kept;              // of a step, of the mean square, and what decay leaves

  // Moves n elements of x. `most`, null where it is not wanted, is the largest mean square so far.
  void Run(float* x, float* mean, float* square, float* most, const float* gradient, int64_t n) const;
};

}  // namespace belay::ops
