#include "layers/race/lost_bytes.h"

#include <gtest/gtest.h>

namespace belay::race {
namespace {

TEST(LostBytes, AreLostUntilSomebodyWritesThere) {
  LostBytes lost;
  EXPECT_FALSE(lost.any());
  lost.Add({{1, 100, 200}, {{0, 5}, 7}, {"aclrtDestroyStreamForce", {}}});
  EXPECT_TRUE(lost.any());
  EXPECT_FALSE(lost.Find({2, 100, 200}));  // another block
  EXPECT_FALSE(lost.Find({1, 200, 300}));
  lost.Written({1, 120, 150});
  EXPECT_FALSE(lost.Find({1, 120, 150}));
  const auto before = lost.Find({1, 0, 1000});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->bytes.begin, 100u);
  EXPECT_EQ(before->bytes.end, 120u);
  EXPECT_EQ(before->write.site, 7u);
  ASSERT_TRUE(lost.Find({1, 130, 160}));
  EXPECT_EQ(lost.Find({1, 130, 160})->bytes.begin, 150u);
  EXPECT_TRUE(lost.Holds(199, 300));
  EXPECT_FALSE(lost.Holds(125, 140));
  lost.End(1);
  EXPECT_FALSE(lost.any());
}

// The latest loss is what is told.
TEST(LostBytes, AreLostOnce) {
  LostBytes lost;
  lost.Add({{1, 100, 200}, {{0, 5}, 7}, {"first", {}}});
  lost.Add({{1, 150, 250}, {{0, 6}, 8}, {"second", {}}});
  EXPECT_EQ(lost.Find({1, 160, 161})->by.call, "second");
  EXPECT_EQ(lost.Find({1, 110, 111})->by.call, "first");
  lost.WrittenAnywhere();
  EXPECT_FALSE(lost.Find({1, 0, 1000}));
}

}  // namespace
}  // namespace belay::race
