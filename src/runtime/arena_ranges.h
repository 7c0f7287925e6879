// Which pages of an arena are free: a set of disjoint ranges that merge when they touch. Used under
// the arena's lock, only when a block is carved or its memory given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace belay::rt {

class FreeRanges {
 public:
  static constexpr uint32_t kNone = ~0u;

  // Adds pages that are free. What Take gave can be added without memory.
  void Add(uint32_t first, uint32_t count);
  // Pages that Take did not give.
  void AddFresh(uint32_t first, uint32_t count);

  // Takes `count` pages that start at a multiple of `alignment` (counted from page 0), from the
  // smallest range that has them; the lowest of those. kNone when there is none.
  uint32_t Take(uint32_t count, uint32_t alignment);

  // Takes exactly these pages: `first`, or kNone when not all of them are free.
  uint32_t TakeAt(uint32_t first, uint32_t count);

 private:
  void Spare(size_t ranges);
  void Insert(uint32_t first, uint32_t count);
  void Erase(std::map<uint32_t, uint32_t>::iterator range);

  std::map<uint32_t, uint32_t> by_start_;            // first page -> count
  std::set<std::pair<uint32_t, uint32_t>> by_size_;  // count, first page
  // Nodes for ranges to come, under keys without meaning: at least one for each part that is out.
  std::map<uint32_t, uint32_t> spare_starts_;
  std::set<std::pair<uint32_t, uint32_t>> spare_sizes_;
  uint32_t spares_made_ = 0;
  size_t out_ = 0;
};

}  // namespace belay::rt
