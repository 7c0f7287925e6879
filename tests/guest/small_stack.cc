// Threads with little stack submit and wait. They never run tasks or callbacks on it.
#include <pthread.h>

#include "guest.h"

namespace {

void* Work(void* context) {
  OK(aclrtSetCurrentContext(context));
  for (int i = 0; i < 200; ++i) guest::RoundTrip(i);
  return nullptr;
}

}  // namespace

int main() {
  guest::Start();
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, 32 << 10) == 0);
  pthread_t threads[4];
  for (pthread_t& thread : threads) {
    EXPECT(pthread_create(&thread, &attributes, Work, context) == 0);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
