// Moving data: within the host, to the device, back, within a device, and between two devices; each
// synchronously, and where the interface has it also in a stream.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../check.h"

namespace {

constexpr size_t kBytes = 1 << 20;
bool g_on_device = false;  // the program itself runs on the device's own processor

// Memory for the host's side of a transfer. Where host and device are one, it is device memory.
void* HostSide() {
  void* memory = nullptr;
  if (g_on_device) {
    CHECK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_NORMAL_ONLY));
  } else {
    CHECK(aclrtMallocHost(&memory, kBytes));
  }
  return memory;
}
void FreeHostSide(void* memory) {
  if (g_on_device) {
    CHECK(aclrtFree(memory));
  } else {
    CHECK(aclrtFreeHost(memory));
  }
}
void* DeviceSide() {
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  return memory;
}

// Stands for reading a file: bytes that tell where they belong.
void Fill(void* memory, uint8_t seed) {
  uint8_t* bytes = static_cast<uint8_t*>(memory);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<uint8_t>(seed + i * 7 + (i >> 12));
}

void ExpectSame(const char* what, const void* got, const void* wanted) {
  bool same = std::memcmp(got, wanted, kBytes) == 0;
  std::printf("%-26s %s\n", what, same ? "1 MiB, every byte right" : "WRONG");
  if (!same) std::exit(1);
}

void WithinTheHost(void* source, void* result) {
  Fill(source, 1);
  CHECK(aclrtMemcpy(result, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_HOST));
  ExpectSame("host to host", result, source);
}

void ThroughTheDevice(void* source, void* result, void* device) {
  Fill(source, 2);
  CHECK(aclrtMemcpy(device, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtMemcpy(result, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  ExpectSame("host, device, host", result, source);
}

void WithinTheDevice(void* source, void* result, void* device, void* other) {
  Fill(source, 3);
  CHECK(aclrtMemcpy(device, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtMemcpy(other, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
  CHECK(aclrtMemcpy(result, kBytes, other, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  ExpectSame("device to device", result, source);
}

// The same way in a stream: the calls return at once, the order is the stream's.
void InAStream(void* source, void* result, void* device, void* other) {
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  Fill(source, 4);
  CHECK(aclrtMemcpyAsync(device, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(aclrtMemcpyAsync(other, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  CHECK(aclrtMemcpyAsync(result, kBytes, other, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(aclrtSynchronizeStream(stream));
  ExpectSame("all of it in a stream", result, source);
  CHECK(aclrtDestroyStream(stream));
}

// Device 1 pulls from device 0, which must stay until that is done.
void BetweenDevices(void* source, void* result) {
  Fill(source, 5);
  CHECK(aclrtSetDevice(0));
  void* there = DeviceSide();
  CHECK(aclrtMemcpy(there, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));

  CHECK(aclrtSetDevice(1));
  CHECK(aclrtDeviceEnablePeerAccess(0, 0));
  void* here = DeviceSide();
  CHECK(aclrtMemcpy(here, kBytes, there, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
  CHECK(aclrtMemcpy(result, kBytes, here, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  ExpectSame("device 0 to device 1", result, source);
  CHECK(aclrtFree(here));
  CHECK(aclrtResetDevice(1));

  CHECK(aclrtSetDevice(0));
  CHECK(aclrtFree(there));
  CHECK(aclrtResetDevice(0));
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtRunMode mode = ACL_HOST;
  CHECK(aclrtGetRunMode(&mode));
  g_on_device = mode == ACL_DEVICE;

  void* source = HostSide();
  void* result = HostSide();
  void* device = DeviceSide();
  void* other = DeviceSide();
  WithinTheHost(source, result);
  ThroughTheDevice(source, result, device);
  WithinTheDevice(source, result, device, other);
  InAStream(source, result, device, other);

  uint32_t devices = 0;
  int32_t reachable = 0;
  CHECK(aclrtGetDeviceCount(&devices));
  if (devices > 1) CHECK(aclrtDeviceCanAccessPeer(&reachable, 0, 1));
  if (reachable == 1) BetweenDevices(source, result);

  CHECK(aclrtFree(other));
  CHECK(aclrtFree(device));
  FreeHostSide(result);
  FreeHostSide(source);
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
}
