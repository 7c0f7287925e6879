#include "runtime/in_flight.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/thread.h"
#include "runtime/task.h"

namespace belay::rt {
namespace {

struct ListedRecord {
  CallRecord calls;
  std::atomic<bool> taken{true};
  ListedRecord* next = nullptr;
};

constinit std::atomic<ListedRecord*> g_records{nullptr};
constinit thread_local CallRecord t_unlisted;
constinit thread_local ListedRecord* t_listed = nullptr;
constinit std::atomic<const CallHook*> g_call_hook{nullptr};

// The parent's threads do not exist in the child; nor may their calls be waited for.
[[maybe_unused]] const bool g_in_flight_at_fork = AtForkInChild([] {
  g_records.store(nullptr, std::memory_order_relaxed);
  t_call_record = nullptr;
  t_listed = nullptr;
});

pthread_key_t MakeRecordKey() {
  pthread_key_t key;
  pthread_key_create(&key, [](void* record) {
    t_call_record = nullptr;  // destructors that run later take another one
    t_listed = nullptr;
    static_cast<ListedRecord*>(record)->taken.store(false, std::memory_order_release);
  });
  return key;
}

ListedRecord* TakeRecord() noexcept {
  for (ListedRecord* r = g_records.load(std::memory_order_acquire); r != nullptr; r = r->next) {
    bool free = false;
    if (!r->taken.load(std::memory_order_relaxed) && r->taken.compare_exchange_strong(free, true)) return r;
  }
  auto* fresh = new (std::nothrow) ListedRecord;
  if (fresh == nullptr) return nullptr;
  fresh->next = g_records.load(std::memory_order_relaxed);
  while (!g_records.compare_exchange_weak(fresh->next, fresh, std::memory_order_release)) {
  }
  return fresh;
}

long Membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

void SleepNs(long ns) {
  timespec t{0, ns};
  nanosleep(&t, nullptr);
}

// After this, every store that another thread made before it looked at the state of the process is seen,
// or that thread will see the new state.
void FenceEverywhere() {
  if (Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  // Refused by the system: no store stays in a core's buffer for milliseconds.
  SleepNs(5'000'000);
}

}  // namespace

namespace {

ListedRecord* ListThisThread() noexcept {
  static const pthread_key_t key = MakeRecordKey();
  ListedRecord* record = TakeRecord();
  if (record == nullptr) return nullptr;
  MakeRoomForExceptions();
  if (pthread_setspecific(key, record) == 0) return record;
  record->taken.store(false, std::memory_order_release);  // nobody would give it back when the thread ends
  return nullptr;
}

}  // namespace

CallRecord& EnlistThread() noexcept {
  if (t_listed == nullptr) t_listed = ListThisThread();
  if (const CallHook* hook = g_call_hook.load(std::memory_order_acquire)) {
    if (t_current_call == 0) hook->entered();
  } else if (t_listed != nullptr) {
    t_call_record = &t_listed->calls;
  }
  return t_listed != nullptr ? t_listed->calls : t_unlisted;
}

void TellCallLeft() noexcept {
  if (const CallHook* hook = g_call_hook.load(std::memory_order_acquire)) hook->left();
}

void SetCallHook(const CallHook* hook) {
  g_call_hook.store(hook, std::memory_order_release);
  t_call_record = nullptr;  // of the caller, which is inside of a call
}

OutsideCalls::OutsideCalls() : record_(&ThisThreadsCalls()), call_(std::exchange(t_current_call, 0u)) {
  if (record_->inside()) {
    record_->Leave();
  } else {
    record_ = nullptr;
  }
}

OutsideCalls::~OutsideCalls() {
  t_current_call = call_;
  if (record_ != nullptr) record_->Enter();
}

void WaitForCallsInFlight(void (*nudge)()) {
  FenceEverywhere();
  nudge();
  for (ListedRecord* r = g_records.load(std::memory_order_acquire); r != nullptr; r = r->next) {
    if (r == t_listed) continue;
    uint64_t seen = r->calls.sequence.load(std::memory_order_acquire);
    if (seen % 2 == 0) continue;
    for (long pause = 20'000; r->calls.sequence.load(std::memory_order_acquire) == seen;) {
      SleepNs(pause);
      if (pause < 1'000'000) pause *= 2;
      nudge();
    }
  }
}

void PrepareCallFence() {
  static const bool registered = Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  (void)registered;
}

}  // namespace belay::rt
