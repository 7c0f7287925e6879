// Operators in a program that has habits of its own: another rounding mode, children.
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "aclnnop/aclnn_softmax.h"
#include "tensor/tensor_fixture.h"

namespace conformance {
namespace {

// out = self + 0.1 * other, softmax(out): the bytes of both.
class Numbers : public TensorTest {
 protected:
  void SetUp() override {
    TensorTest::SetUp();
    for (int i = 0; i < 1000; ++i) {
      At(0)[i] = 1e-38f * static_cast<float>(i % 7) + 1.0f / static_cast<float>(3 + i);
      At(1)[i] = 1e-39f * static_cast<float>(i);
    }
  }
  std::vector<float> Compute() {
    aclTensor *self = Make({1000}, memory_[0]), *other = Make({1000}, memory_[1]),
              *out = Make({1000}, memory_[2]), *soft = Make({1000}, memory_[3]);
    double tenth = 0.1;
    aclScalar* alpha = aclCreateScalar(&tenth, ACL_DOUBLE);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnAddGetWorkspaceSize(self, other, alpha, out, &size, &executor), kOk);
    EXPECT_EQ(aclnnAdd(nullptr, 0, executor, stream_), kOk);
    EXPECT_EQ(aclnnSoftmaxGetWorkspaceSize(out, 0, soft, &size, &executor), kOk);
    EXPECT_EQ(aclnnSoftmax(nullptr, 0, executor, stream_), kOk);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), kOk);
    for (aclTensor* tensor : {self, other, out, soft}) EXPECT_EQ(aclDestroyTensor(tensor), kOk);
    EXPECT_EQ(aclDestroyScalar(alpha), kOk);
    std::vector<float> result(At(2), At(2) + 1000);
    result.insert(result.end(), At(3), At(3) + 1000);
    return result;
  }
};

TEST_F(Numbers, DoNotDependOnTheCallersFloatMode) {
  std::vector<float> usual = Compute();
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush results and inputs that are subnormal
#endif
  std::vector<float> odd = Compute();
  int rounding = std::fegetround();
  std::fesetenv(FE_DFL_ENV);
  EXPECT_EQ(rounding, FE_UPWARD) << "the caller's mode is as it was";
  EXPECT_EQ(std::memcmp(usual.data(), odd.data(), usual.size() * sizeof(float)), 0);
}

// A product large enough to be split; true when each element is right.
bool Multiply() {
  constexpr int64_t kSize = 300;
  int64_t dims[] = {kSize, kSize};
  size_t bytes = kSize * kSize * sizeof(float);
  void* memory[2] = {};
  aclTensor* tensors[2];
  for (int i = 0; i < 2; ++i) {
    if (aclrtMalloc(&memory[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST) != kOk) return false;
    for (int64_t k = 0; k < kSize * kSize; ++k) static_cast<float*>(memory[i])[k] = 2;
    tensors[i] = aclCreateTensor(dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 2, memory[i]);
  }
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  if (aclnnMmGetWorkspaceSize(tensors[0], tensors[0], tensors[1], 0, &size, &executor) != kOk) return false;
  if (aclnnMm(nullptr, 0, executor, nullptr) != kOk || aclrtSynchronizeDevice() != kOk) return false;
  bool right = true;
  for (int64_t k = 0; k < kSize * kSize; ++k) right = right && static_cast<float*>(memory[1])[k] == 1200;
  for (int i = 0; i < 2; ++i) aclDestroyTensor(tensors[i]), aclrtFree(memory[i]);
  return right;
}

TEST_F(TensorTest, AForkedChildMultipliesAfresh) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "a lock of the sanitizer's allocator may be held by a worker at the fork, and stays so in the child";
#endif
  ASSERT_TRUE(Multiply());
  pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang is a failure
    _exit(aclInit(nullptr) == kOk && aclrtSetDevice(0) == kOk && Multiply() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Multiply()) << "the parent goes on";
}

}  // namespace
}  // namespace conformance
