// Three mistakes that programs make, and what Belay says to each: a copy beyond the end of a block, a
// stream used after it was destroyed, and device memory freed as host memory. Exits with 0 when each of
// them was refused.
#include <cstdio>

#include "../check.h"

namespace {

int g_refused = 0;

void Report(const char* what, aclError code) {
  const char* text = aclGetRecentErrMsg();
  std::printf("%s: code %d\n  %s\n", what, code, text == nullptr ? "(no message)" : text);
  if (code != ACL_SUCCESS) ++g_refused;
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  char host[128] = {};
  void* device = nullptr;
  CHECK(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
  Report("too long a copy", aclrtMemcpy(device, 4096, host, sizeof(host) * 8, ACL_MEMCPY_HOST_TO_DEVICE));
  Report("the wrong free", aclrtFreeHost(device));

  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtDestroyStream(stream));
  Report("a stream that is gone", aclrtSynchronizeStream(stream));

  CHECK(aclrtFree(device));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return g_refused == 3 ? 0 : 1;
}
