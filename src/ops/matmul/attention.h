// What attention computes, softmax(scale * query x key + mask) x value, a few rows at a time, so that the
// scores stay in the cache and are never written as a tensor.
#pragma once

#include "ops/schema.h"

namespace belay::ops {

// Tensors of f32 with two dimensions of batches, in which all but the mask agree: query [.., m, d], key [..,
// d, n], value [.., n, v], out [.., m, v]. The mask may be absent; it is a view as large as the scores, [..,
// m, n]. The rows of query and out lie along memory, of key and value the rows or the columns.
struct AttentionArgs {
  Operand query, key, value, mask, out;
  float scale = 1;
};
void PlanAttention(Plan& plan, const AttentionArgs& args);

}  // namespace belay::ops
