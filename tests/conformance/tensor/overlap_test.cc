// Tensors of one call that overlap: as if all operands had been read before anything was written, or refused.
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

TEST_F(Overlap, TwoResultsInOnePlaceAreRefused) {
  aclTensor* x = Make({8}, memory_[0]);
  aclTensor* values = Make({8}, memory_[2]);
  aclTensor* indices = Make({8}, At(2) + 6, ACL_INT64);
  ASSERT_EQ(aclnnSortGetWorkspaceSize(x, true, 0, true, values, indices, &size_, &executor_), kOk);
  void* workspace = size_ == 0 ? nullptr : memory_[3];
  EXPECT_EQ(aclnnSort(workspace, size_, executor_, stream_), kInvalid);
  const std::string message = Message();
  EXPECT_THAT(message, HasSubstr("values and indices overlap"));
  EXPECT_THAT(message, HasSubstr("op-results-overlap"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), kOk);
  for (aclTensor* tensor : {x, values, indices}) EXPECT_EQ(aclDestroyTensor(tensor), kOk);
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
