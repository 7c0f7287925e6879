#include "ops/quant/quant_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/simd_targets.h"

namespace belay::ops {
namespace {

// Zero is in each range, infinities are seen, and NaN is not, wherever they stand.
TEST(Quant, RangesOfEveryLength) {
  std::mt19937 rng(31);
  std::normal_distribution<float> normal;
  for (int level = 0; level <= 2; ++level) {
    if (simd::SetLevel(level) != level) continue;
    for (size_t n = 0; n < 200; ++n) {
      std::vector<float> x(n);
      for (float& number : x) number = normal(rng) + static_cast<float>(n % 3) * 4 - 4;
      if (n % 5 == 1) x[rng() % n] = NAN;
      if (n % 7 == 2) x[rng() % n] = n % 2 == 0 ? INFINITY : -INFINITY;
      float least = 0, most = 0;
      for (float number : x) least = std::min(least, number), most = std::max(most, number);
      const QuantRange range = BestQuantLoops().range(x.data(), static_cast<int64_t>(n));
      EXPECT_EQ(range.least, least) << n;
      EXPECT_EQ(range.most, most) << n;
    }
  }
  simd::SetLevel(9);
}

// Rows of every length as one number after another would have them; NaN stays.
TEST(Quant, RowsInPlaceAreThoseOfTheirNumbers) {
  std::mt19937 rng(33);
  std::uniform_real_distribution<float> some(-200, 200);
  for (int level = 0; level <= 2; ++level) {
    if (simd::SetLevel(level) != level) continue;
    for (size_t n = 1; n < 70; ++n) {
      std::vector<float> x(n + 1);
      for (float& number : x) number = std::nearbyint(some(rng)) / 2;
      if (n % 6 == 1) x[rng() % n] = NAN;
      const float step = n % 4 == 0 ? 0 : 0.5f + static_cast<float>(n % 3), zero = static_cast<float>(n % 2);
      const auto length = static_cast<int64_t>(n);
      float least = x[0], most = x[0];
      for (size_t i = 1; i < n; ++i) least = std::min(least, x[i]), most = std::max(most, x[i]);
      const QuantRange ends = BestQuantLoops().ends(x.data(), length);
      if (!std::isnan(x[0])) {
        EXPECT_EQ(ends.least, least) << n;
        EXPECT_EQ(ends.most, most) << n;
      }
      std::vector<float> y = x;
      BestQuantLoops().divide(y.data(), step, length);
      BestQuantLoops().round(y.data(), zero, length, {-128, 127});
      for (size_t i = 0; i < n; ++i) {
        const float divided = step == 0 ? 0 : x[i] / step;
        const float wanted = std::clamp(std::nearbyint(divided + zero), -128.0f, 127.0f);
        if (std::isnan(wanted)) {
          EXPECT_TRUE(std::isnan(y[i])) << n;
        } else {
          EXPECT_EQ(y[i], wanted) << n;
        }
      }
      EXPECT_EQ(y[n], x[n]) << n;
    }
  }
  simd::SetLevel(9);
}

template <class T>
void CheckRows(QuantType type, int64_t rows, int64_t n, std::mt19937& rng) {
  std::vector<T> x(static_cast<size_t>(rows * n));
  std::vector<float> scale(static_cast<size_t>(rows)), zero(scale.size()), y(x.size() + 1, 7);
  for (T& number : x) number = static_cast<T>(rng() % 256);
  for (float& number : scale) number = static_cast<float>(rng() % 9 + 1) / 8;
  for (float& number : zero) number = static_cast<float>(rng() % 5);
  BestQuantLoops().dequantize_rows[static_cast<int>(type)](y.data(), x.data(), scale.data(), zero.data(),
                                                           rows, n);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t row = i / static_cast<size_t>(n);
    ASSERT_EQ(y[i], (static_cast<float>(x[i]) - zero[row]) * scale[row]) << i;
  }
  EXPECT_EQ(y.back(), 7);
}

TEST(Quant, ShortRowsOfAScaleEach) {
  std::mt19937 rng(32);
  for (int level = 0; level <= 2; ++level) {
    if (simd::SetLevel(level) != level) continue;
    for (int64_t n = 1; n <= 50; ++n) {
      for (int64_t rows : {1, 2, 5, 40}) {
        SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(n));
        CheckRows<uint8_t>(QuantType::kU8, rows, n, rng);
        CheckRows<int8_t>(QuantType::kI8, rows, n, rng);
        CheckRows<float>(QuantType::kF32, rows, n, rng);
      }
    }
  }
  simd::SetLevel(9);
}

}  // namespace
}  // namespace belay::ops
