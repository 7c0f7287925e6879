#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "base/simd_targets.h"
#include "ops/matmul/exact_loops.h"

namespace belay::ops {
namespace {

constexpr int64_t kRows[] = {1, 2, 3, 4, 5, 9}, kColumns[] = {1, 2, 3, 7, 8, 16, 17, 33},
                  kDepths[] = {0, 1, 5, 255, 257, 600};

template <class T>
void AgreesWithAPlainLoop() {
  const int best = simd::Level();
  std::mt19937_64 rng(3);
  for (int level = 0; level <= best; ++level) {
    simd::SetLevel(level);
    for (int64_t m : kRows) {
      for (int64_t n : kColumns) {
        for (int64_t k : kDepths) {
          std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)),
              out(static_cast<size_t>(m * n), T{7});
          // Integers of all bits: sums wrap. Whole numbers of f64 that are exact.
          const auto number = [&] {
            return std::is_same_v<T, double> ? static_cast<T>(rng() % 2001) - 1000 : static_cast<T>(rng());
          };
          for (T& x : a) x = number();
          for (T& x : b) x = number();
          BestExactProduct<T>()(a.data(), b.data(), out.data(), m, n, k);
          for (int64_t at = 0; at < m * n; ++at) {
            T want = 0;
            for (int64_t i = 0; i < k; ++i)
              want += a[static_cast<size_t>(at / n * k + i)] * b[static_cast<size_t>(i * n + at % n)];
            ASSERT_EQ(out[static_cast<size_t>(at)], want) << m << "x" << n << "x" << k << " level " << level;
          }
        }
      }
    }
  }
  simd::SetLevel(best);
}

TEST(ExactProduct, OfDoublesAgreesWithAPlainLoop) { AgreesWithAPlainLoop<double>(); }
TEST(ExactProduct, OfWordsAgreesWithAPlainLoop) { AgreesWithAPlainLoop<uint32_t>(); }
TEST(ExactProduct, OfLongWordsAgreesWithAPlainLoop) { AgreesWithAPlainLoop<uint64_t>(); }

TEST(ExactProduct, NanStaysInItsRow) {
  const double a[] = {1, std::numeric_limits<double>::quiet_NaN(), 3, 4}, b[] = {1, 2, 3, 4};
  double out[4];
  BestExactProduct<double>()(a, b, out, 2, 2, 2);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_EQ(out[2], 15);
  EXPECT_EQ(out[3], 22);
}

}  // namespace
}  // namespace belay::ops
