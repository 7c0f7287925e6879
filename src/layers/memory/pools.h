// The pools of memory that a program describes (mstx), and the regions that it gives out of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "layers/memory/blocks.h"
#include "layers/support/stack.h"
#include "runtime/observer.h"

namespace belay::misuse {

class Pools {
 public:
  // Whether there has been one.
  bool any() const { return any_.load(std::memory_order_acquire); }

  void Begin(const rt::Block& pool, const layers::Stack& stack);
  // False: there is none that begins there.
  bool End(uintptr_t base, uint32_t call, const layers::Stack& stack);
  void BeginRegion(const rt::Block& region, const layers::Stack& stack);
  bool EndRegion(uintptr_t base, uint32_t call, const layers::Stack& stack);
  // Those that begin in these bytes, and their regions, are none any more.
  void Forget(uintptr_t begin, size_t bytes);

  // The pool, or the region, that holds the address; a region may be over.
  const Life* PoolAt(uintptr_t address) const;
  const Life* RegionAt(uintptr_t address) const { return regions_.Find(address); }

  // Bytes of a pool that are touched and may not be.
  struct Stray {
    Life pool;
    std::optional<Life> region;  // where they begin; none: nothing holds that
    size_t beyond = 0;           // how many lie behind the end of that, which is not over
  };
  // `whole`: every byte is touched, so that all of them have to be in one region.
  std::optional<Stray> Look(uintptr_t begin, size_t bytes, bool whole) const;

 private:
  std::atomic<bool> any_{false};
  uint64_t serials_ = 0;
  Blocks pools_, regions_;
};

}  // namespace belay::misuse
