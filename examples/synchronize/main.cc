// The four ways to wait: for an event, for a stream, for another stream's event, for the whole device.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../check.h"

namespace {

constexpr size_t kCount = 1 << 16;
constexpr size_t kBytes = kCount * sizeof(int);

// A number of ints in pinned host memory, as asynchronous copies want it.
int* Pinned(int first) {
  void* memory = nullptr;
  CHECK(aclrtMallocHost(&memory, kBytes));
  int* values = static_cast<int*>(memory);
  for (size_t i = 0; i < kCount; ++i) values[i] = first + static_cast<int>(i);
  return values;
}

void* OnDevice() {
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  return memory;
}

void ExpectSame(const char* what, const int* got, const int* wanted) {
  for (size_t i = 0; i < kCount; ++i) {
    if (got[i] != wanted[i]) {
      std::fprintf(stderr, "%s: element %zu is %d, not %d\n", what, i, got[i], wanted[i]);
      std::exit(1);
    }
  }
  std::printf("%s: %zu values are right\n", what, kCount);
}

// The host waits for one point of a stream; what is submitted after that point does not matter.
void WaitForAnEvent(aclrtStream stream, void* device, const int* source, int* result) {
  aclrtEvent copied = nullptr;
  CHECK(aclrtCreateEventExWithFlag(&copied, ACL_EVENT_CAPTURE_STREAM_PROGRESS));
  CHECK(aclrtMemcpyAsync(device, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(aclrtMemcpyAsync(result, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(aclrtRecordEvent(copied, stream));
  CHECK(aclrtSynchronizeEvent(copied));
  ExpectSame("event", result, source);
  CHECK(aclrtDestroyEvent(copied));
}

// The host waits for everything that the stream was given.
void WaitForAStream(aclrtStream stream, void* device, const int* source, int* result) {
  CHECK(aclrtMemcpyAsync(device, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(aclrtMemcpyAsync(result, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(aclrtSynchronizeStream(stream));
  ExpectSame("stream", result, source);
}

// One stream waits for another; the host goes on at once and waits only at the end.
void WaitBetweenStreams(aclrtStream writer, aclrtStream reader, void* device, const int* source,
                        int* result) {
  aclrtEvent written = nullptr;
  CHECK(aclrtCreateEventExWithFlag(&written, ACL_EVENT_SYNC));
  CHECK(aclrtMemcpyAsync(device, kBytes, source, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, writer));
  CHECK(aclrtRecordEvent(written, writer));
  CHECK(aclrtStreamWaitEvent(reader, written));
  CHECK(aclrtMemcpyAsync(result, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, reader));
  CHECK(aclrtSynchronizeStream(reader));
  ExpectSame("stream to stream", result, source);
  CHECK(aclrtDestroyEvent(written));
}

// The host waits for all streams of the device at once.
void WaitForTheDevice(const std::vector<aclrtStream>& streams, const std::vector<int*>& sources,
                      int* result) {
  std::vector<void*> buffers;
  for (size_t i = 0; i < streams.size(); ++i) {
    buffers.push_back(OnDevice());
    CHECK(aclrtMemcpyAsync(buffers[i], kBytes, sources[i], kBytes, ACL_MEMCPY_HOST_TO_DEVICE, streams[i]));
  }
  CHECK(aclrtSynchronizeDevice());
  for (size_t i = 0; i < streams.size(); ++i) {
    CHECK(aclrtMemcpy(result, kBytes, buffers[i], kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    ExpectSame("device", result, sources[i]);
    CHECK(aclrtFree(buffers[i]));
  }
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtStream first = nullptr;
  aclrtStream second = nullptr;
  CHECK(aclrtCreateStream(&first));
  CHECK(aclrtCreateStream(&second));
  void* device = OnDevice();
  int* low = Pinned(1000);
  int* high = Pinned(5000);
  int* result = Pinned(0);

  WaitForAnEvent(first, device, low, result);
  WaitForAStream(first, device, high, result);
  WaitBetweenStreams(first, second, device, low, result);
  WaitForTheDevice({first, second}, {high, low}, result);

  for (int* memory : {low, high, result}) CHECK(aclrtFreeHost(memory));
  CHECK(aclrtFree(device));
  CHECK(aclrtDestroyStream(second));
  CHECK(aclrtDestroyStream(first));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
}
