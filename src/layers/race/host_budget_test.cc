#include "layers/race/host_budget.h"

#include "gtest/gtest.h"

namespace belay::race {
namespace {

constexpr int64_t kMuch = 1'000'000'000;

TEST(HostBudget, WithoutALimitAllMay) {
  HostBudget budget;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(budget.Allows(1, kMuch, 1));
}

TEST(HostBudget, TheFirstOfEachPlaceMayWhateverTheTime) {
  HostBudget budget;
  budget.Limit(1);
  for (uint32_t site : {7u, 0u}) {
    for (uint32_t i = 0; i < HostBudget::kAlways; ++i) EXPECT_TRUE(budget.Allows(site, kMuch, 1));
    EXPECT_FALSE(budget.Allows(site, kMuch, 1));
  }
}

TEST(HostBudget, MoreMayWhileLittleOfTheTimeWasSpent) {
  HostBudget budget;
  budget.Limit(kMuch);
  for (uint32_t i = 0; i < HostBudget::kAlways; ++i) budget.Allows(0, 0, kMuch);
  const int64_t spent = 1000;
  EXPECT_FALSE(budget.Allows(0, spent, kMuch + HostBudget::kPart * spent - 1));
  EXPECT_TRUE(budget.Allows(0, spent, kMuch + HostBudget::kPart * spent));
}

}  // namespace
}  // namespace belay::race
