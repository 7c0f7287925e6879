// Operators of networks through the C interface: convolution, pooling, products with something added.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_adaptive_avg_pool2d.h"
#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_avgpool2d.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_max_pool.h"
#include "aclnnop/aclnn_max_pool2d_with_indices.h"

namespace conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kInvalid = 161002;

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), 0);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream_), 0);
  }
  void TearDown() override {
    for (aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
    for (aclIntArray* array : arrays_) aclDestroyIntArray(array);
    for (void* address : memory_) aclrtFree(address);
    EXPECT_EQ(aclrtDestroyStream(stream_), 0);
    EXPECT_EQ(aclrtResetDevice(0), 0);
    EXPECT_EQ(aclFinalize(), 0);
  }

  // A packed tensor with these elements first and zeros behind them.
  aclTensor* Make(const std::vector<int64_t>& dims, std::vector<float> values,
                  aclFormat format = ACL_FORMAT_NCHW, aclDataType type = ACL_FLOAT) {
    size_t count = 1;
    for (int64_t size : dims) count *= static_cast<size_t>(size);
    values.resize(count);
    void* data = Allocate(count * sizeof(float));
    EXPECT_EQ(aclrtMemcpy(data, count * 4, values.data(), count * 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    tensors_.push_back(
        aclCreateTensor(dims.data(), dims.size(), type, nullptr, 0, format, dims.data(), dims.size(), data));
    return tensors_.back();
  }
  void* Allocate(size_t bytes) {
    void* data = nullptr;
    EXPECT_EQ(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    memory_.push_back(data);
    return data;
  }
  aclIntArray* Ints(std::vector<int64_t> values) {
    arrays_.push_back(aclCreateIntArray(values.data(), values.size()));
    return arrays_.back();
  }

  using StageTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);
  void Run(aclnnStatus prepared, StageTwo run) {
    ASSERT_EQ(prepared, 0) << Message();
    void* workspace = size_ == 0 ? nullptr : Allocate(size_);
    ASSERT_EQ(run(workspace, size_, executor_, stream_), 0) << Message();
    ASSERT_EQ(aclrtSynchronizeStream(stream_), 0) << Message();
  }
  template <class T = float>
  std::vector<T> Read(aclTensor* tensor, size_t count) {
    void* data = nullptr;
    EXPECT_EQ(aclGetRawTensorAddr(tensor, &data), 0);
    std::vector<T> values(count);
    EXPECT_EQ(
        aclrtMemcpy(values.data(), count * sizeof(T), data, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return values;
  }
  std::string Message() {
    const char* text = aclGetRecentErrMsg();
    return text == nullptr ? "" : text;
  }

  aclrtStream stream_ = nullptr;
  uint64_t size_ = 0;
  aclOpExecutor* executor_ = nullptr;
  std::vector<aclTensor*> tensors_;
  std::vector<aclIntArray*> arrays_;
  std::vector<void*> memory_;
};

TEST_F(NetworkTest, Convolution) {
  aclTensor* x = Make({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  aclTensor* w = Make({1, 1, 2, 2}, {1, 0, 0, 1});
  aclTensor* b = Make({1}, {0.5f}, ACL_FORMAT_ND);
  aclTensor* y = Make({1, 1, 2, 2}, {});
  aclIntArray *one = Ints({1, 1}), *none = Ints({0, 0});
  Run(aclnnConvolutionGetWorkspaceSize(x, w, b, one, none, one, false, none, 1, y, 0, &size_, &executor_),
      &aclnnConvolution);
  EXPECT_THAT(Read(y, 4), ElementsAre(6.5f, 8.5f, 12.5f, 14.5f));
}

TEST_F(NetworkTest, ConvolutionOfOneDimensionTransposed) {
  aclTensor* x = Make({1, 1, 2}, {1, 2}, ACL_FORMAT_NCL);
  aclTensor* w = Make({1, 1, 2}, {10, 1}, ACL_FORMAT_NCL);
  aclTensor* y = Make({1, 1, 4}, {}, ACL_FORMAT_NCL);
  Run(aclnnConvolutionGetWorkspaceSize(x, w, nullptr, Ints({2}), Ints({0}), Ints({1}), true, Ints({0}), 1, y,
                                       0, &size_, &executor_),
      &aclnnConvolution);
  EXPECT_THAT(Read(y, 4), ElementsAre(10, 1, 20, 2));
}

TEST_F(NetworkTest, ConvolutionsThatDoNotFitSayWhy) {
  aclTensor* x = Make({1, 2, 3, 3}, {});
  aclTensor* w = Make({1, 1, 2, 2}, {});
  aclTensor* y = Make({1, 1, 2, 2}, {});
  aclIntArray *one = Ints({1, 1}), *none = Ints({0, 0});
  EXPECT_EQ(aclnnConvolutionGetWorkspaceSize(x, w, nullptr, one, none, one, false, none, 1, y, 0, &size_,
                                             &executor_),
            kInvalid);
  EXPECT_THAT(Message(), HasSubstr("[1, 2, 3, 3]"));
}

TEST_F(NetworkTest, Pooling) {
  aclTensor* x = Make({1, 1, 2, 4}, {1, 5, 2, 2, 3, 4, 9, 0});
  aclTensor* y = Make({1, 1, 1, 2}, {});
  aclIntArray *two = Ints({2, 2}), *one = Ints({1, 1}), *none = Ints({0, 0});
  Run(aclnnAvgPool2dGetWorkspaceSize(x, two, two, none, false, true, 0, 0, y, &size_, &executor_),
      &aclnnAvgPool2d);
  EXPECT_THAT(Read(y, 2), ElementsAre(3.25f, 3.25f));
  Run(aclnnMaxPoolGetWorkspaceSize(x, two, two, 0, Ints({0, 0, 0, 0}), one, 0, y, &size_, &executor_),
      &aclnnMaxPool);
  EXPECT_THAT(Read(y, 2), ElementsAre(5, 9));
  aclTensor* places = Make({1, 1, 1, 2}, {}, ACL_FORMAT_NCHW, ACL_INT32);
  Run(aclnnMaxPool2dWithIndicesGetWorkspaceSize(x, two, two, none, one, false, y, places, &size_, &executor_),
      &aclnnMaxPool2dWithIndices);
  EXPECT_THAT(Read<int32_t>(places, 2), ElementsAre(1, 6));
  Run(aclnnAdaptiveAvgPool2dGetWorkspaceSize(x, Ints({1, 2}), y, &size_, &executor_),
      &aclnnAdaptiveAvgPool2d);
  EXPECT_THAT(Read(y, 2), ElementsAre(3.25f, 3.25f));
  EXPECT_EQ(
      aclnnAvgPool2dGetWorkspaceSize(x, Ints({0, 2}), two, none, false, true, 0, 0, y, &size_, &executor_),
      kInvalid);
}

TEST_F(NetworkTest, ProductsThatAreAdded) {
  aclTensor* a = Make({2, 2}, {1, 2, 3, 4}, ACL_FORMAT_ND);
  aclTensor* b = Make({2, 1}, {1, 1}, ACL_FORMAT_ND);
  aclTensor* c = Make({1}, {10}, ACL_FORMAT_ND);
  aclTensor* y = Make({2, 1}, {}, ACL_FORMAT_ND);
  float factors[] = {0.5f, 2};
  aclScalar *beta = aclCreateScalar(&factors[0], ACL_FLOAT), *alpha = aclCreateScalar(&factors[1], ACL_FLOAT);
  Run(aclnnAddmmGetWorkspaceSize(c, a, b, beta, alpha, y, 0, &size_, &executor_), &aclnnAddmm);
  EXPECT_THAT(Read(y, 2), ElementsAre(11, 19));
  Run(aclnnInplaceAddmmGetWorkspaceSize(y, a, b, beta, alpha, 0, &size_, &executor_), &aclnnInplaceAddmm);
  EXPECT_THAT(Read(y, 2), ElementsAre(11.5f, 23.5f));
  aclDestroyScalar(beta), aclDestroyScalar(alpha);
}

}  // namespace
}  // namespace conformance
