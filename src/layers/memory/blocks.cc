#include "layers/memory/blocks.h"

#include <iterator>

namespace belay::misuse {

void Blocks::Begin(const rt::Block& block, const layers::Stack& stack) {
  auto at = lives_.upper_bound(block.base);
  if (at != lives_.begin()) {
    auto before = std::prev(at);
    if (block.base - before->first < before->second.block.bytes) at = before;
  }
  while (at != lives_.end() && at->first < block.base + block.bytes) at = lives_.erase(at);
  lives_.emplace_hint(at, block.base, Life{block, stack, true, {}, 0});
}

void Blocks::End(const rt::Block& block, const layers::Stack& stack) {
  auto at = lives_.find(block.base);
  if (at == lives_.end() || at->second.block.serial != block.serial) return;
  at->second.live = false;
  at->second.freed = stack;
  at->second.freed_by = block.call;
}

void Blocks::Forget(uintptr_t begin, size_t bytes) {
  lives_.erase(lives_.lower_bound(begin), lives_.lower_bound(begin + bytes));
}

const Life* Blocks::Find(uintptr_t address) const {
  auto after = lives_.upper_bound(address);
  if (after == lives_.begin()) return nullptr;
  const Life& life = std::prev(after)->second;
  return address - life.block.base < life.block.bytes ? &life : nullptr;
}

}  // namespace belay::misuse
