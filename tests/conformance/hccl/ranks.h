// Ranks of a group: threads of the test, each with a device, or other processes.
#pragma once

#include <hccl/hccl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "sharing/two_processes.h"

namespace conformance {

using Floats = std::vector<float>;

// A variable of the environment, for as long as this lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

// Whether an engine between machines is: UCX may be left out. Only another process loads it for that.
inline bool IsThere(const char* engine) {
  if (std::string(engine) == "tcp") return true;
  OtherProcess tries([engine](Channel& channel) {
    const Setting setting("BELAY_COLLECTIVE_ENGINE", engine);
    HcclComm comm[1] = {};
    int32_t device = 0;
    const HcclResult made = HcclCommInitAll(1, &device, comm);
    if (made == HCCL_SUCCESS) EXPECT_OK(HcclCommDestroy(comm[0]));
    channel.Send(made);
  });
  return tries.channel.Receive<HcclResult>() != HCCL_E_NOT_SUPPORT;
}
constexpr const char* kNoEngine = "libbelay_link_ucx.so is not built, or libucx0 not installed";

inline HcclRootInfo NewRoot() {
  HcclRootInfo root = {};
  EXPECT_OK(HcclGetRootInfo(&root));
  return root;
}

inline HcclComm Join(const HcclRootInfo& root, uint32_t ranks, uint32_t rank) {
  HcclComm comm = nullptr;
  EXPECT_OK(HcclCommInitRootInfo(ranks, &root, rank, &comm));
  return comm;
}

// Runs body(rank) in a thread for each rank, on device 0 or 1.
inline void AsRanks(uint32_t ranks, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&body, rank] {
      EXPECT_OK(aclrtSetDevice(static_cast<int>(rank % 2)));
      body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The communicators of threads that have met; thread i was rank i.
inline std::vector<HcclComm> Meet(uint32_t ranks) {
  const HcclRootInfo root = NewRoot();
  std::vector<HcclComm> comms(ranks);
  AsRanks(ranks, [&](uint32_t rank) { comms[rank] = Join(root, ranks, rank); });
  return comms;
}

// Until a thread of this process waits for a connection: it is in poll(2), and has said what it wanted to
// say.
inline void AwaitInPoll(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/syscall";
  for (;;) {
    std::ifstream file(path);
    ASSERT_TRUE(file.good()) << path;
    long number = -1;
    file >> number;
    if (number == SYS_ppoll) return;
#ifdef SYS_poll
    if (number == SYS_poll) return;
#endif
    std::this_thread::yield();
  }
}

inline HcclResult AsyncErrorOf(HcclComm comm) {
  HcclResult error = HCCL_SUCCESS;
  EXPECT_OK(HcclGetCommAsyncError(comm, &error));
  return error;
}

}  // namespace conformance
