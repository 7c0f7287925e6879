#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layout/shuffle_loops.cc"
#include "ops/layout/shuffle_loops.h"

#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay::ops {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE2  // no bytes can be picked there
ShuffleLoop ShuffleBytes() { return nullptr; }
#else
namespace hn = hwy::HWY_NAMESPACE;

using Sixteen = hn::FixedTag<uint8_t, kShuffled>;

// kSteps of each vector; 0: any number.
template <int kSteps>
HWY_ATTR void ShuffleBy(char* to, const char* from, const ShuffleSteps& s) {
  const Sixteen d;
  const int64_t steps = kSteps == 0 ? s.steps : kSteps;
  const int32_t* offset = s.offsets;
  const uint8_t *places = s.places, *others = s.others;
  const auto put = [&](int64_t at) HWY_ATTR {
    auto all = hn::Zero(d);
    if (others != nullptr) all = hn::LoadU(d, others), others += kShuffled;
    for (int64_t k = 0; k < steps; ++k) {
      const auto seen = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + *offset++));
      all = hn::Or(all, hn::TableLookupBytesOr0(seen, hn::LoadU(d, places)));
      places += kShuffled;
    }
    hn::StoreU(all, d, reinterpret_cast<uint8_t*>(to + at));
  };
  int64_t i = 0;
  for (; i + kShuffled <= s.bytes; i += kShuffled) put(i);
  if (i < s.bytes) put(s.bytes - kShuffled);
}

void Shuffle(char* to, const char* from, const ShuffleSteps& s) {
  switch (s.steps) {
    case 1:
      return ShuffleBy<1>(to, from, s);
    case 2:
      return ShuffleBy<2>(to, from, s);
    case 3:
      return ShuffleBy<3>(to, from, s);
    case 4:
      return ShuffleBy<4>(to, from, s);
    default:
      return ShuffleBy<0>(to, from, s);
  }
}

ShuffleLoop ShuffleBytes() { return &Shuffle; }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace belay::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::ops {
BELAY_SIMD_EXPORT(ShuffleBytes);
ShuffleLoop BestShuffleLoop() { return BELAY_SIMD_CALL(ShuffleBytes)(); }
}  // namespace belay::ops
#endif
