// Where memory came from: the calls that allocated blocks, or that gave out regions of the program's pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "layers/support/stack.h"

namespace belay::race {

struct Origin {
  uintptr_t base;
  size_t bytes;
  uint32_t call;
  layers::Stack stack;
};

class Origins {
 public:
  void Begin(const Origin& origin) {
    std::lock_guard guard(lock_);
    by_base_.insert_or_assign(origin.base, origin);
  }
  void End(uintptr_t base) {
    std::lock_guard guard(lock_);
    by_base_.erase(base);
  }
  std::optional<Origin> Of(uintptr_t address) const {
    std::lock_guard guard(lock_);
    auto after = by_base_.upper_bound(address);
    if (after == by_base_.begin()) return std::nullopt;
    const Origin& origin = (--after)->second;
    return address - origin.base < origin.bytes ? std::optional(origin) : std::nullopt;
  }

 private:
  mutable std::mutex lock_;
  std::map<uintptr_t, Origin> by_base_;
};

}  // namespace belay::race
