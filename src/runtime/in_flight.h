// Which threads are inside a call, so that aclFinalize can wait until they have left it.
//
// A call pays for it with two plain stores to a record of its own thread. The fence that orders the store
// before the look at the state of the process is made by whoever ends the process (membarrier), not here.
#pragma once

#include <atomic>
#include <cstdint>

namespace belay::rt {

// Of one thread; written by that thread only. Records are never freed: an ended thread's is used again. A
// thread for which there is no memory tries again with each call; until then nobody waits for its calls.
struct CallRecord {
  std::atomic<uint64_t> sequence{0};  // odd: inside a call
  void Enter() {
    sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void Leave() { sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  bool inside() const { return sequence.load(std::memory_order_relaxed) % 2 == 1; }
};

inline constinit thread_local CallRecord* t_call_record = nullptr;
[[gnu::cold, gnu::noinline]] CallRecord& EnlistThread() noexcept;
inline CallRecord& ThisThreadsCalls() { return t_call_record != nullptr ? *t_call_record : EnlistThread(); }

// Told each time a thread enters a call of the interface, before it holds anything, and when it has left it.
struct CallHook {
  void (*entered)();
  void (*left)();
};
// Null: nobody. To have none costs next to nothing: with one, threads look for their records at each call.
void SetCallHook(const CallHook* hook);
// The thread has left a call and has no record at hand.
[[gnu::cold, gnu::noinline]] void TellCallLeft() noexcept;

// While in scope, the thread's call does not count as in flight: it runs code of the program, or waits for
// a lock that aclFinalize holds. Afterwards it may touch only objects that are never destroyed.
class OutsideCalls {
 public:
  OutsideCalls();
  ~OutsideCalls();
  OutsideCalls(const OutsideCalls&) = delete;
  OutsideCalls& operator=(const OutsideCalls&) = delete;

 private:
  CallRecord* record_;  // null: the thread was in no call
  uint32_t call_;
};

// Waits until every other thread's call that may have begun before this call has ended. `nudge` is called
// between looks, to set free those that wait for something. New calls must be refused by now.
void WaitForCallsInFlight(void (*nudge)());

// Called once a process before threads enter calls (aclInit): asks the system for the fence.
void PrepareCallFence();

}  // namespace belay::rt
