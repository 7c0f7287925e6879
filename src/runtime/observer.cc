#include "runtime/observer.h"

#include "runtime/memory.h"
#include "runtime/task.h"

namespace belay::rt {

namespace {

struct HostReadTask {
  static constexpr const char* kName = "load";
  const void* src;
  size_t bytes;

  void Run() const {}
  void Ranges(RangeVisitor& visit) const { visit.Reads(src, bytes); }
};

struct HostWriteTask {
  static constexpr const char* kName = "copy";
  void* dst;
  size_t bytes;

  void Run() const {}
  void Ranges(RangeVisitor& visit) const { visit.Writes(dst, bytes); }
};

}  // namespace

constinit std::atomic<Observer*> Observers::first_{nullptr};
constinit std::atomic<bool> Observers::watch_runs_{false};
constinit std::atomic<bool> Observers::watch_waits_{false};
constinit std::atomic<bool> Observers::watch_bytes_{false};

void Observers::Add(Observer& observer) {
  observer.next_ = first_.load(std::memory_order_relaxed);
  first_.store(&observer, std::memory_order_release);
  if (observer.watches_runs()) watch_runs_.store(true, std::memory_order_release);
  if (observer.watches_waits()) watch_waits_.store(true, std::memory_order_release);
  if (observer.watches_bytes()) watch_bytes_.store(true, std::memory_order_release);
}

void TellHostLearned(const Stream& stream, uint64_t position) noexcept {
  Observers::Tell([&](Observer& o) { o.HostLearned(stream, position); });
}

void TellGivenUp(const Stream& stream) noexcept {
  Observers::Tell([&](Observer& o) { o.GivenUp(stream); });
}

void TellAllocated(Block block) noexcept {
  block.call = t_current_call;
  Observers::Tell([&](Observer& o) { o.Allocated(block); });
}

void TellFreed(Block block, FreedBy why) noexcept {
  block.call = t_current_call;
  Observers::Tell([&](Observer& o) { o.Freed(block, why); });
}

void TellCreated(uint64_t handle) noexcept {
  Observers::Tell([&](Observer& o) { o.Created(handle); });
}

void TellDestroyed(uint64_t handle) noexcept {
  Observers::Tell([&](Observer& o) { o.Destroyed(handle); });
}

void TellWrittenUnseen(const void* p) noexcept {
  Observers::Tell([&](Observer& o) { o.WrittenUnseen(p); });
}

void TellRemark(const char* id, std::string_view sentence) noexcept {
  Observers::Tell([&](Observer& o) { o.Remarked({t_current_call, id, sentence}); });
}

// Most of what calls read so is on a stack.
void TellHostReads(const void* p, size_t bytes) noexcept {
  if (bytes == 0 || Lookup(p).kind == MemoryKind::kHost) return;
  const Task task = MakeTask(HostReadTask{p, bytes});
  Observers::Tell([&](Observer& o) { o.HostDoes(task); });
}

void TellHostWrites(void* p, size_t bytes) noexcept {
  const Task task = MakeTask(HostWriteTask{p, bytes});
  Observers::Tell([&](Observer& o) { o.HostDoes(task); });
}

}  // namespace belay::rt
