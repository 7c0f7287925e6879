#include "graph/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace belay::graph {
namespace {

uint64_t Rounded(uint64_t bytes) { return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment; }

uint64_t MostAlive(const std::vector<Lifetime>& blocks) {
  int steps = 0;
  for (const Lifetime& block : blocks) steps = std::max(steps, block.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const Lifetime& block : blocks) {
    change[static_cast<size_t>(block.first)] += static_cast<int64_t>(Rounded(block.bytes));
    change[static_cast<size_t>(block.last) + 1] -= static_cast<int64_t>(Rounded(block.bytes));
  }
  int64_t alive = 0, most = 0;
  for (int64_t delta : change) most = std::max(most, alive += delta);
  return static_cast<uint64_t>(most);
}

struct Placed {
  uint64_t begin, end;
  const Lifetime* block;
};

// The smallest gap that fits among the blocks that are alive meanwhile.
uint64_t BestGap(const std::vector<Placed>& placed, const Lifetime& block) {
  uint64_t need = Rounded(block.bytes), end = 0, best = UINT64_MAX, best_size = UINT64_MAX;
  for (const Placed& other : placed) {  // in the order of their offsets
    if (other.block->last < block.first || other.block->first > block.last) continue;
    if (other.begin > end && other.begin - end >= need && other.begin - end < best_size) {
      best = end;
      best_size = other.begin - end;
    }
    end = std::max(end, other.end);
  }
  return best == UINT64_MAX ? end : best;
}

}  // namespace

// Large blocks first: the small ones then fill the gaps.
MemoryPlan PlanMemory(const std::vector<Lifetime>& blocks) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  plan.lower_bound = MostAlive(blocks);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<Placed> placed;
  for (size_t i : order) {
    uint64_t begin = BestGap(placed, blocks[i]);
    uint64_t end = begin + Rounded(blocks[i].bytes);
    plan.offsets[i] = begin;
    plan.bytes = std::max(plan.bytes, end);
    auto place = std::upper_bound(placed.begin(), placed.end(), begin,
                                  [](uint64_t offset, const Placed& other) { return offset < other.begin; });
    placed.insert(place, {begin, end, &blocks[i]});
  }
  return plan;
}

}  // namespace belay::graph
