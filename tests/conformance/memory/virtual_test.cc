// Virtual memory: reserve, physical memory, map, unmap, free, release.
#include "memory/memory_fixture.h"

namespace conformance {
namespace {

using testing::HasSubstr;

class Virtual : public MemoryTest {
 public:
  static constexpr size_t kPiece = 2 << 20;
  aclrtPhysicalMemProp Properties(uint32_t device = 0) {
    aclrtPhysicalMemProp prop = {};
    prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {device, ACL_MEM_LOCATION_TYPE_DEVICE};
    return prop;
  }
  uint8_t* Reserve(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(aclrtReserveMemAddress(&p, bytes, 0, nullptr, 1), kOk);
    return static_cast<uint8_t*>(p);
  }
  aclrtDrvMemHandle Physical(size_t bytes) {
    aclrtDrvMemHandle handle = nullptr;
    aclrtPhysicalMemProp prop = Properties();
    EXPECT_EQ(aclrtMallocPhysical(&handle, bytes, &prop, 0), kOk);
    return handle;
  }
  size_t Free() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), kOk);
    return free;
  }
};

TEST_F(Virtual, AGrowingBuffer) {
  size_t before = Free();
  size_t granularity = 0;
  aclrtPhysicalMemProp prop = Properties();
  ASSERT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &granularity),
            kOk);
  ASSERT_EQ(granularity, kPiece);
  uint8_t* range = Reserve(4 * kPiece);
  aclrtDrvMemHandle first = Physical(kPiece);
  ASSERT_EQ(aclrtMapMem(range, kPiece, 0, first, 0), kOk);
  ASSERT_EQ(aclrtMemset(range, kPiece, 1, kPiece), kOk);
  aclrtDrvMemHandle second = Physical(2 * kPiece);
  ASSERT_EQ(aclrtMapMem(range + kPiece, 2 * kPiece, 0, second, 0), kOk);
  ASSERT_EQ(aclrtMemset(range, 3 * kPiece, 2, 3 * kPiece), kOk) << "both pieces are one buffer";
  EXPECT_EQ(range[3 * kPiece - 1], 2);
  EXPECT_EQ(aclrtMemset(range, 4 * kPiece, 2, 3 * kPiece + 1), kBadArgument) << "not mapped there";
  EXPECT_EQ(Free(), before - 3 * kPiece);

  aclrtPtrAttributes attributes = {};
  ASSERT_EQ(aclrtPointerGetAttributes(range, &attributes), kOk);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(aclrtFree(range), kBadArgument) << "not from aclrtMalloc";

  ASSERT_EQ(aclrtUnmapMem(range + kPiece), kOk);
  EXPECT_EQ(aclrtMemset(range + kPiece, 1, 2, 1), kBadArgument);
  ASSERT_EQ(aclrtUnmapMem(range), kOk);
  ASSERT_EQ(aclrtFreePhysical(first), kOk);
  ASSERT_EQ(aclrtFreePhysical(second), kOk);
  ASSERT_EQ(aclrtReleaseMemAddress(range), kOk);
  EXPECT_EQ(Free(), before);
}

TEST_F(Virtual, OneMemoryAtTwoAddresses) {
  uint8_t* a = Reserve(kPiece);
  uint8_t* b = Reserve(kPiece);
  aclrtDrvMemHandle memory = Physical(kPiece);
  ASSERT_EQ(aclrtMapMem(a, kPiece, 0, memory, 0), kOk);
  ASSERT_EQ(aclrtMapMem(b, kPiece, 0, memory, 0), kOk);
  ASSERT_EQ(aclrtMemset(a, kPiece, 5, kPiece), kOk);
  EXPECT_EQ(b[kPiece - 1], 5);
  ASSERT_EQ(aclrtFreePhysical(memory), kOk) << "what is mapped stays";
  EXPECT_EQ(b[0], 5);
  ASSERT_EQ(aclrtUnmapMem(a), kOk);
  ASSERT_EQ(aclrtUnmapMem(b), kOk);
  ASSERT_EQ(aclrtReleaseMemAddress(a), kOk);
  ASSERT_EQ(aclrtReleaseMemAddress(b), kOk);
}

// The page of aclrtMapMem: the size is the one of aclrtMallocPhysical, the offset is 0.
TEST_F(Virtual, MemoryIsMappedAsAWhole) {
  uint8_t* range = Reserve(2 * kPiece);
  aclrtDrvMemHandle memory = Physical(2 * kPiece);
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, memory, 0), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("as a whole"));
  EXPECT_EQ(aclrtMapMem(range, kPiece, kPiece, memory, 0), kBadArgument);
  ASSERT_EQ(aclrtMapMem(range, 2 * kPiece, 0, memory, 0), kOk);
  ASSERT_EQ(aclrtUnmapMem(range), kOk);
  ASSERT_EQ(aclrtFreePhysical(memory), kOk);
  ASSERT_EQ(aclrtReleaseMemAddress(range), kOk);
}

// The same page: a reserved range does not take memory of two devices.
TEST_F(Virtual, ARangeTakesMemoryOfOneDevice) {
  uint8_t* range = Reserve(2 * kPiece);
  aclrtDrvMemHandle here = Physical(kPiece), there = nullptr;
  aclrtPhysicalMemProp prop = Properties(1);
  ASSERT_EQ(aclrtMallocPhysical(&there, kPiece, &prop, 0), kOk);
  ASSERT_EQ(aclrtMapMem(range + kPiece, kPiece, 0, here, 0), kOk);
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, there, 0), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("device 1"));
  ASSERT_EQ(aclrtUnmapMem(range + kPiece), kOk);
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, there, 0), kOk) << "nothing of the other is left";
  ASSERT_EQ(aclrtUnmapMem(range), kOk);
  ASSERT_EQ(aclrtFreePhysical(here), kOk);
  ASSERT_EQ(aclrtFreePhysical(there), kOk);
  ASSERT_EQ(aclrtReleaseMemAddress(range), kOk);
}

// The page of aclrtReserveMemAddress: an address that is taken or not aligned fails.
TEST_F(Virtual, AWishedAddressIsGivenOrRefused) {
  uint8_t* range = Reserve(2 * kPiece);
  void* other = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(&other, kPiece, 0, range, 0), kOutOfMemory);
  EXPECT_THAT(LastMessage(), HasSubstr("not free"));
  ASSERT_EQ(aclrtReleaseMemAddress(range), kOk);
  EXPECT_EQ(aclrtReserveMemAddress(&other, kPiece, 0, range + 4096, 0), kOutOfMemory);
  EXPECT_THAT(LastMessage(), HasSubstr("aligned"));
  ASSERT_EQ(aclrtReserveMemAddress(&other, kPiece, 0, range, 0), kOk);
  EXPECT_EQ(other, range);
  ASSERT_EQ(aclrtReleaseMemAddress(other), kOk);
}

TEST_F(Virtual, AWishForAnAddressOfACardIsNone) {
  void* range = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&range, kPiece, 0, reinterpret_cast<void*>(uintptr_t{17} << 40), 0), kOk);
  EXPECT_NE(range, nullptr);
  ASSERT_EQ(aclrtReleaseMemAddress(range), kOk);
}

TEST_F(Virtual, ASmallProbeAndAWishedAddress) {
  uint8_t* probe = Reserve(512);
  ASSERT_EQ(aclrtReleaseMemAddress(probe), kOk);
  void* again = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&again, kPiece, 0, probe, 0), kOk);
  EXPECT_EQ(again, probe);
  ASSERT_EQ(aclrtReleaseMemAddress(again), kOk);
}

TEST_F(Virtual, ReservationsAreChecked) {
  void* p = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(nullptr, kPiece, 0, nullptr, 0), kBadArgument);
  EXPECT_EQ(aclrtReserveMemAddress(&p, 0, 0, nullptr, 0), kBadArgument);
  EXPECT_EQ(aclrtReserveMemAddress(&p, kPiece, 64, nullptr, 0), kBadArgument);
  EXPECT_EQ(aclrtReserveMemAddress(&p, kPiece, 0, nullptr, 2), kBadArgument);
  EXPECT_EQ(aclrtReserveMemAddress(&p, kHalf, 0, nullptr, 0), kOutOfMemory);
  EXPECT_EQ(aclrtReleaseMemAddress(nullptr), kBadArgument);
  EXPECT_EQ(aclrtReleaseMemAddress(&p), kBadArgument);
  uint8_t* range = Reserve(2 * kPiece);
  EXPECT_EQ(aclrtReleaseMemAddress(range + kPiece), kBadArgument) << "interior";
  EXPECT_EQ(aclrtReleaseMemAddress(range), kOk);
  EXPECT_EQ(aclrtReleaseMemAddress(range), kBadArgument) << "twice";
}

TEST_F(Virtual, PhysicalMemoryIsChecked) {
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = Properties();
  EXPECT_EQ(aclrtMallocPhysical(nullptr, kPiece, &prop, 0), kBadArgument);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPiece, nullptr, 0), kBadArgument);
  EXPECT_EQ(aclrtMallocPhysical(&handle, 0, &prop, 0), kBadArgument);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPiece + 1, &prop, 0), kBadArgument);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kHalf, &prop, 0), kOutOfMemory);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 1), kBadArgument);
  prop = Properties(9);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 0), 107001);
  prop = Properties();
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 0), kNotSupported);
  EXPECT_EQ(aclrtFreePhysical(nullptr), kBadArgument);
  EXPECT_EQ(aclrtFreePhysical(&handle), kBadHandle);
  EXPECT_EQ(aclrtFreePhysical(stream_), kBadHandle);
  handle = Physical(kPiece);
  EXPECT_EQ(aclrtFreePhysical(handle), kOk);
  EXPECT_EQ(aclrtFreePhysical(handle), kBadHandle) << "twice";
  size_t granularity = 0;
  EXPECT_EQ(aclrtMemGetAllocationGranularity(nullptr, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity),
            kBadArgument);
  prop = Properties();
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &granularity),
            kBadArgument);
}

TEST_F(Virtual, MappingsAreChecked) {
  uint8_t* range = Reserve(2 * kPiece);
  aclrtDrvMemHandle memory = Physical(kPiece);
  EXPECT_EQ(aclrtMapMem(nullptr, kPiece, 0, memory, 0), kBadArgument);
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, nullptr, 0), kBadArgument);
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, stream_, 0), kBadHandle);
  EXPECT_EQ(aclrtMapMem(range, 0, 0, memory, 0), kBadArgument);
  EXPECT_EQ(aclrtMapMem(range, 4096, 0, memory, 0), kBadArgument);
  EXPECT_EQ(aclrtMapMem(range, 2 * kPiece, 0, memory, 0), kBadArgument) << "more than there is";
  EXPECT_EQ(aclrtMapMem(range, kPiece, kPiece, memory, 0), kBadArgument) << "past its end";
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, memory, 1), kBadArgument);
  EXPECT_EQ(aclrtMapMem(range + 64, kPiece, 0, memory, 0), kBadArgument);
  EXPECT_EQ(aclrtMapMem(Device(64), kPiece, 0, memory, 0), kBadArgument) << "never reserved";
  ASSERT_EQ(aclrtMapMem(range, kPiece, 0, memory, 0), kOk);
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, memory, 0), kBadArgument) << "twice";
  EXPECT_EQ(aclrtReleaseMemAddress(range), kBadArgument) << "still mapped";
  EXPECT_THAT(LastMessage(), HasSubstr("aclrtUnmapMem"));
  EXPECT_EQ(aclrtUnmapMem(range + kPiece), kBadArgument);
  EXPECT_EQ(aclrtUnmapMem(nullptr), kBadArgument);
  ASSERT_EQ(aclrtUnmapMem(range), kOk);
  EXPECT_EQ(aclrtUnmapMem(range), kBadArgument) << "twice";
  ASSERT_EQ(aclrtFreePhysical(memory), kOk);
  EXPECT_EQ(aclrtMapMem(range, kPiece, 0, memory, 0), kBadHandle);
  ASSERT_EQ(aclrtReleaseMemAddress(range), kOk);
}

}  // namespace
}  // namespace conformance
