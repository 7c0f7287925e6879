// A thread is cancelled between and inside calls. Whatever it was doing, no lock stays held: the others
// go on, and so does the stream.
#include <pthread.h>

#include <atomic>

#include "guest.h"

namespace {

std::atomic<int> g_rounds{0};

void* Work(void* context) {
  OK(aclrtSetCurrentContext(context));
  for (;;) {
    guest::RoundTrip(++g_rounds);
    pthread_testcancel();
  }
}

}  // namespace

int main() {
  guest::Start();
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  for (int round = 0; round < 50; ++round) {
    g_rounds = 0;
    pthread_t thread;
    EXPECT(pthread_create(&thread, nullptr, Work, context) == 0);
    while (g_rounds < 1 + round % 5) sched_yield();
    EXPECT(pthread_cancel(thread) == 0);
    void* result = nullptr;
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED);
    guest::RoundTrip(round);
  }
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
