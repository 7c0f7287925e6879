// What environment variables change for memory: the run mode, the capacity, two views of device
// memory.
#include <cstdlib>

#include "memory/memory_fixture.h"

namespace conformance {
namespace {

// Starts the runtime with a variable set.
class Settings : public testing::Test {
 public:
  void Start(const char* name, const char* value) {
    name_ = name;
    ASSERT_EQ(setenv(name, value, 1), 0);
    ASSERT_EQ(aclInit(nullptr), kOk);
    ASSERT_EQ(aclrtSetDevice(0), kOk);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtResetDevice(0), kOk);
    EXPECT_EQ(aclFinalize(), kOk);
    unsetenv(name_);
  }
  const char* name_ = nullptr;
};

TEST_F(Settings, OnTheDeviceItselfEveryCopyIsWithinTheDevice) {
  Start("BELAY_RUN_MODE", "device");
  aclrtRunMode mode = ACL_HOST;
  ASSERT_EQ(aclrtGetRunMode(&mode), kOk);
  EXPECT_EQ(mode, ACL_DEVICE);
  void* from = nullptr;
  void* to = nullptr;
  ASSERT_EQ(aclrtMallocHost(&from, 64), kOk);
  ASSERT_EQ(aclrtMallocHost(&to, 64), kOk);
  for (int kind : {0, 1, 2, 3}) {
    std::memset(from, kind + 1, 64);
    ASSERT_EQ(aclrtMemcpyAsync(to, 64, from, 64, static_cast<aclrtMemcpyKind>(kind), nullptr), kOk);
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), kOk);
    EXPECT_EQ(static_cast<uint8_t*>(to)[63], kind + 1);
  }
  EXPECT_EQ(aclrtFreeHost(from), kOk);
  EXPECT_EQ(aclrtFreeHost(to), kOk);
}

TEST_F(Settings, Capacity) {
  Start("BELAY_DEVICE_MEMORY", "64M");
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), kOk);
  EXPECT_EQ(total, size_t{64} << 20);
  EXPECT_EQ(free, total);
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(&p, 65 << 20, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfMemory);
  EXPECT_EQ(aclrtMalloc(&p, 63 << 20, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
}

TEST_F(Settings, TwoViewsOfDeviceMemoryShowTheSame) {
  Start("BELAY_ALIAS_OFFSET", "1048576");
  void* p = nullptr;
  ASSERT_EQ(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
  ASSERT_EQ(aclrtMemsetAsync(p, 4096, 9, 4096, nullptr), kOk);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), kOk);
  EXPECT_EQ(static_cast<uint8_t*>(p)[4095], 9);
  std::memset(p, 8, 4096);
  uint8_t host[4096];
  ASSERT_EQ(aclrtMemcpy(host, 4096, p, 4096, ACL_MEMCPY_DEVICE_TO_HOST), kOk);
  EXPECT_EQ(host[0], 8);
}

}  // namespace
}  // namespace conformance
