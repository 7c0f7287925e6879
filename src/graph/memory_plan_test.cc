#include "graph/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace belay::graph {
namespace {

bool Overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

TEST(MemoryPlan, BlocksThatAreAliveTogetherDoNotShareMemory) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> blocks;
    for (int i = 0; i < 60; ++i) {
      int first = static_cast<int>(random() % 100);
      blocks.push_back({1 + random() % 5000, first, first + static_cast<int>(random() % 12)});
    }
    MemoryPlan plan = PlanMemory(blocks);
    for (size_t a = 0; a < blocks.size(); ++a) {
      EXPECT_LE(plan.offsets[a] + blocks[a].bytes, plan.bytes);
      for (size_t b = 0; b < a; ++b) {
        bool apart = plan.offsets[a] + blocks[a].bytes <= plan.offsets[b] ||
                     plan.offsets[b] + blocks[b].bytes <= plan.offsets[a];
        EXPECT_TRUE(apart || !Overlap(blocks[a], blocks[b])) << "round " << round;
      }
    }
  }
}

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  std::vector<Lifetime> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back({4096, i, i + 1});
  MemoryPlan plan = PlanMemory(blocks);
  EXPECT_EQ(plan.bytes, 8192u);
  EXPECT_EQ(plan.lower_bound, 8192u);
}

}  // namespace
}  // namespace belay::graph
