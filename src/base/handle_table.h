// Handles: what a program holds in an aclrtStream, an aclTensor* and so on.
//
// A handle is a 64-bit value that no mapped address can have (non-canonical, bit 63 clear): a kind in
// bits 56-62, a generation in bits 32-55, an index in bits 0-31. The object lives in a type-stable slot
// that is never unmapped, so a stale, foreign or wrong-kind handle is found out by comparing numbers
// and is an error code, never a crash. Slots come from a HandleTable, one per kind, and are reused with
// the next generation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/cache_line.h"
#include "base/spin_lock.h"

namespace belay {

// Kinds are numbers 0x01..0x7e; they make bits 48-62 differ from bit 47, hence non-canonical.
enum class HandleKind : uint8_t {
  kStream = 0x11,
  kEvent = 0x12,
  kContext = 0x13,
  kModel = 0x14,
  kNotify = 0x15,
  kTaskGroup = 0x17,
  kPhysicalMemory = 0x18,
  kModelStream = 0x19,
  kModelTask = 0x1a,
  kCommunicator = 0x1b,
  kTensor = 0x21,
  kScalar = 0x22,
  kIntArray = 0x23,
  kFloatArray = 0x24,
  kBoolArray = 0x25,
  kTensorList = 0x26,
  kScalarList = 0x27,
  kExecutor = 0x28,
  kDataBuffer = 0x31,
  kTensorDesc = 0x32,
  kDataset = 0x33,
  kModelDescription = 0x34,
  kModelConfig = 0x35,
  kExecConfig = 0x36,
  kOpAttributes = 0x37,
  kOpHandle = 0x38,
  kAippParameters = 0x39,
};

using HandleBits = uint64_t;

constexpr HandleBits MakeHandle(HandleKind kind, uint32_t generation, uint32_t index) {
  return uint64_t{static_cast<uint8_t>(kind)} << 56 | uint64_t{generation & 0xffffff} << 32 | index;
}
constexpr uint8_t KindOf(HandleBits h) { return static_cast<uint8_t>(h >> 56); }
constexpr uint32_t GenerationOf(HandleBits h) { return (h >> 32) & 0xffffff; }
constexpr uint32_t IndexOf(HandleBits h) { return static_cast<uint32_t>(h); }

// A table of T. Find and the generation check take no lock; Create and Destroy take a short one.
// A slot's memory outlives the object: a reader that raced with Destroy sees a changed generation.
// Odd generations are live, even ones free, so a zeroed slot is free.
//
// A T with `static constexpr bool kPersistent = true` is built once per slot and never destroyed:
// Create calls T::Open(args...), Recycle calls T::Close(). Its counters then only grow, and core code
// may keep a T* for ever (a stream position, say) instead of a reference count.
template <class T, HandleKind kKind, uint32_t kMaxSlots = 1u << 24>
class HandleTable {
 public:
  static constexpr uint32_t kChunkBits = 8;
  static constexpr uint32_t kChunkSlots = 1u << kChunkBits;

  struct Slot {
    std::atomic<uint32_t> generation{0};
    uint32_t index = 0;
    uint32_t next_free = 0;
    alignas(T) std::byte storage[sizeof(T)];
    T* object() { return std::launder(reinterpret_cast<T*>(storage)); }
  };

  constexpr HandleTable() = default;

  // Builds a T in a free slot and returns its handle; 0 when the table is full.
  template <class... Args>
  HandleBits Create(Args&&... args) {
    Slot* slot = TakeSlot();
    if (slot == nullptr) return 0;
    try {
      if constexpr (kIsPersistent) {
        slot->object()->Open(std::forward<Args>(args)...);
      } else {
        new (slot->storage) T(std::forward<Args>(args)...);
      }
    } catch (...) {
      retired_.fetch_add(1, std::memory_order_relaxed);
      PutSlot(slot);
      throw;
    }
    uint32_t generation = (slot->generation.load(std::memory_order_relaxed) + 1) & 0xffffff;
    slot->generation.store(generation, std::memory_order_release);
    return MakeHandle(kKind, generation, slot->index);
  }

  // The live object behind a handle, or null for null, stale, foreign and wrong-kind values.
  T* Find(HandleBits handle) const noexcept {
    if (KindOf(handle) != static_cast<uint8_t>(kKind)) [[unlikely]]
      return nullptr;
    Slot* slot = SlotAt(IndexOf(handle));
    if (slot == nullptr || GenerationOf(handle) % 2 == 0 ||
        slot->generation.load(std::memory_order_acquire) != GenerationOf(handle)) [[unlikely]] {
      return nullptr;
    }
    return slot->object();
  }

  // Retires the handle at once: exactly one of several racing callers gets the object, the others get
  // null. The winner calls Recycle when nothing inside the core refers to the object any more.
  T* Retire(HandleBits handle) noexcept {
    if (Find(handle) == nullptr) return nullptr;
    Slot* slot = SlotAt(IndexOf(handle));
    uint32_t live = GenerationOf(handle);
    if (!slot->generation.compare_exchange_strong(live, (live + 1) & 0xffffff, std::memory_order_acq_rel)) {
      return nullptr;
    }
    retired_.fetch_add(1, std::memory_order_relaxed);
    return slot->object();
  }
  void Recycle(T* object) noexcept {
    if constexpr (kIsPersistent) {
      object->Close();
    } else {
      object->~T();
    }
    PutSlot(SlotOf(object));
  }
  // Retire and Recycle in one step, for objects that nothing inside the core holds on to.
  bool Destroy(HandleBits handle) noexcept {
    T* object = Retire(handle);
    if (object == nullptr) return false;
    Recycle(object);
    return true;
  }

  // Forgets every slot without running a destructor: a forked child starts afresh with it.
  void AbandonInChild() noexcept { new (this) HandleTable(); }
  // In a forked child that keeps the objects: a thread of the parent may have held the lock.
  void UnlockInChild() noexcept { new (&lock_) SpinLock; }

  // The handle of a live object of this table.
  HandleBits HandleOf(const T* object) const noexcept {
    Slot* slot = SlotOf(const_cast<T*>(object));
    return MakeHandle(kKind, slot->generation.load(std::memory_order_relaxed), slot->index);
  }

  uint32_t live() const {
    return created_.load(std::memory_order_relaxed) - retired_.load(std::memory_order_relaxed);
  }

  // Calls visit(T&) for each live object. The caller sees to it that none is destroyed meanwhile.
  template <class Visit>
  void ForEach(Visit visit) const {
    uint32_t used = used_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used; ++i) {
      Slot* slot = SlotAt(i);
      if (slot->generation.load(std::memory_order_acquire) % 2 == 1) visit(*slot->object());
    }
  }

 private:
  static constexpr bool kIsPersistent = requires { T::kPersistent; };

  static Slot* SlotOf(T* object) {
    return reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(object) - offsetof(Slot, storage));
  }
  Slot* SlotAt(uint32_t index) const noexcept {
    if (index >= used_.load(std::memory_order_acquire)) return nullptr;
    return chunks_[index >> kChunkBits].load(std::memory_order_relaxed) + (index & (kChunkSlots - 1));
  }
  Slot* TakeSlot() {
    std::lock_guard guard(lock_);
    if (free_ == kNone && returned_.load(std::memory_order_relaxed) != kNone) {
      free_ = returned_.exchange(kNone, std::memory_order_acquire);
    }
    if (free_ != kNone) {
      Slot* slot = SlotAt(free_ - 1);
      free_ = slot->next_free;
      if (free_ != kNone) PrefetchLines(SlotAt(free_ - 1));
      CountCreated();
      return slot;
    }
    uint32_t index = used_.load(std::memory_order_relaxed);
    if (index >= kMaxSlots) return nullptr;
    if (chunks_[index >> kChunkBits].load(std::memory_order_relaxed) == nullptr) {
      chunks_[index >> kChunkBits].store(new Slot[kChunkSlots], std::memory_order_relaxed);
    }
    Slot* slot = chunks_[index >> kChunkBits].load(std::memory_order_relaxed) + (index & (kChunkSlots - 1));
    slot->index = index;
    if constexpr (kIsPersistent) new (slot->storage) T();
    used_.store(index + 1, std::memory_order_release);
    CountCreated();
    return slot;
  }
  void CountCreated() {
    created_.store(created_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // The next object's memory is on its way while this one is made.
  static void PrefetchLines(Slot* slot) {
    auto* at = reinterpret_cast<char*>(slot);
    for (size_t i = 0; i < sizeof(Slot); i += kCacheLine) PrefetchForWrite(at + i);
  }
  // Most objects of some kinds are made on one thread and end on another. That one adds to a list which the
  // maker takes as a whole when it has no more, so they seldom touch the same line.
  void PutSlot(Slot* slot) noexcept {
    slot->next_free = returned_.load(std::memory_order_relaxed);
    while (!returned_.compare_exchange_weak(slot->next_free, slot->index + 1, std::memory_order_acq_rel)) {
    }
  }

  static constexpr uint32_t kNone = 0;  // free_ is an index + 1: a table of zeros takes no file space
  mutable SpinLock lock_;
  uint32_t free_ = kNone;
  std::atomic<uint32_t> created_{0};  // under lock_
  std::atomic<uint32_t> retired_{0};
  alignas(64) std::atomic<uint32_t> returned_{kNone};  // a list as free_ is one
  alignas(64) std::atomic<uint32_t> used_{0};
  std::atomic<Slot*> chunks_[kMaxSlots >> kChunkBits] = {};
};

}  // namespace belay
