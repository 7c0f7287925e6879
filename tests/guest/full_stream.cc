// A stream that holds as many tasks as it may makes the next submission wait until there is room, as the
// queue of a card does.
#include <atomic>
#include <thread>

#include "guest.h"

int main() {
  setenv("BELAY_STREAM_DEPTH", "16", 1);
  guest::Start();
  aclrtStream full = guest::NewStream();
  aclrtStream other = guest::NewStream();
  aclrtContext context = nullptr;
  OK(aclrtGetCurrentContext(&context));
  aclrtEvent go = nullptr;
  OK(aclrtCreateEvent(&go));
  OK(aclrtStreamWaitEvent(full, go));
  void* memory = guest::OnDevice(64);

  constexpr int kTasks = 100;
  std::atomic<int> submitted{0};
  std::thread submitter([&] {
    OK(aclrtSetCurrentContext(context));
    for (int i = 0; i < kTasks; ++i) {
      OK(aclrtMemsetAsync(memory, 64, i, 64, full));
      ++submitted;
    }
  });
  while (submitted < 15) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) guest::RoundTrip(i);  // the rest of the device goes on
  EXPECT(submitted <= 16);

  OK(aclrtRecordEvent(go, other));
  submitter.join();
  OK(aclrtSynchronizeStream(full));
  unsigned char last[64];
  OK(aclrtMemcpy(last, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  for (unsigned char byte : last) EXPECT(byte == kTasks - 1);
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
