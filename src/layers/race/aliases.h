// Memory that several ranges of addresses show (one handle mapped twice by aclrtMapMem): what is touched
// through one of them is touched for all. As long as there is one range, its addresses say enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "layers/race/shadow.h"
#include "runtime/observer.h"

namespace belay::race {

class Aliases {
 public:
  struct Mapping {
    uint64_t block;   // the serial number of the range
    uint64_t memory;  // the number that stands for a block's in Bytes that lie in the memory itself
    uintptr_t moved;  // what is added to an address to get the place in the memory
  };
  // A range shows memory from now on. The mappings that there were before, where this is the first time that
  // there are several.
  std::vector<Mapping> Add(const rt::Block& block);
  void Remove(uint64_t block);

  bool any() const { return any_.load(std::memory_order_acquire); }
  // Where the bytes lie in the memory itself; of block 0 where no other addresses show it.
  Bytes InMemory(const Bytes& bytes) const;
  static bool IsMemory(uint64_t block) { return (block & kMemory) != 0; }
  // Whether nothing shows that memory any more.
  bool IsGone(uint64_t memory) const;

 private:
  static constexpr uint64_t kMemory = uint64_t{1} << 62;  // beyond the serial numbers of blocks

  mutable std::mutex lock_;
  std::unordered_map<uint64_t, Mapping> mappings_;  // by block
  std::unordered_map<uint64_t, size_t> ranges_;     // that show a memory
  std::unordered_set<uint64_t> several_;            // memory that several have shown at a time
  std::atomic<bool> any_{false};
};

}  // namespace belay::race
