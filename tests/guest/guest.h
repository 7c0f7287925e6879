// What the guest programs share: a check that ends the program, and some work for a stream.
#pragma once

#include <acl/acl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      const char* text = aclGetRecentErrMsg();                                       \
      std::fprintf(stderr, "%s:%d: not so: %s\n%s\n", __FILE__, __LINE__, #condition, \
                   text == nullptr ? "" : text);                                     \
      std::_Exit(1);                                                                 \
    }                                                                                \
  } while (0)
#define OK(call) EXPECT((call) == ACL_SUCCESS)

namespace guest {

inline void Start() {
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
}

inline aclrtStream NewStream() {
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  return stream;
}

inline void* OnDevice(size_t bytes) {
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_NORMAL_ONLY));
  return memory;
}

inline void* Pinned(size_t bytes) {
  void* memory = nullptr;
  OK(aclrtMallocHost(&memory, bytes));
  return memory;
}

// Copies a value through the device and back on a stream of its own.
inline void RoundTrip(int value) {
  aclrtStream stream = NewStream();
  void* device = OnDevice(sizeof value);
  int* host = static_cast<int*>(Pinned(2 * sizeof value));
  host[0] = value;
  host[1] = 0;
  OK(aclrtMemcpyAsync(device, sizeof value, host, sizeof value, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  OK(aclrtMemcpyAsync(host + 1, sizeof value, device, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT(host[1] == value);
  OK(aclrtFreeHost(host));
  OK(aclrtFree(device));
  OK(aclrtDestroyStream(stream));
}

// Many copies that take a while, not waited for.
inline void KeepBusy(aclrtStream stream, int tasks = 200) {
  constexpr size_t kBytes = 8 << 20;
  void* from = OnDevice(kBytes);
  void* to = OnDevice(kBytes);
  for (int i = 0; i < tasks; ++i) {
    OK(aclrtMemcpyAsync(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  }
}

}  // namespace guest
