// Threads that end in the middle of something, have little stack, are many, or are the runtime's own.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <dirent.h>
#include <algorithm>
#include <fstream>
#include <set>

#include "scenario.h"

using guest::Gate;
using guest::Start;

namespace {

aclrtStream NewStream() {
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  return stream;
}

pthread_t StartThread(void* (*main)(void*), void* argument, size_t stack = 0) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack != 0) EXPECT(pthread_attr_setstacksize(&attributes, stack) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, &attributes, main, argument) == 0);
  pthread_attr_destroy(&attributes);
  return thread;
}

void* Join(pthread_t thread) {
  void* result = nullptr;
  EXPECT(pthread_join(thread, &result) == 0);
  return result;
}

// Cancels the thread and sees to it that it ended by that.
void Cancel(pthread_t thread) {
  EXPECT(pthread_cancel(thread) == 0);
  EXPECT(Join(thread) == PTHREAD_CANCELED);
}

std::string Line(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) == 0) return line.substr(key.size());
  }
  return "";
}

// The names of the process's threads and the signals that each blocks.
std::vector<std::pair<std::string, uint64_t>> Threads() {
  std::vector<std::pair<std::string, uint64_t>> threads;
  DIR* folder = opendir("/proc/self/task");
  while (dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    std::string task = std::string("/proc/self/task/") + entry->d_name;
    threads.emplace_back(Line(task + "/comm", ""),
                         strtoull(Line(task + "/status", "SigBlk:").c_str(), nullptr, 16));
  }
  closedir(folder);
  return threads;
}

}  // namespace

SCENARIO(a_thread_that_submitted_ends) {
  Start();
  static aclrtStream stream = NewStream();
  constexpr size_t kBytes = 1 << 16;
  static void *device = nullptr, *host = nullptr, *back = nullptr;
  OK(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMallocHost(&host, kBytes));
  OK(aclrtMallocHost(&back, kBytes));
  std::memset(host, 7, kBytes);
  for (int round = 0; round < 50; ++round) {
    std::thread([] {
      OK(aclrtSetDevice(0));
      OK(aclrtMemcpyAsync(device, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
      OK(aclrtMemcpyAsync(back, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    }).join();
  }
  OK(aclrtSynchronizeStream(stream));
  EXPECT(std::memcmp(back, host, kBytes) == 0);
}

SCENARIO(threads_leave_contexts_and_streams_behind) {
  Start();
  for (int round = 0; round < 20; ++round) {
    std::thread([round] {
      aclrtContext context = nullptr;
      OK(aclrtCreateContext(&context, round % 2));
      aclrtEvent never = nullptr;
      OK(aclrtCreateEvent(&never));
      OK(aclrtStreamWaitEvent(NewStream(), never));
      guest::UseDevice();
    }).join();
  }
  guest::UseDevice();
  OK(aclFinalize());
  guest::WholeProgram();
}

SCENARIO(a_thread_that_began_a_capture_ends) {
  Start();
  static aclrtStream stream = NewStream();
  std::thread([] {
    OK(aclrtSetDevice(0));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  }).join();
  aclmdlRI model = nullptr;
  EXPECT(aclmdlRICaptureEnd(stream, &model) == 107033);
  EXPECT(aclrtSynchronizeStream(stream) == 0);
  guest::UseDevice();
}

SCENARIO(cancelled_in_synchronize) {
  Start();
  static aclrtStream stream = NewStream();
  static aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  for (int round = 0; round < 5; ++round) {
    static Gate gate;
    gate.entered = gate.open = false;
    OK(aclrtLaunchHostFunc(stream, &Gate::Wait, &gate));
    OK(aclrtRecordEvent(event, stream));
    guest::Await(gate.entered);
    Cancel(StartThread(
        [](void*) -> void* {
          OK(aclrtSetDevice(0));
          aclrtSynchronizeStream(stream);
          return nullptr;
        },
        nullptr));
    Cancel(StartThread(
        [](void*) -> void* {
          OK(aclrtSetDevice(0));
          aclrtSynchronizeEvent(event);
          return nullptr;
        },
        nullptr));
    Cancel(StartThread(
        [](void*) -> void* {
          OK(aclrtSetDevice(0));
          aclrtSynchronizeDevice();
          return nullptr;
        },
        nullptr));
    gate.open = true;
    OK(aclrtSynchronizeStream(stream));
    guest::UseDevice();
  }
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
}

// Wherever it is: between calls, submitting, waiting. No lock stays held.
SCENARIO(cancelled_anywhere) {
  Start();
  static std::atomic<int> rounds{0};
  for (int round = 0; round < 50; ++round) {
    rounds = 0;
    pthread_t thread = StartThread(
        [](void*) -> void* {
          OK(aclrtSetDevice(0));
          for (;;) {
            guest::UseDevice();
            ++rounds;
            pthread_testcancel();
          }
        },
        nullptr);
    while (rounds < 1 + round % 5) std::this_thread::yield();
    Cancel(thread);
    guest::UseDevice();
  }
}

// Calls that are no waits do not end a thread half way, however early it was cancelled.
SCENARIO(cancelled_before_it_calls) {
  static std::atomic<bool> done{false};
  pthread_t thread = StartThread(
      [](void*) -> void* {
        pthread_cancel(pthread_self());
        guest::Start();
        aclrtStream stream = NewStream();
        void* block = nullptr;
        OK(aclrtMalloc(&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMemset(block, 1 << 20, 0, 1 << 20));
        EXPECT(aclrtSetDevice(77) != 0);
        OK(aclrtFree(block));
        OK(aclrtDestroyStream(stream));
        OK(aclrtResetDevice(0));
        OK(aclFinalize());
        done = true;
        return nullptr;
      },
      nullptr);
  Join(thread);
  EXPECT(done);
  guest::WholeProgram();
}

SCENARIO(a_callback_that_ends_its_thread) {
  Start();
  aclrtStream stream = NewStream();
  for (int round = 0; round < 10; ++round) {
    OK(aclrtLaunchHostFunc(
        stream, [](void*) { pthread_exit(nullptr); }, nullptr));
  }
  OK(aclrtSynchronizeStream(stream));
  guest::UseDevice();
}

// Callbacks that run at the same time need as many threads, which aclFinalize ends.
SCENARIO(finalize_ends_the_threads_of_callbacks) {
  for (int round = 0; round < 2; ++round) {
    Start();
    static Gate gate;
    gate.open = false;
    static std::atomic<int> inside{0};
    inside = 0;
    std::vector<aclrtStream> streams;
    for (int i = 0; i < 40; ++i) streams.push_back(NewStream());
    for (aclrtStream stream : streams) {
      OK(aclrtLaunchHostFunc(
          stream,
          [](void*) {
            ++inside;
            guest::Await(gate.open);
          },
          nullptr));
    }
    while (inside < 40) std::this_thread::yield();
    gate.open = true;
    OK(aclrtSynchronizeDevice());
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    auto ours = [](const auto& thread) { return thread.first.rfind("belay-", 0) == 0; };
    for (auto all = Threads(); std::any_of(all.begin(), all.end(), ours); all = Threads()) {
      std::this_thread::yield();
    }
  }
}

SCENARIO(a_report_callback_that_ends_its_thread) {
  Start();
  aclrtStream stream = NewStream();
  pthread_t thread = StartThread(
      [](void*) -> void* {
        for (;;) aclrtProcessReport(100);
      },
      nullptr);
  OK(aclrtSubscribeReport(static_cast<uint64_t>(thread), stream));
  OK(aclrtLaunchCallback([](void*) { pthread_exit(nullptr); }, nullptr, ACL_CALLBACK_BLOCK, stream));
  OK(aclrtSynchronizeStream(stream));
  Join(thread);
  OK(aclrtUnSubscribeReport(static_cast<uint64_t>(thread), stream));
}

SCENARIO(cancelled_in_process_report) {
  Start();
  aclrtStream stream = NewStream();
  pthread_t thread = StartThread(
      [](void*) -> void* {
        for (;;) aclrtProcessReport(-1);
      },
      nullptr);
  OK(aclrtSubscribeReport(static_cast<uint64_t>(thread), stream));
  Cancel(thread);
  OK(aclrtUnSubscribeReport(static_cast<uint64_t>(thread), stream));
  guest::UseDevice();
}

SCENARIO(small_stacks) {
  Start();
  for (int round = 0; round < 20; ++round) {
    Join(StartThread(
        [](void*) -> void* {
          OK(aclrtSetDevice(0));
          guest::UseDevice();
          EXPECT(aclrtSetDevice(77) != 0);  // a message is made, too
          EXPECT(aclGetRecentErrMsg() != nullptr);
          return nullptr;
        },
        nullptr, 32 << 10));
  }
}

// As the queue of a card does.
SCENARIO(a_full_stream_makes_submitters_wait) {
  setenv("BELAY_STREAM_DEPTH", "16", 1);
  Start();
  static aclrtStream full = NewStream();
  static void* memory = nullptr;
  OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  aclrtEvent go = nullptr;
  OK(aclrtCreateEvent(&go));
  OK(aclrtStreamWaitEvent(full, go));

  constexpr int kTasks = 100;
  static std::atomic<int> submitted{0};
  std::thread submitter([] {
    OK(aclrtSetDevice(0));
    for (int i = 0; i < kTasks; ++i) {
      OK(aclrtMemsetAsync(memory, 64, i, 64, full));
      ++submitted;
    }
  });
  while (submitted < 15) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) guest::UseDevice();  // the rest of the device goes on
  EXPECT(submitted <= 16);

  OK(aclrtRecordEvent(go, NewStream()));
  submitter.join();
  OK(aclrtSynchronizeStream(full));
  unsigned char last[64];
  OK(aclrtMemcpy(last, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  for (unsigned char byte : last) EXPECT(byte == kTasks - 1);
}

SCENARIO(two_hundred_threads) {
  OK(aclInit(nullptr));
  std::vector<std::thread> threads;
  for (int i = 0; i < 200; ++i) {
    threads.emplace_back([i] {
      OK(aclrtSetDevice(i % 2));
      for (int round = 0; round < 3; ++round) guest::UseDevice(static_cast<uint8_t>(i + 1));
      OK(aclrtResetDevice(i % 2));
    });
  }
  for (std::thread& thread : threads) thread.join();
  OK(aclFinalize());
}

// A program's handlers run on its own threads; a fault is reported by the thread that made it.
SCENARIO(workers_are_named_and_block_signals) {
  guest::SkipUnderThreadSanitizer();
  size_t own = Threads().size();
  Start();
  aclrtStream stream = NewStream();
  OK(aclrtLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  OK(aclrtStreamWaitEventWithTimeout(stream, event, 600));
  OK(aclrtRecordEvent(event, NewStream()));
  OK(aclrtSynchronizeStream(stream));
  auto bit = [](int signal) { return uint64_t{1} << (signal - 1); };
  auto is_named = [](const auto& thread) { return thread.first.rfind("belay-", 0) == 0; };
  // A thread names itself and lets the signals of faults through when it begins to run: this waits for that,
  // and for ever (until the test's limit) when one does not.
  const uint64_t faults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL);
  auto threads = Threads();
  auto ready = [&](const auto& thread) { return is_named(thread) && (thread.second & faults) == 0; };
  auto all_ready = [&] {
    return static_cast<size_t>(std::count_if(threads.begin(), threads.end(), ready)) == threads.size() - own;
  };
  for (; !all_ready(); threads = Threads()) std::this_thread::yield();
  std::set<std::string> kinds;
  for (const auto& thread : threads) {
    if (!is_named(thread)) continue;
    const auto& [name, blocked] = thread;
    kinds.insert(name.substr(0, 10));
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF, SIGRTMIN}) {
      EXPECT((blocked & bit(signal)) != 0);
    }
  }
  EXPECT(kinds.count("belay-work") == 1 && kinds.count("belay-call") == 1);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT(sigismember(&mine, SIGINT) == 0);  // the caller's mask is as it was

  // With the signal blocked in the program's own threads it stays pending.
  sigset_t usr1, pending;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  EXPECT(sigprocmask(SIG_BLOCK, &usr1, nullptr) == 0 && kill(getpid(), SIGUSR1) == 0);
  guest::UseDevice();
  EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1);
}

SCENARIO(a_program_full_of_alarms) {
  static std::atomic<int> alarms{0};
  struct sigaction action = {};
  action.sa_handler = [](int) { ++alarms; };  // without SA_RESTART: calls of the system are interrupted
  sigaction(SIGALRM, &action, nullptr);
  itimerval every{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, nullptr);
  while (alarms < 300) guest::WholeProgram();
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
