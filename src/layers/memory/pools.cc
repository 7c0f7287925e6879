#include "layers/memory/pools.h"

namespace belay::misuse {
namespace {

bool EndOne(Blocks* blocks, uintptr_t base, uint32_t call, const layers::Stack& stack) {
  const Life* life = blocks->Find(base);
  if (life == nullptr || !life->live || life->block.base != base) return false;
  rt::Block over = life->block;
  over.call = call;
  blocks->End(over, stack);
  return true;
}

}  // namespace

void Pools::Begin(const rt::Block& pool, const layers::Stack& stack) {
  rt::Block numbered = pool;
  numbered.serial = ++serials_;
  pools_.Begin(numbered, stack);
  regions_.Forget(pool.base, pool.bytes);
  any_.store(true, std::memory_order_release);
}

bool Pools::End(uintptr_t base, uint32_t call, const layers::Stack& stack) {
  const Life* pool = PoolAt(base);
  const size_t bytes = pool == nullptr ? 0 : pool->block.bytes;
  if (!EndOne(&pools_, base, call, stack)) return false;
  regions_.Forget(base, bytes);
  return true;
}

void Pools::BeginRegion(const rt::Block& region, const layers::Stack& stack) {
  rt::Block numbered = region;
  numbered.serial = ++serials_;
  regions_.Begin(numbered, stack);
}

bool Pools::EndRegion(uintptr_t base, uint32_t call, const layers::Stack& stack) {
  return EndOne(&regions_, base, call, stack);
}

void Pools::Forget(uintptr_t begin, size_t bytes) {
  if (!any()) return;
  pools_.Forget(begin, bytes);
  regions_.Forget(begin, bytes);
}

const Life* Pools::PoolAt(uintptr_t address) const {
  const Life* pool = pools_.Find(address);
  return pool == nullptr || !pool->live ? nullptr : pool;
}

std::optional<Pools::Stray> Pools::Look(uintptr_t begin, size_t bytes, bool whole) const {
  const Life* pool = bytes == 0 ? nullptr : PoolAt(begin);
  if (pool == nullptr) return std::nullopt;
  const Life* region = RegionAt(begin);
  if (region == nullptr) return Stray{*pool, std::nullopt};
  if (!region->live) return Stray{*pool, *region};
  const size_t left = region->block.base + region->block.bytes - begin;
  if (!whole || bytes <= left) return std::nullopt;
  return Stray{*pool, *region, bytes - left};
}

}  // namespace belay::misuse
