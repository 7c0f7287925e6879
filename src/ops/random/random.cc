#include "ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "base/parallel.h"
#include "ops/pipeline.h"
#include "ops/scratch.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Bits of a fraction that the type holds without rounding up to 1.
int FractionBits(DType type) {
  switch (type) {
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kF64:
      return 53;
    default:
      return 24;
  }
}

struct RandomBody {
  RandomSource source;
  Distribution distribution;
  DType type;
  int64_t count, offset;
  int out;

  // Normal numbers are rounded at the end only, so that their tails are whole.
  void Fractions(const Philox& philox, uint64_t block, double* to) const {
    const Philox::Words words = philox[block];
    const int bits = type != DType::kF64 && distribution == Distribution::kNormal ? 24 : FractionBits(type);
    if (type == DType::kF64) {
      for (size_t i = 0; i < 2; ++i) {
        const uint64_t both = uint64_t{words[2 * i + 1]} << 32 | words[2 * i];
        to[i] = std::ldexp(static_cast<double>(both >> (64 - bits)), -bits);
      }
      return;
    }
    for (size_t i = 0; i < 4; ++i) to[i] = std::ldexp(static_cast<double>(words[i] >> (32 - bits)), -bits);
  }

  // Two normal numbers from two fractions (Box and Muller).
  static void MakeNormal(double* pair) {
    const double length = std::sqrt(-2 * std::log(1 - pair[0])), angle = 2 * std::numbers::pi * pair[1];
    pair[0] = length * std::cos(angle);
    pair[1] = length * std::sin(angle);
  }

  void operator()(const Frame& frame) const {
    const int64_t width = type == DType::kF64 ? 2 : 4;
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    char* to = frame.at[out] + offset;
    const int64_t blocks = (count + width - 1) / width;
    const Philox philox = source.Take(static_cast<uint64_t>(blocks));
    ParallelFor(blocks, 16 * 1024, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        double values[4];
        Fractions(philox, static_cast<uint64_t>(block), values);
        for (int64_t i = 0; distribution == Distribution::kNormal && i < width; i += 2)
          MakeNormal(values + i);
        const int64_t n = std::min(width, count - block * width);
        tensor::Convert(type, to + block * width * bytes, DType::kF64, values, n);
      }
    });
  }
};

struct MultinomialBody {
  RandomSource source;
  int64_t rows, classes, samples;
  int logits, out;
  Scratch<double> sums_of;

  void operator()(const Frame& frame) const {
    const Philox philox = source.Take((static_cast<uint64_t>(rows * samples) + 1) / 2);
    for (int64_t r = 0; r < rows; ++r)
      Row(frame, philox, r, {sums_of.At(frame), static_cast<size_t>(classes)});
  }

  void Row(const Frame& frame, const Philox& philox, int64_t r, std::span<double> sums) const {
    const auto* from = reinterpret_cast<const float*>(frame.at[logits]) + r * classes;
    auto* to = reinterpret_cast<int64_t*>(frame.at[out]) + r * samples;
    const double most = *std::max_element(from, from + classes);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sums[static_cast<size_t>(c)] = sum += std::exp(from[c] - most);
    const auto last = std::lower_bound(sums.begin(), sums.end(), sum);  // nothing is drawn behind it
    for (int64_t s = 0; s < samples; ++s) {
      const double at = philox.Uniform(static_cast<uint64_t>(r * samples + s)) * sum;
      const auto drawn = std::min(std::upper_bound(sums.begin(), sums.end(), at), last) - sums.begin();
      to[s] = std::min<int64_t>(drawn, classes - 1);
    }
  }
};

RandomSeed Anywhere() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

}  // namespace

RandomSequence::RandomSequence(std::optional<RandomSeed> seed) : seed_(seed ? *seed : Anywhere()) {}

Philox RandomSequence::Take(uint64_t blocks) {
  return {seed_.first, next_.fetch_add(blocks, std::memory_order_relaxed), seed_.second};
}

RandomSequence::Twister RandomSequence::TakeTwister() {
  std::unique_lock lock(lock_);
  if (twister_ == nullptr) twister_ = std::make_unique<std::mt19937>(static_cast<uint32_t>(seed_.first));
  return {std::move(lock), *twister_};
}

Philox RandomSource::Take(uint64_t blocks) const {
  if (const auto* fixed = std::get_if<Philox>(&from_)) return *fixed;
  return std::get<std::shared_ptr<RandomSequence>>(from_)->Take(blocks);
}

void PlanRandom(Plan& plan, Distribution distribution, const RandomSource& source, const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * 10);
  plan.SetBody(
      RandomBody{source, distribution, out.dtype(), out.tensor->count(), OffsetOf(*out.tensor), out.binding});
}

void PlanMultinomial(Plan& plan, const Operand& logits, const RandomSource& source, const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(500 + static_cast<uint64_t>(logits.tensor->count()) * 4);
  plan.SetBody(MultinomialBody{source,
                               logits.shape()[0],
                               logits.shape()[1],
                               out.shape()[1],
                               logits.binding,
                               out.binding,
                               {plan, logits.shape()[1]}});
}

}  // namespace belay::ops
