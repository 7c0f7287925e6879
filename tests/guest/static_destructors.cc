// Static objects that use the library when they are destroyed: after main, and after the library's own
// exit hook. Calls may fail by then, but they return.
#include "guest.h"

struct Late {
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  ~Late() {
    aclrtSynchronizeStream(stream);
    aclrtMemcpyAsync(memory, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
    aclrtSynchronizeStream(stream);
    aclrtDestroyStream(stream);
    aclrtFree(memory);
    aclrtResetDevice(0);
    aclFinalize();
    aclGetRecentErrMsg();
  }
};

Late early_object;  // constructed before aclInit, so destroyed after the exit hook

int main() {
  guest::Start();
  static Late late_object;  // the other way round
  for (Late* object : {&early_object, &late_object}) {
    object->stream = guest::NewStream();
    object->memory = guest::OnDevice(64);
    guest::KeepBusy(object->stream, 20);
  }
  return 0;
}
