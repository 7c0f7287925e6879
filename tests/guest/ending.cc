// The end comes while other threads are in the middle of calls: aclFinalize and aclrtResetDevice under
// fire, and calls that wait for what will not come.
#include "scenario.h"

#include <mutex>
#include <random>

using guest::Start;
using guest::UseDevice;

#if defined(__SANITIZE_THREAD__)
// The callers write to blocks that others have got meanwhile: their own races.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:belay::rt::CopyBytes\nrace:belay::rt::FillBytes\n";
}
#endif

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kCycles = 60;
#else
constexpr int kCycles = 200;
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kResetUnderCopies = false;  // a copy to memory that a reset frees is rightly reported
#else
constexpr bool kResetUnderCopies = true;
#endif
constexpr int kThreads = 8;
constexpr size_t kBytes = 4096;

// Handles that all threads use, whether they are still good or not.
struct Shared {
  std::atomic<aclrtStream> stream{nullptr};
  std::atomic<aclrtEvent> event{nullptr};
  std::atomic<aclrtNotify> notify{nullptr};
  std::atomic<aclmdlRI> model{nullptr};
  std::atomic<aclrtContext> context{nullptr};
  std::atomic<bool> stop{false};
  bool device_memory = true;
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> successes{0};
};

// A thread that makes calls without asking whether they can succeed. What it gets must be a code.
class Caller {
 public:
  Caller(Shared& shared, unsigned seed) : shared_(shared), random_(seed) {}
  void Run() {
    while (!shared_.stop.load()) {
      if (aclrtSetDevice(0) != ACL_SUCCESS) std::this_thread::yield();
      Count(aclrtCreateStream(&stream_));
      Count(aclrtCreateEvent(&event_));
      Count(shared_.device_memory ? aclrtMalloc(&block_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST)
                                  : aclrtMallocHost(&block_, kBytes));
      Count(aclrtMallocHost(&host_, kBytes));
      for (int i = 0; i < 12; ++i) Step(static_cast<int>(random_() % 14));
      if (block_ != nullptr) Count(shared_.device_memory ? aclrtFree(block_) : aclrtFreeHost(block_));
      if (host_ != nullptr) Count(aclrtFreeHost(host_));
      Count(aclrtDestroyEvent(event_));
      Count(random_() % 2 ? aclrtDestroyStream(stream_) : aclrtDestroyStreamForce(stream_));
      block_ = host_ = nullptr;
    }
  }

 private:
  void Count(int code) {
    shared_.calls.fetch_add(1, std::memory_order_relaxed);
    if (code == ACL_SUCCESS) shared_.successes.fetch_add(1, std::memory_order_relaxed);
    if (code != ACL_SUCCESS && random_() % 16 == 0) aclGetRecentErrMsg();
  }
  aclrtStream AStream() {
    return random_() % 3 != 0 ? stream_ : random_() % 2 ? shared_.stream.load() : nullptr;
  }
  aclrtEvent AnEvent() { return random_() % 2 ? event_ : shared_.event.load(); }

  void Step(int what) {
    switch (what) {
      case 0:
        return Count(aclrtMemsetAsync(block_, kBytes, 7, kBytes, AStream()));
      case 1:
        return Count(aclrtMemcpyAsync(host_, kBytes, block_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, AStream()));
      case 2:
        return Count(aclrtRecordEvent(AnEvent(), AStream()));
      case 3:
        return Count(aclrtStreamWaitEvent(AStream(), AnEvent()));
      case 4:
        return Count(aclrtSynchronizeStreamWithTimeout(AStream(), 20));
      case 5:
        return Synchronize();
      case 6:
        return Count(aclrtLaunchHostFunc(
            AStream(), [](void*) { aclrtSetDevice(0); }, nullptr));
      case 7:
        return Capture();
      case 8:
        return Count(aclmdlRIExecuteAsync(shared_.model.load(), AStream()));
      case 9:
        return Contexts();
      case 10:
        return Notifies();
      case 11:
        return Queries();
      case 12:
        return ReplaceShared();
      default:
        return Count(aclrtMemcpy(block_, kBytes, host_, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
    }
  }

  void Synchronize() {
    Count(aclrtRecordEvent(event_, stream_));
    Count(aclrtSynchronizeEventWithTimeout(event_, 20));
    Count(aclrtSynchronizeDeviceWithTimeout(20));
  }
  void Capture() {
    aclmdlRI model = nullptr;
    Count(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    Count(aclrtMemsetAsync(block_, kBytes, 3, kBytes, stream_));
    Count(aclmdlRICaptureEnd(stream_, &model));
    if (model == nullptr) return;
    Count(aclmdlRIExecuteAsync(model, AStream()));
    Count(aclmdlRIDestroy(shared_.model.exchange(model)));
  }
  void Contexts() {
    aclrtContext context = nullptr;
    Count(aclrtCreateContext(&context, 0));
    aclrtStream stream = nullptr;
    Count(aclrtCreateStream(&stream));
    Count(aclrtMemsetAsync(block_, kBytes, 9, kBytes, stream));
    aclrtContext old = shared_.context.exchange(context);
    Count(aclrtSetCurrentContext(old));
    Count(aclrtDestroyContext(old));
    Count(aclrtSetDevice(0));
    Count(aclrtResetDevice(0));
  }
  void Notifies() {
    aclrtNotify notify = nullptr;
    Count(aclrtCreateNotify(&notify, 0));
    Count(aclrtRecordNotify(notify, stream_));
    Count(aclrtWaitAndResetNotify(notify, stream_, 0));
    aclrtNotify old = shared_.notify.exchange(notify);
    Count(aclrtRecordNotify(old, stream_));
    Count(aclrtDestroyNotify(old));
  }
  void Queries() {
    aclrtStreamStatus status;
    Count(aclrtStreamQuery(AStream(), &status));
    aclrtEventRecordedStatus recorded;
    Count(aclrtQueryEventStatus(AnEvent(), &recorded));
    size_t free = 0, total = 0;
    Count(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    aclrtContext context = nullptr;
    Count(aclrtGetCurrentContext(&context));
    uint32_t left = 0;
    Count(aclrtGetStreamAvailableNum(&left));
    int32_t device = 0;
    Count(aclrtGetDevice(&device));
    uint32_t devices = 0;
    Count(aclrtGetDeviceCount(&devices));
    aclrtGetSocName();
  }
  void ReplaceShared() {
    aclrtStream stream = nullptr;
    Count(aclrtCreateStream(&stream));
    Count(aclrtDestroyStreamForce(shared_.stream.exchange(stream)));
    aclrtEvent event = nullptr;
    Count(aclrtCreateEvent(&event));
    Count(aclrtDestroyEvent(shared_.event.exchange(event)));
  }

  Shared& shared_;
  std::mt19937 random_;
  aclrtStream stream_ = nullptr;
  aclrtEvent event_ = nullptr;
  void* block_ = nullptr;
  void* host_ = nullptr;
};

// Runs the end again and again under the fire of the callers.
template <class End>
void UnderFire(int cycles, End end, bool device_memory = true) {
  Shared shared;
  shared.device_memory = device_memory;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&shared, t] { Caller(shared, static_cast<unsigned>(t) + 1).Run(); });
  }
  for (int cycle = 0; cycle < cycles; ++cycle) {
    // Whoever is blocked (a stream may wait for an event that nobody records) is freed by the end.
    uint64_t goal = shared.successes.load() + 100;
    for (int i = 0; i < 50 && shared.successes.load() < goal; ++i) usleep(100);
    end();
  }
  shared.stop = true;
  aclFinalize();
  for (std::thread& thread : threads) thread.join();
}

// Calls `make` while other threads set and reset the device, which ends what it made.
template <class Make>
void MadeUnderResets(Make make) {
  constexpr int kRounds = kCycles * 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([t, make] {
      for (int i = 0; i < kRounds; ++i) {
        aclrtSetDevice(0);
        if (t != 0) make();
        aclrtResetDeviceForce(0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  aclFinalize();
  guest::WholeProgram();
}

// A stream that waits for an event that nobody records.
aclrtStream StuckStream() {
  aclrtStream stream = nullptr;
  aclrtEvent never = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtCreateEvent(&never));
  OK(aclrtStreamWaitEvent(stream, never));
  return stream;
}

// Runs `call` on another thread, which has the device and is about to block, then ends the runtime.
template <class Call>
void EndWhileBlocked(int expected, Call call) {
  std::atomic<bool> about{false};
  std::atomic<int> code{-1};
  std::thread thread([&] {
    OK(aclrtSetDevice(0));
    about = true;
    code = call();
  });
  guest::Await(about);
  usleep(30'000);  // time to block; the outcome is the same for a call that comes later
  OK(aclFinalize());
  thread.join();
  if (code != expected) std::fprintf(stderr, "the blocked call gave %d\n", code.load());
  EXPECT(code == expected);
  guest::WholeProgram();
}

}  // namespace

SCENARIO(finalize_under_fire) {
  OK(aclInit(nullptr));
  UnderFire(kCycles, [] {
    OK(aclFinalize());
    OK(aclInit(nullptr));
  });
  guest::WholeProgram();
}

SCENARIO(two_threads_finalize_under_fire) {
  OK(aclInit(nullptr));
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      aclFinalize();
      aclInit(nullptr);
    }
  });
  UnderFire(kCycles / 4, [&] {
    aclFinalize();
    aclInit(nullptr);
  });
  stop = true;
  other.join();
  aclFinalize();
  guest::WholeProgram();
}

SCENARIO(reset_under_fire) {
  OK(aclInit(nullptr));
  UnderFire(
      kCycles,
      [] {
        aclrtSetDevice(0);
        aclrtResetDeviceForce(0);
      },
      kResetUnderCopies);
  guest::WholeProgram();
}

SCENARIO(contexts_made_under_resets) {
  OK(aclInit(nullptr));
  MadeUnderResets([] {
    aclrtContext context = nullptr;
    aclrtCreateContext(&context, 0);
  });
}

SCENARIO(notifies_made_under_resets) {
  OK(aclInit(nullptr));
  MadeUnderResets([] {
    aclrtNotify notify = nullptr;
    aclrtCreateNotify(&notify, 0);
  });
}

SCENARIO(finalize_ends_a_blocked_synchronise) {
  Start();
  EndWhileBlocked(100001, [] { return aclrtSynchronizeStream(StuckStream()); });
}

SCENARIO(finalize_ends_a_blocked_synchronise_with_a_limit) {
  Start();
  EndWhileBlocked(100001, [] { return aclrtSynchronizeStreamWithTimeout(StuckStream(), 50'000); });
}

SCENARIO(finalize_ends_a_blocked_synchronise_of_the_device) {
  Start();
  EndWhileBlocked(100001, [] {
    StuckStream();
    return aclrtSynchronizeDevice();
  });
}

SCENARIO(finalize_ends_a_blocked_event) {
  Start();
  EndWhileBlocked(100001, [] {
    aclrtStream stream = StuckStream();
    aclrtEvent after = nullptr;
    OK(aclrtCreateEvent(&after));
    OK(aclrtRecordEvent(after, stream));
    return aclrtSynchronizeEvent(after);
  });
}

SCENARIO(finalize_ends_a_blocked_process_report) {
  Start();
  EndWhileBlocked(100001, [] {
    aclrtStream stream = nullptr;
    OK(aclrtCreateStream(&stream));
    OK(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), stream));
    return aclrtProcessReport(-1);
  });
}

SCENARIO(a_callback_cannot_start_again_what_waits_for_it) {
  Start();
  static std::atomic<bool> inside{false};
  static std::atomic<int> code{-1};
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  auto start = [](void*) {
    inside = true;
    usleep(30'000);
    code = aclInit(nullptr);
  };
  OK(aclrtLaunchHostFunc(stream, start, nullptr));
  guest::Await(inside);
  OK(aclFinalize());
  EXPECT(code == 100001);
  Start();
  OK(aclFinalize());
}

SCENARIO(a_reset_by_force_ends_a_blocked_synchronise) {
  Start();
  std::atomic<bool> about{false};
  std::atomic<int> code{-1};
  std::thread thread([&] {
    OK(aclrtSetDevice(0));
    aclrtStream stream = StuckStream();
    about = true;
    code = aclrtSynchronizeStream(stream);
  });
  guest::Await(about);
  usleep(30'000);
  OK(aclrtResetDeviceForce(0));
  thread.join();
  EXPECT(code == 107022 || code == 107017);  // dropped while it waited, or the stream was gone already
  OK(aclFinalize());
}

SCENARIO(calls_and_handles_after_the_end) {
  Start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclFinalize());
  EXPECT(aclrtSynchronizeStream(stream) == 100001);
  Start();
  EXPECT(aclrtSynchronizeStream(stream) == 107017);
  OK(aclFinalize());
}

int main(int argc, char** argv) {
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);  // a line for each refused call would be all that is measured
  return guest::RunScenario(argc, argv);
}
