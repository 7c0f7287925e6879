#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>

#include "base/simd_targets.h"

namespace belay::simd {
namespace {

constinit std::atomic<int> g_level{-1};

#if defined(__x86_64__)
// Clang 14's __builtin_cpu_supports does not know this one.
bool HasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

int Detect() {
#if defined(__x86_64__)
  // Highway compiles its AVX2 variant with all of these, so all must be there.
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") && HasF16c();
  if (!avx2) return 0;
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return avx512 ? 2 : 1;
#else
  return 0;
#endif
}

}  // namespace

int Level() {
  int level = g_level.load(std::memory_order_relaxed);
  if (level >= 0) [[likely]]
    return level;
  level = Detect();
  g_level.store(level, std::memory_order_relaxed);
  return level;
}

int SetLevel(int level) {
  int best = Detect();
  g_level.store(level < best ? level : best, std::memory_order_relaxed);
  return Level();
}

}  // namespace belay::simd
