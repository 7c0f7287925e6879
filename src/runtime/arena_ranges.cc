#include "runtime/arena_ranges.h"

#include <iterator>

namespace belay::rt {

void FreeRanges::Insert(uint32_t first, uint32_t count) {
  if (count == 0) return;
  by_start_.emplace(first, count);
  by_size_.emplace(count, first);
}

void FreeRanges::Erase(std::map<uint32_t, uint32_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  by_start_.erase(range);
}

void FreeRanges::Add(uint32_t first, uint32_t count) {
  auto next = by_start_.lower_bound(first);
  if (next != by_start_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == first) {
      first = previous->first;
      count += previous->second;
      Erase(previous);
    }
  }
  if (next != by_start_.end() && next->first == first + count) {
    count += next->second;
    Erase(next);
  }
  Insert(first, count);
}

uint32_t FreeRanges::Take(uint32_t count, uint32_t alignment) {
  for (auto it = by_size_.lower_bound({count, 0}); it != by_size_.end(); ++it) {
    auto [size, start] = *it;
    uint32_t first = (start + alignment - 1) / alignment * alignment;
    if (first - start > size - count) continue;  // aligned, it would not fit
    Erase(by_start_.find(start));
    Insert(start, first - start);
    Insert(first + count, start + size - first - count);
    return first;
  }
  return kNone;
}

uint32_t FreeRanges::TakeAt(uint32_t first, uint32_t count) {
  auto it = by_start_.upper_bound(first);
  if (it == by_start_.begin()) return kNone;
  auto [start, size] = *--it;
  if (first - start >= size || count > size - (first - start)) return kNone;
  Erase(it);
  Insert(start, first - start);
  Insert(first + count, start + size - first - count);
  return first;
}

}  // namespace belay::rt
