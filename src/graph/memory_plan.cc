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

MemoryPlan PlaceInOrder(const std::vector<Lifetime>& blocks, const std::vector<size_t>& order) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
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

int StepsAlive(const Lifetime& block) { return block.last - block.first + 1; }

// Keeps the better plan.
void Try(const std::vector<Lifetime>& blocks, const std::vector<size_t>& order, MemoryPlan& best) {
  MemoryPlan plan = PlaceInOrder(blocks, order);
  if (plan.bytes < best.bytes) best = std::move(plan);
}

// What sticks out at the top goes first the next time.
void Improve(const std::vector<Lifetime>& blocks, std::vector<size_t> order, uint64_t lower_bound,
             MemoryPlan& best) {
  // A try looks at most pairs of blocks: graphs of thousands are left as they are.
  constexpr size_t kMostTries = 64, kMostPairs = 4'000'000;
  const size_t tries = std::min(kMostTries, kMostPairs / (blocks.size() * blocks.size() + 1));
  for (size_t i = 0; i < tries && best.bytes > lower_bound + lower_bound / 50; ++i) {
    const MemoryPlan plan = PlaceInOrder(blocks, order);
    auto sticks_out = [&](size_t block) {
      return plan.offsets[block] + Rounded(blocks[block].bytes) == plan.bytes;
    };
    std::stable_partition(order.begin(), order.end(), sticks_out);
    Try(blocks, order, best);
  }
}

}  // namespace

// No order is best for all graphs: large blocks first, so that small ones fill the gaps; those first that
// live long, or that are large and live long; or as they come.
MemoryPlan PlanMemory(const std::vector<Lifetime>& blocks) {
  using Before = bool (*)(const Lifetime& a, const Lifetime& b);
  static constexpr Before kOrders[] = {
      [](const Lifetime& a, const Lifetime& b) { return a.bytes > b.bytes; },
      [](const Lifetime& a, const Lifetime& b) {
        return a.bytes * static_cast<uint64_t>(StepsAlive(a)) >
               b.bytes * static_cast<uint64_t>(StepsAlive(b));
      },
      [](const Lifetime& a, const Lifetime& b) { return StepsAlive(a) > StepsAlive(b); },
      [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; },
      [](const Lifetime& a, const Lifetime& b) { return a.last > b.last; }};
  const uint64_t lower_bound = MostAlive(blocks);
  MemoryPlan best;
  best.bytes = UINT64_MAX;
  for (Before before : kOrders) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return before(blocks[a], blocks[b]); });
    Try(blocks, order, best);
    Improve(blocks, std::move(order), lower_bound, best);
    if (best.bytes == lower_bound) break;
  }
  best.lower_bound = lower_bound;
  return best;
}

}  // namespace belay::graph
