// Threads end and leave streams, work and contexts behind; others go on.
#include <thread>

#include "guest.h"

int main() {
  guest::Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      OK(aclrtSetDevice(t % 2));
      guest::KeepBusy(guest::NewStream(), 5);
      aclrtContext context = nullptr;
      OK(aclrtCreateContext(&context, t % 2));
      guest::KeepBusy(guest::NewStream(), 5);
      guest::RoundTrip(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  guest::RoundTrip(100);
  OK(aclrtSynchronizeDevice());
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
