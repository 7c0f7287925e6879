// Registered host memory, values in device memory, cache hints, and what captures allow.
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "memory/memory_fixture.h"

namespace conformance {
namespace {

using testing::HasSubstr;

class Access : public MemoryTest {
 public:
  static constexpr size_t kBytes = 16384;
  void SetUp() override {
    MemoryTest::SetUp();
    host_ = static_cast<uint8_t*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(host_, MAP_FAILED);
    device_ = Device(kBytes);
    std::memset(device_, 0, kBytes);
  }
  void TearDown() override {
    munmap(host_, kBytes);
    EXPECT_EQ(aclrtFree(device_), kOk);
    MemoryTest::TearDown();
  }
  uint8_t* host_ = nullptr;
  uint8_t* device_ = nullptr;
};

TEST_F(Access, RegisteredMemoryCountsAsPinned) {
  void* there = nullptr;
  ASSERT_EQ(aclrtHostRegister(host_, kBytes, ACL_HOST_REGISTER_MAPPED, &there), kOk);
  ASSERT_NE(there, nullptr);
  void* same = nullptr;
  ASSERT_EQ(aclrtHostGetDevicePointer(host_, &same, 0), kOk);
  EXPECT_EQ(same, there);
  aclrtPtrAttributes attributes = {};
  ASSERT_EQ(aclrtPointerGetAttributes(host_ + 100, &attributes), kOk);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);

  // A copy from pinned memory reads it when its turn comes.
  aclrtEvent go = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&go), kOk);
  ASSERT_EQ(aclrtStreamWaitEvent(stream_, go), kOk);
  host_[0] = 1;
  ASSERT_EQ(aclrtMemcpyAsync(device_, 64, host_, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_), kOk);
  host_[0] = 2;
  ASSERT_EQ(aclrtRecordEvent(go, nullptr), kOk);
  Sync();
  EXPECT_EQ(device_[0], 2);
  EXPECT_EQ(aclrtDestroyEvent(go), kOk);

  ASSERT_EQ(aclrtHostUnregister(host_), kOk);
  ASSERT_EQ(aclrtPointerGetAttributes(host_, &attributes), kOk);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  ASSERT_EQ(aclrtHostRegisterV2(host_, kBytes, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED), kOk);
  ASSERT_EQ(aclrtHostGetDevicePointer(host_ + 8, &same, 0), kOk);
  ASSERT_EQ(aclrtHostUnregister(host_), kOk);
}

TEST_F(Access, RegistrationIsChecked) {
  void* there = nullptr;
  EXPECT_EQ(aclrtHostRegister(nullptr, kBytes, ACL_HOST_REGISTER_MAPPED, &there), kBadArgument);
  EXPECT_EQ(aclrtHostRegister(host_, kBytes, ACL_HOST_REGISTER_MAPPED, nullptr), kBadArgument);
  EXPECT_EQ(aclrtHostRegister(host_ + 1, 64, ACL_HOST_REGISTER_MAPPED, &there), kBadArgument);
  EXPECT_EQ(aclrtHostRegister(host_, 0, ACL_HOST_REGISTER_MAPPED, &there), kBadArgument);
  EXPECT_EQ(aclrtHostRegister(host_, kHalf, ACL_HOST_REGISTER_MAPPED, &there), kBadArgument);
  EXPECT_EQ(aclrtHostRegister(host_, kBytes, ACL_HOST_REGISTER_READONLY, &there), kNotSupported);
  EXPECT_EQ(aclrtHostRegisterV2(host_, kBytes, 0), kBadArgument);
  EXPECT_EQ(aclrtHostRegisterV2(host_, kBytes, 0x1), kBadArgument);
  EXPECT_EQ(aclrtHostRegisterV2(host_, kBytes, ACL_HOST_REG_READONLY), kNotSupported);
  EXPECT_EQ(aclrtHostUnregister(host_), kBadArgument);
  EXPECT_EQ(aclrtHostUnregister(nullptr), kBadArgument);
  EXPECT_EQ(aclrtHostGetDevicePointer(host_, &there, 0), kBadArgument) << "not registered";
  uint8_t* large = Device(4 << 20);
  EXPECT_EQ(aclrtHostRegister(large, 4096, ACL_HOST_REGISTER_MAPPED, &there), kBadArgument);
  EXPECT_EQ(aclrtFree(large), kOk);

  ASSERT_EQ(aclrtHostRegisterV2(host_, kBytes, ACL_HOST_REG_PINNED), kOk);
  EXPECT_EQ(aclrtHostGetDevicePointer(host_, &there, 0), kBadArgument) << "not mapped";
  EXPECT_EQ(aclrtHostRegister(host_ + 4096, 4096, ACL_HOST_REGISTER_MAPPED, &there), kBadArgument)
      << "overlaps";
  EXPECT_EQ(aclrtHostUnregister(host_ + 4096), kBadArgument) << "interior";
  EXPECT_EQ(aclrtHostUnregister(host_), kOk);
}

TEST_F(Access, MemoryThatIsPinnedIsNotRegisteredToBePinned) {
  void *pinned = nullptr, *there = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, kBytes + 4096), kOk);
  void* page = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(pinned) + 4095) & ~uintptr_t{4095});
  EXPECT_EQ(aclrtHostRegisterV2(page, 4096, ACL_HOST_REG_PINNED), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("pinned already"));
  EXPECT_EQ(aclrtHostRegisterV2(page, 4096, ACL_HOST_REG_PINNED | ACL_HOST_REG_MAPPED), kBadArgument);
  ASSERT_EQ(aclrtHostRegisterV2(page, 4096, ACL_HOST_REG_MAPPED), kOk);
  EXPECT_EQ(aclrtHostGetDevicePointer(page, &there, 0), kOk);
  EXPECT_EQ(aclrtHostUnregister(page), kOk);
  EXPECT_EQ(aclrtFreeHost(pinned), kOk);
}

// --- values

TEST_F(Access, RegisteringWhatIsNotMappedIsRefused) {
  constexpr size_t kPages = size_t{32} << 20;
  void* range = mmap(nullptr, kPages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  void* there = nullptr;
  EXPECT_EQ(aclrtHostRegister(range, kPages, ACL_HOST_REGISTER_MAPPED, &there), kOk);
  EXPECT_EQ(aclrtHostUnregister(range), kOk);
  auto* last = static_cast<uint8_t*>(range) + kPages - 4096;
  ASSERT_EQ(munmap(last, 4096), 0);
  EXPECT_EQ(aclrtHostRegister(range, kPages, ACL_HOST_REGISTER_MAPPED, &there), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("not memory of this process"));
  EXPECT_EQ(aclrtHostRegisterV2(last, 4096, ACL_HOST_REG_PINNED), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("not memory of this process"));
  EXPECT_EQ(aclrtHostRegister(range, kPages - 4096, ACL_HOST_REGISTER_MAPPED, &there), kOk);
  EXPECT_EQ(aclrtHostUnregister(range), kOk);
  munmap(range, kPages - 4096);
}

TEST_F(Access, AStreamWaitsForAValue) {
  struct Case {
    uint32_t flag;
    uint64_t wanted;
    uint64_t before;
    uint64_t after;
  };
  for (Case c :
       {Case{ACL_STREAM_WAIT_VALUE_GEQ, 5, 4, 6}, Case{ACL_STREAM_WAIT_VALUE_EQ, 5, 6, 5},
        Case{ACL_STREAM_WAIT_VALUE_AND, 6, 1, 2}, Case{ACL_STREAM_WAIT_VALUE_NOR, ~uint64_t{1}, 1, 0},
        Case{ACL_STREAM_WAIT_VALUE_GEQ, 1, ~uint64_t{0}, 1}}) {
    ASSERT_EQ(aclrtMemcpy(device_, 8, &c.before, 8, ACL_MEMCPY_HOST_TO_DEVICE), kOk);
    ASSERT_EQ(aclrtValueWait(device_, c.wanted, c.flag, stream_), kOk);
    ASSERT_EQ(aclrtMemsetAsync(device_ + 64, 1, 9, 1, stream_), kOk);
    device_[64] = 0;
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    ASSERT_EQ(aclrtStreamQuery(stream_, &status), kOk);
    EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY) << c.flag;
    EXPECT_EQ(device_[64], 0);
    ASSERT_EQ(aclrtValueWrite(device_, c.after, 0, nullptr), kOk);
    Sync();
    EXPECT_EQ(device_[64], 9);
  }
}

TEST_F(Access, ValuesAreChecked) {
  int64_t local = 0;
  EXPECT_EQ(aclrtValueWrite(nullptr, 1, 0, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWrite(&local, 1, 0, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWrite(device_ + 4, 1, 0, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWrite(device_, 1, 1, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWait(nullptr, 1, 0, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWait(&local, 1, 0, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWait(device_ + 4, 1, 0, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWait(device_, 1, 4, stream_), kBadArgument);
  EXPECT_EQ(aclrtValueWait(device_ + 2 * kBytes, 1, 0, stream_), kBadArgument);
  Sync();
}

TEST_F(Access, CacheHints) {
  EXPECT_EQ(aclrtCmoAsync(device_, kBytes, ACL_RT_CMO_TYPE_PREFETCH, stream_), kOk);
  Sync();
  EXPECT_EQ(aclrtCmoAsync(device_, kBytes, ACL_RT_CMO_TYPE_WRITEBACK, stream_), kNotSupported);
  EXPECT_EQ(aclrtCmoAsync(device_, 2 * kBytes, ACL_RT_CMO_TYPE_PREFETCH, stream_), kBadArgument);
  EXPECT_EQ(aclrtCmoAsync(device_, 0, ACL_RT_CMO_TYPE_PREFETCH, stream_), kBadArgument);
  EXPECT_EQ(aclrtCmoAsync(nullptr, kBytes, ACL_RT_CMO_TYPE_PREFETCH, stream_), kBadArgument);
  EXPECT_EQ(aclrtCmoAsync(host_, kBytes, ACL_RT_CMO_TYPE_PREFETCH, stream_), kBadArgument);
}

// --- captures

TEST_F(Access, UnsafeCallsSpoilACapture) {
  std::vector<uint8_t> pageable(64);
  auto calls = {
      +[](Access& t, uint8_t*) { return aclrtMemset(t.device_, 64, 1, 64); },
      +[](Access& t, uint8_t*) { return aclrtMemcpy(t.device_, 64, t.device_ + 64, 64, ACL_MEMCPY_DEFAULT); },
      +[](Access& t, uint8_t*) {
        return aclrtMemcpy2d(t.device_, 64, t.device_ + 64, 64, 64, 1, ACL_MEMCPY_DEFAULT);
      },
      +[](Access& t, uint8_t* host) {
        return aclrtMemcpyAsync(t.device_, 64, host, 64, ACL_MEMCPY_DEFAULT, t.stream_);
      },
  };
  for (auto call : calls) {
    for (auto mode : {ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
                      ACL_MODEL_RI_CAPTURE_MODE_RELAXED}) {
      ASSERT_EQ(aclmdlRICaptureBegin(stream_, mode), kOk);
      bool relaxed = mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
      EXPECT_EQ(call(*this, pageable.data()), relaxed ? kOk : kCaptureMode);
      aclmdlRI model = nullptr;
      EXPECT_EQ(aclmdlRICaptureEnd(stream_, &model) == kOk, relaxed);
      if (relaxed) {
        EXPECT_EQ(aclmdlRIDestroy(model), kOk);
      }
    }
  }
  Sync();
}

TEST_F(Access, AllocatingIsAllowedInACapture) {
  ASSERT_EQ(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), kOk);
  uint8_t* p = Device(64);
  ASSERT_EQ(aclrtMemsetAsync(p, 64, 3, 64, stream_), kOk);
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), kOk);
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureEnd(stream_, &model), kOk);
  ASSERT_EQ(aclmdlRIExecuteAsync(model, stream_), kOk);
  Sync();
  EXPECT_EQ(p[63], 3);
  EXPECT_EQ(aclrtFree(p), kOk);
  EXPECT_NE(aclmdlRIExecuteAsync(model, stream_), kOk) << "its memory was freed";
  EXPECT_THAT(LastMessage(), HasSubstr("freed"));
  EXPECT_EQ(aclmdlRIDestroy(model), kOk);
}

}  // namespace
}  // namespace conformance
