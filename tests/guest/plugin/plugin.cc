// A library that a program loads and unloads, whose static object uses the interface.
#include <acl/acl.h>
#include <unistd.h>

#include <cstdio>

namespace {

void Check(int code, const char* call) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s gave %d: %s\n", call, code, text == nullptr ? "no message" : text);
  _exit(1);
}

struct Holder {
  aclrtStream stream = nullptr;
  void* block = nullptr;
  Holder() {
    Check(aclInit(nullptr), "aclInit");
    Check(aclrtSetDevice(0), "aclrtSetDevice");
    Check(aclrtCreateStream(&stream), "aclrtCreateStream");
    Check(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Check(aclrtMemsetAsync(block, 4096, 1, 4096, stream), "aclrtMemsetAsync");
  }
  ~Holder() {
    Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    Check(aclrtDestroyStream(stream), "aclrtDestroyStream");
    Check(aclrtFree(block), "aclrtFree");
    Check(aclrtResetDevice(0), "aclrtResetDevice");
    Check(aclFinalizeReference(nullptr), "aclFinalizeReference");
  }
};
Holder g_holder;

}  // namespace

extern "C" __attribute__((visibility("default"))) aclrtStream PluginStream() { return g_holder.stream; }
