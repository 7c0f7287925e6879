#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gradient/gradient_loops.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"

#ifndef BELAY_OPS_GRADIENT_LOOPS_ONCE
#define BELAY_OPS_GRADIENT_LOOPS_ONCE
#include "ops/elementwise/loops.h"
#include "ops/gradient/gradient_loops.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

template <class T>
inline T SiluSlope(T x) {
  const T gate = Sigmoid(x);
  return gate + x * gate * (1 - gate);
}
// The normal distribution's function, and x times its density.
template <class T>
inline T GeluSlope(T x) {
  return T(0.5) * (1 + Erf(x * T(0.70710678118654752))) + x * T(0.39894228040143268) * Exp(T(-0.5) * x * x);
}

// The same of the function's approximation, x * sigmoid(2 u).
template <class T>
inline T GeluTanhSlope(T x) {
  const T gate = Sigmoid(T(1.5957691216057308) * (x + T(0.044715) * x * x * x));
  return gate + x * gate * (1 - gate) * T(1.5957691216057308) * (1 + T(0.134145) * x * x);
}

BELAY_BINARY_LOOP(SiluGrad, a* SiluSlope(b))
BELAY_BINARY_LOOP(GeluGrad, a* GeluSlope(b))
BELAY_BINARY_LOOP(GeluTanhGrad, a* GeluTanhSlope(b))
BELAY_TERNARY_LOOP(GeluGateGrad, a* c* GeluSlope(b))
BELAY_TERNARY_LOOP(GeluTanhGateGrad, a* c* GeluTanhSlope(b))
BELAY_TERNARY_LOOP(GateGrad, a* c* SiluSlope(b))
BELAY_BINARY_LOOP(GatedGrad, a* b* Sigmoid(b))
BELAY_BINARY_LOOP(ThresholdGrad, b > p ? a : T{0})
BELAY_BINARY_LOOP(Product, a* b)
BELAY_BINARY_LOOP(SoftmaxGrad, b*(a - p))
BELAY_BINARY_LOOP(LogSoftmaxGrad, a - Exp(b) * p)
BELAY_LOOPS_OF_FLOATS(SiluGrad)
BELAY_LOOPS_OF_FLOATS(GeluGrad)
BELAY_LOOPS_OF_FLOATS(GeluTanhGrad)
BELAY_LOOPS_OF_FLOATS(GeluGateGrad)
BELAY_LOOPS_OF_FLOATS(GeluTanhGateGrad)
BELAY_LOOPS_OF_FLOATS(GateGrad)
BELAY_LOOPS_OF_FLOATS(GatedGrad)
BELAY_LOOPS_OF_ALL(ThresholdGrad)
BELAY_LOOPS_OF_FLOATS(Product)
BELAY_LOOPS_OF_FLOATS(SoftmaxGrad)
BELAY_LOOPS_OF_FLOATS(LogSoftmaxGrad)

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {

BELAY_SIMD_EXPORT(SiluGradLoops);
BELAY_SIMD_EXPORT(GeluGradLoops);
BELAY_SIMD_EXPORT(GeluTanhGradLoops);
BELAY_SIMD_EXPORT(GeluGateGradLoops);
BELAY_SIMD_EXPORT(GeluTanhGateGradLoops);
BELAY_SIMD_EXPORT(GateGradLoops);
BELAY_SIMD_EXPORT(GatedGradLoops);
BELAY_SIMD_EXPORT(ThresholdGradLoops);
BELAY_SIMD_EXPORT(ProductLoops);
BELAY_SIMD_EXPORT(SoftmaxGradLoops);
BELAY_SIMD_EXPORT(LogSoftmaxGradLoops);

PointwiseLoops BestSiluGradLoops() { return BELAY_SIMD_CALL(SiluGradLoops)(); }
PointwiseLoops BestGeluGradLoops() { return BELAY_SIMD_CALL(GeluGradLoops)(); }
PointwiseLoops BestGeluTanhGradLoops() { return BELAY_SIMD_CALL(GeluTanhGradLoops)(); }
PointwiseLoops BestGeluGateGradLoops() { return BELAY_SIMD_CALL(GeluGateGradLoops)(); }
PointwiseLoops BestGeluTanhGateGradLoops() { return BELAY_SIMD_CALL(GeluTanhGateGradLoops)(); }
PointwiseLoops BestGateGradLoops() { return BELAY_SIMD_CALL(GateGradLoops)(); }
PointwiseLoops BestGatedGradLoops() { return BELAY_SIMD_CALL(GatedGradLoops)(); }
PointwiseLoops BestThresholdGradLoops() { return BELAY_SIMD_CALL(ThresholdGradLoops)(); }
PointwiseLoops BestProductLoops() { return BELAY_SIMD_CALL(ProductLoops)(); }
PointwiseLoops BestSoftmaxGradLoops() { return BELAY_SIMD_CALL(SoftmaxGradLoops)(); }
PointwiseLoops BestLogSoftmaxGradLoops() { return BELAY_SIMD_CALL(LogSoftmaxGradLoops)(); }

}  // namespace belay::ops
#endif  // HWY_ONCE
