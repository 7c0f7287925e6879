#include "ops/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/simd_targets.h"
#include "ops/random/drop_mask.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

std::vector<double> Values(const Sample& sample) {
  const auto* first = reinterpret_cast<const double*>(sample.storage.data()) + sample.tensor.offset;
  return {first, first + sample.tensor.count()};
}

std::shared_ptr<RandomSequence> From(std::optional<uint64_t> seed) {
  return std::make_shared<RandomSequence>(seed ? std::optional(RandomSeed{*seed, 0}) : std::nullopt);
}

std::vector<double> Draw(Distribution distribution, std::optional<uint64_t> seed, int runs = 1) {
  Sample y(DType::kF64, {100, 200});
  PlanRef plan = testing::NewPlan();
  PlanRandom(*plan, distribution, From(seed), y.BoundTo(*plan, Access::kWrite, "y"));
  for (int i = 0; i < runs; ++i) testing::RunPlan(*plan);
  return Values(y);
}

TEST(Random, HasItsMoments) {
  for (Distribution distribution : {Distribution::kUniform, Distribution::kNormal}) {
    const std::vector<double> values = Draw(distribution, 5);
    double sum = 0, squares = 0;
    for (double value : values) sum += value, squares += value * value;
    const auto n = static_cast<double>(values.size());
    const bool normal = distribution == Distribution::kNormal;
    EXPECT_NEAR(sum / n, normal ? 0 : 0.5, 0.03);
    EXPECT_NEAR(squares / n, normal ? 1 : 1.0 / 3, 0.05);
    if (normal) continue;
    EXPECT_TRUE(std::ranges::all_of(values, [](double value) { return value >= 0 && value < 1; }));
  }
}

TEST(Random, ASeedGivesTheSameSequenceAndRunsGoOnInIt) {
  EXPECT_EQ(Draw(Distribution::kNormal, 5), Draw(Distribution::kNormal, 5));
  EXPECT_NE(Draw(Distribution::kNormal, 5), Draw(Distribution::kNormal, 6));
  EXPECT_NE(Draw(Distribution::kNormal, 5), Draw(Distribution::kNormal, 5, 2));
  EXPECT_NE(Draw(Distribution::kUniform, std::nullopt), Draw(Distribution::kUniform, std::nullopt));
}

TEST(Random, WorkersDoNotMatter) {
  const auto draw = [] {
    Sample numbers(DType::kF32, {1000, 201}), bits(DType::kU8, {30001}), bytes(DType::kU8, {100, 1001});
    const auto sequence = From(3);
    const auto run = [](const auto& make) {
      PlanRef plan = testing::NewPlan();
      make(*plan);
      testing::RunPlan(*plan);
    };
    run([&](Plan& plan) {
      PlanRandom(plan, Distribution::kNormal, sequence, numbers.BoundTo(plan, Access::kWrite, "y"));
    });
    for (auto [mask, unit] : {std::pair(&bits, MaskUnit::kBit), std::pair(&bytes, MaskUnit::kByte)})
      run([&](Plan& plan) {
        PlanDropMask(plan, unit, sequence, 0.5, mask->BoundTo(plan, Access::kWrite, "y"));
      });
    return std::vector{numbers.storage, bits.storage, bytes.storage};
  };
  const auto alone = draw();
  const auto shared = [&] {
    const testing::InPieces pieces;
    return draw();
  }();
  EXPECT_EQ(alone, shared);
  EXPECT_NE(alone[1][0], alone[1][1]);
}

struct Drawn {
  std::vector<uint32_t> words;
  std::vector<float> fractions, normals;
};

// Near the end of the counter's lower half, and one number beyond what is asked for.
Drawn DrawnBy(const DeviateLoops& loops, int64_t count) {
  const Philox philox(0x123456789abcdef, ~uint64_t{0} - 20, 7);
  const auto size = static_cast<size_t>(count + 1);
  Drawn drawn{std::vector<uint32_t>(kWordsTogether), std::vector<float>(size, 9),
              std::vector<float>(size, 9)};
  const int64_t blocks = std::min(kBlocksTogether, (count + 3) / 4);
  loops.words(philox, 3, blocks, drawn.words.data());
  for (int64_t i = 0; i < kWordsTogether; ++i)
    if (i % kBlocksTogether >= blocks) drawn.words[static_cast<size_t>(i)] = 0;
  loops.fractions(philox, 3, count, 11, {2, -1}, drawn.fractions.data());
  loops.normals(philox, 3, count, {0.5f, 3, 4}, drawn.normals.data());
  return drawn;
}

TEST(Random, VectorsDrawWhatPlainLoopsDraw) {
  for (int64_t count : {1, 2, 5, 31, 64, 65, 511, 513, 4099}) {
    SCOPED_TRACE(count);
    simd::SetLevel(0);
    const Drawn plain = DrawnBy(BestDeviateLoops(), count);
    for (int level = 1; level < 3 && simd::SetLevel(level) == level; ++level) {
      SCOPED_TRACE(level);
      const Drawn drawn = DrawnBy(BestDeviateLoops(), count);
      EXPECT_EQ(drawn.words, plain.words);
      EXPECT_EQ(drawn.fractions, plain.fractions);
      for (size_t i = 0; i < plain.normals.size(); ++i)
        ASSERT_NEAR(drawn.normals[i], plain.normals[i], 2e-6f) << i;
      EXPECT_EQ(drawn.normals.back(), 9);
    }
  }
  simd::SetLevel(9);
}

// Of the same words in f64.
TEST(Random, NormalNumbersAreThoseOfTheirWords) {
  constexpr int64_t kCount = 4096;
  const Philox philox(5, 0, 1);
  std::vector<float> drawn(kCount);
  BestDeviateLoops().normals(philox, 0, kCount, {}, drawn.data());
  for (size_t i = 0; i < kCount; i += 2) {
    const Philox::Words words = philox[i / 4];
    const double left = 1 - std::ldexp(words[i % 4] >> 8, -24), part = std::ldexp(words[i % 4 + 1] >> 8, -24);
    const double length = std::sqrt(-2 * std::log(left)), angle = 2 * std::numbers::pi * part;
    ASSERT_NEAR(drawn[i], length * std::cos(angle), 2e-6) << i;
    ASSERT_NEAR(drawn[i + 1], length * std::sin(angle), 2e-6) << i;
  }
}

TEST(Random, MultinomialDrawsAsOftenAsTheLogitsSay) {
  Sample logits(DType::kF32, {2, 3}), y(DType::kI64, {2, 30000});
  const float values[] = {std::log(1.0f) + 7, std::log(3.0f) + 7, std::log(6.0f) + 7, -INFINITY, 0,
                          -INFINITY};
  std::copy_n(values, 6, reinterpret_cast<float*>(logits.storage.data()) + logits.tensor.offset);
  PlanRef plan = testing::NewPlan();
  const Operand from = logits.BoundTo(*plan, Access::kRead, "logits");
  PlanMultinomial(*plan, from, From(9), y.BoundTo(*plan, Access::kWrite, "y"));
  testing::RunPlan(*plan);
  const auto* drawn = reinterpret_cast<const int64_t*>(y.storage.data()) + y.tensor.offset;
  for (int64_t c = 0; c < 3; ++c) {
    const double wanted = (c == 0 ? 1 : c == 1 ? 3 : 6) / 10.0;
    EXPECT_NEAR(static_cast<double>(std::count(drawn, drawn + 30000, c)) / 30000, wanted, 0.02) << c;
  }
  EXPECT_EQ(std::count(drawn + 30000, drawn + 60000, 1), 30000);
}

}  // namespace
}  // namespace belay::ops
