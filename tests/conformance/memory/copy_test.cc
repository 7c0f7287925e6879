// aclrtMemcpy, aclrtMemcpyAsync, their 2d forms, aclrtMemset and aclrtMemsetAsync.
#include <array>

#include "memory/memory_fixture.h"

namespace conformance {
namespace {

using testing::HasSubstr;

class Copy : public MemoryTest {
 public:
  void SetUp() override {
    MemoryTest::SetUp();
    device_ = Device(kBytes);
    other_ = Device(kBytes);
    pinned_ = Pinned(kBytes);
    for (size_t i = 0; i < kBytes; ++i) pinned_[i] = static_cast<uint8_t>(i * 7);
    ASSERT_EQ(aclrtMemset(device_, kBytes, 0, kBytes), kOk);
    ASSERT_EQ(aclrtMemset(other_, kBytes, 0, kBytes), kOk);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(device_), kOk);
    EXPECT_EQ(aclrtFree(other_), kOk);
    EXPECT_EQ(aclrtFreeHost(pinned_), kOk);
    MemoryTest::TearDown();
  }
  aclError CopyNow(void* dst, const void* src, size_t count = kBytes) {
    return aclrtMemcpy(dst, count, src, count, ACL_MEMCPY_DEFAULT);
  }
  aclError CopyLater(void* dst, const void* src, size_t count = kBytes) {
    return aclrtMemcpyAsync(dst, count, src, count, ACL_MEMCPY_DEFAULT, stream_);
  }

  static constexpr size_t kBytes = 4096;
  uint8_t* device_ = nullptr;
  uint8_t* other_ = nullptr;
  uint8_t* pinned_ = nullptr;
};

TEST_F(Copy, GoesInAllFourDirections) {
  std::vector<uint8_t> host(kBytes);
  ASSERT_EQ(aclrtMemcpy(device_, kBytes, pinned_, kBytes, ACL_MEMCPY_HOST_TO_DEVICE), kOk);
  ASSERT_EQ(aclrtMemcpy(other_, kBytes, device_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE), kOk);
  ASSERT_EQ(aclrtMemcpy(host.data(), kBytes, other_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST), kOk);
  EXPECT_EQ(std::memcmp(host.data(), pinned_, kBytes), 0);
  std::vector<uint8_t> again(kBytes);
  ASSERT_EQ(aclrtMemcpy(again.data(), kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_HOST), kOk);
  EXPECT_EQ(again, host);
}

TEST_F(Copy, TheAddressesDecideWhateverTheKind) {
  for (int kind : {0, 1, 2, 3, 4, 99}) {
    std::memset(device_, kind + 1, kBytes);
    std::memset(other_, 0, kBytes);
    ASSERT_EQ(aclrtMemcpy(other_, kBytes, device_, kBytes, static_cast<aclrtMemcpyKind>(kind)), kOk);
    EXPECT_EQ(other_[kBytes - 1], kind + 1);
  }
}

TEST_F(Copy, OnAStreamInOrder) {
  ASSERT_EQ(CopyLater(device_, pinned_), kOk);
  ASSERT_EQ(CopyLater(other_, device_), kOk);
  uint8_t* back = Pinned(kBytes);
  ASSERT_EQ(CopyLater(back, other_), kOk);
  Sync();
  EXPECT_EQ(std::memcmp(back, pinned_, kBytes), 0);
  ASSERT_EQ(
      aclrtMemcpyAsyncWithCondition(other_, kBytes, device_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_),
      kOk);
  Sync();
  ASSERT_EQ(aclrtMemsetAsync(other_, kBytes, 0, kBytes, nullptr), kOk);
  ASSERT_EQ(aclrtMemcpyAsync(other_, kBytes, device_, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr), kOk)
      << "NULL is the default stream";
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), kOk);
  EXPECT_EQ(std::memcmp(other_, pinned_, kBytes), 0);
  EXPECT_EQ(aclrtFreeHost(back), kOk);
}

TEST_F(Copy, PageableMemoryIsCopiedBeforeTheCallReturns) {
  std::vector<uint8_t> host(kBytes, 3);
  ASSERT_EQ(CopyLater(device_, host.data()), kOk);
  std::fill(host.begin(), host.end(), 4);
  Sync();
  EXPECT_EQ(device_[0], 3);
  EXPECT_EQ(device_[kBytes - 1], 3);
  ASSERT_EQ(CopyLater(host.data(), device_), kOk);
  EXPECT_EQ(host[kBytes - 1], 3) << "without any wait";
}

TEST_F(Copy, HostToHostOnAStreamFailsOnceInTheWait) {
  uint8_t* other = Pinned(kBytes);
  std::memset(other, 0x11, kBytes);
  ASSERT_EQ(aclrtMemcpyAsync(other, kBytes, pinned_, kBytes, ACL_MEMCPY_HOST_TO_HOST, stream_), kOk);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), kNotSupported);
  EXPECT_THAT(LastMessage(), HasSubstr("aclrtMemcpy"));
  EXPECT_EQ(other[0], 0x11) << "nothing was copied";
  EXPECT_EQ(aclrtSynchronizeStream(stream_), kOk) << "reported once";
  ASSERT_EQ(CopyLater(device_, pinned_), kOk) << "the stream works";
  Sync();
  EXPECT_EQ(std::memcmp(device_, pinned_, kBytes), 0);
  std::vector<uint8_t> host(kBytes);
  ASSERT_EQ(CopyLater(host.data(), pinned_), kOk);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), kNotSupported);
  EXPECT_EQ(aclrtFreeHost(other), kOk);
}

TEST_F(Copy, UnalignedAddressesAreAccepted) {
  ASSERT_EQ(CopyLater(device_ + 3, pinned_ + 1, 1000), kOk);
  Sync();
  EXPECT_EQ(std::memcmp(device_ + 3, pinned_ + 1, 1000), 0);
  EXPECT_EQ(device_[2], 0);
  EXPECT_EQ(device_[1003], 0);
}

TEST_F(Copy, WaitsForNoStream) {
  aclrtEvent never = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&never), kOk);
  ASSERT_EQ(aclrtStreamWaitEvent(stream_, never), kOk);
  ASSERT_EQ(CopyLater(device_, pinned_), kOk);
  ASSERT_EQ(CopyNow(other_, device_), kOk) << "the stream is stuck, this copy is not";
  EXPECT_EQ(other_[1], 0);
  ASSERT_EQ(aclrtRecordEvent(never, nullptr), kOk);
  Sync();
  EXPECT_EQ(device_[1], 7);
  EXPECT_EQ(aclrtDestroyEvent(never), kOk);
}

TEST_F(Copy, RangesAreChecked) {
  void* far = reinterpret_cast<void*>(uintptr_t{0x1100} << 48);
  void* low = reinterpret_cast<void*>(uintptr_t{0x1008});
  for (auto copy : {&Copy::CopyNow, &Copy::CopyLater}) {
    EXPECT_EQ((this->*copy)(nullptr, pinned_, 8), kBadArgument);
    EXPECT_EQ((this->*copy)(device_, nullptr, 8), kBadArgument);
    EXPECT_EQ((this->*copy)(device_, pinned_, 0), kBadArgument);
    EXPECT_EQ((this->*copy)(device_ + 100, pinned_, kBytes), kBadArgument);
    EXPECT_THAT(LastMessage(), HasSubstr("100 bytes into the block of 4096 bytes"));
    EXPECT_EQ((this->*copy)(other_, device_ + 100, kBytes), kBadArgument);
    EXPECT_EQ((this->*copy)(device_, pinned_ + 1, kBytes), kBadArgument) << "pinned blocks end too";
    EXPECT_EQ((this->*copy)(device_, pinned_, kHalf), kBadArgument);
    EXPECT_EQ((this->*copy)(pinned_, device_, SIZE_MAX), kBadArgument);
    EXPECT_EQ((this->*copy)(device_, far, 8), kBadArgument);
    EXPECT_EQ((this->*copy)(device_, low, 8), kBadArgument) << "a null pointer to a structure";
    EXPECT_EQ((this->*copy)(device_, stream_, 8), kBadArgument) << "a handle is no address";
  }
  EXPECT_EQ(aclrtMemcpy(device_, 8, pinned_, 9, ACL_MEMCPY_DEFAULT), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("destMax"));
  EXPECT_EQ(aclrtMemcpyAsync(device_, 8, pinned_, 9, ACL_MEMCPY_DEFAULT, stream_), kBadArgument);
  EXPECT_EQ(aclrtMemcpyAsync(device_, 8, pinned_, 8, ACL_MEMCPY_DEFAULT, device_), kBadHandle);
  Sync();
  EXPECT_EQ(device_[0], 0) << "nothing of all this was done";
}

TEST_F(Copy, FreedMemoryIsRefusedAndNamed) {
  uint8_t* gone = Device(1234);
  ASSERT_EQ(aclrtFree(gone), kOk);
  EXPECT_EQ(CopyNow(gone, pinned_, 8), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("1234 bytes"));
  EXPECT_EQ(CopyLater(pinned_, gone, 8), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("freed"));
}

TEST_F(Copy, OverlappingRangesKeepTheirBytes) {
  ASSERT_EQ(CopyNow(device_, pinned_), kOk);
  ASSERT_EQ(CopyNow(device_ + 64, device_, 2000), kOk);
  EXPECT_EQ(std::memcmp(device_ + 64, pinned_, 2000), 0);
}

// --- two dimensions

TEST_F(Copy, RowsWithPitches) {
  ASSERT_EQ(aclrtMemcpy2d(device_, 64, pinned_, 100, 40, 10, ACL_MEMCPY_HOST_TO_DEVICE), kOk);
  for (size_t row = 0; row < 10; ++row) {
    EXPECT_EQ(std::memcmp(device_ + row * 64, pinned_ + row * 100, 40), 0);
    EXPECT_EQ(device_[row * 64 + 40], 0) << "between the rows nothing is written";
  }
  ASSERT_EQ(aclrtMemcpy2dAsync(other_, 40, device_, 64, 40, 10, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_), kOk);
  Sync();
  EXPECT_EQ(std::memcmp(other_ + 9 * 40, pinned_ + 900, 40), 0);
  std::vector<uint8_t> host(400);
  ASSERT_EQ(aclrtMemcpy2dAsync(host.data(), 40, other_, 40, 40, 10, ACL_MEMCPY_DEVICE_TO_HOST, stream_), kOk);
  EXPECT_EQ(std::memcmp(host.data(), other_, 400), 0) << "pageable: copied when the call returns";
}

TEST_F(Copy, RowsAreChecked) {
  auto now = [&](size_t dpitch, size_t spitch, size_t width, size_t height) {
    return aclrtMemcpy2d(device_, dpitch, pinned_, spitch, width, height, ACL_MEMCPY_HOST_TO_DEVICE);
  };
  auto later = [&](size_t dpitch, size_t spitch, size_t width, size_t height) {
    return aclrtMemcpy2dAsync(device_, dpitch, pinned_, spitch, width, height, ACL_MEMCPY_HOST_TO_DEVICE,
                              stream_);
  };
  constexpr std::array<std::array<size_t, 4>, 9> kBad = {{{39, 100, 40, 2},
                                                          {100, 39, 40, 2},
                                                          {40, 40, 0, 2},
                                                          {40, 40, 40, 0},
                                                          {1024, 40, 40, 5},
                                                          {40, 1024, 40, 5},
                                                          {kHalf, 40, 40, 3},
                                                          {40, kHalf, 40, 2},
                                                          {40, 40, 40, kHalf}}};
  for (const auto& [dpitch, spitch, width, height] : kBad) {
    EXPECT_EQ(now(dpitch, spitch, width, height), kBadArgument) << dpitch << " " << spitch;
    EXPECT_EQ(later(dpitch, spitch, width, height), kBadArgument) << dpitch << " " << spitch;
  }
  EXPECT_EQ(now(1024, 1024, 1024, 4), kOk) << "the last row ends with the block";
  EXPECT_EQ(aclrtMemcpy2d(nullptr, 8, pinned_, 8, 8, 1, ACL_MEMCPY_DEFAULT), kBadArgument);
  EXPECT_EQ(aclrtMemcpy2dAsync(device_, 8, nullptr, 8, 8, 1, ACL_MEMCPY_DEFAULT, stream_), kBadArgument);
  uint8_t* other = Pinned(100);
  EXPECT_EQ(aclrtMemcpy2dAsync(other, 8, pinned_, 8, 8, 2, ACL_MEMCPY_DEFAULT, stream_), kOk);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), kNotSupported) << "host to host";
  EXPECT_EQ(aclrtFreeHost(other), kOk);
}

// The page of aclrtMemcpy2dAsync: 5 * 1024 * 1024 rows at most.
TEST_F(Copy, AStreamCopiesOnlySoManyRows) {
  constexpr size_t kMost = 5 * 1024 * 1024;
  uint8_t *to = Device(kMost + 1), *from = Pinned(kMost + 1);
  from[kMost - 1] = 9;
  ASSERT_EQ(aclrtMemcpy2dAsync(to, 1, from, 1, 1, kMost, ACL_MEMCPY_HOST_TO_DEVICE, stream_), kOk);
  Sync();
  EXPECT_EQ(to[kMost - 1], 9);
  EXPECT_EQ(aclrtMemcpy2dAsync(to, 1, from, 1, 1, kMost + 1, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
            kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("at most 5242880 rows"));
  EXPECT_EQ(aclrtMemcpy2d(to, 1, from, 1, 1, kMost + 1, ACL_MEMCPY_HOST_TO_DEVICE), kOk) << "no limit there";
  EXPECT_EQ(aclrtFreeHost(from), kOk);
}

// --- fills

TEST_F(Copy, FillsDeviceAndHost) {
  ASSERT_EQ(aclrtMemset(device_, kBytes, 0x1ab, 100), kOk);
  EXPECT_EQ(device_[99], 0xab) << "the low byte of value";
  EXPECT_EQ(device_[100], 0);
  std::vector<uint8_t> host(100);
  ASSERT_EQ(aclrtMemset(host.data(), 100, -1, 100), kOk);
  EXPECT_EQ(host[99], 0xff);
  ASSERT_EQ(aclrtMemsetAsync(device_, kBytes, 5, kBytes, stream_), kOk);
  ASSERT_EQ(aclrtMemsetAsync(host.data(), 100, 6, 100, stream_), kOk);
  EXPECT_EQ(host[99], 6) << "pageable: filled when the call returns";
  Sync();
  EXPECT_EQ(device_[kBytes - 1], 5);
}

TEST_F(Copy, FillsAreChecked) {
  auto now = [&](void* p, size_t max, size_t count) { return aclrtMemset(p, max, 1, count); };
  auto later = [&](void* p, size_t max, size_t count) { return aclrtMemsetAsync(p, max, 1, count, stream_); };
  uint8_t* gone = Device(64);
  ASSERT_EQ(aclrtFree(gone), kOk);
  auto refuses = [&](auto fill) {
    EXPECT_EQ(fill(nullptr, 8, 8), kBadArgument);
    EXPECT_EQ(fill(device_, 8, 9), kBadArgument);
    EXPECT_EQ(fill(device_, kBytes, 0), kBadArgument);
    EXPECT_EQ(fill(device_ + 64, kBytes, kBytes), kBadArgument);
    EXPECT_EQ(fill(device_, kHalf, kHalf), kBadArgument);
    EXPECT_EQ(fill(gone, 8, 8), kBadArgument);
  };
  refuses(now);
  refuses(later);
  Sync();
  EXPECT_EQ(device_[0], 0);
}

// --- two devices

TEST_F(Copy, BetweenDevicesNeedsPeerAccess) {
  ASSERT_EQ(aclrtSetDevice(1), kOk);
  uint8_t* there = Device(kBytes);
  EXPECT_EQ(CopyNow(there, device_), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("aclrtDeviceEnablePeerAccess"));
  int32_t can = 0;
  ASSERT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), kOk);
  EXPECT_EQ(can, 1);
  ASSERT_EQ(aclrtDeviceEnablePeerAccess(0, 0), kOk);
  std::memset(device_, 9, kBytes);
  EXPECT_EQ(CopyNow(there, device_), kOk);
  EXPECT_EQ(there[kBytes - 1], 9);
  EXPECT_EQ(CopyNow(other_, there), kOk);
  EXPECT_EQ(other_[0], 9);
  ASSERT_EQ(aclrtDeviceDisablePeerAccess(0), kOk);
  EXPECT_EQ(CopyNow(there, device_), kBadArgument);
  EXPECT_EQ(aclrtFree(there), kOk);
  EXPECT_EQ(aclrtResetDevice(1), kOk);
  ASSERT_EQ(aclrtSetDevice(0), kOk);
}

}  // namespace
}  // namespace conformance
