// A GRU of one layer whose reset gate acts behind the product, which keeps what its gradient needs, and the
// gradient.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

struct GruArgs {
  Operand x;                  // [t, n, in]
  Operand w_input, w_hidden;  // [in, 3h], [h, 3h]
  Operand b_input, b_hidden;  // [3h], each may be absent
  Operand h0;                 // [n, h]
  bool update_first = false;  // the gates are update, reset, new in place of reset, update, new
};

// Each is [t, n, h]: the gates, the product behind the reset gate with its bias, the states.
struct GruKept {
  Operand update, reset, next, hidden, h;
};

void PlanGruTraining(Plan& plan, const GruArgs& args, const GruKept& kept, const Operand& y);

struct GruGradients {
  Operand dy, dh;  // given: [t, n, h], and [n, h] of the last state
  Operand w_input, w_hidden, b_input, b_hidden, x, h0;
};
void PlanGruGradient(Plan& plan, const GruArgs& args, const GruKept& kept, const GruGradients& gradients);

}  // namespace belay::ops
