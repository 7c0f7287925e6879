#include "ops/matmul/gemv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace belay::ops {
namespace {

std::vector<float> Numbers(int64_t count, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = normal(rng);
  return numbers;
}

TEST(Gemv, AgreesWithAPlainLoop) {
  std::mt19937 rng(5);
  for (int64_t n : {1, 2, 3, 4, 5, 15, 16, 17, 33, 1000, 2049}) {
    for (int64_t k : {1, 2, 3, 5, 8, 31, 64, 257}) {
      std::vector<float> w = Numbers(n * (k + 3), rng), x = Numbers(k, rng), y(static_cast<size_t>(n), -1.0f);
      std::vector<float> t = Numbers(k * (n + 3), rng), z = y;
      BestGemv()(w.data(), k + 3, x.data(), k, n, y.data());
      BestTransposedGemv()(t.data(), n + 3, x.data(), n, k, z.data());
      for (int64_t i = 0; i < n; ++i) {
        long double by_row = 0, by_column = 0, size = 1;
        for (int64_t j = 0; j < k; ++j) {
          const long double v = x[static_cast<size_t>(j)];
          by_row += w[static_cast<size_t>(i * (k + 3) + j)] * v;
          by_column += t[static_cast<size_t>(j * (n + 3) + i)] * v;
          size += std::fabs(v);
        }
        const auto at = static_cast<size_t>(i);
        ASSERT_NEAR(y[at], static_cast<double>(by_row), static_cast<double>(size) * 1e-6)
            << n << " " << k << " " << i;
        ASSERT_NEAR(z[at], static_cast<double>(by_column), static_cast<double>(size) * 1e-6)
            << n << " " << k << " " << i;
      }
    }
  }
}

// Nothing lies behind the elements, and what is no number stays in its row.
TEST(Gemv, OfEverySmallSize) {
  for (int64_t rows = 1; rows <= 21; ++rows) {
    for (int64_t columns = 0; columns <= 70; ++columns) {
      const auto bad = static_cast<size_t>((rows * 7 + columns) % rows);
      std::vector<float> x(static_cast<size_t>(columns), 1.0f), w;
      for (int64_t i = 0; i < rows * columns; ++i) w.push_back(static_cast<float>(i / columns + i % columns));
      if (columns > 0) w[bad * x.size() + (bad + x.size() / 2) % x.size()] = NAN;
      std::vector<float> t(w.size()), y(static_cast<size_t>(rows), -1.0f), z = y;
      for (size_t i = 0; i < w.size(); ++i) t[i % x.size() * y.size() + i / x.size()] = w[i];
      BestGemv()(w.data(), columns, x.data(), columns, rows, y.data());
      BestTransposedGemv()(t.data(), rows, x.data(), rows, columns, z.data());
      for (size_t i = 0; i < y.size(); ++i) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + ", " + std::to_string(i));
        const bool is_bad = columns > 0 && i == bad;
        const auto want = static_cast<float>(columns * static_cast<int64_t>(i) + columns * (columns - 1) / 2);
        ASSERT_TRUE(is_bad ? std::isnan(y[i]) : y[i] == want);
        ASSERT_TRUE(is_bad ? std::isnan(z[i]) : z[i] == want);
      }
    }
  }
}

TEST(Gemv, EqualRowsGiveEqualBits) {
  std::mt19937 rng(6);
  for (int64_t k : {7, 100, 2048}) {
    const std::vector<float> row = Numbers(k, rng), x = Numbers(k, rng);
    for (int64_t n = 1; n < 70; ++n) {
      std::vector<float> w, t, y(static_cast<size_t>(n)), z(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) w.insert(w.end(), row.begin(), row.end());
      for (float element : row) t.insert(t.end(), static_cast<size_t>(n), element);
      BestGemv()(w.data(), k, x.data(), k, n, y.data());
      BestTransposedGemv()(t.data(), n, x.data(), n, k, z.data());
      for (size_t i = 1; i < y.size(); ++i) {
        ASSERT_EQ(y[i], y[0]) << "row " << i << " of " << n << ", " << k << " columns";
        ASSERT_EQ(z[i], z[0]) << "column " << i << " of " << n << ", " << k << " rows";
      }
    }
  }
}

}  // namespace
}  // namespace belay::ops
