#include "layers/race/aliases.h"

namespace belay::race {

std::vector<Aliases::Mapping> Aliases::Add(const rt::Block& block) {
  const uint64_t memory = kMemory | block.memory << 1 | 1;  // odd, as serial numbers of what lives are
  std::lock_guard guard(lock_);
  std::vector<Mapping> before;
  if (++ranges_[memory] > 1 && several_.insert(memory).second) {
    for (const auto& [serial, mapping] : mappings_) {
      if (mapping.memory == memory) before.push_back(mapping);
    }
    any_.store(true, std::memory_order_release);
  }
  mappings_[block.serial] = {block.serial, memory, block.offset - block.base};
  return before;
}

void Aliases::Remove(uint64_t block) {
  std::lock_guard guard(lock_);
  const auto found = mappings_.find(block);
  if (found == mappings_.end()) return;
  const uint64_t memory = found->second.memory;
  mappings_.erase(found);
  if (--ranges_[memory] != 0) return;
  ranges_.erase(memory);
  several_.erase(memory);
  any_.store(!several_.empty(), std::memory_order_release);
}

Bytes Aliases::InMemory(const Bytes& bytes) const {
  std::lock_guard guard(lock_);
  const auto found = mappings_.find(bytes.block);
  if (found == mappings_.end() || !several_.contains(found->second.memory)) return {};
  const Mapping& mapping = found->second;
  return {mapping.memory, bytes.begin + mapping.moved, bytes.end + mapping.moved};
}

bool Aliases::IsGone(uint64_t memory) const {
  std::lock_guard guard(lock_);
  return !several_.contains(memory);
}

}  // namespace belay::race
