#include "ops/reduce/arg_loops.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "base/simd_targets.h"

namespace belay::ops {
namespace {

template <class T>
bool IsBetter(T x, T best, bool largest, bool last, bool nan_wins) {
  const bool none = x != x, had = best != best;
  if (none != had) return none == nan_wins;
  return (largest ? x > best : x < best) || (last && x == best);
}

template <class T>
void CheckArgs(std::mt19937& rng, bool largest, bool last, bool nan_wins) {
  for (int64_t m = 1; m <= 40; m += 1 + m / 9) {
    for (int64_t count : {0, 1, 2, 7, 30}) {
      const int64_t step = m + static_cast<int64_t>(rng() % 3);
      std::vector<T> x(static_cast<size_t>(step * count)), best(static_cast<size_t>(m));
      for (auto* all : {&x, &best}) {
        for (T& each : *all) {
          each = static_cast<T>(static_cast<int>(rng() % 9) - 4);
          if (std::is_floating_point_v<T> && rng() % 6 == 0) each = std::numeric_limits<T>::quiet_NaN();
        }
      }
      std::vector<PlaceOf<T>> where(best.size(), 3), places = where;
      std::vector<T> wanted = best;
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t i = 0; i < m; ++i) {
          const auto at = static_cast<size_t>(i);
          const T each = x[static_cast<size_t>(k * step + i)];
          if (!IsBetter(each, wanted[at], largest, last, nan_wins)) continue;
          wanted[at] = each, places[at] = static_cast<PlaceOf<T>>(5 + k);
        }
      }
      BestArgLoop<T>(largest, last)({best.data(), where.data(), x.data(), step, count, m, 5, nan_wins});
      ASSERT_EQ(where, places) << m << " x " << count;
      for (size_t i = 0; i < best.size(); ++i)
        ASSERT_TRUE(best[i] == wanted[i] || (best[i] != best[i] && wanted[i] != wanted[i]));
    }
  }
}

TEST(Arg, RowsAsOneElementAfterTheOther) {
  std::mt19937 rng(61);
  for (int level = 0; level <= 2; ++level) {
    if (simd::SetLevel(level) != level) continue;
    for (int how = 0; how < 8; ++how) {
      SCOPED_TRACE("level " + std::to_string(level) + ", " + std::to_string(how));
      const bool largest = (how & 1) != 0, last = (how & 2) != 0, nan_wins = (how & 4) != 0;
      CheckArgs<float>(rng, largest, last, nan_wins);
      CheckArgs<double>(rng, largest, last, nan_wins);
      CheckArgs<int32_t>(rng, largest, last, nan_wins);
      CheckArgs<int64_t>(rng, largest, last, nan_wins);
    }
  }
  simd::SetLevel(9);
}

}  // namespace
}  // namespace belay::ops
