#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layout/channel_loops.cc"
#include "ops/layout/channel_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE2  // no bytes can be picked there
inline constexpr bool kPicksBytes = false;
#else
inline constexpr bool kPicksBytes = true;
#endif

template <class T, int kChannels>
void Separate(const void* pixels, void* planes, int64_t n, int64_t step) {
  const auto* from = static_cast<const T*>(pixels);
  auto* to = static_cast<T*>(planes);
  int64_t i = 0;
  if constexpr (kPicksBytes) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      hn::Vec<decltype(d)> a, b, c, e;
      if constexpr (kChannels == 2) hn::LoadInterleaved2(d, from + i * 2, a, b);
      if constexpr (kChannels == 3) hn::LoadInterleaved3(d, from + i * 3, a, b, c);
      if constexpr (kChannels == 4) hn::LoadInterleaved4(d, from + i * 4, a, b, c, e);
      hn::StoreU(a, d, to + i), hn::StoreU(b, d, to + step + i);
      if constexpr (kChannels > 2) hn::StoreU(c, d, to + 2 * step + i);
      if constexpr (kChannels > 3) hn::StoreU(e, d, to + 3 * step + i);
    }
  }
  for (; i < n; ++i) {
    for (int64_t c = 0; c < kChannels; ++c) to[c * step + i] = from[i * kChannels + c];
  }
}

template <class T, int kChannels>
void Join(const void* planes, void* pixels, int64_t n, int64_t step) {
  const auto* from = static_cast<const T*>(planes);
  auto* to = static_cast<T*>(pixels);
  int64_t i = 0;
  if constexpr (kPicksBytes) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      const auto plane = [&](int64_t c) { return hn::LoadU(d, from + c * step + i); };
      if constexpr (kChannels == 2) hn::StoreInterleaved2(plane(0), plane(1), d, to + i * 2);
      if constexpr (kChannels == 3) hn::StoreInterleaved3(plane(0), plane(1), plane(2), d, to + i * 3);
      if constexpr (kChannels == 4)
        hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), d, to + i * 4);
    }
  }
  for (; i < n; ++i) {
    for (int64_t c = 0; c < kChannels; ++c) to[i * kChannels + c] = from[c * step + i];
  }
}

const ChannelLoops* ChannelLoopTable() {
  static constexpr ChannelLoops kTable[] = {
      {&Separate<uint8_t, 2>, &Join<uint8_t, 2>},   {&Separate<uint8_t, 3>, &Join<uint8_t, 3>},
      {&Separate<uint8_t, 4>, &Join<uint8_t, 4>},   {&Separate<uint16_t, 2>, &Join<uint16_t, 2>},
      {&Separate<uint16_t, 3>, &Join<uint16_t, 3>}, {&Separate<uint16_t, 4>, &Join<uint16_t, 4>}};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(ChannelLoopTable);
ChannelLoops BestChannelLoops(int64_t bytes, int64_t channels) {
  if (bytes < 1 || bytes > 2 || channels < 2 || channels > 4) return {};
  return BELAY_SIMD_CALL(ChannelLoopTable)()[(bytes - 1) * 3 + channels - 2];
}
}  // namespace belay::ops
#endif
