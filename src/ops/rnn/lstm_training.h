// An LSTM of several layers that keeps what its gradient needs, and the gradient.
#pragma once

#include <array>
#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// Members of lists stand for layer * directions + direction.
struct LstmArgs {
  Operand input;       // [t, n, in], or [n, t, in]; [t * n, in] where there are batch sizes
  OperandList params;  // for each: weights [4h, in] and [4h, h], biases [4h] and [4h] where there are any
  Operand h0, c0;      // [layers * directions, n, h]
  int64_t layers;
  bool biased, bidirectional, batch_first;
  bool one_bias = false;                    // both in one [4h]
  std::array<int, 4> gates = {0, 1, 2, 3};  // where i, f, j and o stand in weights and biases
  // Which sequences have which steps: [t], how many have each, from the first on; or [t, n], 0 where one has
  // not. Where both are absent all have all.
  Operand batch_sizes = {}, mask = {};
  bool reversed = false;  // of one direction: it begins with the last step
};

// Each list is empty or has a tensor [t, n, h] for each: gates after their functions, states and tanh(c).
struct LstmKept {
  OperandList i, j, f, o, h, c, tanhc;
};

// The last states h and c may be absent.
void PlanLstmTraining(Plan& plan, const LstmArgs& args, const LstmKept& kept, const Operand& output,
                      const Operand& h, const Operand& c);

struct LstmGradients {
  Operand dy, dh, dc;  // given; dh and dc may be absent
  Operand dx, dh_prev, dc_prev;
  OperandList params;
};
void PlanLstmGradient(Plan& plan, const LstmArgs& args, const LstmKept& kept, const LstmGradients& gradients);

}  // namespace belay::ops
