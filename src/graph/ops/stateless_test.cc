// Random numbers that a seed and an offset decide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Apply;
using samples::Ints;
using samples::Reals;

std::vector<double> Drawn(const char* type, DType dtype, int64_t key, int64_t offset, int64_t count = 20000) {
  return Apply(type, {Ints({count}), Ints({key}), Ints({0, offset}), Ints({1})}, {{"dtype", dtype}})[0]
      ->Reals();
}

struct Moments {
  double mean, variance;
};
Moments MomentsOf(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double value : values) sum += value, squares += value * value;
  const double mean = sum / static_cast<double>(values.size());
  return {mean, squares / static_cast<double>(values.size()) - mean * mean};
}

TEST(Stateless, UniformAndNormalNumbersHaveTheirMoments) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    const std::vector<double> uniform = Drawn("StatelessRandomUniformV2", dtype, 3, 8);
    EXPECT_NEAR(MomentsOf(uniform).mean, 0.5, 0.01) << NameOf(dtype);
    EXPECT_NEAR(MomentsOf(uniform).variance, 1.0 / 12, 0.003);
    EXPECT_TRUE(std::ranges::all_of(uniform, [](double u) { return u >= 0 && u < 1; })) << NameOf(dtype);
    const std::vector<double> normal = Drawn("StatelessRandomNormalV2", dtype, 3, 8);
    EXPECT_NEAR(MomentsOf(normal).mean, 0, 0.03);
    EXPECT_NEAR(MomentsOf(normal).variance, 1, 0.05);
    EXPECT_TRUE(std::ranges::all_of(normal, [](double x) { return std::isfinite(x); }));
  }
}

TEST(Stateless, NormalComplexNumbersHaveVarianceOne) {
  const Constant drawn =
      Apply("StatelessRandomNormalV2", {Ints({2, 10000}), Ints({3}), Ints({0, 8}), Ints({1})},
            {{"dtype", DType::kC64}})[0];
  ASSERT_EQ(drawn->dtype(), DType::kC64);
  const auto* parts = drawn->as<float>();
  std::vector<double> real, imaginary;
  for (int i = 0; i < 20000; ++i) real.push_back(parts[2 * i]), imaginary.push_back(parts[2 * i + 1]);
  for (const auto& values : {real, imaginary}) {
    EXPECT_NEAR(MomentsOf(values).mean, 0, 0.02);
    EXPECT_NEAR(MomentsOf(values).variance, 0.5, 0.03);
  }
  EXPECT_NE(real, imaginary);
  EXPECT_THROW(Drawn("StatelessRandomUniformV2", DType::kC64, 3, 8), Error);
}

TEST(Stateless, KeyAndCounterDecide) {
  const auto drawn = [](int64_t key, int64_t offset) {
    return Drawn("StatelessRandomUniformV2", DType::kF32, key, offset, 100);
  };
  EXPECT_EQ(drawn(1, 2), drawn(1, 2));
  EXPECT_NE(drawn(1, 2), drawn(2, 2));
  EXPECT_NE(drawn(1, 2), drawn(1, 3));
  const std::vector<double> longer = Drawn("StatelessRandomUniformV2", DType::kF32, 1, 2, 131);
  EXPECT_TRUE(std::equal(longer.begin(), longer.begin() + 100, drawn(1, 2).begin()));
  EXPECT_THROW(Apply("StatelessRandomUniformV2", {Ints({4}), Ints({1}), Ints({0, 0}), Ints({2})}), Error);
}

TEST(Stateless, BernoulliDrawsAsOftenAsProbSays) {
  Constant y =
      Apply("StatelessBernoulli", {Ints({10000, 2}), Reals({2}, {0.2, 0.9}), Ints({5}), Ints({7})})[0];
  const std::vector<double> values = y->Reals();
  double sums[2] = {};
  for (size_t i = 0; i < values.size(); ++i) sums[i % 2] += values[i];
  EXPECT_NEAR(sums[0] / 10000, 0.2, 0.02);
  EXPECT_NEAR(sums[1] / 10000, 0.9, 0.02);
}

TEST(Stateless, PermutationsHoldEachNumberOnce) {
  std::set<std::vector<int64_t>> seen;
  for (int64_t seed = 0; seed < 200; ++seed) {
    std::vector<int64_t> numbers =
        Apply("StatelessRandperm", {Ints({3}), Ints({seed}), Ints({0})})[0]->Ints();
    EXPECT_TRUE(seen.insert(numbers).second || seen.size() <= 6);
    std::ranges::sort(numbers);
    EXPECT_EQ(numbers, (std::vector<int64_t>{0, 1, 2}));
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Stateless, MultinomialDrawsByWeight) {
  const Constant weights = Reals({2, 3}, {1, 3, 6, 0, 5, 0});
  Constant y = Apply("MultinomialWithReplacement", {weights, Ints({5}), Ints({0})},
                     {{"numsamples", int64_t{20000}}, {"replacement", true}})[0];
  ASSERT_EQ(y->shape(), (Shape{2, 20000}));
  double counts[3] = {};
  for (int64_t i = 0; i < 20000; ++i) ++counts[y->as<int64_t>()[i]];
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(counts[c] / 20000, (c == 0 ? 1 : c * 3) / 10.0, 0.02);
  EXPECT_EQ(std::count(y->as<int64_t>() + 20000, y->as<int64_t>() + 40000, 1), 20000);
}

TEST(Stateless, MultinomialWithoutReplacementDrawsEachClassOnce) {
  const Constant weights = Reals({3}, {1, 0, 3});
  int heavy_first = 0;
  for (int64_t seed = 0; seed < 4000; ++seed) {
    const std::vector<int64_t> drawn = Apply("MultinomialWithReplacement", {weights, Ints({seed}), Ints({0})},
                                             {{"numsamples", int64_t{2}}})[0]
                                           ->Ints();
    EXPECT_EQ(drawn[0] + drawn[1], 2);
    heavy_first += drawn[0] == 2;
  }
  EXPECT_NEAR(heavy_first / 4000.0, 0.75, 0.03);
  EXPECT_THROW(
      Apply("MultinomialWithReplacement", {weights, Ints({1}), Ints({0})}, {{"numsamples", int64_t{3}}}),
      Error);
}

double KeptShare(const std::vector<int64_t>& mask, bool bits) {
  int64_t kept = 0;
  for (int64_t unit : mask) kept += bits ? std::popcount(static_cast<uint64_t>(unit)) : unit;
  return static_cast<double>(kept) / static_cast<double>(mask.size() * (bits ? 8 : 1));
}

TEST(Stateless, DropsBitsAndBytesAsOftenAsAsked) {
  const Constant keep = Reals({1}, {0.7});
  Constant bits =
      Apply("StatelessDropOutGenMask", {Ints({100, 200}), keep, Ints({5}), Ints({0}), Ints({0, 12})})[0];
  EXPECT_EQ(bits->shape(), (Shape{20096 / 8}));
  EXPECT_NEAR(KeptShare(bits->Ints(), true), 0.7, 0.02);
  Constant bytes = Apply("DropOutGenMaskV3", {Ints({100, 200}), keep}, {{"seed", int64_t{5}}})[0];
  EXPECT_EQ(bytes->shape(), (Shape{100, 200}));
  EXPECT_NEAR(KeptShare(bytes->Ints(), false), 0.7, 0.02);
  const Constant other =
      Apply("StatelessDropOutGenMask", {Ints({100, 200}), keep, Ints({5}), Ints({0}), Ints({0, 24})})[0];
  EXPECT_NE(other->Ints(), bits->Ints());
  for (double all : {0.0, 1.0}) {
    bytes = Apply("DropOutGenMaskV3", {Ints({1000}), Reals({1}, {all})}, {{"seed", int64_t{5}}})[0];
    EXPECT_EQ(KeptShare(bytes->Ints(), false), all);
  }
}

TEST(Stateless, MasksAreApplied) {
  const Constant x = Reals({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), keep = Reals({1}, {0.5});
  Constant y = Apply("DropOutDoMask", {x, Reals({2}, {0b10000110, 0b1}, DType::kU8), keep})[0];
  EXPECT_THAT(y->Reals(), testing::ElementsAre(0, 4, 6, 0, 0, 0, 0, 16, 18, 0));
  y = Apply("DropOutDoMaskV3", {x, Reals({10}, {1, 0, 1, 0, 0, 0, 0, 0, 0, 1}, DType::kU8), keep})[0];
  EXPECT_THAT(y->Reals(), testing::ElementsAre(2, 0, 6, 0, 0, 0, 0, 0, 0, 20));
  EXPECT_THROW(Apply("DropOutDoMask", {x, Reals({1}, {1}, DType::kU8), keep}), Error);
}

}  // namespace
}  // namespace belay::graph
