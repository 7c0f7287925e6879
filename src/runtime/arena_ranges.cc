#include "runtime/arena_ranges.h"

#include <iterator>

namespace belay::rt {

void FreeRanges::Spare(size_t ranges) {
  while (spare_starts_.size() < ranges) spare_starts_.emplace(++spares_made_, 0);
  while (spare_sizes_.size() < ranges) spare_sizes_.emplace(0, ++spares_made_);
}

void FreeRanges::Insert(uint32_t first, uint32_t count) {
  if (count == 0) return;
  Spare(1);
  auto start = spare_starts_.extract(spare_starts_.begin());
  start.key() = first;
  start.mapped() = count;
  by_start_.insert(std::move(start));
  auto size = spare_sizes_.extract(spare_sizes_.begin());
  size.value() = {count, first};
  by_size_.insert(std::move(size));
}

void FreeRanges::Erase(std::map<uint32_t, uint32_t>::iterator range) {
  auto size = by_size_.extract(by_size_.find({range->second, range->first}));
  size.value() = {0, ++spares_made_};
  spare_sizes_.insert(std::move(size));
  auto start = by_start_.extract(range);
  start.key() = ++spares_made_;
  spare_starts_.insert(std::move(start));
}

void FreeRanges::AddFresh(uint32_t first, uint32_t count) {
  ++out_;
  try {
    Spare(out_);
  } catch (...) {
    --out_;
    throw;
  }
  Add(first, count);
}

void FreeRanges::Add(uint32_t first, uint32_t count) {
  if (out_ > 0) --out_;
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
  Spare(out_ + 2);
  for (auto it = by_size_.lower_bound({count, 0}); it != by_size_.end(); ++it) {
    auto [size, start] = *it;
    uint32_t first = (start + alignment - 1) / alignment * alignment;
    if (first - start > size - count) continue;  // aligned, it would not fit
    Erase(by_start_.find(start));
    Insert(start, first - start);
    Insert(first + count, start + size - first - count);
    ++out_;
    return first;
  }
  return kNone;
}

uint32_t FreeRanges::TakeAt(uint32_t first, uint32_t count) {
  auto it = by_start_.upper_bound(first);
  if (it == by_start_.begin()) return kNone;
  auto [start, size] = *--it;
  if (first - start >= size || count > size - (first - start)) return kNone;
  Spare(out_ + 2);
  Erase(it);
  Insert(start, first - start);
  Insert(first + count, start + size - first - count);
  ++out_;
  return first;
}

}  // namespace belay::rt
