// Host memory that the program registered (aclrtHostRegister): ordinary memory that counts as
// pinned. Registering is rare and takes a lock. Looking up takes none: readers retry when a writer
// was at work.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace belay::rt {

struct RegisteredRange {
  uintptr_t base = 0;
  size_t bytes = 0;
  uint32_t flags = 0;  // as the program gave them; the core only stores them
};

class RegisteredRanges {
 public:
  constexpr RegisteredRanges() = default;

  enum class Added { kYes, kOverlaps, kFull };
  Added Add(const RegisteredRange& range);
  bool Remove(uintptr_t base);
  // The range that holds `address`; bytes is 0 when there is none.
  RegisteredRange Find(uintptr_t address) const noexcept;
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Forgets everything, a lock that another thread held when this process was forked included.
  void Clear();

 private:
  static constexpr uint32_t kMax = 4096;
  struct Slot {
    std::atomic<uintptr_t> base{0};
    std::atomic<size_t> bytes{0};
    std::atomic<uint32_t> flags{0};
  };
  void Move(uint32_t from, uint32_t to);
  uint32_t FirstAbove(uintptr_t address) const;

  std::mutex lock_;
  std::atomic<uint64_t> version_{0};  // odd while a writer is at work
  std::atomic<uint32_t> count_{0};
  Slot slots_[kMax];  // sorted by base, disjoint
};

// The ranges of this process. Register and Unregister throw Error for what cannot be done.
void RegisterHost(void* p, size_t bytes, uint32_t flags);
void UnregisterHost(void* p);
RegisteredRange FindRegistered(const void* p) noexcept;  // bytes is 0 when there is none

}  // namespace belay::rt
