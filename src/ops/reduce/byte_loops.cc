#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/reduce/byte_loops.cc"
#include "ops/reduce/byte_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

template <class T, bool kLargest>
inline T BetterByte(T a, T b) {
  return (kLargest ? a < b : b < a) ? b : a;
}

template <class T, bool kLargest>
uint8_t ByteRow(const void* bytes, int64_t n) {
  const auto* x = static_cast<const T*>(bytes);
  T best = x[0];
  for (int64_t i = 1; i < n; ++i) best = BetterByte<T, kLargest>(best, x[i]);
  return static_cast<uint8_t>(best);
}

template <class T, bool kLargest>
void ByteInto(void* acc, const void* bytes, int64_t n) {
  auto* a = static_cast<T*>(acc);
  const auto* x = static_cast<const T*>(bytes);
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) a[i] = BetterByte<T, kLargest>(a[i], x[i]);
}

template <class T, bool kLargest>
constexpr ByteFold kByteFold{&ByteRow<T, kLargest>, &ByteInto<T, kLargest>};

const ByteFold* ByteFolds() {  // by sign, then by what is looked for
  static constexpr ByteFold kFolds[] = {kByteFold<uint8_t, false>, kByteFold<uint8_t, true>,
                                        kByteFold<int8_t, false>, kByteFold<int8_t, true>};
  return kFolds;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(ByteFolds);
const ByteFold& BestByteFold(bool is_signed, bool largest) {
  return BELAY_SIMD_CALL(ByteFolds)()[2 * is_signed + largest];
}
}  // namespace belay::ops
#endif
