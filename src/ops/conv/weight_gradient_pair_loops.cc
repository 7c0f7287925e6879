// Sums of products of BFLOAT16 numbers by the processor's instruction for these, which multiplies two pairs
// of them and adds both products to a float.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "base/simd_targets.h"
#include "ops/conv/weight_gradient_loops.h"

namespace belay::ops {

#if defined(__x86_64__)
namespace {

#define BELAY_PAIRS gnu::target("avx512f,avx512bf16")

constexpr int64_t kPairLanes = 16;  // of a vector

// kAlone: the second of each pair is of another row, and does not count.
template <bool kAlone>
[[BELAY_PAIRS, gnu::always_inline]] inline __m512bh Counted(__m512i pairs) {
  return (__m512bh)(kAlone ? _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff)) : pairs);
}

template <int kVectors, bool kAlone>
[[BELAY_PAIRS, gnu::always_inline]] inline void AddPair(const float* x, const float* g,
                                                        __m512 (&sums)[kGradientRows][kVectors]) {
  __m512bh seen_here[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) seen_here[v] = Counted<kAlone>(_mm512_loadu_si512(x + v * kPairLanes));
#pragma GCC unroll 8
  for (int r = 0; r < kGradientRows; ++r) {
    int both;
    std::memcpy(&both, g + r, sizeof both);
    const __m512bh by = Counted<kAlone>(_mm512_set1_epi32(both));
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], by, seen_here[v]);
  }
}

// The sums of some positions, which floats hold well enough, join those of all.
template <int kVectors>
[[BELAY_PAIRS, gnu::always_inline]] inline void JoinPairs(const __m512 (&sums)[kGradientRows][kVectors],
                                                          bool first, double* to) {
#pragma GCC unroll 8
  for (int r = 0; r < kGradientRows; ++r) {
    alignas(64) float some[kVectors * kPairLanes];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm512_store_ps(some + v * kPairLanes, sums[r][v]);
    for (int64_t i = 0; i < kVectors * kPairLanes; ++i) to[i] = first ? some[i] : to[i] + some[i];
    to += kVectors * kPairLanes;
  }
}

template <int kVectors>
[[BELAY_PAIRS]] void AddPairs(const TapRows& seen, const float* pixels, const float* grad, double* to) {
  constexpr int64_t kWidth = kVectors * kPairLanes;
  __m512 sums[kGradientRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kGradientRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  for (const TapRow* row = seen.rows; row != seen.rows + seen.count; ++row) {
    const float* x = pixels + row->pixel * kWidth;
    const float* g = grad + row->position * kGradientRows;
    int64_t left = row->count;
    for (; left > 1; left -= 2, x += 2 * seen.step * kWidth, g += 2 * kGradientRows)
      AddPair<kVectors, false>(x, g, sums);
    if (left == 1) AddPair<kVectors, true>(x, g, sums);
  }
  JoinPairs<kVectors>(sums, seen.first, to);
}

void AddOuterPairs(const TapRows& seen, const float* pixels, const float* grad, int64_t panel, double* sums) {
  panel == kGradientPanel ? AddPairs<kGradientPanel / kPairLanes>(seen, pixels, grad, sums)
                          : AddPairs<kGradientLanes / kPairLanes>(seen, pixels, grad, sums);
}

}  // namespace
#endif

void TakePairs([[maybe_unused]] WeightGradientLoops& loops) {
#if defined(__x86_64__)
  if (simd::Level() == 2 && __builtin_cpu_supports("avx512bf16"))
    loops.add_outer = &AddOuterPairs, loops.by_pairs = true;
#endif
}

}  // namespace belay::ops
