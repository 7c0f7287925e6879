// Gradients of convolutions.
#include <array>
#include <cmath>
#include <limits>

#include "aclnnop/aclnn_convolution_backward.h"
#include "tensor/tensor_fixture.h"

namespace conformance {
namespace {

constexpr int64_t kSide = 5, kIn = 2, kOut = 3, kKernel = 3;

float InfiniteOrNot(size_t i) {
  if (i == 0) return std::numeric_limits<float>::infinity();
  if (i == 24) return std::numeric_limits<float>::quiet_NaN();
  if (i == 30) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(static_cast<int>(i * 7 % 13) - 6);
}

class ConvolutionGradient : public TensorTest {
 protected:
  aclIntArray* Array(const std::vector<int64_t>& values) {
    return aclCreateIntArray(values.data(), values.size());
  }
  // That of the weights: [out][in][row][column], of an image with a padding of one around.
  void Run(aclTensor* grad, aclTensor* x, aclTensor* weight, aclTensor* result, bool transposed) {
    aclIntArray *ones = Array({1, 1}), *zeros = Array({0, 0});
    const std::array<bool, 3> wanted = {false, true, false};
    aclBoolArray* mask = aclCreateBoolArray(wanted.data(), wanted.size());
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(aclnnConvolutionBackwardGetWorkspaceSize(grad, x, weight, nullptr, ones, ones, ones, transposed,
                                                       zeros, 1, mask, 0, nullptr, result, nullptr, &size,
                                                       &executor),
              kOk)
        << Message();
    void* workspace = nullptr;
    ASSERT_EQ(aclrtMalloc(&workspace, size + 1, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
    ASSERT_EQ(aclnnConvolutionBackward(workspace, size, executor, stream_), kOk) << Message();
    Sync();
    EXPECT_EQ(aclrtFree(workspace), kOk);
    for (aclIntArray* array : {ones, zeros}) EXPECT_EQ(aclDestroyIntArray(array), kOk);
    EXPECT_EQ(aclDestroyBoolArray(mask), kOk);
  }
  // The same by its definition.
  float Wanted(const float* grad, const float* x, int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t a = 0; a < kSide; ++a) {
      for (int64_t b = 0; b < kSide; ++b) {
        const int64_t y = a + row - 1, z = b + column - 1;
        if (y < 0 || z < 0 || y >= kSide || z >= kSide) continue;
        sum += static_cast<double>(grad[a * kSide + b]) * static_cast<double>(x[y * kSide + z]);
      }
    }
    return static_cast<float>(sum);
  }
};

// Whatever the gradient is that meets it.
TEST_F(ConvolutionGradient, PaddingAddsNothingToThatOfTheWeights) {
  for (bool transposed : {false, true}) {
    float *grad = At(0), *x = At(1), *result = At(2);
    // What is moved over the other, with its padding, is the image, and of a transposed one the gradient.
    float *moved = transposed ? x : grad, *image = transposed ? grad : x;
    const int64_t channels = transposed ? kIn : kOut, others = transposed ? kOut : kIn;
    for (size_t i = 0; i < static_cast<size_t>(channels * kSide * kSide); ++i) moved[i] = InfiniteOrNot(i);
    for (int64_t i = 0; i < others * kSide * kSide; ++i) image[i] = static_cast<float>(1 + i % 5);
    aclTensor* tensors[] = {Make({1, kOut, kSide, kSide}, grad), Make({1, kIn, kSide, kSide}, x),
                            Make({channels, others, kKernel, kKernel}, At(3)),
                            Make({channels, others, kKernel, kKernel}, result)};
    Run(tensors[0], tensors[1], tensors[2], tensors[3], transposed);
    int finite = 0;
    for (int64_t i = 0; i < channels * others * kKernel * kKernel; ++i) {
      const int64_t o = i / (others * kKernel * kKernel), c = i / (kKernel * kKernel) % others;
      const float want =
          Wanted(moved + o * kSide * kSide, image + c * kSide * kSide, i / kKernel % kKernel, i % kKernel);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(result[i]) : result[i] == want)
          << result[i] << ", wanted " << want << " at " << i << (transposed ? ", transposed" : "");
      finite += std::isfinite(want);
    }
    EXPECT_GT(finite, 0);
    for (aclTensor* tensor : tensors) EXPECT_EQ(aclDestroyTensor(tensor), kOk);
  }
}

}  // namespace
}  // namespace conformance
