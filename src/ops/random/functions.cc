// The functions of the C interface that draw random numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/pipeline.h"
#include "ops/random/checks.h"
#include "ops/random/over_packed.h"
#include "ops/random/random.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;
using Inputs = ThroughBody::Inputs;

RandomSource Fixed(int64_t seed, int64_t offset) {
  return SeededAt(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset));
}

// Of the seed and the offset as the first two inputs.
RandomSource InMemory(const Inputs& in, int64_t further) {
  return SeedTensors{in[0].binding, in[1].binding, OffsetOf(*in[0].tensor), OffsetOf(*in[1].tensor),
                     static_cast<uint64_t>(further)};
}

double ValueOf(DType type, uint64_t bits) {
  double value = 0;
  tensor::Convert(DType::kF64, &value, type, &bits, 1);
  return value;
}

// The largest number of a type of floats that is less than the limit.
double LargestBelow(DType type, double limit) {
  uint64_t bits = 0;
  tensor::Convert(type, &bits, DType::kF64, &limit, 1);
  const double nearest = ValueOf(type, bits);
  if (nearest < limit) return nearest;
  const uint64_t sign = uint64_t{1} << (8 * BytesOf(type) - 1);
  return ValueOf(type, nearest > 0 ? bits - 1 : nearest == 0 ? sign | 1 : bits + 1);
}

// Numbers from `from` on that stay below `to`, however they are rounded.
Stretch<double> Between(const Operand& out, double from, double to) {
  const DType type = out.dtype();
  CheckHolds(type, "from", from);
  CheckHolds(type, "to", to);
  if (!(from <= to))
    Fail(kInvalidArgument, "op-random-range", "from is {} and to is {}; they are in order", from, to);
  if (IsFloat(type)) CheckHolds(type, "to - from", to - from);
  const bool open = IsFloat(type) && from < to;
  return {to - from, from, open ? LargestBelow(type, to) : std::numeric_limits<double>::infinity()};
}

Stretch<double> Around(double mean, double deviation) {
  if (!(deviation >= 0))
    Fail(kInvalidArgument, "op-random-range", "the standard deviation is {}; it is not negative", deviation);
  return {deviation, mean};
}

// Of normal complex numbers each part has half of the variance, and the mean is real.
void Draw(Plan& plan, Distribution distribution, const RandomSource& source, Stretch<double> spread,
          const Operand& packed) {
  if (packed.dtype() != DType::kC64) return PlanRandom(plan, distribution, source, packed, spread);
  Tensor parts = *packed.tensor;
  parts.dtype = DType::kF32, parts.offset *= 2;
  parts.shape = Shape{2 * packed.tensor->count()}, parts.strides = tensor::Strides{1};
  const double one = 1, middle = std::exchange(spread.shift, 0);
  const Scalar mean(&middle, DType::kF64), factor(&one, DType::kF64);
  spread.scale /= std::numbers::sqrt2;
  Sequence steps(plan);
  steps.Add([&](Plan& step) {
    PlanRandom(step, distribution, source, {&parts, nullptr, packed.binding, packed.name}, spread);
  });
  if (middle != 0) {
    steps.Add([&](Plan& step) {
      kernels::Add(step, packed.dtype(), packed, {nullptr, &mean, -1, "mean"}, factor, packed);
    });
  }
  steps.Finish();
}

void DrawFixed(Plan& plan, Distribution distribution, const RandomSource& source,
               const Stretch<double>& spread, const Operand& out) {
  OverPacked(plan, {}, out, [&](Plan& part, const auto&, const Operand& packed) {
    Draw(part, distribution, source, spread, packed);
  });
}

void DrawSeeded(Plan& plan, Distribution distribution, const Operand& seed, const Operand& offset,
                int64_t further, const Stretch<double>& spread, const Operand& out) {
  CheckSeed(seed);
  CheckSeed(offset);
  OverPacked(plan, {&seed, &offset}, out, [&](Plan& part, const Inputs& in, const Operand& packed) {
    Draw(part, distribution, InMemory(in, further), spread, packed);
  });
}

struct WholeRange {
  int64_t least;
  uint64_t count;
  WholeRange(const Operand& out, int64_t from, int64_t to)
      : least(from), count(static_cast<uint64_t>(to) - static_cast<uint64_t>(from)) {
    if (from >= to) {
      Fail(kInvalidArgument, "op-random-range",
           "from is {} and to is {}; there is a whole number between them", from, to);
    }
    CheckHolds(out.dtype(), "from", static_cast<double>(from));
    CheckHolds(out.dtype(), "to - 1", static_cast<double>(to - 1));
  }
};

// The type in which normal numbers are drawn and stretched, before they are rounded once.
DType WideOf(const Operand& out) { return out.dtype() == DType::kF64 ? DType::kF64 : DType::kF32; }

// mean + deviation * a normal number; the two are tensors or numbers.
void Stretched(Plan& plan, const std::vector<const Operand*>& tensors, int64_t seed, int64_t offset,
               const Operand& out, const Scalar* mean, const Scalar* deviation) {
  const DType wide = WideOf(out);
  PlanThrough(
      plan, tensor::PackedOf(wide, out.shape()), tensors, out,
      [&](Plan& part, const auto&, const Operand& normals) {
        PlanRandom(part, Distribution::kNormal, Fixed(seed, offset), normals);
      },
      [&](Plan& part, const Inputs& in, const Operand& normals, const Operand& to) {
        const double factor = 1;
        const Operand first = mean == nullptr ? in[0] : Operand{nullptr, mean, -1, "mean"};
        const Operand second =
            deviation == nullptr ? in[mean == nullptr ? 1 : 0] : Operand{nullptr, deviation, -1, "std"};
        kernels::Addcmul(part, wide, first, second, normals, Scalar(&factor, DType::kF64), to);
      });
}

// -log(1 - u) / rate of u in [0, 1), where 0 counts as half of the least other u.
struct ExponentialBody {
  PackedFloats drawn, out;
  int64_t count;
  double rate;

  void operator()(const Frame& frame) const {
    const float* from = drawn.Load(frame);
    float* to = out.Begin(frame);
    ParallelFor(count, 16 * 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double u = std::max(static_cast<double>(from[i]), 0x1p-25);
        to[i] = static_cast<float>(-std::log1p(-u) / rate);
      }
    });
    out.Finish(frame);
  }
};

}  // namespace

namespace kernels {

void Exponential(Plan& plan, DType, const Operand&, int64_t count, double lambd, int64_t seed, int64_t offset,
                 const Operand& out) {
  CheckElements(out, count);
  if (!(lambd > 0)) Fail(kInvalidArgument, "op-random-range", "lambd is {}; it is above 0", lambd);
  if (count == 0) return;
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, out.shape()), {}, out,
      [&](Plan& part, const auto&, const Operand& drawn) {
        PlanRandom(part, Distribution::kUniform, Fixed(seed, offset), drawn);
      },
      [&](Plan& part, const auto&, const Operand& drawn, const Operand& to) {
        part.SetCost(100 + static_cast<uint64_t>(count) * 10);
        part.SetBody(ExponentialBody{PackedFloats(drawn, Flow::kIn, part), PackedFloats(to, Flow::kOut, part),
                                     count, lambd});
      });
}

void Uniform(Plan& plan, DType, double from, double to, int64_t seed, int64_t offset, const Operand& out) {
  DrawFixed(plan, Distribution::kUniform, Fixed(seed, offset), Between(out, from, to), out);
}

void UniformSeeded(Plan& plan, DType, double from, double to, const Operand& seedTensor,
                   const Operand& offsetTensor, int64_t offset, const Operand& out) {
  DrawSeeded(plan, Distribution::kUniform, seedTensor, offsetTensor, offset, Between(out, from, to), out);
}

void Normal(Plan& plan, DType, double mean, double std, int64_t seed, int64_t offset, const Operand& out) {
  DrawFixed(plan, Distribution::kNormal, Fixed(seed, offset), Around(mean, std), out);
}

void NormalSeeded(Plan& plan, DType, double mean, double std, const Operand& seedTensor,
                  const Operand& offsetTensor, int64_t offset, const Operand& out) {
  DrawSeeded(plan, Distribution::kNormal, seedTensor, offsetTensor, offset, Around(mean, std), out);
}

void NormalTensors(Plan& plan, DType, const Operand& mean, const Operand& std, int64_t seed, int64_t offset,
                   const Operand& out) {
  Stretched(plan, {&mean, &std}, seed, offset, out, nullptr, nullptr);
}

void NormalAround(Plan& plan, DType, const Operand& mean, double std, int64_t seed, int64_t offset,
                  const Operand& out) {
  Around(0, std);
  const Scalar deviation(&std, DType::kF64);
  Stretched(plan, {&mean}, seed, offset, out, nullptr, &deviation);
}

void NormalAsWide(Plan& plan, DType, double mean, const Operand& std, int64_t seed, int64_t offset,
                  const Operand& out) {
  const Scalar middle(&mean, DType::kF64);
  Stretched(plan, {&std}, seed, offset, out, &middle, nullptr);
}

void RandomWhole(Plan& plan, DType, int64_t from, int64_t to, int64_t seed, int64_t offset,
                 const Operand& out) {
  const WholeRange range(out, from, to);
  OverPacked(plan, {}, out, [&](Plan& part, const auto&, const Operand& packed) {
    PlanRandomWhole(part, Fixed(seed, offset), range.least, range.count, packed);
  });
}

void RandomWholeSeeded(Plan& plan, DType, int64_t from, int64_t to, const Operand& seedTensor,
                       const Operand& offsetTensor, int64_t offset, const Operand& out) {
  const WholeRange range(out, from, to);
  CheckSeed(seedTensor);
  CheckSeed(offsetTensor);
  OverPacked(plan, {&seedTensor, &offsetTensor}, out,
             [&](Plan& part, const Inputs& in, const Operand& packed) {
               PlanRandomWhole(part, InMemory(in, offset), range.least, range.count, packed);
             });
}

void Bernoulli(Plan& plan, DType, const Operand&, const Scalar& prob, int64_t seed, int64_t offset,
               const Operand& out) {
  const double chance = prob.ToDouble();
  CheckProbability(chance);
  OverPacked(plan, {}, out, [&](Plan& part, const auto&, const Operand& packed) {
    PlanChances(part, Fixed(seed, offset), chance, packed);
  });
}

void BernoulliTensor(Plan& plan, DType, const Operand&, const Operand& prob, int64_t seed, int64_t offset,
                     const Operand& out) {
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, out.shape()), {&prob}, out,
      [&](Plan& part, const auto&, const Operand& fractions) {
        PlanRandom(part, Distribution::kUniform, Fixed(seed, offset), fractions);
      },
      [&](Plan& part, const Inputs& in, const Operand& fractions, const Operand& to) {
        Less(part, DType::kBool, fractions, in[0], to);
      });
}

void Randperm(Plan& plan, DType, int64_t n, int64_t seed, int64_t offset, const Operand& out) {
  if (n < 0) Fail(kInvalidArgument, "op-random-range", "n is {}; it is not negative", n);
  CheckElements(out, n);
  if (n > 0) CheckHolds(out.dtype(), "n - 1", static_cast<double>(n - 1));
  OverPacked(plan, {}, out, [&](Plan& part, const auto&, const Operand& packed) {
    PlanPermutation(part, Fixed(seed, offset), packed);
  });
}

}  // namespace kernels
}  // namespace belay::ops
