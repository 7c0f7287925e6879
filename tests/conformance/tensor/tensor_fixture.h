// A device, a stream and tensors on them, for the tests of tensors and executors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_mul.h"

namespace conformance {

inline constexpr int kOk = 0;
inline constexpr int kNullArgument = 161001;
inline constexpr int kInvalid = 161002;
inline constexpr int kInnerNull = 561103;
inline constexpr int kStale = 107017;

class TensorTest : public ::testing::Test {
 protected:
  static constexpr size_t kBytes = 4096;

  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), kOk);
    ASSERT_EQ(aclrtSetDevice(0), kOk);
    ASSERT_EQ(aclrtCreateStream(&stream_), kOk);
    for (void*& address : memory_) {
      ASSERT_EQ(aclrtMalloc(&address, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
      std::memset(address, 0, kBytes);
    }
    for (int i = 0; i < 8; ++i) {
      At(0)[i] = static_cast<float>(i);
      At(1)[i] = 10;
    }
    aclGetRecentErrMsg();
  }
  void TearDown() override {
    for (void* address : memory_) aclrtFree(address);
    EXPECT_EQ(aclrtDestroyStream(stream_), kOk);
    EXPECT_EQ(aclrtResetDevice(0), kOk);
    EXPECT_EQ(aclFinalize(), kOk);
  }

  float* At(int i) { return static_cast<float*>(memory_[i]); }
  void Sync() { ASSERT_EQ(aclrtSynchronizeStream(stream_), kOk); }

  // A packed tensor of `type`; the storage is as large as the view.
  aclTensor* Make(const std::vector<int64_t>& dims, void* data, aclDataType type = ACL_FLOAT) {
    aclTensor* tensor = aclCreateTensor(dims.data(), dims.size(), type, nullptr, 0, ACL_FORMAT_ND,
                                        dims.data(), dims.size(), data);
    EXPECT_NE(tensor, nullptr) << aclGetRecentErrMsg();
    return tensor;
  }
  aclScalar* Number(float value) { return aclCreateScalar(&value, ACL_FLOAT); }

  std::string Message() {
    const char* text = aclGetRecentErrMsg();
    return text == nullptr ? "" : text;
  }

  aclrtStream stream_ = nullptr;
  void* memory_[4] = {};
};

// Stage 1 of out = self + alpha * other over eight floats.
class AddTest : public TensorTest {
 protected:
  void SetUp() override {
    TensorTest::SetUp();
    self_ = Make({8}, memory_[0]);
    other_ = Make({8}, memory_[1]);
    out_ = Make({8}, memory_[2]);
    alpha_ = Number(2);
  }
  void TearDown() override {
    for (aclTensor* tensor : {self_, other_, out_}) EXPECT_EQ(aclDestroyTensor(tensor), kOk);
    EXPECT_EQ(aclDestroyScalar(alpha_), kOk);
    TensorTest::TearDown();
  }
  int Prepare() { return aclnnAddGetWorkspaceSize(self_, other_, alpha_, out_, &size_, &executor_); }
  int Run() { return aclnnAdd(nullptr, 0, executor_, stream_); }

  aclTensor *self_ = nullptr, *other_ = nullptr, *out_ = nullptr;
  aclScalar* alpha_ = nullptr;
  uint64_t size_ = 99;
  aclOpExecutor* executor_ = nullptr;
};

}  // namespace conformance
