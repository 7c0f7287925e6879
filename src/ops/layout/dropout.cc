#include "ops/layout/dropout.h"

#include <utility>

#include "ops/pipeline.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// In [0, 1) with 53 bits, from two steps of the generator.
double Uniform(std::mt19937& generator) {
  uint32_t high = generator() >> 5, low = generator() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

struct DropoutBody {
  DType type;
  int64_t count;
  double ratio;
  std::shared_ptr<RandomSequence> sequence;
  int64_t offsets[3];
  int bindings[3];  // out, mask, self

  void operator()(const Frame& frame) const {
    const RandomSequence::Twister twister = sequence->TakeTwister();
    char* out = frame.at[bindings[0]] + offsets[0];
    auto* mask = reinterpret_cast<uint8_t*>(frame.at[bindings[1]] + offsets[1]);
    const char* in = frame.at[bindings[2]] + offsets[2];
    auto bytes = static_cast<int64_t>(BytesOf(type));
    alignas(64) double block[kBlock];
    double scale = ratio < 1 ? 1 / (1 - ratio) : 0;
    for (int64_t i = 0; i < count; i += kBlock) {
      int64_t n = std::min(kBlock, count - i);
      tensor::Convert(DType::kF64, block, type, in + i * bytes, n);
      for (int64_t k = 0; k < n; ++k) {
        bool kept = Uniform(twister.generator) >= ratio;
        mask[i + k] = kept ? 1 : 0;
        block[k] = kept ? block[k] * scale : 0;
      }
      tensor::Convert(type, out + i * bytes, DType::kF64, block, n);
    }
  }
};

}  // namespace

void PlanDropout(Plan& plan, const Operand& self, double ratio, std::shared_ptr<RandomSequence> sequence,
                 const Operand& out, const Operand& mask) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * 10);
  plan.SetBody(DropoutBody{out.dtype(),
                           out.tensor->count(),
                           ratio,
                           std::move(sequence),
                           {OffsetOf(*out.tensor), OffsetOf(*mask.tensor), OffsetOf(*self.tensor)},
                           {out.binding, mask.binding, self.binding}});
}

}  // namespace belay::ops
