#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/experts/row_loops.cc"
#include "ops/experts/row_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

#define BELAY_EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i)

void AddRows(float* to, const float* a, const float* b, int64_t n) { BELAY_EACH to[i] = a[i] + b[i]; }

void AddRowTimes(float* to, const float* x, float factor, int64_t n) { BELAY_EACH to[i] += x[i] * factor; }

// NaN stays.
void AddPositiveRowTimes(float* to, const float* x, float factor, int64_t n) {
  BELAY_EACH to[i] += (x[i] < 0 ? 0 : x[i]) * factor;
}

void MultiplyRows(float* to, const float* a, const float* b, int64_t n) { BELAY_EACH to[i] = a[i] * b[i]; }

void MultiplyRowBy(float* to, const float* a, float factor, int64_t n) { BELAY_EACH to[i] = a[i] * factor; }

void DivideRows(float* to, const float* a, const float* b, int64_t n) { BELAY_EACH to[i] = a[i] / b[i]; }

void SigmoidRow(float* to, const float* x, int64_t n) { BELAY_EACH to[i] = Sigmoid(x[i]); }

void GateRow(float* to, const float* active, const float* gate, GateLimits limits, int64_t n) {
  if (!limits.limited) {
    BELAY_EACH to[i] = active[i] * Sigmoid(active[i]) * gate[i];
    return;
  }
  const float most = limits.limit, alpha = limits.alpha, bias = limits.bias;
  BELAY_EACH {
    const float a = active[i] > most ? most : active[i], low = gate[i] < -most ? -most : gate[i];
    to[i] = a * Sigmoid(alpha * a) * ((low > most ? most : low) + bias);
  }
}

void TurnHalves(float* to, const float* x, const float* cos, const float* sin, int64_t n) {
  BELAY_EACH {
    const float a = x[i], b = x[n + i];
    to[i] = a * cos[i] - b * sin[i];
    to[n + i] = b * cos[n + i] + a * sin[n + i];
  }
}

void TurnNeighbours(float* to, const float* x, const float* cos, const float* sin, int64_t n) {
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i += 2) {
    const float a = x[i], b = x[i + 1];
    to[i] = a * cos[i] - b * sin[i];
    to[i + 1] = b * cos[i + 1] + a * sin[i + 1];
  }
}
#undef BELAY_EACH

constexpr RowLoops kRowLoops{&AddRows,       &AddRowTimes,   &AddPositiveRowTimes, &MultiplyRows,
                             &MultiplyRowBy, &DivideRows,    &SigmoidRow,          &GateRow,
                             &TurnHalves,    &TurnNeighbours};
const RowLoops& RowLoopsHere() { return kRowLoops; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(RowLoopsHere);
const RowLoops& BestRowLoops() { return BELAY_SIMD_CALL(RowLoopsHere)(); }
}  // namespace belay::ops
#endif
