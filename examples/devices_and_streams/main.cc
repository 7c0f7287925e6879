// What a program takes before its first task and gives back after its last one: the device, the run
// mode, the context and stream that come with the device, and ones of the program's own.
#include <cstdio>
#include <string>

#include "../check.h"

namespace {

const char kMessage[] = "carried by a stream";

// Carries the message through device memory. NULL is the stream that came with the device.
std::string Carry(aclrtStream stream) {
  void* device = nullptr;
  void* host = nullptr;
  CHECK(aclrtMalloc(&device, sizeof(kMessage), ACL_MEM_MALLOC_NORMAL_ONLY));
  CHECK(aclrtMallocHost(&host, sizeof(kMessage)));
  std::snprintf(static_cast<char*>(host), sizeof(kMessage), "%s", kMessage);
  CHECK(
      aclrtMemcpyAsync(device, sizeof(kMessage), host, sizeof(kMessage), ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(aclrtSynchronizeStream(stream));
  static_cast<char*>(host)[0] = '\0';
  CHECK(
      aclrtMemcpyAsync(host, sizeof(kMessage), device, sizeof(kMessage), ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(aclrtSynchronizeStream(stream));
  std::string carried(static_cast<char*>(host));
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtFree(device));
  return carried;
}

// Everything implicit: aclrtSetDevice made a context and a stream, aclrtResetDevice takes them back.
void UseWhatComesWithTheDevice() {
  CHECK(aclrtSetDevice(0));
  std::printf("default stream: %s\n", Carry(nullptr).c_str());
  CHECK(aclrtResetDevice(0));
}

// Streams made by the program, in the default context: destroyed by the program, before the device.
void UseOwnStream() {
  CHECK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  std::printf("own stream: %s\n", Carry(stream).c_str());
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
}

// A context made by the program on the second device. Making it also selects it for this thread, and
// what it holds is given back in the opposite order: stream, context, device.
void UseOwnContext() {
  CHECK(aclrtSetDevice(0));
  aclrtContext first = nullptr;
  aclrtContext second = nullptr;
  CHECK(aclrtGetCurrentContext(&first));
  CHECK(aclrtCreateContext(&second, 1));
  int32_t device = -1;
  CHECK(aclrtGetDevice(&device));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  std::printf("own context on device %d: %s\n", device, Carry(stream).c_str());

  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtSetCurrentContext(first));
  CHECK(aclrtDestroyContext(second));
  CHECK(aclrtGetDevice(&device));
  std::printf("back on device %d: %s\n", device, Carry(nullptr).c_str());
  CHECK(aclrtResetDevice(0));
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  uint32_t devices = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  CHECK(aclrtSetDevice(0));
  aclrtRunMode mode = ACL_HOST;
  CHECK(aclrtGetRunMode(&mode));
  CHECK(aclrtResetDevice(0));
  std::printf("%u devices; this program runs on the %s\n", devices, mode == ACL_HOST ? "host" : "device");

  UseWhatComesWithTheDevice();
  UseOwnStream();
  if (devices > 1) UseOwnContext();
  CHECK(aclFinalize());
}
