#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rnn/gate_loops.cc"
#include "ops/rnn/gate_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

// Gates of one row, added up and put through their functions block by block, so that each loop is one of
// vectors.
constexpr int64_t kBlock = 64;

// sums[0..count) of a gate from element `at` on.
inline void Add(const GateSums& g, int64_t at, int64_t count, float* __restrict__ sums) {
  const float* __restrict__ x = g.from_x + at, * __restrict__ h = g.from_h + at;
  for (int64_t i = 0; i < count; ++i) sums[i] = x[i] + h[i];
  if (g.bias_x == nullptr) return;
  const float* __restrict__ bx = g.bias_x + at, * __restrict__ bh = g.bias_h + at;
  for (int64_t i = 0; i < count; ++i) sums[i] += bx[i] + bh[i];
}

// What comes from one side alone.
inline void AddBias(const float* __restrict__ from, const float* __restrict__ bias, int64_t count,
                    float* __restrict__ sums) {
  if (bias == nullptr) {
    for (int64_t i = 0; i < count; ++i) sums[i] = from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i] = from[i] + bias[i];
  }
}

inline void AddSigmoid(const GateSums& g, int64_t at, int64_t count, float* __restrict__ out) {
  Add(g, at, count, out);
  for (int64_t i = 0; i < count; ++i) out[i] = Sigmoid(out[i]);
}

void LstmGates(const GateSums& g, int64_t hidden, float* memory, float* state) {
  float in[kBlock], out[kBlock], forget[kBlock], fresh[kBlock];
  for (int64_t from = 0; from < hidden; from += kBlock) {
    const int64_t count = hidden - from < kBlock ? hidden - from : kBlock;
    AddSigmoid(g, from, count, in);
    AddSigmoid(g, hidden + from, count, out);
    AddSigmoid(g, 2 * hidden + from, count, forget);
    Add(g, 3 * hidden + from, count, fresh);
    float* __restrict__ c = memory + from, * __restrict__ h = state + from;
    for (int64_t i = 0; i < count; ++i) {
      c[i] = forget[i] * c[i] + in[i] * Tanh(fresh[i]);
      h[i] = out[i] * Tanh(c[i]);
    }
  }
}

void GruGates(const GateSums& g, int64_t hidden, bool reset_after, float* state) {
  float update[kBlock], reset[kBlock], seen[kBlock], fresh[kBlock];
  for (int64_t from = 0; from < hidden; from += kBlock) {
    const int64_t count = hidden - from < kBlock ? hidden - from : kBlock, last = 2 * hidden + from;
    AddSigmoid(g, from, count, update);
    AddBias(g.from_h + last, g.bias_x == nullptr ? nullptr : g.bias_h + last, count, seen);
    AddBias(g.from_x + last, g.bias_x == nullptr ? nullptr : g.bias_x + last, count, fresh);
    if (reset_after) {
      AddSigmoid(g, hidden + from, count, reset);
      for (int64_t i = 0; i < count; ++i) seen[i] *= reset[i];
    }
    float* __restrict__ h = state + from;
    for (int64_t i = 0; i < count; ++i) h[i] = (1 - update[i]) * Tanh(fresh[i] + seen[i]) + update[i] * h[i];
  }
}

void ResetState(const GateSums& g, int64_t hidden, const float* state, float* left) {
  AddSigmoid(g, hidden, hidden, left);
  for (int64_t i = 0; i < hidden; ++i) left[i] *= state[i];
}

void PlainGate(const GateSums& g, int64_t hidden, bool relu, float* __restrict__ state) {
  Add(g, 0, hidden, state);
  if (relu) {
    for (int64_t i = 0; i < hidden; ++i) state[i] = state[i] < 0 ? 0 : state[i];  // NaN stays
  } else {
    for (int64_t i = 0; i < hidden; ++i) state[i] = Tanh(state[i]);
  }
}

constexpr GateLoops kGateLoops{&LstmGates, &GruGates, &ResetState, &PlainGate};
const GateLoops& GateLoopsHere() { return kGateLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(GateLoopsHere);
const GateLoops& BestGateLoops() { return BELAY_SIMD_CALL(GateLoopsHere)(); }
}  // namespace belay::ops
#endif
