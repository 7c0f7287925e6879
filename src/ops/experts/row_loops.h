// The arithmetic of rows of floats between products: sums, gates, turns.
#pragma once

#include <cstdint>

namespace belay::ops {

// How a gated row is made: see SwigluForm.
struct GateLimits {
  bool limited;
  float limit, alpha, bias;
};

// What a row becomes goes to `to`, which may be one of the operands.
struct RowLoops {
  void (*add)(float* to, const float* a, const float* b, int64_t n);
  void (*add_times)(float* to, const float* x, float factor, int64_t n);           // to += x * factor
  void (*add_positive_times)(float* to, const float* x, float factor, int64_t n);  // the same of max(x, 0)
  void (*multiply)(float* to, const float* a, const float* b, int64_t n);
  void (*multiply_by)(float* to, const float* a, float factor, int64_t n);
  void (*divide)(float* to, const float* a, const float* b, int64_t n);
  void (*sigmoid)(float* to, const float* x, int64_t n);
  // silu(active) * gate
  void (*gate)(float* to, const float* active, const float* gate, GateLimits limits, int64_t n);
  // x * cos, with the half that follows it turned into its place and back, times sin; the same of neighbours.
  void (*turn_halves)(float* to, const float* x, const float* cos, const float* sin, int64_t half);
  void (*turn_neighbours)(float* to, const float* x, const float* cos, const float* sin, int64_t n);
};

const RowLoops& BestRowLoops();

}  // namespace belay::ops
