#include "layers/race/shadow.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace belay::race {

Shadow::Block* Shadow::Search(uint64_t number) {
  auto found = blocks_.find(number);
  if (found == blocks_.end()) return nullptr;
  found_[number / 2 % found_.size()] = {number, &found->second};
  return &found->second;
}

void Shadow::Check(const Bytes& bytes, bool writes, const Ordered& ordered, const Tell& tell) {
  Block* block = Find(bytes.block);
  if (block == nullptr) return;
  Ranges& ranges = block->ranges;
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
  for (const Some& some : block->some) {
    if ((writes || some.writes) && some.IsWithin(bytes) && !ordered(some.mark))
      tell({some.mark, some.writes, writes, some.bytes});
  }
}

void Shadow::CheckSome(const Bytes& bytes, bool writes, const Ordered& ordered, const Tell& tell) {
  Block* block = Find(bytes.block);
  if (block == nullptr) return;
  std::optional<Conflict> first;
  uintptr_t from = bytes.begin;
  auto at = block->ranges.upper_bound(from);
  if (at != block->ranges.begin()) --at;
  for (; at != block->ranges.end() && at->first <= from && from < bytes.end; ++at) {
    const Range& range = at->second;
    if (range.end <= from) continue;
    const bool meets_write = range.written && !ordered(range.write);
    const auto read = writes ? std::ranges::find_if_not(range.reads, ordered) : range.reads.end();
    if (!meets_write && read == range.reads.end()) return;
    if (!first) first = Conflict{meets_write ? range.write : *read, meets_write, writes, bytes};
    from = range.end;
  }
  if (first && from >= bytes.end) tell(*first);
}

void Shadow::NoteSome(const Bytes& bytes, bool writes, const Mark& mark, const Ordered& over) {
  std::vector<Some>& some = blocks_[bytes.block].some;
  std::erase_if(some, [&](const Some& s) {
    const bool again = s.mark.site == mark.site && s.mark.by.stream == mark.by.stream;
    return over(s.mark) ||
           (again && s.writes == writes && s.bytes.begin == bytes.begin && s.bytes.end == bytes.end);
  });
  if (some.size() == kMostSome) some.erase(some.begin());
  some.push_back({bytes, writes, mark});
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

// Ranges of which nothing else is left to say become one: what was written in pieces is read as a whole.
void Shadow::NoteRead(Ranges& ranges, const Bytes& bytes, const Mark& mark, const Ordered& ordered,
                      const Ordered& over) {
  auto at = ranges.lower_bound(bytes.begin);
  Range* before = nullptr;  // ends where the next begins, and has this read alone
  for (uintptr_t from = bytes.begin; from < bytes.end;) {
    if (at == ranges.end() || at->first > from) {
      const uintptr_t end = at == ranges.end() ? bytes.end : std::min(at->first, bytes.end);
      if (before == nullptr) {
        before = &ranges.emplace_hint(at, from, Range{end, false, {}, {mark}})->second;
        ++ranges_;
      }
      before->end = from = end;
      continue;
    }
    Range& range = at->second;
    from = range.end;
    std::erase_if(range.reads, ordered);
    if (range.written && over(range.write)) range.written = false;
    const bool alone = !range.written && range.reads.empty();
    if (alone && before != nullptr) {
      before->end = from;
      at = ranges.erase(at);
      --ranges_;
      continue;
    }
    range.reads.push_back(mark);
    before = alone ? &range : nullptr;
    ++at;
  }
}

void Shadow::Note(const Bytes& bytes, bool writes, const Mark& mark, const Ordered& ordered,
                  const Ordered& over) {
  Block* known = Find(bytes.block);
  Block& block = known != nullptr ? *known : blocks_[bytes.block];
  if (Range* again = block.At(bytes)) return writes ? again->Write(mark) : again->Read(mark, ordered);
  block.ForgetLatest();
  if (!block.some.empty()) std::erase_if(block.some, [&](const Some& some) { return over(some.mark); });
  Ranges& ranges = block.ranges;
  Split(ranges, bytes.begin);
  Split(ranges, bytes.end);
  if (!writes) return NoteRead(ranges, bytes, mark, ordered, over);
  auto at = ranges.lower_bound(bytes.begin);
  while (at != ranges.end() && at->first < bytes.end) {
    at = ranges.erase(at);
    --ranges_;
  }
  ranges.emplace_hint(at, bytes.begin, Range{bytes.end, true, mark, {}});
  ++ranges_;
}

void Shadow::Copy(uint64_t from, uint64_t to, uintptr_t moved) {
  const Block* block = Find(from);
  if (block == nullptr) return;
  Block& copy = blocks_[to];
  for (const auto& [begin, range] : block->ranges) {
    Range there = range;
    there.end += moved;
    ranges_ += copy.ranges.emplace(begin + moved, std::move(there)).second ? 1 : 0;
  }
  for (Some some : block->some) {
    some.bytes = {to, some.bytes.begin + moved, some.bytes.end + moved};
    copy.some.push_back(some);
  }
}

void Shadow::Forget(const std::function<bool(uint64_t block, uintptr_t at)>& gone,
                    const std::function<bool(const Mark&)>& over) {
  found_ = {};
  ranges_ = 0;
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    block->second.ForgetLatest();
    Ranges& ranges = block->second.ranges;
    for (auto at = ranges.begin(); at != ranges.end();) {
      Range& range = at->second;
      if (range.written && over(range.write)) range.written = false;
      std::erase_if(range.reads, over);
      at = range.written || !range.reads.empty() ? std::next(at) : ranges.erase(at);
    }
    std::vector<Some>& some = block->second.some;
    std::erase_if(some, [&](const Some& s) { return over(s.mark); });
    const bool empty = ranges.empty() && some.empty();
    const bool keep =
        !empty && !gone(block->first, ranges.empty() ? some[0].bytes.begin : ranges.begin()->first);
    ranges_ += keep ? ranges.size() : 0;
    block = keep ? std::next(block) : blocks_.erase(block);
  }
}

}  // namespace belay::race
