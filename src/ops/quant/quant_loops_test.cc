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

}  // namespace
}  // namespace belay::ops
