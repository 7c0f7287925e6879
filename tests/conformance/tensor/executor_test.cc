// Executors: the two stages, what outlives what, repeatable runs, and refusals.
#include <thread>

#include "tensor/tensor_fixture.h"

namespace conformance {
namespace {

using ::testing::HasSubstr;

TEST_F(AddTest, TwoStages) {
  ASSERT_EQ(aclnnInit(nullptr), kOk);
  ASSERT_EQ(Prepare(), kOk) << Message();
  EXPECT_EQ(size_, 0u);
  EXPECT_EQ(At(2)[3], 0) << "the first stage computes nothing";
  ASSERT_EQ(Run(), kOk) << Message();
  Sync();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(At(2)[i], static_cast<float>(i) + 20);
  EXPECT_EQ(aclnnFinalize(), kOk);
}

TEST_F(AddTest, ASpentExecutorIsRefusedAndDestroyingItIsHarmless) {
  ASSERT_EQ(Prepare(), kOk);
  ASSERT_EQ(Run(), kOk);
  EXPECT_EQ(Run(), kInnerNull);
  EXPECT_THAT(Message(), HasSubstr("aclSetAclOpExecutorRepeatable"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor_), kInnerNull);
  EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), kInnerNull);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), kInnerNull);
  EXPECT_EQ(aclnnAdd(nullptr, 0, nullptr, stream_), kInnerNull);
  EXPECT_EQ(aclnnAdd(nullptr, 0, reinterpret_cast<aclOpExecutor*>(self_), stream_), kInnerNull);
  Sync();
}

TEST_F(AddTest, AnExecutorThatNeverRanCanBeDestroyed) {
  ASSERT_EQ(Prepare(), kOk);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(Run(), kInnerNull);
}

TEST_F(AddTest, ARepeatableExecutorRunsOnOtherAddresses) {
  ASSERT_EQ(Prepare(), kOk);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), kOk);
  ASSERT_EQ(Run(), kOk);
  ASSERT_EQ(aclSetTensorAddr(executor_, 2, out_, memory_[3]), kOk);
  ASSERT_EQ(aclSetInputTensorAddr(executor_, 1, other_, memory_[0]), kOk);
  ASSERT_EQ(Run(), kOk);
  Sync();
  EXPECT_EQ(At(2)[5], 25) << "the first run kept its addresses";
  EXPECT_EQ(At(3)[5], 15);
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out_, memory_[2]), kOk);
  ASSERT_EQ(Run(), kOk);
  Sync();
  EXPECT_EQ(At(2)[5], 15);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(Run(), kInnerNull);
}

TEST_F(AddTest, AddressesThatCannotBeSet) {
  ASSERT_EQ(Prepare(), kOk);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), kOk);
  EXPECT_EQ(aclSetTensorAddr(executor_, 3, out_, memory_[3]), kInvalid);
  EXPECT_EQ(aclSetInputTensorAddr(executor_, 2, out_, memory_[3]), kInvalid);
  EXPECT_EQ(aclSetOutputTensorAddr(executor_, 1, out_, memory_[3]), kInvalid);
  EXPECT_EQ(aclSetTensorAddr(executor_, 0, self_, At(0) + 1), kInvalid) << "not a multiple of 32";
  EXPECT_EQ(aclSetTensorAddr(nullptr, 0, self_, memory_[0]), kInnerNull);
  EXPECT_EQ(aclSetTensorAddr(executor_, 0, nullptr, memory_[0]), kInnerNull);
  EXPECT_EQ(AclSetTensorAddr(executor_, 0, self_, memory_[0]), kOk) << "the older spelling";
  EXPECT_EQ(AclSetInputTensorAddr(executor_, 0, self_, memory_[0]), kOk);
  EXPECT_EQ(AclSetOutputTensorAddr(executor_, 0, out_, memory_[2]), kOk);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
}

// None of the operators so far takes a list, so there is no member to find.
TEST_F(AddTest, MembersOfLists) {
  ASSERT_EQ(Prepare(), kOk);
  const aclTensor* members[] = {Make({8}, memory_[0])};
  aclTensorList* list = aclCreateTensorList(members, 1);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor_, 5, 0, list, memory_[0]), kInvalid);
  EXPECT_EQ(aclSetDynamicInputTensorAddr(executor_, 2, 0, list, memory_[0]), kInvalid);
  EXPECT_EQ(aclSetDynamicOutputTensorAddr(executor_, 0, 1, list, memory_[0]), kInvalid);
  EXPECT_EQ(AclSetDynamicTensorAddr(executor_, 5, 0, list, memory_[0]), kInvalid);
  EXPECT_EQ(AclSetDynamicInputTensorAddr(executor_, 2, 0, list, memory_[0]), kInvalid);
  EXPECT_EQ(AclSetDynamicOutputTensorAddr(executor_, 0, 1, list, memory_[0]), kInvalid);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor_, 0, 0, nullptr, memory_[0]), kInnerNull);
  EXPECT_EQ(aclDestroyTensorList(list), kOk);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
}

TEST_F(AddTest, TensorsGoBeforeTheWorkIsDone) {
  aclrtEvent go = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&go), kOk);
  ASSERT_EQ(aclrtStreamWaitEvent(stream_, go), kOk);
  ASSERT_EQ(Prepare(), kOk);
  At(0)[0] = 100;  // nothing was read yet
  ASSERT_EQ(Run(), kOk);
  for (aclTensor** tensor : {&self_, &other_, &out_}) {
    EXPECT_EQ(aclDestroyTensor(*tensor), kOk);
    *tensor = nullptr;
  }
  EXPECT_EQ(aclDestroyScalar(alpha_), kOk);
  alpha_ = nullptr;
  ASSERT_EQ(aclrtRecordEvent(go, nullptr), kOk);
  Sync();
  EXPECT_EQ(At(2)[0], 120);
  EXPECT_EQ(aclrtDestroyEvent(go), kOk);
}

TEST_F(AddTest, ADeadTensorIsRefusedByTheFirstStage) {
  ASSERT_EQ(aclDestroyTensor(other_), kOk);
  EXPECT_EQ(Prepare(), kStale);
  EXPECT_THAT(Message(), HasSubstr("other"));
  other_ = nullptr;
  EXPECT_EQ(Prepare(), kNullArgument);
  EXPECT_THAT(Message(), HasSubstr("other"));
}

TEST_F(AddTest, AddressesAreCheckedByTheSecondStage) {
  alignas(32) static float host[8];
  ASSERT_EQ(Prepare(), kOk);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), kOk);
  ASSERT_EQ(aclSetTensorAddr(executor_, 1, other_, host), kOk);
  EXPECT_EQ(Run(), kInvalid);
  std::string message = Message();
  EXPECT_THAT(message, HasSubstr("other"));
  EXPECT_THAT(message, HasSubstr("host memory"));
  ASSERT_EQ(aclSetTensorAddr(executor_, 1, other_, nullptr), kOk);
  EXPECT_EQ(Run(), kInvalid);
  ASSERT_EQ(aclSetTensorAddr(executor_, 1, other_, memory_[1]), kOk);
  EXPECT_EQ(Run(), kOk) << "a refused run spends nothing";
  Sync();
  ASSERT_EQ(aclrtFree(memory_[1]), kOk);
  EXPECT_EQ(Run(), kInvalid);
  EXPECT_THAT(Message(), HasSubstr("not allocated"));
  ASSERT_EQ(aclrtMalloc(&memory_[1], kBytes, ACL_MEM_MALLOC_HUGE_FIRST), kOk);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
}

TEST_F(AddTest, AnExecutorBelongsToItsFunction) {
  ASSERT_EQ(Prepare(), kOk);
  EXPECT_EQ(aclnnMul(nullptr, 0, executor_, stream_), kInvalid);
  EXPECT_THAT(Message(), HasSubstr("aclnnAdd"));
  EXPECT_EQ(Run(), kOk);
  Sync();
}

TEST_F(AddTest, TheBlockMustBeLargeEnough) {
  aclTensor* wide = Make({1 << 20}, memory_[0]);
  aclTensor* result = Make({1 << 20}, memory_[2]);
  ASSERT_EQ(aclnnAddGetWorkspaceSize(wide, wide, alpha_, result, &size_, &executor_), kOk);
  EXPECT_EQ(Run(), kInvalid);
  EXPECT_THAT(Message(), HasSubstr("self"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(aclDestroyTensor(wide), kOk);
  EXPECT_EQ(aclDestroyTensor(result), kOk);
}

TEST_F(AddTest, PrivateFormatsAreRefused) {
  int64_t dims[] = {8};
  aclTensor* tiled =
      aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_FRACTAL_NZ, dims, 1, memory_[0]);
  EXPECT_EQ(aclnnAddGetWorkspaceSize(tiled, other_, alpha_, out_, &size_, &executor_), kInvalid);
  EXPECT_THAT(Message(), HasSubstr("ACL_FORMAT_FRACTAL_NZ"));
  EXPECT_EQ(aclDestroyTensor(tiled), kOk);
}

TEST_F(AddTest, WithoutElementsNoMemoryIsNeeded) {
  aclTensor* none = Make({0, 3}, nullptr);
  ASSERT_EQ(aclnnAddGetWorkspaceSize(none, none, alpha_, none, &size_, &executor_), kOk);
  EXPECT_EQ(size_, 0u);
  EXPECT_EQ(Run(), kOk);
  Sync();
  EXPECT_EQ(aclDestroyTensor(none), kOk);
}

TEST_F(TensorTest, TheWorkspaceMustBeThereAndLargeEnough) {
  aclTensor* a = Make({4, 4}, memory_[0], ACL_FLOAT16);
  aclTensor* c = Make({4, 4}, memory_[1], ACL_FLOAT16);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnMmGetWorkspaceSize(a, a, c, 0, &size, &executor), kOk) << Message();
  ASSERT_GT(size, 0u);
  EXPECT_EQ(aclnnMm(nullptr, size, executor, stream_), kInvalid);
  EXPECT_EQ(aclnnMm(memory_[3], size - 1, executor, stream_), kInvalid);
  EXPECT_THAT(Message(), HasSubstr("asked for"));
  EXPECT_EQ(aclnnMm(memory_[3], size, executor, stream_), kOk) << Message();
  Sync();
  EXPECT_EQ(aclDestroyTensor(a), kOk);
  EXPECT_EQ(aclDestroyTensor(c), kOk);
}

TEST_F(AddTest, ManyThreadsRunOneRepeatableExecutor) {
  ASSERT_EQ(Prepare(), kOk);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), kOk);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      ASSERT_EQ(aclrtSetDevice(0), kOk);
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(Run(), kOk);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk) << "with runs still queued";
  Sync();
  EXPECT_EQ(At(2)[7], 27);
}

TEST_F(AddTest, OnlyOneOfManyThreadsSpendsAnExecutor) {
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(Prepare(), kOk);
    std::atomic<int> ran{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        aclrtSetDevice(0);
        if (Run() == kOk) ++ran;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran, 1);
  }
  Sync();
}

}  // namespace
}  // namespace conformance
