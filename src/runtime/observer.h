// Those who watch what a program asks of the runtime. Layers (src/layers) are observers; the runtime knows of
// no layer. They are told at calls and in the order of calls, so what they conclude does not depend on when
// tasks run; but for those that ask to know that, too.
//
// Whoever is told may not call back into the runtime but for Lookup, and may not throw: layers are told by
// way of a guard (src/layers/support/guard.h). It costs nothing to have none: a stream that is watched takes
// the slow path of Submit. Observers are added before the first stream is opened; one that comes later is
// followed by WatchOpenStreams.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belay::rt {

class Stream;
class TaskGraph;
struct Task;
struct TaskFailure;

enum class BlockKind : uint8_t {
  kDevice,
  kPinned,
  kMapped,      // physical memory in a range of addresses
  kImported,    // another process's
  kRegistered,  // host memory of the program's own
};

// Memory that a call gives to the program, or that the core takes for itself during one.
struct Block {
  BlockKind kind;
  int device;  // -1: none
  uintptr_t base;
  size_t bytes;     // as asked for
  uint64_t serial;  // 0: of registered memory, which is known by its address
  uint32_t call;    // the API function that the thread is in; 0: none
  // Of what was mapped, told when it is: which memory, as several blocks may show the same, and where in it
  // the block begins.
  uint64_t memory = 0;
  uint64_t offset = 0;
};

// Why a block goes.
enum class FreedBy : uint8_t { kCall, kEndOfDevice };

// A call that gives an error.
struct Refusal {
  uint32_t call;
  int code;
  const char* id;             // its section in docs/messages.md
  std::string_view sentence;  // while the observer is told
  const void* about;          // the address or handle that is the matter; null: none or not known
};

// What a call does that is no error, and perhaps not meant.
struct Remark {
  uint32_t call;
  const char* id;             // its section in docs/check.md
  std::string_view sentence;  // while the observer is told
};

// A moment or a span of time that the program marks. Spans of a thread lie one within another; others have a
// number.
enum class MarkKind : uint8_t { kMoment, kPush, kPop, kRangeStart, kRangeStop };
struct Mark {
  MarkKind kind;
  uint32_t range;                // kRangeStart, kRangeStop
  std::string_view message;      // while the observer is told
  int64_t begun_ns, at_ns;       // NowNs; begun_ns of what ends
  std::string_view domain = {};  // what the program calls this kind of marks; while the observer is told
};

// Memory that a program gives out itself: a pool, or a region of one (mstxMemHeapRegister and kin).
struct PoolRange {
  uintptr_t base;
  size_t bytes;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // The stream takes the task as its position-th. Told before the task may run, a stream's tasks in the order
  // of their positions.
  virtual void Submitted(const Stream& /*stream*/, uint64_t /*position*/, const Task& /*task*/) {}
  // The task becomes a node of a graph that is being captured.
  virtual void Captured(const Stream& /*stream*/, uint32_t /*model*/, uint32_t /*node*/,
                        const Task& /*task*/) {}
  // A capture has ended and left this graph.
  virtual void Finished(uint32_t /*model*/, const TaskGraph& /*graph*/) {}
  // The host knows that the stream has got there: it waited, asked, or was called back.
  virtual void HostLearned(const Stream& /*stream*/, uint64_t /*position*/) {}
  // The host knows that the word holds this number, or more, as the launch at this position makes it: what
  // comes before a record within the launch is over. Who sees a launch as one takes it to be over.
  virtual void HostLearnedRecord(const uint64_t* /*word*/, uint64_t /*number*/, const Stream& stream,
                                 uint64_t position) {
    HostLearned(stream, position);
  }
  // What the stream has and the host does not know to be over may never be done: the calling thread gives it
  // up.
  virtual void GivenUp(const Stream& /*stream*/) {}
  // A function of the program that the task at this position calls begins in the calling thread, and is over.
  // Not told of in replays.
  virtual void CallbackBegins(const Stream& /*stream*/, uint64_t /*position*/) {}
  virtual void CallbackIsOver(const Stream& /*stream*/, uint64_t /*position*/) {}
  // Tasks ran because the program made no calls for long, so time decided what ran (explore_engine.h).
  virtual void HostWasSilent() {}
  // The calling thread does this itself, at once.
  virtual void HostDoes(const Task& /*task*/) {}
  // There is a block from now on. Told before the call returns.
  virtual void Allocated(const Block& /*block*/) {}
  // There is no such block any more. Told before its addresses can be used again.
  virtual void Freed(const Block& /*block*/, FreedBy /*why*/) {}
  // From now on the block that holds the address may be written without a word: by other processes, or by the
  // core, which has just done so.
  virtual void WrittenUnseen(const void* /*p*/) {}
  // All blocks of a device have been freed with it.
  virtual void EndedDevice(int /*device*/) {}
  // The program says that from now on it gives out regions of this memory, and that what no region holds may
  // not be touched; and ends that, by the first address.
  virtual void PoolBegan(const PoolRange& /*pool*/) {}
  virtual void PoolEnded(uintptr_t /*base*/) {}
  virtual void RegionBegan(const PoolRange& /*region*/) {}
  virtual void RegionEnded(uintptr_t /*base*/) {}
  // There is this object from now on, which nothing but the program destroys: a dataset, a data buffer, a
  // description, a loaded model (by its number).
  virtual void Created(uint64_t /*handle*/) {}
  // This handle, or number of a loaded model, leads nowhere from now on; that of a communicator perhaps not
  // yet, where the call is refused. Not told of what an operator takes: of tensors and the like there are too
  // many.
  virtual void Destroyed(uint64_t /*handle*/) {}
  // The calling thread executes a loaded model by a call that waits: from the call's begin to its end.
  virtual void ExecutionBegan(uint32_t /*model*/) {}
  virtual void ExecutionEnded(uint32_t /*model*/) {}
  // The program ends the runtime's use, and nothing has gone yet.
  virtual void Finalizing() {}
  virtual void Refused(const Refusal& /*refusal*/) {}
  virtual void Remarked(const Remark& /*remark*/) {}
  // The calling thread is in a function of the C++ interface of graphs, which began then (NowNs: before the
  // observer came, perhaps), and is at its end, with what it gives in words. Calls in C are seen by
  // src/layers/calls.
  virtual void CallBegan(uint32_t /*call*/, int64_t /*begun_ns*/) {}
  virtual void CallEnded(uint32_t /*call*/, const char* /*result*/) {}
  // By the thread that marks.
  virtual void Marked(const Mark& /*mark*/) {}

  // Whether it wants to know when things happen, as below. Asked once.
  virtual bool watches_runs() const { return false; }
  // The stream has what was Submitted, and may have run it already. By the same thread.
  virtual void Queued(const Stream& /*stream*/, uint64_t /*position*/) {}
  // A task begins, and is over (it may have waited in between, and another thread may have ended it): told
  // before anybody can know that its position is reached. What was dropped before it began has neither.
  virtual void Started(const Stream& /*stream*/, uint64_t /*position*/, const Task& /*task*/) {}
  virtual void Ended(const Stream& /*stream*/, uint64_t /*position*/, const Task& /*task*/,
                     const TaskFailure* /*failure*/) {}
  // The same for a node of a model that the task at the head of `stream` launches. Nodes of one lane come one
  // after another, those of several at the same time. Host functions and waits for values are not told of.
  static constexpr uint32_t kNoLane = ~0u;  // the model has none: all nodes come one after another
  virtual void NodeStarted(const Stream& /*stream*/, uint32_t /*lane*/, uint32_t /*model*/, uint32_t /*node*/,
                           const Task& /*task*/) {}
  virtual void NodeEnded(const Stream& /*stream*/, uint32_t /*lane*/, uint32_t /*model*/, uint32_t /*node*/,
                         const Task& /*task*/, const TaskFailure* /*failure*/) {}

  // Whether it looks at the very bytes that tasks touch: what lies between the rows of a view is known then,
  // too. Asked once.
  virtual bool watches_bytes() const { return false; }

  // Whether it wants to know when threads of the program wait. Asked once.
  virtual bool watches_waits() const { return watches_runs(); }
  // The calling thread begins to wait for the stream, until the deadline (NowNs; negative: none), and goes on
  // unless it is cancelled.
  virtual void HostWaits(const Stream& /*stream*/, uint64_t /*position*/, int64_t /*deadline_ns*/) {}
  virtual void HostGoesOn(const Stream& /*stream*/, uint64_t /*position*/) {}

 private:
  friend class Observers;
  Observer* next_ = nullptr;
};

class Observers {
 public:
  static bool any() { return first_.load(std::memory_order_relaxed) != nullptr; }
  static bool watch_runs() { return watch_runs_.load(std::memory_order_relaxed); }
  static bool watch_waits() { return watch_waits_.load(std::memory_order_relaxed); }
  static bool watch_bytes() { return watch_bytes_.load(std::memory_order_relaxed); }
  // Stays for the life of the process; told first.
  static void Add(Observer& observer);
  // In the child of fork, whose first aclInit may add others.
  static void AbandonInChild() {
    first_.store(nullptr);
    watch_runs_.store(false);
    watch_waits_.store(false);
    watch_bytes_.store(false);
  }

  template <class F>
  static void Tell(F tell) {
    for (Observer* o = first_.load(std::memory_order_acquire); o != nullptr; o = o->next_) tell(*o);
  }

 private:
  static constinit std::atomic<Observer*> first_;
  static constinit std::atomic<bool> watch_runs_;
  static constinit std::atomic<bool> watch_waits_;
  static constinit std::atomic<bool> watch_bytes_;
};

[[gnu::cold, gnu::noinline]] void TellHostLearned(const Stream& stream, uint64_t position) noexcept;

[[gnu::cold, gnu::noinline]] void TellGivenUp(const Stream& stream) noexcept;

// The call is that of the thread.
[[gnu::cold, gnu::noinline]] void TellAllocated(Block block) noexcept;
[[gnu::cold, gnu::noinline]] void TellFreed(Block block, FreedBy why) noexcept;
[[gnu::cold, gnu::noinline]] void TellCreated(uint64_t handle) noexcept;
[[gnu::cold, gnu::noinline]] void TellDestroyed(uint64_t handle) noexcept;
[[gnu::cold, gnu::noinline]] void TellWrittenUnseen(const void* p) noexcept;
[[gnu::cold, gnu::noinline]] void TellRemark(const char* id, std::string_view sentence) noexcept;
[[gnu::cold, gnu::noinline]] void TellHostReads(const void* p, size_t bytes) noexcept;

// What a call would write there at once on a card.
[[gnu::cold, gnu::noinline]] void TellHostWrites(void* p, size_t bytes) noexcept;

// What a call reads of the program's memory at once, before it does.
inline void HostReads(const void* p, size_t bytes) noexcept {
  if (Observers::any()) [[unlikely]]
    TellHostReads(p, bytes);
}

}  // namespace belay::rt
