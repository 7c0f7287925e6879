// Pointwise operators one after the other on a block of rows at a time, so that what they hand on
// stays in the cache.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// What a step reads beside the value that is handed on.
enum class Spread : uint8_t {
  kNothing,
  kWhole,  // an element for each
  kRows,   // one row, which all share, or one element
};

struct ChainStep {
  Spread spread = Spread::kNothing;
  Operand operand = {};  // none for kNothing
};

struct ChainArgs {
  Operand x, out;  // packed f32
  int64_t rows = 0, row = 0;
  std::vector<ChainStep> steps;
};

// Rows of a block: a few thousand elements.
int64_t ChainBlockRows(int64_t rows, int64_t row);
// `whole` and `rest` are the plans of the steps for blocks of ChainBlockRows, and for the rows that
// are left. Their bindings are the value that is handed on, what the step reads beside it, and the
// result; they need no workspace.
void PlanChain(Plan& plan, const ChainArgs& args, std::vector<PlanRef> whole, std::vector<PlanRef> rest);

}  // namespace belay::ops
