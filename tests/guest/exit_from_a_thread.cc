// Another thread calls exit() while the main thread waits for a stream that will not finish.
#include <thread>

#include "guest.h"

int main() {
  guest::Start();
  aclrtEvent never = nullptr;
  OK(aclrtCreateEvent(&never));
  aclrtStream waiting = guest::NewStream();
  OK(aclrtStreamWaitEvent(waiting, never));
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  std::thread([context] {
    OK(aclrtSetCurrentContext(context));
    guest::KeepBusy(guest::NewStream());
    std::exit(0);
  }).detach();
  aclrtSynchronizeStream(waiting);
  std::fprintf(stderr, "the wait returned before the process ended\n");
  for (;;) std::this_thread::yield();  // exit() is under way
}
