// Rows of sums that become floats, are gated by their halves, and are quantised by what is in them.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// swish(a) * b of the halves a and b of a row; or, by a card's other formula, of neighbours or halves,
// min(a, limit) * sigmoid(alpha * min(a, limit)) * (b within the limit + bias).
struct SwigluForm {
  bool left = true;         // a is the first half
  bool neighbours = false;  // a and b take turns
  bool limited = false;
  float limit = 0, alpha = 1, bias = 0;
};

struct SwigluRowsArgs {
  const Operand& x;             // [.., 2 n]
  const Operand& column_scale;  // [2 n] or [groups, 2 n], or none
  const Operand& row_scale;     // a number for each row, or none
  const Operand& smooth;        // of results, [n], [groups, n] or [groups], or none
  const Operand& groups;        // how many rows each has (`counts`), or their running sums; or none
  bool counts;
  SwigluForm form;
  const Operand &y, &steps;  // [.., n] of INT8, and a FLOAT for each row
  bool factors = false;      // steps hold what a row was multiplied by, not what makes it again
};

// Rows of no group are left as they are. Throws Error 161002 for shapes that do not fit.
void PlanSwigluRows(Plan& plan, const SwigluRowsArgs& args);

}  // namespace belay::ops
