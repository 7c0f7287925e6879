#include "layers/race/aliases.h"

#include <gtest/gtest.h>

namespace belay::race {
namespace {

rt::Block BlockAt(uintptr_t base, uint64_t serial, uint64_t memory, uint64_t offset) {
  return {rt::BlockKind::kMapped, 0, base, 100, serial, 0, memory, offset};
}

TEST(Aliases, BytesLieInTheMemoryOnceItIsShownTwice) {
  Aliases aliases;
  EXPECT_TRUE(aliases.Add(BlockAt(1000, 1, 7, 0)).empty());
  EXPECT_TRUE(aliases.Add(BlockAt(2000, 3, 8, 0)).empty());
  EXPECT_FALSE(aliases.any());
  EXPECT_EQ(aliases.InMemory({1, 1010, 1020}).block, 0u);

  const auto before = aliases.Add(BlockAt(3000, 5, 7, 50));
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].block, 1u);
  EXPECT_TRUE(aliases.any());
  const Bytes first = aliases.InMemory({1, 1060, 1070}), second = aliases.InMemory({5, 3010, 3020});
  EXPECT_TRUE(Aliases::IsMemory(first.block));
  EXPECT_EQ(first.block, before[0].memory);
  EXPECT_EQ(first.block, second.block);
  EXPECT_EQ(first.begin, 60u);
  EXPECT_EQ(first.end, 70u);
  EXPECT_EQ(second.begin, 60u);
  EXPECT_EQ(aliases.InMemory({3, 2010, 2020}).block, 0u);    // another memory
  EXPECT_TRUE(aliases.Add(BlockAt(4000, 9, 7, 0)).empty());  // what is known is known
}

TEST(Aliases, AreKeptUntilTheLastRangeGoes) {
  Aliases aliases;
  aliases.Add(BlockAt(1000, 1, 7, 0));
  aliases.Add(BlockAt(2000, 3, 7, 0));
  const uint64_t memory = aliases.InMemory({3, 2000, 2001}).block;
  aliases.Remove(1);
  EXPECT_EQ(aliases.InMemory({1, 1000, 1001}).block, 0u);
  EXPECT_EQ(aliases.InMemory({3, 2000, 2001}).block, memory);
  EXPECT_FALSE(aliases.IsGone(memory));
  aliases.Remove(3);
  EXPECT_TRUE(aliases.IsGone(memory));
  EXPECT_FALSE(aliases.any());
}

}  // namespace
}  // namespace belay::race
