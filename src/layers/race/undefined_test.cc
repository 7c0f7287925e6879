#include "layers/race/undefined.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace belay::race {
namespace {

constexpr uint64_t kUndefinedBlock = 1;

TEST(Undefined, OnlyRangesOfWhichNothingWasWritten) {
  Undefined undefined;
  undefined.Begin(kUndefinedBlock, {100, 200, "aclrtMalloc", {}, {}});
  EXPECT_NE(undefined.Find({kUndefinedBlock, 100, 200}), nullptr);
  EXPECT_EQ(undefined.Find({kUndefinedBlock + 1, 100, 200}), nullptr) << "not known";
  undefined.Write({kUndefinedBlock, 120, 130});
  EXPECT_EQ(undefined.Find({kUndefinedBlock, 100, 200}), nullptr) << "a part was written";
  EXPECT_EQ(undefined.Find({kUndefinedBlock, 129, 140}), nullptr);
  EXPECT_NE(undefined.Find({kUndefinedBlock, 130, 140}), nullptr);
  EXPECT_NE(undefined.Find({kUndefinedBlock, 100, 120}), nullptr);
  undefined.Write({kUndefinedBlock, 100, 120});
  undefined.Write({kUndefinedBlock, 130, 208});
  EXPECT_FALSE(undefined.Knows(kUndefinedBlock)) << "all of it was written";
}

TEST(Undefined, WhatMayHaveBeenWrittenCountsAsWritten) {
  Undefined undefined;
  undefined.Begin(kUndefinedBlock, {100, 200, "aclrtMalloc", {}, {}});
  undefined.WrittenAnywhere();
  EXPECT_EQ(undefined.Find({kUndefinedBlock, 100, 200}), nullptr);
}

TEST(Undefined, AsABitForEachByteWouldHaveIt) {
  constexpr uintptr_t kBytes = 64;
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Undefined undefined;
    undefined.Begin(kUndefinedBlock, {0, kBytes + 1, "aclrtMalloc", {}, {}});  // one byte stays
    std::vector<bool> written(kBytes);
    for (int step = 0; step < 20; ++step) {
      uintptr_t begin = random() % kBytes, end = random() % kBytes + 1;
      if (begin >= end) continue;
      const bool writes = random() % 3 != 0;
      writes ? undefined.Write({kUndefinedBlock, begin, end})
             : undefined.Unwrite({kUndefinedBlock, begin, end});
      for (uintptr_t i = begin; i < end; ++i) written[i] = writes;
      for (uintptr_t from = 0; from < kBytes; from += 5) {
        const uintptr_t to = from + 1 + random() % (kBytes - from);
        bool any = false;
        for (uintptr_t i = from; i < to; ++i) any = any || written[i];
        ASSERT_EQ(undefined.Find({kUndefinedBlock, from, to}) == nullptr, any)
            << round << ": " << from << " to " << to;
      }
    }
  }
}

}  // namespace
}  // namespace belay::race
