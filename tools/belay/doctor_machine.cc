// What belay doctor finds in the limits of the system, and whether the runtime starts.
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#ifdef BELAY_HAS_INFO
#include <acl/acl.h>
#endif

#include "belay/doctor.h"

namespace belay::tool {
namespace {

void ExamineAddresses(std::vector<Finding>& findings) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    findings.push_back(
        {Verdict::kNote,
         "addresses are limited to " + std::to_string(limit.rlim_cur >> 20) +
             " MiB (ulimit -v); Belay reserves many times the memory that it uses",
         "if the runtime does not start: ulimit -v unlimited, or a smaller BELAY_DEVICE_MEMORY"});
  }
  int policy = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> policy;
  if (policy == 2) {
    findings.push_back({Verdict::kNote,
                        "the system does not overcommit memory (vm.overcommit_memory = 2); Belay "
                        "reserves many times "
                        "the memory that it uses",
                        "if the runtime does not start: sysctl vm.overcommit_memory=0, or a "
                        "smaller BELAY_DEVICE_MEMORY"});
  }
}

// A filter of system calls (as containers have) may refuse some that Belay can do without, at a
// cost.
void ExamineSystemCalls(std::vector<Finding>& findings) {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) < 0) {
    findings.push_back(
        {Verdict::kNote,
         "the system call membarrier is refused (seccomp?): starting and ending use a slower way", ""});
  }
  int file = memfd_create("belay-doctor", MFD_CLOEXEC);
  if (file < 0) {
    findings.push_back(
        {Verdict::kProblem,
         std::string("the system call memfd_create is refused: ") + std::strerror(errno) +
             "; virtual memory and memory shared between processes do not work",
         "allow it in the container's seccomp profile (the defaults of docker and podman do)"});
  } else {
    close(file);
  }
}

void ExamineLogs(std::vector<Finding>& findings) {
  const char* folder = std::getenv("ASCEND_PROCESS_LOG_PATH");
  if (folder != nullptr && access(folder, F_OK) == 0 && access(folder, W_OK) != 0) {
    findings.push_back({Verdict::kNote,
                        std::string("nothing can be written in ") + folder +
                            " (ASCEND_PROCESS_LOG_PATH): there will be no log files",
                        ""});
  }
}

// What the process may use: the machine's memory, or less where a control group says so.
uint64_t MemoryLimit() {
  uint64_t machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t group = 0;
  std::ifstream("/sys/fs/cgroup/memory.max") >> group;  // "max" reads as nothing
  return group == 0 ? machine : std::min(machine, group);
}

#ifdef BELAY_HAS_INFO
void ExamineMemory(std::vector<Finding>& findings) {
  uint32_t count = 0;
  uint64_t promised = 0;
  aclrtGetDeviceCount(&count);
  for (uint32_t id = 0; id < count; ++id) {
    size_t free = 0;
    size_t total = 0;
    if (aclrtSetDevice(static_cast<int32_t>(id)) != ACL_SUCCESS) return;
    aclrtGetMemInfo(ACL_HBM_MEM, &free, &total);
    promised += total;
    aclrtResetDevice(static_cast<int32_t>(id));
  }
  if (promised <= MemoryLimit()) return;
  findings.push_back({Verdict::kNote,
                      "the devices have " + std::to_string(promised >> 20) +
                          " MiB together, and there are only " + std::to_string(MemoryLimit() >> 20) +
                          ": a program that fills them is ended by the system",
                      "give them less: BELAY_DEVICE_MEMORY, BELAY_DEVICES"});
}

// What it says about settings, memory and processes is better than anything that could be guessed
// here.
void StartRuntime(std::vector<Finding>& findings) {
  aclError code = aclInit(nullptr);
  if (code == ACL_SUCCESS) code = aclrtSetDevice(0);
  if (code == ACL_SUCCESS) {
    aclrtResetDevice(0);
    findings.push_back({Verdict::kGood, "the runtime starts", ""});
    ExamineMemory(findings);
  } else {
    const char* text = aclGetRecentErrMsg();
    findings.push_back(
        {Verdict::kProblem,
         "the runtime does not start: " + (text == nullptr ? std::to_string(code) : std::string(text)),
         "docs/messages.md says more"});
  }
  aclFinalize();
}
#else
void StartRuntime(std::vector<Finding>&) {}
#endif

}  // namespace

std::vector<Finding> ExamineMachine() {
  std::vector<Finding> findings;
  ExamineAddresses(findings);
  ExamineSystemCalls(findings);
  ExamineLogs(findings);
  StartRuntime(findings);
  return findings;
}

}  // namespace belay::tool
