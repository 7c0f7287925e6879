// The functions of the C interface that drop elements.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/pipeline.h"
#include "ops/random/checks.h"
#include "ops/random/drop_mask.h"
#include "ops/random/over_packed.h"
#include "ops/sequence.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {
namespace {

using tensor::kInvalidArgument;

// Bits of a mask come in units of so many.
constexpr int64_t kUnit = 128;
int64_t MaskBytes(int64_t count) { return (count / kUnit + (count % kUnit != 0)) * (kUnit / 8); }

void CheckMask(const Operand& mask, int64_t bytes) {
  if (mask.tensor->count() >= bytes) return;
  Fail(kInvalidArgument, "op-drop-mask", "{} {} needs {} bytes: a bit for each element, in units of 128",
       mask.name, mask.shape().ToString(), bytes);
}

void CheckProbabilityType(DType type) {
  if (type == DType::kF32 || type == DType::kF16 || type == DType::kBF16) return;
  Fail(kInvalidArgument, "op-dtype", "probDataType is {}; it is ACL_FLOAT, ACL_FLOAT16 or ACL_BF16",
       NameOf(type));
}

void CheckDrawnMask(std::span<const int64_t> shape, double prob, const Operand& out) {
  CheckProbability(prob);
  const std::optional<int64_t> count = tensor::CheckedCount(shape);
  if (!count || std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    Fail(kInvalidArgument, "op-drop-mask", "shape has a negative size, or too many elements");
  CheckElements(out, MaskBytes(*count));
}

struct DropBody {
  PackedFloats x, out;
  PackedBytes mask;
  int64_t count;
  double factor;

  void operator()(const Frame& frame) const {
    const float* from = x.Load(frame);
    const uint8_t* bits = mask.Load(frame);
    float* to = out.Begin(frame);
    constexpr int64_t kGrain = 64 * 1024;
    ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const bool kept = (bits[i / 8] >> i % 8 & 1) != 0;
        to[i] = kept ? static_cast<float>(from[i] * factor) : 0;
      }
    });
    out.Finish(frame);
  }
};

}  // namespace

void DropoutMask(Plan& plan, DType, std::span<const int64_t> shape, double prob, int64_t seed, int64_t offset,
                 const Operand& out) {
  CheckDrawnMask(shape, prob, out);
  const Philox source = SeededAt(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset));
  OverPacked(plan, {}, out, [&](Plan& part, const auto&, const Operand& packed) {
    PlanDropMask(part, MaskUnit::kBit, source, 1 - prob, packed);
  });
}

void DropoutGenMask(Plan& plan, DType compute, std::span<const int64_t> shape, double prob, int64_t seed,
                    int64_t offset, DType type, const Operand& out) {
  CheckProbabilityType(type);
  DropoutMask(plan, compute, shape, prob, seed, offset, out);
}

void DropoutGenMaskSeeded(Plan& plan, DType, std::span<const int64_t> shape, double prob,
                          const Operand& seedTensor, const Operand& offsetTensor, int64_t offset, DType type,
                          const Operand& out) {
  CheckProbabilityType(type);
  CheckDrawnMask(shape, prob, out);
  CheckSeed(seedTensor);
  CheckSeed(offsetTensor);
  OverPacked(plan, {&seedTensor, &offsetTensor}, out, [&](Plan& part, const auto& in, const Operand& packed) {
    const SeedTensors source{in[0].binding, in[1].binding, OffsetOf(*in[0].tensor), OffsetOf(*in[1].tensor),
                             static_cast<uint64_t>(offset)};
    PlanDropMask(part, MaskUnit::kBit, source, 1 - prob, packed);
  });
}

void DropoutDoMask(Plan& plan, DType, const Operand& self, const Operand& mask, double prob,
                   const Operand& out) {
  CheckProbability(prob);
  CheckSameType(self, out);
  CheckMask(mask, MaskBytes(self.tensor->count()));
  if (out.tensor->empty()) return;
  DropBody body{PackedFloats(self, Flow::kIn, plan), PackedFloats(out, Flow::kOut, plan),
                PackedBytes(mask, plan), out.tensor->count(), prob == 1 ? 0 : 1 / (1 - prob)};
  if (IsSameView(self, out)) plan.MayLieOn(self.binding);
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(body);
}

// The mask is multiplied first, so that what it drops is 0, however large the scale.
void MaskedScale(Plan& plan, DType compute, const Operand& self, const Operand& mask, double scale,
                 const Operand& out) {
  CheckShape(mask, self.shape());
  const double nothing = 0;
  const Scalar zero(&nothing, DType::kF64), factor(&scale, DType::kF64);
  Addcmul(plan, compute, {nullptr, &zero, -1, "zero"}, mask, self, factor, out);
}

namespace {

// Slopes of what is not positive; the others have 1, which is what they are noted as.
struct NoisyReluBody {
  PackedFloats x, noise, to_noise, out;
  int64_t count;
  double slope;  // without training

  void operator()(const Frame& frame) const {
    const float* from = x.Load(frame);
    const float* drawn = noise.present() ? noise.Load(frame) : nullptr;
    float* noted = noise.present() ? to_noise.Begin(frame) : nullptr;
    float* to = out.Begin(frame);
    ParallelFor(count, 64 * 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const bool bent = from[i] <= 0;
        const float by = !bent ? 1.0f : drawn == nullptr ? static_cast<float>(slope) : drawn[i];
        if (noted != nullptr) noted[i] = by;
        to[i] = from[i] * by;
      }
    });
    if (noise.present()) to_noise.Finish(frame);
    out.Finish(frame);
  }
};

}  // namespace

// The slopes are drawn where they are noted, as aclnnInplaceUniform draws.
void RReluWithNoise(Plan& plan, DType compute, const Operand& self, const Operand& noise, const Scalar& lower,
                    const Scalar& upper, bool training, int64_t seed, int64_t offset, const Operand& out) {
  CheckShape(noise, self.shape());
  CheckShape(out, self.shape());
  for (const Operand* o : {&noise, &out}) CheckSameType(self, *o);
  if (!(lower.ToDouble() <= upper.ToDouble())) {
    Fail(kInvalidArgument, "op-random-range", "lower is {} and upper is {}; they are in order",
         lower.ToDouble(), upper.ToDouble());
  }
  if (out.tensor->empty()) return;
  Sequence parts(plan);
  if (training) {
    parts.Add(
        [&](Plan& part) { Uniform(part, compute, lower.ToDouble(), upper.ToDouble(), seed, offset, noise); });
  }
  parts.Add([&](Plan& part) {
    NoisyReluBody body;
    body.x = PackedFloats(self, Flow::kIn, part), body.out = PackedFloats(out, Flow::kOut, part);
    if (training) {
      body.noise = PackedFloats(noise, Flow::kIn, part);
      body.to_noise = PackedFloats(noise, Flow::kOut, part);
    }
    body.count = out.tensor->count(), body.slope = (lower.ToDouble() + upper.ToDouble()) / 2;
    part.SetCost(100 + static_cast<uint64_t>(body.count));
    part.SetBody(body);
  });
  parts.Finish();
}

}  // namespace belay::ops::kernels
