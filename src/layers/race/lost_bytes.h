// Bytes that a task was to write which the program has given up (aclrtDestroyStreamForce): what is there
// nobody knows, until somebody writes there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/race/shadow.h"
#include "layers/support/stack.h"

namespace belay::race {

// Where the program gave a stream up.
struct GivingUp {
  std::string call;
  layers::Stack stack;
};

class LostBytes {
 public:
  struct Lost {
    Bytes bytes;
    Mark write;  // the task that was to write
    GivingUp by;
  };

  bool any() const { return any_.load(std::memory_order_acquire); }
  void Add(const Lost& lost);
  // Somebody writes there.
  void Written(const Bytes& bytes);
  // Nobody knows where somebody writes.
  void WrittenAnywhere() { lost_.clear(), Count(); }
  void End(uint64_t block);
  // What of these bytes is lost; the first.
  std::optional<Lost> Find(const Bytes& bytes) const;
  bool Holds(uintptr_t begin, uintptr_t end) const;  // some of these addresses

 private:
  static constexpr size_t kMost = 4096;  // more are not followed

  void Count() { any_.store(!lost_.empty(), std::memory_order_release); }

  std::atomic<bool> any_{false};
  std::vector<Lost> lost_;  // these do not overlap
};

}  // namespace belay::race
