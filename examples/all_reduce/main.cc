// Sums over ranks, twice: two devices of this process, and two processes. Each rank has four numbers in
// device memory; HcclAllReduce leaves the sum of all ranks' numbers with every rank. The calls are tasks of a
// stream: they return at once.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "../check.h"
#include "hccl/hccl.h"

namespace {

constexpr size_t kCount = 4;
constexpr size_t kBytes = kCount * sizeof(float);

// What one rank has: its numbers in device memory, and a stream.
struct Rank {
  HcclComm comm = nullptr;
  aclrtStream stream = nullptr;
  void* numbers = nullptr;
};

// On the device that is set: rank + 1 everywhere.
Rank Prepare(HcclComm comm) {
  Rank rank{comm};
  uint32_t number = 0;
  CHECK(HcclGetRankId(comm, &number));
  const std::vector<float> mine(kCount, static_cast<float>(number + 1));
  CHECK(aclrtCreateStream(&rank.stream));
  CHECK(aclrtMalloc(&rank.numbers, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(rank.numbers, kBytes, mine.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  return rank;
}

void AllReduce(const Rank& rank) {
  CHECK(HcclAllReduce(rank.numbers, rank.numbers, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank.comm,
                      rank.stream));
}

float Finish(const Rank& rank) {
  float sum = 0;
  CHECK(aclrtSynchronizeStream(rank.stream));
  CHECK(aclrtMemcpy(&sum, sizeof sum, rank.numbers, sizeof sum, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(HcclCommDestroy(rank.comm));
  CHECK(aclrtFree(rank.numbers));
  CHECK(aclrtDestroyStream(rank.stream));
  return sum;
}

// One thread submits for both devices, and waits afterwards: what a stream waits for holds up nobody else.
void OverDevices() {
  int32_t devices[] = {0, 1};
  HcclComm comms[2];
  CHECK(HcclCommInitAll(2, devices, comms));
  std::vector<Rank> ranks;
  for (int device : devices) {
    CHECK(aclrtSetDevice(device));
    ranks.push_back(Prepare(comms[device]));
    AllReduce(ranks.back());
  }
  for (int device : devices) {
    CHECK(aclrtSetDevice(device));
    std::printf("device %d: %g\n", device, static_cast<double>(Finish(ranks[static_cast<size_t>(device)])));
    CHECK(aclrtResetDevice(device));
  }
}

// The root info has to get from rank 0 to the others, by whatever way: here through a pipe.
int BeRank(uint32_t number, int from_root, int to_rank) {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  HcclRootInfo root;
  if (number == 0) {
    CHECK(HcclGetRootInfo(&root));
    if (write(to_rank, &root, sizeof root) != static_cast<ssize_t>(sizeof root)) return 1;
  } else if (read(from_root, &root, sizeof root) != static_cast<ssize_t>(sizeof root)) {
    return 1;
  }
  HcclComm comm;
  CHECK(HcclCommInitRootInfo(2, &root, number, &comm));
  const Rank rank = Prepare(comm);
  AllReduce(rank);
  const float sum = Finish(rank);
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return sum == 3 ? 0 : 1;
}

// Processes are forked before the interface is used: what it holds does not pass to children.
bool OverProcesses() {
  int ends[2];
  if (pipe(ends) != 0) return false;
  pid_t children[2];
  for (uint32_t number = 0; number < 2; ++number) {
    children[number] = fork();
    if (children[number] == 0) _exit(BeRank(number, ends[0], ends[1]));
  }
  bool well = true;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    well = well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return well;
}

}  // namespace

int main() {
  std::printf("two processes: %s\n", OverProcesses() ? "3 with both" : "failed");
  CHECK(aclInit(nullptr));
  OverDevices();
  CHECK(aclFinalize());
  return 0;
}
