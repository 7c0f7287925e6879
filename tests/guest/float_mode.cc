// The program rounds upwards and flushes denormals to zero. Results do not change, also when a thread of
// the program runs tasks while it waits, and its mode is as it was.
#include <aclnnop/aclnn_add.h>

#include <cfenv>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "guest.h"

namespace {

constexpr int64_t kCount = 4;

aclTensor* Tensor(void* data) {
  return aclCreateTensor(&kCount, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &kCount, 1, data);
}

void Add(const float* left, const float* right, float* sum, aclrtStream stream) {
  constexpr size_t kBytes = kCount * sizeof(float);
  void* memory[3];
  aclTensor* tensor[3];
  for (int i = 0; i < 3; ++i) {
    memory[i] = guest::OnDevice(kBytes);
    tensor[i] = Tensor(memory[i]);
    EXPECT(tensor[i] != nullptr);
  }
  OK(aclrtMemcpy(memory[0], kBytes, left, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemcpy(memory[1], kBytes, right, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT(aclnnAddGetWorkspaceSize(tensor[0], tensor[1], alpha, tensor[2], &bytes, &executor) == 0);
  void* workspace = bytes == 0 ? nullptr : guest::OnDevice(bytes);
  EXPECT(aclnnAdd(workspace, bytes, executor, stream) == 0);
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemcpy(sum, kBytes, memory[2], kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int i = 0; i < 3; ++i) {
    aclDestroyTensor(tensor[i]);
    OK(aclrtFree(memory[i]));
  }
  aclDestroyScalar(alpha);
  if (workspace != nullptr) OK(aclrtFree(workspace));
}

}  // namespace

int main() {
  guest::Start();
  aclrtStream stream = guest::NewStream();
  const float left[kCount] = {1e-40f, 1.0f, -1.0f, 3.0f};
  const float right[kCount] = {0.0f, 1e-9f, -1e-9f, 4.0f};
  float sum[kCount];
  float wanted[kCount] = {1e-40f, 1.0f, -1.0f, 7.0f};

  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
  unsigned mode = _mm_getcsr() & ~0x3fu;
#endif
  for (int round = 0; round < 200; ++round) {
    Add(left, right, sum, stream);
    EXPECT(std::memcmp(sum, wanted, sizeof sum) == 0);
  }
  EXPECT(std::fegetround() == FE_UPWARD);
#if defined(__x86_64__)
  EXPECT((_mm_getcsr() & ~0x3fu) == mode);
#endif
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
