#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool/pool_loops.cc"
#include "ops/pool/pool_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

// The compiler turns these into vectors of the target, as long as nothing is compared only sometimes. A NaN
// that is met stays.
template <class T>
void Max(T* __restrict__ most, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T old = most[i], greater = x[i] <= old ? old : x[i];
    most[i] = old != old ? old : greater;
  }
}

template <class T>
void MaxPlace(T* __restrict__ most, int64_t* __restrict__ places, const T* __restrict__ x, int64_t place,
              int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool keep = (x[i] <= most[i]) | (most[i] != most[i]);
    most[i] = keep ? most[i] : x[i];
    places[i] = keep ? places[i] : place;
  }
}

template <class T>
void Add(T* __restrict__ sum, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

template <class T>
void AddSquare(T* __restrict__ sum, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] * x[i];
}

template <class T>
void AddSize(T* __restrict__ sum, const T* __restrict__ x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i] < 0 ? -x[i] : x[i];
}

template <class T>
void Scale(T* x, T factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

constexpr PoolLoops<float> kLoopsF32{&Max<float>,       &MaxPlace<float>, &Add<float>,
                                     &AddSquare<float>, &AddSize<float>,  &Scale<float>};
constexpr PoolLoops<double> kLoopsF64{&Max<double>,       &MaxPlace<double>, &Add<double>,
                                      &AddSquare<double>, &AddSize<double>,  &Scale<double>};
const PoolLoops<float>& PoolLoopsF32() { return kLoopsF32; }
const PoolLoops<double>& PoolLoopsF64() { return kLoopsF64; }

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(PoolLoopsF32);
BELAY_SIMD_EXPORT(PoolLoopsF64);
const PoolLoops<float>& BestPoolLoopsF32() { return BELAY_SIMD_CALL(PoolLoopsF32)(); }
const PoolLoops<double>& BestPoolLoopsF64() { return BELAY_SIMD_CALL(PoolLoopsF64)(); }
}  // namespace belay::ops
#endif
