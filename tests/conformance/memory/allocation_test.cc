// aclrtMalloc and its relatives, the frees, aclrtGetMemInfo, aclrtPointerGetAttributes.
#include <thread>

#include "memory/memory_fixture.h"

namespace conformance {
namespace {

using testing::HasSubstr;

using Allocation = MemoryTest;

TEST_F(Allocation, EveryPolicyGivesAlignedMemory) {
  for (int policy : {0, 1, 2, 3, 4, 5, 6, 7, 0x100, 0x1000, 0x1001, 0x102, 0x100000, 99}) {
    for (size_t size : {size_t{1}, size_t{100}, size_t{3} << 20}) {
      void* p = nullptr;
      ASSERT_EQ(aclrtMalloc(&p, size, static_cast<aclrtMemMallocPolicy>(policy)), kOk) << policy;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
      std::memset(p, 1, size);
      EXPECT_EQ(aclrtFree(p), kOk);
    }
  }
}

TEST_F(Allocation, RelativesOfMalloc) {
  void* p = nullptr;
  ASSERT_EQ(aclrtMallocAlign32(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
  EXPECT_EQ(aclrtFree(p), kOk);
  ASSERT_EQ(aclrtMallocCached(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
  EXPECT_EQ(aclrtMemFlush(p, 100), kOk);
  EXPECT_EQ(aclrtMemInvalidate(p, 100), kOk);
  EXPECT_EQ(aclrtMemFlush(p, 1000), kBadArgument);
  EXPECT_EQ(aclrtMemInvalidate(p, 0), kBadArgument);
  EXPECT_EQ(aclrtFree(p), kOk);
  int local = 0;
  EXPECT_EQ(aclrtMemFlush(&local, 1), kBadArgument);
  EXPECT_EQ(aclrtMemInvalidate(&local, 1), kBadArgument);
  EXPECT_EQ(aclrtMemFlush(nullptr, 1), kBadArgument);
}

TEST_F(Allocation, ConfigurationNamesTheDevice) {
  aclrtMallocAttribute attributes[2] = {};
  attributes[0].attr = ACL_RT_MEM_ATTR_MODULE_ID;
  attributes[1].attr = ACL_RT_MEM_ATTR_DEVICE_ID;
  attributes[1].value.deviceId = 1;
  aclrtMallocConfig config = {attributes, 2};
  void* p = nullptr;
  aclrtPtrAttributes where = {};
  ASSERT_EQ(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, &config), kOk);
  ASSERT_EQ(aclrtPointerGetAttributes(p, &where), kOk);
  EXPECT_EQ(where.location.id, 1u);
  EXPECT_EQ(aclrtFree(p), kOk);
  ASSERT_EQ(aclrtMallocForTaskScheduler(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, nullptr), kOk);
  EXPECT_EQ(aclrtFree(p), kOk);
  ASSERT_EQ(aclrtMallocHostWithCfg(&p, 100, &config), kOk);
  EXPECT_EQ(aclrtFreeHost(p), kOk);
  ASSERT_EQ(aclrtMallocHostWithCfg(&p, 100, nullptr), kOk);
  EXPECT_EQ(aclrtFreeHost(p), kOk);

  attributes[1].value.deviceId = 77;
  EXPECT_EQ(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, &config), 107001);
  aclrtMallocConfig broken = {nullptr, 1};
  EXPECT_EQ(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, &broken), kBadArgument);
  EXPECT_EQ(aclrtMallocHostWithCfg(&p, 100, &broken), kBadArgument);
}

TEST_F(Allocation, SizesThatCannotBe) {
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), kBadArgument);
  EXPECT_EQ(aclrtMallocAlign32(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), kBadArgument);
  EXPECT_EQ(aclrtMallocHost(&p, 0), kBadArgument);
  EXPECT_EQ(aclrtMallocHostWithCfg(&p, 0, nullptr), kBadArgument);
  EXPECT_EQ(aclrtMallocHost(&p, kHalf), kOutOfMemory);
  EXPECT_EQ(aclrtMalloc(&p, kHalf, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfMemory);
  EXPECT_EQ(aclrtMalloc(&p, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfMemory);
  EXPECT_EQ(aclrtMalloc(nullptr, 100, ACL_MEM_MALLOC_HUGE_FIRST), kBadArgument);
  EXPECT_EQ(aclrtMallocHost(nullptr, 100), kBadArgument);
}

TEST_F(Allocation, CapacityIsChargedAtOnceAndGivenBack) {
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), kOk);
  EXPECT_EQ(free, total);
  uint8_t* p = Device(total / 2);
  size_t left = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &left, &total), kOk);
  EXPECT_LE(left, free - total / 2);
  void* too_much = nullptr;
  EXPECT_EQ(aclrtMalloc(&too_much, total / 2, ACL_MEM_MALLOC_HUGE_FIRST), kOutOfMemory);
  std::string message = LastMessage();
  EXPECT_THAT(message, HasSubstr(std::to_string(left) + " of " + std::to_string(total)));
  EXPECT_THAT(message, HasSubstr(std::to_string(total / 2) + " bytes at"));
  EXPECT_EQ(aclrtFree(p), kOk);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &left, &total), kOk);
  EXPECT_EQ(left, free);

  EXPECT_EQ(aclrtGetMemInfo(static_cast<aclrtMemAttr>(18), &left, &total), kBadArgument);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total), kBadArgument);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &left, nullptr), kBadArgument);
}

TEST_F(Allocation, ResettingTheDeviceFreesItsMemory) {
  Device(1000);
  ASSERT_EQ(aclrtSetDevice(1), kOk);
  uint8_t* p = Device(1000);
  ASSERT_EQ(aclrtResetDevice(1), kOk);
  EXPECT_EQ(aclrtFree(p), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("device 1"));
  ASSERT_EQ(aclrtSetDevice(0), kOk);
}

// One call of a wrong free; its code and what its message says.
void ExpectRefused(aclError (*free)(void*), void* p, const char* why) {
  EXPECT_EQ(free(p), kBadArgument) << why;
  EXPECT_THAT(LastMessage(), HasSubstr(why));
}

TEST_F(Allocation, WrongFreesAreErrors) {
  using Free = aclError (*)(void*);
  uint8_t* device = Device(1000);
  uint8_t* pinned = Pinned(1000);
  int local = 0;
  for (Free free : {Free{aclrtFree}, Free{aclrtFreeWithDevSync}}) {
    ExpectRefused(free, nullptr, "null");
    ExpectRefused(free, device + 64, "1000 bytes");
    ExpectRefused(free, pinned, "aclrtFreeHost");
    ExpectRefused(free, &local, "ordinary host memory");
  }
  for (Free free : {Free{aclrtFreeHost}, Free{aclrtFreeHostWithDevSync}}) {
    ExpectRefused(free, nullptr, "null");
    ExpectRefused(free, pinned + 1, "1000 bytes");
    ExpectRefused(free, device, "aclrtFree");
    ExpectRefused(free, &local, "ordinary host memory");
  }
  EXPECT_EQ(aclrtFree(device), kOk);
  EXPECT_EQ(aclrtFreeHost(pinned), kOk);
  ExpectRefused(aclrtFree, device, "freed");
  ExpectRefused(aclrtFreeWithDevSync, device, "freed");
  ExpectRefused(aclrtFreeHost, pinned, "freed");
  ExpectRefused(aclrtFreeHostWithDevSync, pinned, "freed");
}

TEST_F(Allocation, FreeWithDevSyncLetsTasksFinish) {
  constexpr size_t kBytes = 8 << 20;
  uint8_t* from = Device(kBytes);
  uint8_t* to = Device(kBytes);
  uint8_t* host = Pinned(kBytes);
  ASSERT_EQ(aclrtMemset(from, kBytes, 7, kBytes), kOk);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(aclrtMemcpyAsync(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_), kOk);
  }
  ASSERT_EQ(aclrtMemcpyAsync(host, kBytes, to, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream_), kOk);
  EXPECT_EQ(aclrtFreeWithDevSync(from), kOk);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  ASSERT_EQ(aclrtStreamQuery(stream_, &status), kOk);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  EXPECT_EQ(host[kBytes - 1], 7);
  EXPECT_EQ(aclrtFreeHostWithDevSync(host), kOk);
  EXPECT_EQ(aclrtFree(to), kOk);
}

TEST_F(Allocation, AttributesSayWhereAPointerLives) {
  uint8_t* device = Device(1000);
  uint8_t* large = Device(4 << 20);
  uint8_t* pinned = Pinned(1000);
  int local = 0;
  struct {
    void* p;
    aclrtMemLocationType type;
    uint32_t page;
  } cases[] = {{device, ACL_MEM_LOCATION_TYPE_DEVICE, 4096},
               {device + 999, ACL_MEM_LOCATION_TYPE_DEVICE, 4096},
               {large, ACL_MEM_LOCATION_TYPE_DEVICE, 2 << 20},
               {pinned, ACL_MEM_LOCATION_TYPE_HOST, 4096},
               {&local, ACL_MEM_LOCATION_TYPE_UNREGISTERED, 0}};
  for (auto& c : cases) {
    aclrtPtrAttributes attributes = {};
    ASSERT_EQ(aclrtPointerGetAttributes(c.p, &attributes), kOk);
    EXPECT_EQ(attributes.location.type, c.type);
    EXPECT_EQ(attributes.location.id, 0u);
    EXPECT_EQ(attributes.pageSize, c.page);
  }
  aclrtPtrAttributes attributes = {};
  EXPECT_EQ(aclrtFree(device), kOk);
  ASSERT_EQ(aclrtPointerGetAttributes(device, &attributes), kOk);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(aclrtPointerGetAttributes(nullptr, &attributes), kBadArgument);
  EXPECT_EQ(aclrtPointerGetAttributes(large, nullptr), kBadArgument);
  EXPECT_EQ(aclrtFree(large), kOk);
  EXPECT_EQ(aclrtFreeHost(pinned), kOk);
}

TEST_F(Allocation, AThreadWithoutADeviceUsesDeviceZero) {
  std::thread([] {
    int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), 107002);
    void* p = nullptr;
    ASSERT_EQ(aclrtMalloc(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
    aclrtPtrAttributes attributes = {};
    ASSERT_EQ(aclrtPointerGetAttributes(p, &attributes), kOk);
    EXPECT_EQ(attributes.location.id, 0u);
    EXPECT_EQ(aclrtMemset(p, 100, 1, 100), kOk);
    uint8_t host[100];
    EXPECT_EQ(aclrtMemcpy(host, 100, p, 100, ACL_MEMCPY_DEVICE_TO_HOST), kOk);
    EXPECT_EQ(host[99], 1);
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), kOk);
    EXPECT_EQ(aclrtFree(p), kOk);
    EXPECT_EQ(aclrtGetDevice(&device), 107002) << "none of this set a device";
  }).join();
}

TEST_F(Allocation, TheHostReadsAndWritesDeviceMemory) {
  uint8_t* p = Device(100);
  std::memset(p, 5, 100);
  uint8_t host[100] = {};
  ASSERT_EQ(aclrtMemcpy(host, 100, p, 100, ACL_MEMCPY_DEVICE_TO_HOST), kOk);
  EXPECT_EQ(host[99], 5);
  ASSERT_EQ(aclrtMemset(p, 100, 6, 100), kOk);
  EXPECT_EQ(p[99], 6);
  EXPECT_EQ(aclrtFree(p), kOk);
}

TEST(AllocationWithoutInit, IsRefused) {
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST), 100001);
  EXPECT_EQ(aclrtMallocHost(&p, 100), 100001);
  EXPECT_EQ(aclrtFree(&p), 100001);
  EXPECT_EQ(aclrtMemcpy(&p, 8, &p, 8, ACL_MEMCPY_HOST_TO_HOST), 100001);
}

}  // namespace
TEST_F(Allocation, UsageByComponent) {
  aclrtMemUsageInfo before[2] = {};
  aclrtMemUsageInfo after[2] = {};
  size_t filled = 0;
  ASSERT_EQ(aclrtGetMemUsageInfo(0, before, 2, &filled), kOk);
  ASSERT_EQ(filled, 1u);
  EXPECT_STREQ(before[0].name, "APP");
  uint8_t* p = Device(1 << 20);
  EXPECT_EQ(aclrtGetMemUsageInfo(0, after, 2, &filled), kOk);
  EXPECT_GE(after[0].curMemSize, before[0].curMemSize + (1 << 20));
  EXPECT_GE(after[0].memPeakSize, after[0].curMemSize);
  EXPECT_EQ(aclrtFree(p), kOk);
  aclrtMemUsageInfo last = {};
  EXPECT_EQ(aclrtGetMemUsageInfo(0, &last, 1, &filled), kOk);
  EXPECT_EQ(last.curMemSize, before[0].curMemSize);
  EXPECT_EQ(last.memPeakSize, after[0].memPeakSize) << "the peak stays";
  EXPECT_EQ(aclrtGetMemUsageInfo(0, &last, 0, &filled), kOk);
  EXPECT_EQ(filled, 0u);
  EXPECT_EQ(aclrtGetMemUsageInfo(99, &last, 1, &filled), 107001);
  EXPECT_EQ(aclrtGetMemUsageInfo(0, nullptr, 1, &filled), kBadArgument);
  EXPECT_EQ(aclrtGetMemUsageInfo(0, &last, 1, nullptr), kBadArgument);
}

}  // namespace conformance
