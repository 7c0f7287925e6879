// What the memory tests share: a program that has called aclInit and uses device 0.
#pragma once

#include <acl/acl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace conformance {

inline constexpr aclError kOk = ACL_SUCCESS;
inline constexpr aclError kBadArgument = 100000;
inline constexpr aclError kBadHandle = 107017;
inline constexpr aclError kNotSupported = 207000;
inline constexpr aclError kOutOfMemory = 207001;
inline constexpr aclError kCaptureMode = 107030;
inline constexpr size_t kHalf = size_t{1} << 63;

inline std::string LastMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

class MemoryTest : public testing::Test {
 public:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), kOk);
    ASSERT_EQ(aclrtSetDevice(0), kOk);
    ASSERT_EQ(aclrtCreateStream(&stream_), kOk);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(stream_), kOk);
    EXPECT_EQ(aclrtResetDevice(0), kOk);
    EXPECT_EQ(aclFinalize(), kOk);
  }

  static uint8_t* Device(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
    return static_cast<uint8_t*>(p);
  }
  static uint8_t* Pinned(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMallocHost(&p, bytes), kOk);
    return static_cast<uint8_t*>(p);
  }
  void Sync() { ASSERT_EQ(aclrtSynchronizeStream(stream_), kOk); }

  aclrtStream stream_ = nullptr;
};

}  // namespace conformance
