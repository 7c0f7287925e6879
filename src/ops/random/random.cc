#include "ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
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

// Where packed numbers go.
struct Numbers {
  DType type;
  int64_t count, offset;
  int binding;

  explicit Numbers(const Operand& out)
      : type(out.dtype()), count(out.tensor->count()), offset(OffsetOf(*out.tensor)), binding(out.binding) {}

  // Those of `made`, kWidth a block, which make(words, blocks, numbers) makes of the generator's words.
  template <DType made, int64_t kWidth, class T, class Make>
  void Draw(const Frame& frame, const RandomSource& source, const Make& make) const {
    const int64_t blocks = (count + kWidth - 1) / kWidth, bytes = static_cast<int64_t>(BytesOf(type));
    char* to = frame.at[binding] + offset;
    const Philox philox = source.Take(frame, static_cast<uint64_t>(blocks));
    const DeviateLoops loops = BestDeviateLoops();
    ParallelFor(blocks, kGrain, [&](int64_t begin, int64_t end) {
      alignas(64) uint32_t words[kWordsTogether];
      alignas(64) T numbers[kWidth * kBlocksTogether];
      for (int64_t block = begin; block < end; block += kBlocksTogether) {
        const int64_t n = std::min(kBlocksTogether, end - block), first = block * kWidth;
        loops.words(philox, static_cast<uint64_t>(block), n, words);
        make(loops, words, n, numbers);
        tensor::Convert(type, to + first * bytes, made, numbers, std::min(n * kWidth, count - first));
      }
    });
  }

  // f32, four a block, which make(philox, first, count, numbers) makes, in place where the type is that.
  template <class Make>
  void DrawFloats(const Frame& frame, const RandomSource& source, const Make& make) const {
    const int64_t blocks = (count + 3) / 4, bytes = static_cast<int64_t>(BytesOf(type));
    char* to = frame.at[binding] + offset;
    const Philox philox = source.Take(frame, static_cast<uint64_t>(blocks));
    const int64_t together = type == DType::kF32 ? blocks : kBlocksTogether;
    ParallelFor(blocks, kGrain, [&](int64_t begin, int64_t end) {
      alignas(64) float numbers[4 * kBlocksTogether];
      for (int64_t block = begin; block < end; block += together) {
        const int64_t n = std::min(4 * std::min(together, end - block), count - 4 * block);
        char* at = to + 4 * block * bytes;
        auto* floats = type == DType::kF32 ? reinterpret_cast<float*>(at) : numbers;
        make(philox, static_cast<uint64_t>(block), n, floats);
        if (type != DType::kF32) tensor::Convert(type, at, DType::kF32, numbers, n);
      }
    });
  }

  static constexpr int64_t kGrain = 16 * 1024;
};

// Number i of those that take two words each.
uint64_t TwoWords(const uint32_t* words, int64_t i) {
  const uint32_t* low = words + i % 2 * 2 * kBlocksTogether + i / 2;
  return uint64_t{low[kBlocksTogether]} << 32 | *low;
}

// Normal numbers are rounded at the end only, so that their tails are whole.
struct RandomBody {
  RandomSource source;
  Distribution distribution;
  Stretch<double> spread;
  Numbers out;

  void operator()(const Frame& frame) const {
    const bool narrow = out.type == DType::kF32 || out.type == DType::kF16 || out.type == DType::kBF16;
    narrow ? Narrow(frame) : Wide(frame);
  }

  void Narrow(const Frame& frame) const {
    const Stretch<float> of{static_cast<float>(spread.scale), static_cast<float>(spread.shift),
                            static_cast<float>(spread.most)};
    const int bits = FractionBits(out.type);
    const DeviateLoops loops = BestDeviateLoops();
    out.DrawFloats(frame, source, [&](const Philox& philox, uint64_t first, int64_t count, float* to) {
      if (distribution == Distribution::kNormal) return loops.normals(philox, first, count, of, to);
      loops.fractions(philox, first, count, bits, of, to);
    });
  }

  void Wide(const Frame& frame) const {
    out.Draw<DType::kF64, 2, double>(
        frame, source, [&](const DeviateLoops&, const uint32_t* words, int64_t n, double* to) {
          for (int64_t i = 0; i < 2 * n; ++i)
            to[i] = std::ldexp(static_cast<double>(TwoWords(words, i) >> 11), -53);
          for (int64_t i = 0; distribution == Distribution::kNormal && i < n; ++i) MakeNormal(to + 2 * i);
          for (int64_t i = 0; i < 2 * n; ++i) to[i] = spread(to[i]);
        });
  }

  // Two normal numbers from two fractions (Box and Muller).
  static void MakeNormal(double* pair) {
    const double length = std::sqrt(-2 * std::log(1 - pair[0])), angle = 2 * std::numbers::pi * pair[1];
    pair[0] = length * std::cos(angle);
    pair[1] = length * std::sin(angle);
  }
};

struct WholeBody {
  RandomSource source;
  int64_t least;
  uint64_t range;
  Numbers out;

  // The high half of a product spreads 64 bits over the range, with a bias that no sample shows.
  void operator()(const Frame& frame) const {
    out.Draw<DType::kI64, 2, int64_t>(
        frame, source, [&](const DeviateLoops&, const uint32_t* words, int64_t n, int64_t* to) {
          for (int64_t i = 0; i < 2 * n; ++i) {
            const auto product = static_cast<unsigned __int128>(TwoWords(words, i)) * range;
            to[i] = static_cast<int64_t>(static_cast<uint64_t>(least) + static_cast<uint64_t>(product >> 64));
          }
        });
  }
};

struct ChanceBody {
  RandomSource source;
  uint64_t limit;  // what is below it is 1
  Numbers out;

  void operator()(const Frame& frame) const {
    out.Draw<DType::kBool, 4, uint8_t>(
        frame, source, [&](const DeviateLoops& loops, const uint32_t* words, int64_t n, uint8_t* to) {
          loops.below(words, n, limit, to);
        });
  }
};

struct PermutationBody {
  RandomSource source;
  Numbers out;
  Scratch<int64_t> numbers;

  void operator()(const Frame& frame) const {
    const Philox philox = source.Take(frame, (static_cast<uint64_t>(out.count) + 1) / 2);
    int64_t* all = numbers.At(frame);
    std::iota(all, all + out.count, int64_t{0});
    for (int64_t i = out.count; i > 1; --i) {  // Fisher and Yates
      const double place = philox.Uniform(static_cast<uint64_t>(i) - 1) * static_cast<double>(i);
      std::swap(all[i - 1], all[static_cast<int64_t>(place)]);
    }
    tensor::Convert(out.type, frame.at[out.binding] + out.offset, DType::kI64, all, out.count);
  }
};

struct MultinomialBody {
  RandomSource source;
  int64_t rows, classes, samples;
  int logits, out;
  Scratch<double> sums_of;

  void operator()(const Frame& frame) const {
    const Philox philox = source.Take(frame, (static_cast<uint64_t>(rows * samples) + 1) / 2);
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

Philox RandomSource::Take(const Frame& frame, uint64_t blocks) const {
  if (const auto* fixed = std::get_if<Philox>(&from_)) return *fixed;
  if (const auto* sequence = std::get_if<std::shared_ptr<RandomSequence>>(&from_))
    return (*sequence)->Take(blocks);
  const auto& tensors = std::get<SeedTensors>(from_);
  const auto word = [&](int binding, int64_t at) {
    uint64_t value;
    std::memcpy(&value, frame.at[binding] + at, sizeof(value));
    return value;
  };
  return SeededAt(word(tensors.seed, tensors.seed_at),
                  word(tensors.offset, tensors.offset_at) + tensors.further);
}

namespace {

void SetDrawCost(Plan& plan, const Operand& out, uint64_t each) {
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * each);
}

}  // namespace

void PlanRandom(Plan& plan, Distribution distribution, const RandomSource& source, const Operand& out,
                const Stretch<double>& spread) {
  if (out.tensor->empty()) return;
  SetDrawCost(plan, out, distribution == Distribution::kNormal ? 5 : 2);
  plan.SetBody(RandomBody{source, distribution, spread, Numbers(out)});
}

void PlanRandomWhole(Plan& plan, const RandomSource& source, int64_t least, uint64_t range,
                     const Operand& out) {
  if (out.tensor->empty()) return;
  SetDrawCost(plan, out, 3);
  plan.SetBody(WholeBody{source, least, range, Numbers(out)});
}

void PlanChances(Plan& plan, const RandomSource& source, double chance, const Operand& out) {
  if (out.tensor->empty()) return;
  SetDrawCost(plan, out, 2);
  plan.SetBody(ChanceBody{source, static_cast<uint64_t>(chance * 0x1p32), Numbers(out)});
}

void PlanPermutation(Plan& plan, const RandomSource& source, const Operand& out) {
  if (out.tensor->empty()) return;
  SetDrawCost(plan, out, 30);
  plan.SetBody(PermutationBody{source, Numbers(out), Scratch<int64_t>(plan, out.tensor->count())});
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
