// fork: the child has nothing of the parent's until it calls aclInit itself, and then starts afresh; the
// parent goes on as if nothing had happened, also when it was busy.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "guest.h"

namespace {

int WaitFor(pid_t child) {
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

int Child(aclrtStream parents_stream, void* parents_memory) {
  EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);
  EXPECT(aclrtSynchronizeStream(parents_stream) != ACL_SUCCESS);
  EXPECT(aclrtFree(parents_memory) != ACL_SUCCESS);
  guest::Start();
  guest::RoundTrip(7);
  EXPECT(aclrtSynchronizeStream(parents_stream) != ACL_SUCCESS);
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 42;
}

}  // namespace

int main() {
  // A child of a process that has not started anything.
  pid_t child = fork();
  if (child == 0) {
    guest::Start();
    guest::RoundTrip(1);
    std::_Exit(42);
  }
  EXPECT(WaitFor(child) == 42);

  guest::Start();
  aclrtStream stream = guest::NewStream();
  void* memory = guest::OnDevice(64);
  for (int round = 0; round < 5; ++round) {
    guest::KeepBusy(stream, 20);
    child = fork();
    if (child == 0) {
      int code = Child(stream, memory);
      if (round % 2 == 0) std::exit(code);  // with the exit hooks
      std::_Exit(code);
    }
    guest::RoundTrip(round);
    EXPECT(WaitFor(child) == 42);
    OK(aclrtSynchronizeStream(stream));
  }
  OK(aclrtFree(memory));
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
