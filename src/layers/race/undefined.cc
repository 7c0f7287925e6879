#include "layers/race/undefined.h"

#include <algorithm>
#include <iterator>

namespace belay::race {

// Takes these bytes out of the ranges.
void Undefined::Cut(std::map<uintptr_t, uintptr_t>& written, uintptr_t begin, uintptr_t end) {
  auto at = written.lower_bound(begin);
  if (at != written.begin() && std::prev(at)->second > begin) --at;
  while (at != written.end() && at->first < end) {
    const auto [first, last] = *at;
    at = written.erase(at);
    if (first < begin) written.emplace(first, begin);
    if (last > end) written.emplace(end, last);
  }
}

void Undefined::Write(const Bytes& bytes) {
  auto found = blocks_.find(bytes.block);
  if (found == blocks_.end()) return;
  Block& block = found->second;
  uintptr_t begin = bytes.begin, end = bytes.end;
  auto after = block.written.upper_bound(end);
  while (after != block.written.begin() && std::prev(after)->second >= begin) {
    auto touching = std::prev(after);
    begin = std::min(begin, touching->first);
    end = std::max(end, touching->second);
    after = block.written.erase(touching);
  }
  block.written.emplace_hint(after, begin, end);
  if (begin <= block.begin && end >= block.end) blocks_.erase(found);
}

void Undefined::Unwrite(const Bytes& bytes) {
  auto found = blocks_.find(bytes.block);
  if (found != blocks_.end()) Cut(found->second.written, bytes.begin, bytes.end);
}

const Undefined::Block* Undefined::Find(const Bytes& bytes) const {
  auto found = blocks_.find(bytes.block);
  if (found == blocks_.end()) return nullptr;
  const auto& written = found->second.written;
  auto after = written.lower_bound(bytes.end);
  const bool any = after != written.begin() && std::prev(after)->second > bytes.begin;
  return any ? nullptr : &found->second;
}

}  // namespace belay::race
