// The end of a process: with tasks running, without aclFinalize, from a callback, from other threads, and
// calls by destructors of static objects.
#include <signal.h>
#include <sys/time.h>

#include "scenario.h"

using guest::Gate;
using guest::Start;

namespace {

// Kept until the process is gone: streams that exit() finds in every state.
struct Work {
  static constexpr size_t kBytes = 1 << 20;
  void* host = nullptr;  // pinned: a copy from ordinary memory is waited for
  void* device = nullptr;
  Gate gate;

  aclrtStream NewStream() {
    aclrtStream stream = nullptr;
    OK(aclrtCreateStream(&stream));
    return stream;
  }
  void Fill(aclrtStream stream, int copies) { Fill(device, stream, copies); }
  void Fill(void* block, aclrtStream stream, int copies) {
    for (int i = 0; i < copies; ++i) {
      OK(aclrtMemcpyAsync(block, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
  }
  void Allocate() {
    OK(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&host, kBytes));
  }
  // One stream busy, one parked on an event that nobody records, one inside a callback.
  void Submit() {
    Allocate();
    Fill(NewStream(), 2000);
    aclrtEvent never = nullptr;
    OK(aclrtCreateEvent(&never));
    aclrtStream waiting = NewStream();
    OK(aclrtStreamWaitEvent(waiting, never));
    Fill(waiting, 10);
    aclrtStream calling = NewStream();
    OK(aclrtLaunchHostFunc(calling, &Gate::Wait, &gate));
    void* own = nullptr;  // the busy stream fills the other
    OK(aclrtMalloc(&own, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    Fill(own, calling, 10);
    guest::Await(gate.entered);
  }
};
Work& TheWork() {
  static auto* work = new Work;
  return *work;
}

// Calls of the interface after main, by objects that were made before aclInit and after it.
struct Late {
  const char* what = nullptr;
  void (*check)() = nullptr;
  ~Late() {
    if (check == nullptr) return;
    check();
    if (what != nullptr) std::puts(what);
  }
};
Late g_made_before_init;

}  // namespace

SCENARIO(without_finalize) {
  Start();
  guest::UseDevice();
}

SCENARIO(with_tasks_running) {
  Start();
  TheWork().Submit();
  std::exit(0);
}

SCENARIO(quick_exit) {
  Start();
  TheWork().Submit();
  std::quick_exit(0);
}

SCENARIO(underscore_exit) {
  Start();
  TheWork().Submit();
  _exit(0);
}

SCENARIO(return_from_main_while_a_thread_synchronises) {
  Start();
  TheWork().Submit();
  static std::atomic<bool> there{false};
  std::thread([] {
    OK(aclrtSetDevice(0));
    there = true;
    aclrtSynchronizeDevice();  // never returns by itself: a stream of it is parked for ever
  }).detach();
  guest::Await(there);
}

SCENARIO(from_a_thread_while_main_waits) {
  Start();
  TheWork().Submit();
  std::thread([] { std::exit(0); }).detach();
  aclrtSynchronizeDevice();
  for (;;) pause();
}

SCENARIO(from_a_callback) {
  Start();
  aclrtStream stream = TheWork().NewStream();
  OK(aclrtLaunchHostFunc(
      stream, [](void*) { std::exit(0); }, nullptr));
  aclrtSynchronizeStream(stream);
  for (;;) pause();
}

SCENARIO(from_a_callback_while_main_finalizes) {
  Start();
  aclrtStream stream = TheWork().NewStream();
  static Gate gate;
  OK(aclrtLaunchHostFunc(
      stream,
      [](void* g) {
        Gate::Wait(g);
        std::exit(0);
      },
      &gate));
  guest::Await(gate.entered);
  std::thread([] { gate.open = true; }).detach();
  aclFinalize();  // waits for the callback, which ends the process
  for (;;) pause();
}

// Not allowed, and often done: the thread may be anywhere in the library when the signal comes.
SCENARIO(from_a_signal_handler) {
  Start();
  TheWork().Allocate();
  aclrtStream stream = TheWork().NewStream();
  signal(SIGALRM, [](int) { std::exit(0); });
  itimerval once{{0, 0}, {0, 3000}};
  setitimer(ITIMER_REAL, &once, nullptr);
  for (;;) {
    for (int i = 0; i < 100; ++i) TheWork().Fill(stream, 1);
    OK(aclrtSynchronizeStream(stream));
  }
}

SCENARIO(while_another_thread_submits) {
  Start();
  static std::atomic<int> submitted{0};
  std::thread([] {
    OK(aclrtSetDevice(0));
    Work& work = TheWork();
    work.Allocate();
    aclrtStream stream = work.NewStream();
    for (;;) {
      if (aclrtMemcpyAsync(work.device, 64, work.host, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream) == 0) {
        ++submitted;
      }
      if (submitted % 100 == 0) aclrtSynchronizeStream(stream);
    }
  }).detach();
  while (submitted < 1000) std::this_thread::yield();
}

// Objects made before aclInit die after the runtime's own exit hook: no worker is left then.
SCENARIO(destructor_uses_the_device) {
  Start();
  TheWork().Submit();
  TheWork().gate.open = true;
  g_made_before_init.check = [] {
    OK(aclrtSetDevice(0));
    guest::UseDevice(3);
  };
}

SCENARIO(destructor_made_later_uses_the_device) {
  Start();
  static Late late;
  late.check = [] { guest::UseDevice(4); };
}

SCENARIO(destructor_finalizes) {
  Start();
  TheWork().Submit();
  TheWork().gate.open = true;
  g_made_before_init.check = [] {
    OK(aclFinalize());
    EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);
  };
}

SCENARIO(destructor_destroys_what_it_holds) {
  Start();
  static aclrtStream stream = TheWork().NewStream();
  static void* block = nullptr;
  OK(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  g_made_before_init.check = [] {
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyStream(stream));
    OK(aclrtFree(block));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
  };
}

SCENARIO(destructor_reads_messages_and_settings) {
  Start();
  EXPECT(aclrtSetDevice(99) != 0);
  g_made_before_init.check = [] {
    EXPECT(aclrtSetDevice(98) != 0);
    const char* text = aclGetRecentErrMsg();
    EXPECT(text != nullptr && std::strstr(text, "98") != nullptr);
    EXPECT(aclGetRecentErrMsg() == nullptr);
    EXPECT(std::strcmp(aclrtGetSocName(), "Ascend910B3") == 0);
  };
}

SCENARIO(destructor_waits_for_what_will_not_come) {
  Start();
  static aclrtStream stream = TheWork().NewStream();
  static aclrtEvent never = nullptr;
  OK(aclrtCreateEvent(&never));
  OK(aclrtStreamWaitEvent(stream, never));
  g_made_before_init.check = [] {
    EXPECT(aclrtSynchronizeStream(stream) != 0);  // an error, no hang
  };
}

SCENARIO(init_for_the_first_time_in_a_destructor) {
  g_made_before_init.check = [] { guest::WholeProgram(); };
}

SCENARIO(finalize_and_start_again) {
  for (uint8_t round = 1; round < 20; ++round) guest::WholeProgram(round);
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
