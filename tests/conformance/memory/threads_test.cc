// Many threads at once: each allocates, copies, checks what it gets back, and frees.
#include <thread>

#include "memory/memory_fixture.h"

namespace conformance {
namespace {

using Threads = MemoryTest;

// A buffer goes from the host to the device, within it, and back.
void RoundTrip(aclrtStream stream, uint8_t mark, size_t bytes) {
  void* a = nullptr;
  void* b = nullptr;
  ASSERT_EQ(aclrtMalloc(&a, bytes, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
  ASSERT_EQ(aclrtMalloc(&b, bytes, ACL_MEM_MALLOC_NORMAL_ONLY), kOk);
  std::vector<uint8_t> host(bytes, mark);
  ASSERT_EQ(aclrtMemcpyAsync(a, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream), kOk);
  ASSERT_EQ(aclrtMemcpyAsync(b, bytes, a, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), kOk);
  ASSERT_EQ(aclrtMemsetAsync(a, bytes, 0, bytes, stream), kOk);
  std::fill(host.begin(), host.end(), 0);
  ASSERT_EQ(aclrtMemcpyAsync(host.data(), bytes, b, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), kOk);
  ASSERT_EQ(aclrtSynchronizeStream(stream), kOk);
  ASSERT_EQ(host, std::vector<uint8_t>(bytes, mark));
  ASSERT_EQ(aclrtFree(a), kOk);
  ASSERT_EQ(aclrtFree(b), kOk);
}

TEST_F(Threads, EachGetsItsOwnBytesBack) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      ASSERT_EQ(aclrtSetDevice(0), kOk);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), kOk);
      for (unsigned i = 0; i < 200; ++i) {
        RoundTrip(stream, static_cast<uint8_t>(t * 61 + i), size_t{1} << (i * 7 + t) % 20);
      }
      ASSERT_EQ(aclrtDestroyStream(stream), kOk);
      ASSERT_EQ(aclrtResetDevice(0), kOk);
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), kOk);
  EXPECT_EQ(free, total) << "nothing leaked";
}

}  // namespace
}  // namespace conformance
