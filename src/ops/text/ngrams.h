// Counting the n-grams of a sequence, as a plan.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace belay::ops {

struct NgramArgs {
  Operand x, out;  // [rows, c] of i64, [rows, width] of f32; both packed
  int64_t shortest = 1, longest = 1, most_skipped = 0;
  std::vector<int64_t> pool;     // the n-grams one behind the other, shortest first
  std::vector<int64_t> starts;   // where those of length 1, 2, ... begin in the pool
  std::vector<int64_t> columns;  // of out, for each n-gram
  std::vector<double> weights;   // for each n-gram; empty: 1
  bool counted = true;           // else an n-gram that occurs counts once
};
// Throws Error when the lists do not fit together.
void PlanNgrams(Plan& plan, const NgramArgs& args);

}  // namespace belay::ops
