#include "ops/random/drop_mask.h"

#include <algorithm>
#include <cstring>

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

  void operator()(const Frame& frame) const {
    const int64_t elements = unit == MaskUnit::kBit ? 8 * count : count, blocks = (elements + 3) / 4;
    auto* to = reinterpret_cast<uint8_t*>(frame.at[mask] + offset);
    const Philox philox = source.Take(frame, static_cast<uint64_t>(blocks));
    const DeviateLoops loops = BestDeviateLoops();
    const int64_t pieces = (blocks + kBlocksTogether - 1) / kBlocksTogether;
    ParallelFor(pieces, kGrain / kBlocksTogether, [&](int64_t begin, int64_t end) {
      alignas(64) uint32_t words[kWordsTogether];
      alignas(64) uint8_t kept[kWordsTogether];
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t block = piece * kBlocksTogether, n = std::min(kBlocksTogether, blocks - block);
        loops.words(philox, static_cast<uint64_t>(block), n, words);
        loops.below(words, n, limit, kept);
        if (unit == MaskUnit::kByte) {
          std::copy_n(kept, std::min(4 * n, count - 4 * block), to + 4 * block);
        } else {
          for (int64_t i = 0; i < n / 2; ++i) to[block / 2 + i] = BitsOf(kept + 8 * i);
        }
      }
    });
  }

  // Eight bytes of 0 and 1 as bits; the first is the lowest. The factor moves byte i to bit 56 + i.
  static uint8_t BitsOf(const uint8_t* truths) {
    uint64_t bytes;
    std::memcpy(&bytes, truths, sizeof(bytes));
    return static_cast<uint8_t>(bytes * 0x0102040810204080 >> 56);
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
