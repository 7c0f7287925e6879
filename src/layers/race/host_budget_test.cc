#include "layers/race/host_budget.h"

#include "gtest/gtest.h"

namespace belay::race {
namespace {

constexpr int64_t kMuch = 1'000'000'000;

TEST(HostBudget, WithoutALimitAllMay) {
  HostBudget budget;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(budget.Allows(1, 4096, kMuch, 1));
}

TEST(HostBudget, TheFirstOfEachPlaceMayWhateverTheTime) {
  HostBudget budget;
  budget.Limit(1);
  for (uint32_t site : {7u, 0u}) {
    for (uint32_t i = 0; i < HostBudget::kAlways; ++i) EXPECT_TRUE(budget.Allows(site, 4096, kMuch, 1));
    EXPECT_FALSE(budget.Allows(site, 4096, kMuch, 1));
  }
}

TEST(HostBudget, OfLargeOnesFewerAreTheFirst) {
  HostBudget budget;
  budget.Limit(1);
  const auto may = [&](uint32_t site, uint64_t bytes) {
    uint32_t allowed = 0;
    for (int i = 0; i < 1000; ++i) allowed += budget.Allows(site, bytes, kMuch, 1) ? 1 : 0;
    return allowed;
  };
  EXPECT_EQ(may(0, HostBudget::kAlwaysBytes / 10), 11u);
  EXPECT_EQ(may(1, 2 * HostBudget::kAlwaysBytes), HostBudget::kLargeToo);
}

TEST(HostBudget, MoreMayWhileLittleOfTheTimeWasSpent) {
  HostBudget budget;
  budget.Limit(kMuch);
  for (uint32_t i = 0; i < HostBudget::kAlways; ++i) budget.Allows(0, 4096, 0, kMuch);
  const int64_t spent = 1000;
  EXPECT_FALSE(budget.Allows(0, 4096, spent, kMuch + HostBudget::kPart * spent - 1));
  EXPECT_TRUE(budget.Allows(0, 4096, spent, kMuch + HostBudget::kPart * spent));
}

}  // namespace
}  // namespace belay::race
