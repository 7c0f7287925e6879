// Which instruction sets the vector kernels are built for, and how a call finds the best one. Include
// before hwy/foreach_target.h. Highway's headers give us the vectors; its library, which would only
// look up the processor's features, is not linked: a library that is loaded into other people's
// programs should not bring another one along.
//
//   namespace HWY_NAMESPACE { void Add(...); }              // compiled once per instruction set
//   #if HWY_ONCE
//   BELAY_SIMD_CALL(Add)(...)                               // the best that this processor has
//   #endif
#pragma once

// Builds that look at other things than kernels (BelayCompiler.cmake) compile them for the baseline alone.
#ifdef BELAY_BASELINE_VECTORS
#define HWY_COMPILE_ONLY_STATIC
#endif

// The sets between these bring little here, and each costs compile time and bytes.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

namespace belay::simd {

// 0: the architecture's baseline; on x86-64 also 1: AVX2 with FMA and F16C, 2: AVX-512 (F, VL, DQ, BW).
int Level();
// Lowers the level, so that tests reach every variant; returns the level now in force.
int SetLevel(int level);

template <class Function>
struct Variants {
  Function* at[3];
};

}  // namespace belay::simd

#if defined(__x86_64__) && !defined(BELAY_BASELINE_VECTORS)
#define BELAY_SIMD_CALL(fn) ((fn##BelayVariants).at[::belay::simd::Level()])
#define BELAY_SIMD_EXPORT(fn)                                                        \
  static constexpr ::belay::simd::Variants<decltype(N_AVX2::fn)> fn##BelayVariants { \
    { &HWY_STATIC_DISPATCH(fn), &N_AVX2::fn, &N_AVX3::fn }                           \
  }
#else
#define BELAY_SIMD_CALL(fn) HWY_STATIC_DISPATCH(fn)
#define BELAY_SIMD_EXPORT(fn) static_assert(true)
#endif
