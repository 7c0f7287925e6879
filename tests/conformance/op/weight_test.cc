// Matrices that are arranged for products ahead of time.
#include <aclnnop/aclnn_mm.h>
#include <aclnnop/aclnn_trans_matmul_weight.h>
#include <aclnnop/aclnn_weight_quant_batch_matmul_v2.h>

#include <algorithm>
#include <vector>

#include "both_stages.h"

namespace conformance {
namespace {

class Weight : public OperatorTest {
 protected:
  static void* Memory(const std::vector<float>& values) {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, values.size() * 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    std::copy(values.begin(), values.end(), static_cast<float*>(memory));
    return memory;
  }
  static aclTensor* Matrix(void* memory, int64_t rows, int64_t columns, aclFormat format,
                           std::vector<int64_t> storage) {
    const int64_t dims[] = {rows, columns};
    return aclCreateTensor(dims, 2, ACL_FLOAT, nullptr, 0, format, storage.data(), storage.size(), memory);
  }
};

TEST_F(Weight, IsReadAsItLies) {
  void *x = Memory({1, 2, 3, 4}), *w = Memory({5, 6, 7, 8}), *y = Memory({0, 0, 0, 0});
  aclTensor* plain = Matrix(w, 2, 2, ACL_FORMAT_ND, {4});
  EXPECT_EQ(Call([&](uint64_t* s,
                     aclOpExecutor** e) { return aclnnTransMatmulWeightGetWorkspaceSize(plain, s, e); },
                 aclnnTransMatmulWeight),
            0);
  EXPECT_EQ(static_cast<float*>(w)[3], 8);
  aclTensor *a = Matrix(x, 2, 2, ACL_FORMAT_ND, {4}), *arranged = Matrix(w, 2, 2, ACL_FORMAT_FRACTAL_NZ, {4});
  aclTensor *out = Matrix(y, 2, 2, ACL_FORMAT_ND, {4}),
            *tiles = Matrix(w, 2, 2, ACL_FORMAT_FRACTAL_NZ, {1, 1, 16, 16});
  const auto product = [&](aclTensor* left, aclTensor* right) {
    return Call(
        [&](uint64_t* s, aclOpExecutor** e) { return aclnnMmGetWorkspaceSize(left, right, out, 0, s, e); },
        aclnnMm);
  };
  EXPECT_EQ(product(a, arranged), 0) << LastMessage();
  EXPECT_EQ(std::vector<float>(static_cast<float*>(y), static_cast<float*>(y) + 4),
            (std::vector<float>{19, 22, 43, 50}));
  EXPECT_EQ(product(a, tiles), 161002) << "the tiles of a card are not read";
  EXPECT_EQ(product(arranged, a), 161002) << "only the second matrix is a weight";
  for (aclTensor* t : {plain, a, arranged, out, tiles}) EXPECT_EQ(aclDestroyTensor(t), 0);
  for (void* memory : {x, w, y}) EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(Weight, NeedsWholeTiles) {
  const int64_t sizes[] = {17, 32};
  aclIntArray *shape = aclCreateIntArray(sizes, 2), *one = aclCreateIntArray(sizes, 1);
  uint64_t elements = 0;
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(shape, ACL_FLOAT16, &elements), 0);
  EXPECT_EQ(elements, 32u * 32u);
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(shape, ACL_INT8, &elements), 0);
  EXPECT_EQ(elements, 32u * 32u);
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(one, ACL_FLOAT16, &elements), 161002);
  EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(shape, ACL_INT32, &elements), 161002);
  for (aclIntArray* array : {shape, one}) EXPECT_EQ(aclDestroyIntArray(array), 0);
}

// Two numbers in a byte, the first in the low bits: rows (1, -2), (7, -8), transposed in memory.
TEST_F(Weight, OfFourBitsIsUnpacked) {
  const uint16_t halves[] = {aclFloatToFloat16(1), aclFloatToFloat16(10), aclFloatToFloat16(0.5f),
                             aclFloatToFloat16(2)};
  const uint8_t nibbles[] = {0x71, 0x8e};
  void *data = nullptr, *small = nullptr, *result = nullptr;
  for (void** memory : {&data, &small, &result})
    ASSERT_EQ(aclrtMalloc(memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  std::copy(std::begin(halves), std::end(halves), static_cast<uint16_t*>(data));
  std::copy(std::begin(nibbles), std::end(nibbles), static_cast<uint8_t*>(small));
  const int64_t row[] = {1, 2}, square[] = {2, 2}, turned[] = {1, 2}, length[] = {4};
  aclTensor* x = aclCreateTensor(row, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, length, 1, data);
  aclTensor* scale = aclCreateTensor(row, 2, ACL_FLOAT16, nullptr, 2, ACL_FORMAT_ND, length, 1, data);
  aclTensor* weight = aclCreateTensor(square, 2, ACL_INT4, turned, 0, ACL_FORMAT_ND, length, 1, small);
  aclTensor* out = aclCreateTensor(row, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, length, 1, result);
  EXPECT_EQ(Call(
                [&](uint64_t* s, aclOpExecutor** e) {
                  return aclnnWeightQuantBatchMatmulV2GetWorkspaceSize(x, weight, scale, nullptr, nullptr,
                                                                       nullptr, nullptr, 0, out, s, e);
                },
                aclnnWeightQuantBatchMatmulV2),
            0)
      << LastMessage();
  const auto* values = static_cast<const uint16_t*>(result);
  EXPECT_EQ(aclFloat16ToFloat(values[0]), 0.5f * (1 + 70));
  EXPECT_EQ(aclFloat16ToFloat(values[1]), 2.0f * (-2 - 80));
  for (aclTensor* t : {x, scale, weight, out}) EXPECT_EQ(aclDestroyTensor(t), 0);
  for (void* memory : {data, small, result}) EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
