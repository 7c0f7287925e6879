#include "layers/hang/web.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace belay::hang {
namespace {

using Waits = Standing::Waits;

const int kNames[4] = {};
const void* S(int i) { return &kNames[i]; }

Standing Of(int self, Waits waits, int source = 0, uint64_t position = 0) {
  return {waits, waits == Waits::kPosition ? S(source) : nullptr, position, 0, S(self), 0};
}
Standing Word(int self, uintptr_t word) { return {Waits::kWord, nullptr, 0, word, S(self), 4}; }

TEST(Web, TwoStreamsThatWaitForEachOtherNeverGetOn) {
  const auto knots = FindKnots({Of(0, Waits::kPosition, 1, 7), Of(1, Waits::kPosition, 0, 9)}, {});
  ASSERT_EQ(knots.size(), 1u);
  EXPECT_TRUE(knots[0].cycle);
  EXPECT_TRUE(knots[0].for_good);
  EXPECT_EQ(knots[0].chain, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(knots[0].awaited, (std::vector<uint64_t>{7, 9}));
}

TEST(Web, WhoWaitsForACycleIsNoPartOfIt) {
  const auto knots = FindKnots({Of(0, Waits::kPosition, 1, 3), Of(1, Waits::kPosition, 2, 7),
                                Of(2, Waits::kPosition, 1, 9), Of(3, Waits::kPosition, 1, 9)},
                               {});
  ASSERT_EQ(knots.size(), 1u);
  EXPECT_EQ(knots[0].chain, (std::vector<size_t>{1, 2}));
}

TEST(Web, AStreamThatRunsHoldsUpNobodyForGood) {
  EXPECT_TRUE(FindKnots({Of(0, Waits::kPosition, 1, 7), Of(1, Waits::kNot)}, {}).empty());
}

TEST(Web, APositionThatWasReachedMeanwhileIsNoKnot) {
  EXPECT_TRUE(FindKnots({Of(0, Waits::kPosition, 1, 7)}, {}).empty());
}

TEST(Web, TheChainLeadsToTheRecordThatNeverCame) {
  const auto knots = FindKnots({Of(1, Waits::kRecord), Of(0, Waits::kPosition, 1, 7)}, {});
  ASSERT_EQ(knots.size(), 1u);
  EXPECT_FALSE(knots[0].cycle);
  EXPECT_FALSE(knots[0].for_good);
  EXPECT_EQ(knots[0].chain, (std::vector<size_t>{1, 0}));
}

TEST(Web, OneKnotIsFoundOnce) {
  const auto knots =
      FindKnots({Of(0, Waits::kPosition, 2, 7), Of(1, Waits::kPosition, 2, 7), Of(2, Waits::kCallback)}, {});
  ASSERT_EQ(knots.size(), 1u);
  EXPECT_EQ(knots[0].chain, (std::vector<size_t>{0, 2}));
}

TEST(Web, AWordThatIsWrittenBehindTheWaitForItMayStillBeWrittenByOthers) {
  const auto knots = FindKnots({Word(0, 64)}, {{S(0), 6, 64}});
  ASSERT_EQ(knots.size(), 1u);
  EXPECT_TRUE(knots[0].cycle);
  EXPECT_FALSE(knots[0].for_good);
  EXPECT_EQ(knots[0].awaited, (std::vector<uint64_t>{6}));
}

TEST(Web, AWordIsWaitedForWhereItWillBeWritten) {
  const auto knots = FindKnots({Word(0, 64), Word(1, 72)}, {{S(0), 6, 72}, {S(1), 9, 64}});
  ASSERT_EQ(knots.size(), 1u);
  EXPECT_TRUE(knots[0].cycle);
  EXPECT_EQ(knots[0].chain, (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(FindKnots({Word(0, 64), Of(1, Waits::kNot)}, {{S(1), 9, 64}}).empty());
  // What was written already, and other words, let nobody through.
  EXPECT_FALSE(FindKnots({Word(0, 64)}, {{S(0), 4, 64}, {S(0), 6, 72}}).at(0).cycle);
}

}  // namespace
}  // namespace belay::hang
