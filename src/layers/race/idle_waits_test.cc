#include "layers/race/idle_waits.h"

#include <gtest/gtest.h>

namespace belay::race {
namespace {

constexpr uint32_t kStream = 3, kCall = 7;
constexpr int kThread = 11, kOther = 12;
constexpr layers::Stack kPlace{21}, kOtherPlace{22};

TEST(IdleWaits, AWaitForNothingIsOne) {
  IdleWaits waits;
  waits.Waited(kStream, 0, kThread, kCall, kPlace);
  const auto idle = waits.Take();
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle[0].stack, kPlace);
  EXPECT_EQ(idle[0].call, kCall);
  EXPECT_TRUE(waits.Take().empty()) << "each is told once";
}

TEST(IdleWaits, TheSecondOfTwoIsOne) {
  IdleWaits waits;
  waits.Submitted(kStream, kThread);
  waits.Waited(kStream, 1, kThread, kCall, kPlace);
  waits.Waited(kStream, 1, kThread, kCall, kOtherPlace);
  const auto idle = waits.Take();
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle[0].stack, kOtherPlace);
}

TEST(IdleWaits, APlaceThatOrdersOnceIsNone) {
  IdleWaits waits;
  waits.Waited(kStream, 0, kThread, kCall, kPlace);
  waits.Submitted(kStream, kThread);
  waits.Waited(kStream, 1, kThread, kCall, kPlace);
  EXPECT_TRUE(waits.Take().empty());
}

TEST(IdleWaits, WhereAnotherThreadSubmitsTimeDecides) {
  IdleWaits waits;
  waits.Waited(kStream, 0, kThread, kCall, kPlace);
  waits.Submitted(kStream, kOther);
  EXPECT_TRUE(waits.Take().empty());
}

TEST(IdleWaits, WhatAnotherThreadHasWaitedForDoesNotCount) {
  IdleWaits waits;
  waits.Submitted(kStream, kThread);
  waits.Waited(kStream, 1, kOther, kCall, kPlace);
  waits.Waited(kStream, 1, kThread, kCall, kOtherPlace);
  EXPECT_TRUE(waits.Take().empty());
}

}  // namespace
}  // namespace belay::race
