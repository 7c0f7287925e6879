// main returns while a stream waits for an event that is never recorded.
#include "guest.h"

int main() {
  guest::Start();
  aclrtEvent never = nullptr;
  OK(aclrtCreateEvent(&never));
  aclrtStream stream = guest::NewStream();
  OK(aclrtStreamWaitEvent(stream, never));
  guest::KeepBusy(stream, 10);
  return 0;
}
