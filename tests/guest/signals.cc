// Signals of the process never run on a thread of the library: with the signal blocked in all threads of
// the program it stays pending. And the library's threads have names.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "guest.h"

namespace {

volatile sig_atomic_t g_handled = 0;

int ThreadsNamedBelay() {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  EXPECT(tasks != nullptr);
  while (dirent* entry = readdir(tasks)) {
    std::ifstream file("/proc/self/task/" + std::string(entry->d_name) + "/comm");
    std::string name;
    if (file >> name && name.rfind("belay", 0) == 0) ++count;
  }
  closedir(tasks);
  return count;
}

}  // namespace

int main() {
  signal(SIGUSR1, [](int) { g_handled = 1; });
  guest::Start();
  guest::RoundTrip(1);
  EXPECT(ThreadsNamedBelay() >= 1);

  sigset_t usr1, pending;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  EXPECT(sigprocmask(SIG_BLOCK, &usr1, nullptr) == 0);
  EXPECT(kill(getpid(), SIGUSR1) == 0);
  guest::KeepBusy(guest::NewStream(), 20);
  OK(aclrtSynchronizeDevice());
  EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1);
  EXPECT(g_handled == 0);
  EXPECT(sigprocmask(SIG_UNBLOCK, &usr1, nullptr) == 0);
  EXPECT(g_handled == 1);
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
