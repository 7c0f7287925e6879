// fork, exec and their kin. A forked child has none of the parent's devices; it starts afresh by aclInit.
#include <aclnn/acl_meta.h>
#include <spawn.h>
#include <sys/wait.h>

#include <functional>

#include "scenario.h"

extern char** environ;

#if defined(__SANITIZE_ADDRESS__)
// A child leaves what was the parent's alone, which looks like leaks to its exit.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace {

int WaitFor(pid_t child) {
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// Runs `body` in a child that ends by exit(): handlers and destructors of the child run, too.
void InChild(const std::function<void()>& body) {
  pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    alarm(50);
    body();
    std::exit(0);
  }
  EXPECT(WaitFor(child) == 0);
}

void ExpectNothingWorks() {
  void* block = nullptr;
  aclrtStream stream = nullptr;
  EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);
  EXPECT(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_UNINITIALIZE);
  EXPECT(aclrtCreateStream(&stream) == ACL_ERROR_UNINITIALIZE);
  EXPECT(aclrtSynchronizeDevice() == ACL_ERROR_UNINITIALIZE);
  const char* text = aclGetRecentErrMsg();
  EXPECT(text != nullptr && std::strstr(text, "fork") != nullptr);
}

// Keeps workers, callbacks and other threads of the parent busy, so that a fork finds locks held.
struct Noise {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  explicit Noise(int count) {
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([this, i] {
        OK(aclrtSetDevice(i % 2));
        aclrtStream stream = nullptr;
        OK(aclrtCreateStream(&stream));
        const int64_t shape[] = {4}, stride[] = {1};
        while (!stop) {
          guest::UseDevice(static_cast<uint8_t>(i + 1));
          OK(aclrtLaunchHostFunc(
              stream, [](void*) {}, nullptr));
          OK(aclrtSynchronizeStream(stream));
          EXPECT(aclrtSetDevice(99) != 0);  // messages, too
          EXPECT(aclGetRecentErrMsg() != nullptr || true);
          EXPECT(aclDestroyTensor(
                     aclCreateTensor(shape, 1, ACL_FLOAT, stride, 0, ACL_FORMAT_ND, shape, 1, this)) == 0);
        }
        OK(aclrtDestroyStream(stream));
      });
    }
  }
  ~Noise() {
    stop = true;
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace

SCENARIO(child_is_uninitialised_until_it_starts) {
  guest::Start();
  aclrtStream parents = nullptr;
  OK(aclrtCreateStream(&parents));
  InChild([&] {
    ExpectNothingWorks();
    guest::Start();
    EXPECT(aclrtSynchronizeStream(parents) == ACL_ERROR_RT_INVALID_HANDLE);
    guest::UseDevice();
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
  });
  guest::UseDevice();
  OK(aclrtDestroyStream(parents));
}

SCENARIO(child_exits_at_once) {
  guest::Start();
  guest::UseDevice();
  for (int round = 0; round < 20; ++round) InChild([] {});
  guest::UseDevice();
}

SCENARIO(child_exits_without_finalize) {
  guest::Start();
  InChild([] {
    guest::Start();
    guest::UseDevice();
  });
}

SCENARIO(grandchild) {
  guest::Start();
  InChild([] {
    InChild([] {
      ExpectNothingWorks();
      guest::WholeProgram();
    });
    guest::WholeProgram();
    InChild([] { guest::WholeProgram(); });
  });
  guest::UseDevice();
}

SCENARIO(before_init_and_after_finalize) {
  InChild([] { guest::WholeProgram(); });
  guest::WholeProgram();
  InChild([] {
    EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);
    guest::WholeProgram();
  });
  guest::WholeProgram();
}

SCENARIO(while_everything_is_busy) {
  OK(aclInit(nullptr));
  Noise noise(4);
  for (int round = 0; round < 40; ++round) {
    InChild([] {
      ExpectNothingWorks();
      guest::WholeProgram();
    });
  }
}

SCENARIO(while_everything_is_busy_with_messages_of_the_process) {
  char file[] = "/tmp/belay-guest-XXXXXX";
  int fd = mkstemp(file);
  EXPECT(write(fd, "{\"err_msg_mode\":\"1\"}", 20) == 20 && close(fd) == 0);
  OK(aclInit(file));
  unlink(file);
  Noise noise(3);
  for (int round = 0; round < 20; ++round) InChild([] { ExpectNothingWorks(); });
}

SCENARIO(from_a_thread) {
  guest::Start();
  std::thread([] {
    OK(aclrtSetDevice(1));
    guest::UseDevice();
    InChild([] { guest::WholeProgram(); });
    guest::UseDevice();
  }).join();
  guest::UseDevice();
}

SCENARIO(from_a_callback) {
  guest::Start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtLaunchHostFunc(
      stream, [](void*) { InChild([] { guest::WholeProgram(); }); }, nullptr));
  OK(aclrtSynchronizeStream(stream));
}

SCENARIO(in_the_middle_of_a_capture) {
  guest::Start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  InChild([] { guest::WholeProgram(); });
  aclmdlRI model = nullptr;
  OK(aclmdlRICaptureEnd(stream, &model));
  OK(aclmdlRIDestroy(model));
}

SCENARIO(pinned_and_device_memory_stay_the_parents) {
  guest::Start();
  void *pinned = nullptr, *device = nullptr;
  OK(aclrtMallocHost(&pinned, 1 << 20));
  OK(aclrtMalloc(&device, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  std::memset(pinned, 5, 1 << 20);
  OK(aclrtMemcpy(device, 1 << 20, pinned, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE));
  InChild([&] {
    guest::Start();
    EXPECT(static_cast<uint8_t*>(pinned)[77] == 5);  // a private copy, as all of the parent's memory
    std::memset(pinned, 6, 1 << 20);
    guest::UseDevice();
  });
  std::vector<uint8_t> back(1 << 20);
  OK(aclrtMemcpy(back.data(), back.size(), device, back.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT(back == std::vector<uint8_t>(1 << 20, 5) && static_cast<uint8_t*>(pinned)[77] == 5);
}

SCENARIO(fork_then_exec) {
  guest::Start();
  Noise noise(2);
  for (int round = 0; round < 10; ++round) {
    pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "guest_fork", "child_exits_without_finalize", nullptr);
      _exit(99);
    }
    EXPECT(WaitFor(child) == 0);
  }
}

SCENARIO(vfork_spawn_and_system) {
  guest::Start();
  Noise noise(2);
  for (int round = 0; round < 10; ++round) {
    pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(99);
    }
    EXPECT(WaitFor(child) == 0);
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    EXPECT(posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ) == 0);
    EXPECT(WaitFor(child) == 0);
    EXPECT(std::system("true") == 0);
  }
  guest::UseDevice();
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
