#include "layers/race/lost_bytes.h"

#include <algorithm>
#include <utility>

namespace belay::race {
namespace {

Bytes CommonOf(const Bytes& one, const Bytes& other) {
  if (one.block != other.block) return {};
  const uintptr_t begin = std::max(one.begin, other.begin);
  return {one.block, begin, std::max(begin, std::min(one.end, other.end))};
}

bool IsEmpty(const Bytes& bytes) { return bytes.begin >= bytes.end; }

}  // namespace

void LostBytes::Add(const Lost& lost) {
  Written(lost.bytes);
  if (lost_.size() < kMost) lost_.push_back(lost);
  Count();
}

void LostBytes::Written(const Bytes& bytes) {
  std::vector<Lost> left;
  for (const Lost& lost : lost_) {
    const Bytes common = CommonOf(lost.bytes, bytes);
    if (IsEmpty(common)) {
      left.push_back(lost);
      continue;
    }
    Lost before = lost, after = lost;
    before.bytes.end = common.begin;
    after.bytes.begin = common.end;
    if (!IsEmpty(before.bytes)) left.push_back(before);
    if (!IsEmpty(after.bytes)) left.push_back(after);
  }
  lost_ = std::move(left);
  Count();
}

void LostBytes::End(uint64_t block) {
  std::erase_if(lost_, [&](const Lost& lost) { return lost.bytes.block == block; });
  Count();
}

bool LostBytes::Holds(uintptr_t begin, uintptr_t end) const {
  return std::ranges::any_of(
      lost_, [&](const Lost& lost) { return lost.bytes.begin < end && begin < lost.bytes.end; });
}

std::optional<LostBytes::Lost> LostBytes::Find(const Bytes& bytes) const {
  for (const Lost& lost : lost_) {
    const Bytes common = CommonOf(lost.bytes, bytes);
    if (!IsEmpty(common)) return Lost{common, lost.write, lost.by};
  }
  return std::nullopt;
}

}  // namespace belay::race
