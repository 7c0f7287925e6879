// Tensors of one call that overlap: as if all operands had been read before anything was written, and each
// result had memory of its own; or refused.
#include <cmath>

#include "aclnnop/aclnn_group_norm.h"
#include "aclnnop/aclnn_sort.h"
#include "aclnnop/aclnn_split_with_size.h"
#include "tensor/tensor_fixture.h"

namespace conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Overlap : public AddTest {
 protected:
  void SetUp() override {
    AddTest::SetUp();
    for (int i = 0; i < 64; ++i) At(0)[i] = static_cast<float>(i);
    for (int i = 0; i < 64; ++i) At(1)[i] = 10;
  }

  aclTensor* View(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides, int64_t offset,
                  void* data, aclDataType type = ACL_FLOAT) {
    const int64_t storage = 256;
    aclTensor* tensor = aclCreateTensor(dims.data(), dims.size(), type, strides.data(), offset, ACL_FORMAT_ND,
                                        &storage, 1, data);
    EXPECT_NE(tensor, nullptr) << Message();
    return tensor;
  }
  // out = self + 2 * 10, over 48 elements.
  void PrepareLong(aclTensor* out) {
    long_self_ = Make({48}, memory_[0]), long_other_ = Make({48}, memory_[1]);
    ASSERT_EQ(aclnnAddGetWorkspaceSize(long_self_, long_other_, alpha_, out, &size_, &executor_), kOk);
  }
  int RunInWorkspace() { return aclnnAdd(size_ == 0 ? nullptr : memory_[3], size_, executor_, stream_); }
  void SplitInto(aclTensor* x, const std::vector<int64_t>& sizes, int64_t dim, aclTensorList* parts) {
    aclIntArray* array = aclCreateIntArray(sizes.data(), sizes.size());
    ASSERT_EQ(aclnnSplitWithSizeGetWorkspaceSize(x, array, dim, parts, &size_, &executor_), kOk) << Message();
    ASSERT_EQ(aclnnSplitWithSize(size_ == 0 ? nullptr : memory_[3], size_, executor_, stream_), kOk)
        << Message();
    EXPECT_EQ(aclDestroyIntArray(array), kOk);
  }
  void TearDown() override {
    for (aclTensor* tensor : {long_self_, long_other_}) {
      if (tensor == nullptr) continue;
      EXPECT_EQ(aclDestroyTensor(tensor), kOk);
    }
    AddTest::TearDown();
  }
  aclTensor *long_self_ = nullptr, *long_other_ = nullptr;
};

TEST_F(Overlap, AReplayReadsItsOperandsAnew) {
  aclTensor* out = View({48}, {1}, 1, memory_[0]);
  PrepareLong(out);
  EXPECT_GE(size_, 48 * sizeof(float)) << "has no room for a copy of self";
  ASSERT_EQ(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), kOk);
  ASSERT_EQ(RunInWorkspace(), kOk) << Message();
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureEnd(stream_, &model), kOk);
  for (int replay = 1; replay <= 2; ++replay) {
    ASSERT_EQ(aclmdlRIExecuteAsync(model, stream_), kOk);
    Sync();
    for (int i = replay; i <= 48; ++i) {
      EXPECT_EQ(At(0)[i], static_cast<float>(i - replay + 20 * replay)) << replay;
    }
  }
  EXPECT_EQ(aclmdlRIDestroy(model), kOk);
  EXPECT_EQ(aclDestroyTensor(out), kOk);
}

TEST_F(Overlap, AddressesThatAreSetLaterCount) {
  aclTensor* out = Make({48}, memory_[2]);
  PrepareLong(out);
  EXPECT_EQ(size_, 0u);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), kOk);
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out, At(0) + 8), kOk);
  ASSERT_EQ(Run(), kOk) << Message();
  Sync();
  for (int i = 0; i < 48; ++i) EXPECT_EQ(At(0)[8 + i], static_cast<float>(i + 20));
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out, memory_[2]), kOk);
  ASSERT_EQ(Run(), kOk);
  Sync();
  EXPECT_EQ(At(2)[10], 42) << "and no longer overlaps";
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(aclDestroyTensor(out), kOk);
}

// The first stage has foreseen a copy of one operand; the addresses of the run want one of the other.
TEST_F(Overlap, AddressesThatAreSetLaterWantOtherCopies) {
  aclTensor* out = View({48}, {1}, 1, memory_[0]);
  PrepareLong(out);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), kOk);
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out, memory_[1]), kOk);
  ASSERT_EQ(RunInWorkspace(), kOk) << Message();
  Sync();
  for (int i = 0; i < 48; ++i) EXPECT_EQ(At(1)[1 + i], static_cast<float>(i + 20)) << i;
  ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out, memory_[0]), kOk);
  for (int i = 0; i < 64; ++i) At(1)[i] = 10;
  ASSERT_EQ(RunInWorkspace(), kOk) << Message();
  Sync();
  for (int i = 0; i < 48; ++i) EXPECT_EQ(At(0)[1 + i], static_cast<float>(i + 20)) << i;
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(aclDestroyTensor(out), kOk);
}

// As a card has it: the first six values and the last six indices are right, and nobody knows what is between
// them.
TEST_F(Overlap, ResultsInOnePlaceAreRightWhereTheyShareNothing) {
  for (int i = 0; i < 8; ++i) At(0)[i] = static_cast<float>(7 - i);
  aclTensor* x = Make({8}, memory_[0]);
  aclTensor* values = Make({8}, memory_[2]);
  aclTensor* indices = Make({8}, At(2) + 6, ACL_INT64);
  ASSERT_EQ(aclnnSortGetWorkspaceSize(x, true, 0, false, values, indices, &size_, &executor_), kOk);
  ASSERT_EQ(aclnnSort(size_ == 0 ? nullptr : memory_[3], size_, executor_, stream_), kOk) << Message();
  Sync();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(At(2)[i], static_cast<float>(i)) << i;
  const auto* places = reinterpret_cast<const int64_t*>(At(2) + 6);
  for (int i = 1; i < 8; ++i) EXPECT_EQ(places[i], 7 - i) << i;
  for (aclTensor* tensor : {x, values, indices}) EXPECT_EQ(aclDestroyTensor(tensor), kOk);
}

// ggml puts mean and rstd a fourth of their size apart. What is normalised by them is right all the same, and
// so is what they do not share.
TEST_F(Overlap, StatisticsThatOverlapDoNotSpoilTheResult) {
  constexpr int kGroups = 8;
  aclTensor* x = Make({1, kGroups, 4}, memory_[0]);
  aclTensor* out = Make({1, kGroups, 4}, memory_[1]);
  aclTensor* mean = Make({1, kGroups}, memory_[2]);
  aclTensor* rstd = Make({1, kGroups}, At(2) + kGroups / 4);
  ASSERT_EQ(aclnnGroupNormGetWorkspaceSize(x, nullptr, nullptr, 1, kGroups, 4, kGroups, 1e-5, out, mean, rstd,
                                           &size_, &executor_),
            kOk)
      << Message();
  ASSERT_EQ(aclnnGroupNorm(size_ == 0 ? nullptr : memory_[3], size_, executor_, stream_), kOk) << Message();
  Sync();
  const float factor = 1 / std::sqrt(1.25F + 1e-5F);
  for (int i = 0; i < 4 * kGroups; ++i) {
    EXPECT_NEAR(At(1)[i], (static_cast<float>(i % 4) - 1.5F) * factor, 1e-6) << i;
  }
  for (int i = 0; i < kGroups / 4; ++i) EXPECT_EQ(At(2)[i], static_cast<float>(4 * i) + 1.5F) << i;
  for (int i = kGroups; i < kGroups + kGroups / 4; ++i) EXPECT_NEAR(At(2)[i], factor, 1e-6) << i;
  for (aclTensor* tensor : {x, out, mean, rstd}) EXPECT_EQ(aclDestroyTensor(tensor), kOk);
}

// The halves of a matrix again, which nobody can tell from halves that overlap once addresses are set later.
TEST_F(Overlap, ResultsWhoseAddressesAreSetLaterMayInterleave) {
  aclTensor* x = Make({4, 16}, memory_[0]);
  const aclTensor* halves[] = {View({4, 8}, {16, 1}, 0, memory_[1]), View({4, 8}, {16, 1}, 0, memory_[2])};
  aclTensorList* list = aclCreateTensorList(halves, 2);
  const int64_t sizes[] = {8, 8};
  aclIntArray* array = aclCreateIntArray(sizes, 2);
  ASSERT_EQ(aclnnSplitWithSizeGetWorkspaceSize(x, array, 1, list, &size_, &executor_), kOk) << Message();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), kOk);
  ASSERT_EQ(aclSetDynamicOutputTensorAddr(executor_, 0, 0, list, At(2)), kOk) << Message();
  ASSERT_EQ(aclSetDynamicOutputTensorAddr(executor_, 0, 1, list, At(2) + 8), kOk) << Message();
  for (int i = 0; i < 64; ++i) At(2)[i] = -1;
  ASSERT_EQ(aclnnSplitWithSize(nullptr, 0, executor_, stream_), kOk) << Message();
  Sync();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(At(2)[i], static_cast<float>(i)) << i;
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  EXPECT_EQ(aclDestroyIntArray(array), kOk);
  EXPECT_EQ(aclDestroyTensorList(list), kOk);
  EXPECT_EQ(aclDestroyTensor(x), kOk);
}

// The columns of one matrix: each lies between the first and the last byte of the other, and they share none.
TEST_F(Overlap, ResultsMayInterleave) {
  aclTensor* x = Make({4, 4}, memory_[0]);
  const aclTensor* halves[] = {View({4, 2}, {4, 1}, 0, memory_[2]), View({4, 2}, {4, 1}, 2, memory_[2])};
  aclTensorList* list = aclCreateTensorList(halves, 2);
  SplitInto(x, {2, 2}, 1, list);
  Sync();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(At(2)[i], static_cast<float>(i));
  EXPECT_EQ(aclDestroyTensorList(list), kOk);
  EXPECT_EQ(aclDestroyTensor(x), kOk);
}

TEST_F(Overlap, MoreTensorsThanAreComparedEachWithEach) {
  aclTensor* x = Make({20}, memory_[0]);
  std::vector<const aclTensor*> parts;
  for (int i = 0; i < 20; ++i) parts.push_back(Make({1}, At(0) + 19 - i));
  aclTensorList* list = aclCreateTensorList(parts.data(), parts.size());
  SplitInto(x, std::vector<int64_t>(20, 1), 0, list);
  Sync();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(At(0)[i], static_cast<float>(19 - i));
  EXPECT_EQ(aclDestroyTensorList(list), kOk);
  EXPECT_EQ(aclDestroyTensor(x), kOk);
}

TEST_F(Overlap, AWorkspaceOnATensorIsRefused) {
  for (int i = 0; i < 16; ++i) static_cast<uint16_t*>(memory_[0])[i] = 0;
  aclTensor* a = Make({4, 4}, memory_[0], ACL_FLOAT16);
  aclTensor* c = Make({4, 4}, memory_[1], ACL_FLOAT16);
  ASSERT_EQ(aclnnMmGetWorkspaceSize(a, a, c, 0, &size_, &executor_), kOk) << Message();
  ASSERT_GT(size_, 0u);
  EXPECT_EQ(aclnnMm(memory_[0], size_, executor_, stream_), kInvalid);
  EXPECT_THAT(Message(), HasSubstr("op-workspace-overlap"));
  EXPECT_EQ(aclnnMm(memory_[3], size_, executor_, stream_), kOk) << Message();
  Sync();
  EXPECT_EQ(aclDestroyTensor(a), kOk);
  EXPECT_EQ(aclDestroyTensor(c), kOk);
}

}  // namespace
}  // namespace conformance
