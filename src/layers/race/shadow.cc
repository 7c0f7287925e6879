#include "layers/race/shadow.h"

#include <algorithm>
#include <iterator>

namespace belay::race {

void Shadow::Check(const Bytes& bytes, bool writes, const Ordered& ordered, const Tell& tell) const {
  auto found = blocks_.find(bytes.block);
  if (found == blocks_.end()) return;
  const Ranges& ranges = found->second;
  auto at = ranges.upper_bound(bytes.begin);
  if (at != ranges.begin()) --at;
  for (; at != ranges.end() && at->first < bytes.end; ++at) {
    const Range& range = at->second;
    if (range.end <= bytes.begin) continue;
    const Bytes both{bytes.block, std::max(at->first, bytes.begin), std::min(range.end, bytes.end)};
    if (range.written && !ordered(range.write)) tell({range.write, true, writes, both});
    if (!writes) continue;
    for (const Mark& read : range.reads) {
      if (!ordered(read)) tell({read, false, writes, both});
    }
  }
}

// Lets a range begin at this byte if one reaches over it.
void Shadow::Split(Ranges& ranges, uintptr_t at) {
  auto next = ranges.lower_bound(at);
  if (next == ranges.begin()) return;
  auto before = std::prev(next);
  if (before->second.end <= at) return;
  Range rest = before->second;
  before->second.end = at;
  ranges.emplace_hint(next, at, std::move(rest));
  ++ranges_;
}

void Shadow::Note(const Bytes& bytes, bool writes, const Mark& mark, const Ordered& ordered) {
  Ranges& ranges = blocks_[bytes.block];
  Split(ranges, bytes.begin);
  Split(ranges, bytes.end);
  auto at = ranges.lower_bound(bytes.begin);
  if (writes) {
    while (at != ranges.end() && at->first < bytes.end) {
      at = ranges.erase(at);
      --ranges_;
    }
    ranges.emplace_hint(at, bytes.begin, Range{bytes.end, true, mark, {}});
    ++ranges_;
    return;
  }
  for (uintptr_t from = bytes.begin; from < bytes.end;) {
    if (at == ranges.end() || at->first > from) {
      const uintptr_t end = at == ranges.end() ? bytes.end : std::min(at->first, bytes.end);
      ranges.emplace_hint(at, from, Range{end, false, {}, {mark}});
      ++ranges_;
      from = end;
      continue;
    }
    std::erase_if(at->second.reads, ordered);
    at->second.reads.push_back(mark);
    from = at->second.end;
    ++at;
  }
}

void Shadow::Forget(const std::function<bool(uint64_t block, uintptr_t at)>& gone,
                    const std::function<bool(const Mark&)>& over) {
  ranges_ = 0;
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    Ranges& ranges = block->second;
    for (auto at = ranges.begin(); at != ranges.end();) {
      Range& range = at->second;
      if (range.written && over(range.write)) range.written = false;
      std::erase_if(range.reads, over);
      at = range.written || !range.reads.empty() ? std::next(at) : ranges.erase(at);
    }
    const bool keep = !ranges.empty() && !gone(block->first, ranges.begin()->first);
    ranges_ += keep ? ranges.size() : 0;
    block = keep ? std::next(block) : blocks_.erase(block);
  }
}

}  // namespace belay::race
