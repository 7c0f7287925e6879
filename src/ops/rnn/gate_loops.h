// The gates of recurrent cells with their usual functions (sigmoid and tanh), a row at a time.
#pragma once

#include <cstdint>

namespace belay::ops {

// The sums of one row: both products and both biases (null: none), [gates * hidden] each.
struct GateSums {
  const float *from_x, *from_h, *bias_x, *bias_h;
};

struct GateLoops {
  // Input, output, forget, cell: changes the cell's memory and sets its state.
  void (*lstm)(const GateSums& sums, int64_t hidden, float* memory, float* state);
  // Update, reset, hidden. `reset_after`: the reset gate acts on the product; else it has acted already.
  void (*gru)(const GateSums& sums, int64_t hidden, bool reset_after, float* state);
  // What the reset gate (the second one) leaves of the state.
  void (*reset)(const GateSums& sums, int64_t hidden, const float* state, float* left);
  // The plain cell's only gate, with tanh or what cuts to 0.
  void (*plain)(const GateSums& sums, int64_t hidden, bool relu, float* state);
};

const GateLoops& BestGateLoops();

}  // namespace belay::ops
