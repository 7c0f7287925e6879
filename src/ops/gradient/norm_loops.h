// The arithmetic of normalisations' gradients on packed rows, compiled for each instruction set.
#pragma once

#include <cstdint>

namespace belay::ops {

// Sums in lanes, whose order no processor changes.
class NormSums {
 public:
  static constexpr int64_t kLanes = 16;

  double* lanes(int sum) { return lanes_[sum]; }
  double Total(int sum) const {
    double total = 0;
    for (double lane : lanes_[sum]) total += lane;
    return total;
  }

 private:
  alignas(64) double lanes_[2][kLanes] = {};
};

struct NormGradientLoops {
  // sum 0 += g * w, sum 1 += g * w * (x - mean) * rstd; w may be null: 1
  void (*sums)(const float* g, const float* x, const float* w, float mean, float rstd, int64_t n,
               NormSums* sums);
  // dx = rstd * (g * w * scale - both[0] - (x - mean) * rstd * both[1]); w may be null: 1
  void (*apply)(float* dx, const float* g, const float* x, const float* w, float scale, float mean,
                float rstd, const float* both, int64_t n);
  // weight[i] += g[i] * (x[i] - mean) * rstd, bias[i] += g[i]
  void (*columns)(const float* g, const float* x, float mean, float rstd, int64_t n, double* weight,
                  double* bias);
};

const NormGradientLoops& BestNormGradientLoops();

}  // namespace belay::ops
