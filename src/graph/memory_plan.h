// Where the intermediate values of a compiled graph lie: blocks that are not alive at the same time share
// memory.
#pragma once

#include <cstdint>
#include <vector>

namespace belay::graph {

// Alive from step `first` to step `last`, both included.
struct Lifetime {
  uint64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // of each block
  uint64_t bytes = 0;             // of all of them together
  uint64_t lower_bound = 0;       // the most that is alive at one step
};

inline constexpr uint64_t kPlanAlignment = 64;

MemoryPlan PlanMemory(const std::vector<Lifetime>& blocks);

}  // namespace belay::graph
