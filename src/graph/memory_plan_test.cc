#include "graph/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
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

// Layers as networks have them: a value for the next layer or the one after, sometimes one that is added much
// later, sizes that shrink as the network goes on and grow again at its end.
std::vector<Lifetime> Network(std::mt19937& random) {
  std::vector<Lifetime> blocks;
  const int layers = 20 + static_cast<int>(random() % 200);
  double size = 1 << 22;
  for (int layer = 0; layer < layers; ++layer) {
    if (random() % 6 == 0) size *= layer * 3 < layers * 2 ? 0.5 : 2;
    const uint64_t bytes = static_cast<uint64_t>(size * (1 + random() % 4) / 2) + random() % 64;
    const int reach = random() % 5 == 0 ? 2 + static_cast<int>(random() % 20) : 1;
    blocks.push_back({bytes, layer, std::min(layer + reach, layers)});
    if (random() % 4 == 0) blocks.push_back({bytes / 16, layer, layer});  // a workspace
  }
  return blocks;
}

TEST(MemoryPlan, IsCloseToWhatIsAliveAtOnce) {
  std::mt19937 random(11);
  double worst = 1, sum = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    MemoryPlan plan = PlanMemory(Network(random));
    double ratio = static_cast<double>(plan.bytes) / static_cast<double>(plan.lower_bound);
    EXPECT_LE(ratio, 1.15) << "round " << round;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  RecordProperty("worst", std::to_string(worst));
  std::printf("planned / lower bound: mean %.4f, worst %.4f\n", sum / kRounds, worst);
}

}  // namespace
}  // namespace belay::graph
