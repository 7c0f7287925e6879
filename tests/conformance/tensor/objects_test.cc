// Tensors, scalars, arrays and lists: what may be made of what, and what they answer.
#include <limits>

#include "tensor/tensor_fixture.h"

namespace conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// None of them needs aclInit.
class Objects : public ::testing::Test {
 protected:
  std::string Message() {
    const char* text = aclGetRecentErrMsg();
    return text == nullptr ? "" : text;
  }
  aclTensor* View(std::vector<int64_t> dims, std::vector<int64_t> strides, int64_t offset,
                  std::vector<int64_t> storage) {
    return aclCreateTensor(dims.data(), dims.size(), ACL_FLOAT16, strides.data(), offset, ACL_FORMAT_NCHW,
                           storage.data(), storage.size(), nullptr);
  }
};

std::vector<int64_t> Taken(int64_t* values, uint64_t count) {
  std::vector<int64_t> result(values, values + count);
  delete[] values;  // as the pages of these functions have it
  return result;
}

TEST_F(Objects, TensorAnswersWhatItWasMadeOf) {
  aclTensor* tensor = View({2, 3}, {1, 4}, 1, {20});
  ASSERT_NE(tensor, nullptr);
  int64_t* values = nullptr;
  uint64_t count = 0;
  ASSERT_EQ(aclGetViewShape(tensor, &values, &count), kOk);
  EXPECT_THAT(Taken(values, count), ElementsAre(2, 3));
  ASSERT_EQ(aclGetViewStrides(tensor, &values, &count), kOk);
  EXPECT_THAT(Taken(values, count), ElementsAre(1, 4));
  ASSERT_EQ(aclGetStorageShape(tensor, &values, &count), kOk);
  EXPECT_THAT(Taken(values, count), ElementsAre(20));
  int64_t offset = 0;
  ASSERT_EQ(aclGetViewOffset(tensor, &offset), kOk);
  EXPECT_EQ(offset, 1);
  aclFormat format;
  ASSERT_EQ(aclGetFormat(tensor, &format), kOk);
  EXPECT_EQ(format, ACL_FORMAT_NCHW);
  aclDataType type;
  ASSERT_EQ(aclGetDataType(tensor, &type), kOk);
  EXPECT_EQ(type, ACL_FLOAT16);
  EXPECT_EQ(aclDestroyTensor(tensor), kOk);
  EXPECT_EQ(aclGetDataType(tensor, &type), kStale);
  EXPECT_THAT(Message(), HasSubstr("tensor"));
  EXPECT_NE(aclDestroyTensor(tensor), kOk) << "destroyed twice";
}

TEST_F(Objects, TensorsOfNoAndOfEightDimensions) {
  aclTensor* scalar = aclCreateTensor(nullptr, 0, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  ASSERT_NE(scalar, nullptr);
  int64_t* values = nullptr;
  uint64_t count = 7;
  ASSERT_EQ(aclGetViewShape(scalar, &values, &count), kOk);
  EXPECT_TRUE(Taken(values, count).empty());
  aclTensor* eight = View({1, 1, 1, 1, 1, 1, 1, 2}, {2, 2, 2, 2, 2, 2, 2, 1}, 0, {2});
  EXPECT_NE(eight, nullptr);
  EXPECT_EQ(View({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, {2}), nullptr);
  EXPECT_THAT(Message(), HasSubstr("at most 8"));
  EXPECT_EQ(aclDestroyTensor(eight), kOk);
  EXPECT_EQ(aclDestroyTensor(scalar), kOk);
}

TEST_F(Objects, TensorsThatCannotBe) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(View({2, 3}, {3, 1}, 0, {5}), nullptr);
  EXPECT_THAT(Message(), HasSubstr("storageDims"));
  aclTensor* empty = View({2, 0}, {130, 1}, 0, {-127});
  EXPECT_NE(empty, nullptr) << "ggml gives storageDims below 0 for a view without elements";
  EXPECT_EQ(aclDestroyTensor(empty), kOk);
  aclTensor* moved = View({2, 3}, {3, 1}, 1, {6});
  EXPECT_NE(moved, nullptr) << "ggml counts storageDims from the offset on";
  EXPECT_EQ(aclDestroyTensor(moved), kOk);
  EXPECT_EQ(View({2, -3}, {3, 1}, 0, {6}), nullptr);
  EXPECT_EQ(View({2, 3}, {3, -1}, 0, {6}), nullptr);
  EXPECT_EQ(View({2, 3}, {3, 1}, -1, {6}), nullptr);
  EXPECT_EQ(View({2, 3}, {kHuge, 1}, 0, {6}), nullptr);
  EXPECT_EQ(View({1, 3}, {kHuge / 2, 1}, 0, {3}), nullptr)
      << "no memory has such a stride, be it of one element";
  EXPECT_EQ(View({kHuge, 3}, {1, 1}, 0, {6}), nullptr);
  EXPECT_EQ(View({2}, {1}, kHuge, {6}), nullptr);
  EXPECT_EQ(View({2}, {1}, 0, {kHuge, 2}), nullptr);
  int64_t dims[] = {2};
  EXPECT_EQ(
      aclCreateTensor(dims, 1, static_cast<aclDataType>(1000), nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr),
      nullptr);
  EXPECT_EQ(aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, static_cast<aclFormat>(1000), dims, 1, nullptr),
            nullptr);
  EXPECT_EQ(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr), nullptr);
  EXPECT_EQ(aclCreateTensor(dims, ~0ull, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr), nullptr);
  int64_t nothing[] = {0};
  EXPECT_EQ(aclCreateTensor(nothing, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1ull << 40, nullptr),
            nullptr);
}

TEST_F(Objects, InitTensorMakesItAnother) {
  aclTensor* tensor = View({2, 3}, {3, 1}, 0, {6});
  int64_t dims[] = {5};
  ASSERT_EQ(aclInitTensor(tensor, dims, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr), kOk);
  aclDataType type;
  ASSERT_EQ(aclGetDataType(tensor, &type), kOk);
  EXPECT_EQ(type, ACL_INT64);
  int64_t bad[] = {-5};
  EXPECT_EQ(aclInitTensor(tensor, bad, 1, ACL_INT8, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr), kInvalid);
  ASSERT_EQ(aclGetDataType(tensor, &type), kOk);
  EXPECT_EQ(type, ACL_INT64) << "a refused change changes nothing";
  EXPECT_EQ(aclDestroyTensor(tensor), kOk);
}

TEST_F(Objects, RawAddress) {
  alignas(32) static char bytes[64];
  aclTensor* tensor = View({2, 3}, {3, 1}, 0, {6});
  void* address = bytes;
  ASSERT_EQ(aclGetRawTensorAddr(tensor, &address), kOk);
  EXPECT_EQ(address, nullptr);
  ASSERT_EQ(aclSetRawTensorAddr(tensor, bytes), kOk);
  ASSERT_EQ(aclGetRawTensorAddr(tensor, &address), kOk);
  EXPECT_EQ(address, bytes);
  EXPECT_EQ(aclSetRawTensorAddr(tensor, bytes + 4), kInvalid) << "not a multiple of 32";
  EXPECT_EQ(aclSetRawTensorAddr(nullptr, bytes), kNullArgument);
  EXPECT_EQ(aclDestroyTensor(tensor), kOk);
}

TEST_F(Objects, ArraysAndTheirSizes) {
  int64_t numbers[] = {1, 2, 3};
  float reals[] = {1, 2};
  bool truths[] = {true};
  aclIntArray* ints = aclCreateIntArray(numbers, 3);
  aclFloatArray* floats = aclCreateFloatArray(reals, 2);
  aclBoolArray* bools = aclCreateBoolArray(truths, 1);
  aclIntArray* none = aclCreateIntArray(nullptr, 0);
  uint64_t size = 0;
  EXPECT_EQ(aclGetIntArraySize(ints, &size), kOk);
  EXPECT_EQ(size, 3u);
  EXPECT_EQ(aclGetFloatArraySize(floats, &size), kOk);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(aclGetBoolArraySize(bools, &size), kOk);
  EXPECT_EQ(size, 1u);
  EXPECT_EQ(aclGetIntArraySize(none, &size), kOk);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(aclCreateIntArray(nullptr, 3), nullptr);
  EXPECT_EQ(aclCreateIntArray(numbers, ~0ull), nullptr);
  EXPECT_EQ(aclDestroyIntArray(none), kOk);
  EXPECT_EQ(aclDestroyIntArray(ints), kOk);
  EXPECT_EQ(aclDestroyFloatArray(floats), kOk);
  EXPECT_EQ(aclDestroyBoolArray(bools), kOk);
  EXPECT_EQ(aclGetIntArraySize(ints, &size), kStale);
}

TEST_F(Objects, ListsOwnTheirMembers) {
  float one = 1;
  const aclScalar* scalars[] = {aclCreateScalar(&one, ACL_FLOAT), aclCreateScalar(&one, ACL_FLOAT)};
  aclScalarList* scalar_list = aclCreateScalarList(scalars, 2);
  uint64_t size = 0;
  EXPECT_EQ(aclGetScalarListSize(scalar_list, &size), kOk);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(aclDestroyScalarList(scalar_list), kOk);
  EXPECT_NE(aclDestroyScalar(scalars[0]), kOk) << "went with its list";

  const aclTensor* tensors[] = {View({2}, {1}, 0, {2})};
  aclTensorList* tensor_list = aclCreateTensorList(tensors, 1);
  EXPECT_EQ(aclGetTensorListSize(tensor_list, &size), kOk);
  EXPECT_EQ(size, 1u);
  EXPECT_EQ(aclDestroyTensorList(tensor_list), kOk);
  EXPECT_NE(aclDestroyTensor(tensors[0]), kOk);
  EXPECT_EQ(aclCreateTensorList(tensors, 1), nullptr) << "its member is dead";
}

TEST_F(Objects, DestroyingNothingIsFine) {
  EXPECT_EQ(aclDestroyTensor(nullptr), kOk);
  EXPECT_EQ(aclDestroyScalar(nullptr), kOk);
  EXPECT_EQ(aclDestroyIntArray(nullptr), kOk);
  EXPECT_EQ(aclDestroyFloatArray(nullptr), kOk);
  EXPECT_EQ(aclDestroyBoolArray(nullptr), kOk);
  EXPECT_EQ(aclDestroyTensorList(nullptr), kOk);
  EXPECT_EQ(aclDestroyScalarList(nullptr), kOk);
}

TEST_F(TensorTest, ValuesInMemoryThatWasFreedAreRefused) {
  void* freed = nullptr;
  ASSERT_EQ(aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(freed), ACL_SUCCESS);
  EXPECT_EQ(aclCreateScalar(freed, ACL_FLOAT), nullptr);
  EXPECT_EQ(aclCreateIntArray(static_cast<int64_t*>(freed), 2), nullptr);
}

TEST_F(Objects, ObjectsOfAnotherKindAreNotTakenForTensors) {
  float one = 1;
  aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_FLOAT), nullptr);
  EXPECT_EQ(aclCreateScalar(&one, ACL_INT4), nullptr);
  EXPECT_NE(aclDestroyTensor(reinterpret_cast<aclTensor*>(scalar)), kOk);
  EXPECT_NE(aclDestroyTensor(reinterpret_cast<aclTensor*>(&one)), kOk);
  EXPECT_EQ(aclDestroyScalar(scalar), kOk);
}

}  // namespace
}  // namespace conformance
