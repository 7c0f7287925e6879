#include "base/parallel.h"

#include <gtest/gtest.h>

#include <vector>

namespace belay {
namespace {

TEST(ParallelFor, RunsInlineWithoutABackend) {
  std::vector<int64_t> ranges;
  ParallelFor(10, 3, [&](int64_t begin, int64_t end) {
    ranges.push_back(begin);
    ranges.push_back(end);
  });
  EXPECT_EQ(ranges, (std::vector<int64_t>{0, 10}));
  EXPECT_EQ(ParallelWidth(), 1);
}

TEST(ParallelFor, DoesNothingForAnEmptyRange) {
  ParallelFor(0, 1, [](int64_t, int64_t) { FAIL(); });
  ParallelFor(-5, 1, [](int64_t, int64_t) { FAIL(); });
}

TEST(ParallelFor, GivesWorkWorthSplittingToTheBackend) {
  static int64_t seen = 0;
  static const ParallelBackend kBackend{2, [](int64_t n, int64_t, RangeBody body) {
                                          seen += n;
                                          body(0, n / 2);
                                          body(n / 2, n);
                                        }};
  SetParallelBackend(&kBackend);
  int64_t sum = 0;
  ParallelFor(100, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(seen, 100);
  ParallelFor(10, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(seen, 100) << "one grain is not worth splitting";
  EXPECT_EQ(sum, 110);
  EXPECT_EQ(ParallelWidth(), 2);
  SetParallelBackend(nullptr);
}

}  // namespace
}  // namespace belay
