#include "ops/random/drop_mask.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/pipeline.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr int64_t kGrain = 16 * 1024;

struct MakeBody {
  RandomSource source;
  uint64_t limit;  // what is below it is kept
  MaskUnit unit;
  int64_t count, offset;
  int mask;

  // Whether elements 4 * block + 0 to 3 are kept, as bits.
  uint8_t Four(const Philox& philox, int64_t block) const {
    const Philox::Words words = philox[static_cast<uint64_t>(block)];
    unsigned kept = 0;
    for (size_t i = 0; i < 4; ++i) kept |= (words[i] < limit ? 1u : 0u) << i;
    return static_cast<uint8_t>(kept);
  }

  void operator()(const Frame& frame) const {
    auto* to = reinterpret_cast<uint8_t*>(frame.at[mask] + offset);
    const Philox philox =
        source.Take(static_cast<uint64_t>(unit == MaskUnit::kBit ? 2 * count : (count + 3) / 4));
    ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = unit == MaskUnit::kBit
                    ? static_cast<uint8_t>(Four(philox, 2 * i) | Four(philox, 2 * i + 1) << 4)
                    : static_cast<uint8_t>(Four(philox, i / 4) >> i % 4 & 1);
      }
    });
  }
};

struct ApplyBody {
  DType type;
  MaskUnit unit;
  double factor;
  int64_t count;
  int64_t offsets[3];
  int bindings[3];  // x, mask, out

  void operator()(const Frame& frame) const {
    const char* x = frame.at[bindings[0]] + offsets[0];
    const auto* mask = reinterpret_cast<const uint8_t*>(frame.at[bindings[1]] + offsets[1]);
    char* out = frame.at[bindings[2]] + offsets[2];
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    const auto keeps = [&](int64_t i) {
      return unit == MaskUnit::kBit ? (mask[i / 8] >> i % 8 & 1) != 0 : mask[i] != 0;
    };
    ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      alignas(64) double block[kBlock];
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t n = std::min(kBlock, end - i);
        tensor::Convert(DType::kF64, block, type, x + i * bytes, n);
        for (int64_t k = 0; k < n; ++k) block[k] = keeps(i + k) ? block[k] * factor : 0;
        tensor::Convert(type, out + i * bytes, DType::kF64, block, n);
      }
    });
  }
};

}  // namespace

void PlanDropMask(Plan& plan, MaskUnit unit, const RandomSource& source, double keep, const Operand& mask) {
  const int64_t count = mask.tensor->count();
  if (count == 0) return;
  plan.SetCost(100 + static_cast<uint64_t>(count) * 20);
  plan.SetBody(MakeBody{source, static_cast<uint64_t>(keep * 0x1p32), unit, count, OffsetOf(*mask.tensor),
                        mask.binding});
}

void PlanApplyMask(Plan& plan, MaskUnit unit, const Operand& x, const Operand& mask, double factor,
                   const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(ApplyBody{out.dtype(),
                         unit,
                         factor,
                         out.tensor->count(),
                         {OffsetOf(*x.tensor), OffsetOf(*mask.tensor), OffsetOf(*out.tensor)},
                         {x.binding, mask.binding, out.binding}});
}

}  // namespace belay::ops
