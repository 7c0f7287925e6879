// Grouped products with small integers.
#include <aclnnop/aclnn_grouped_matmul_v4.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime_fixture.h"

namespace conformance {
namespace {

using Dims = std::vector<int64_t>;

class GroupedWeight : public RuntimeTest {
 protected:
  template <class T>
  aclTensor* Of(const std::vector<T>& values, const Dims& shape, aclDataType type, const Dims& strides = {}) {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, values.size() * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    std::memcpy(memory, values.data(), values.size() * sizeof(T));
    memory_.push_back(memory);
    const int64_t count = type == ACL_INT4 ? static_cast<int64_t>(values.size() * sizeof(T) * 2)
                                           : static_cast<int64_t>(values.size());
    return aclCreateTensor(shape.data(), shape.size(), type, strides.empty() ? nullptr : strides.data(), 0,
                           ACL_FORMAT_ND, &count, 1, memory);
  }
  static aclTensorList* List(aclTensor* tensor) { return aclCreateTensorList(&tensor, 1); }

  // One x, one weight and one result, in groups of rows by running sums.
  aclnnStatus Run(aclTensor* x, aclTensor* weight, aclTensor* scale, aclTensor* ends, aclTensor* out) {
    aclTensorList *xs = List(x), *weights = List(weight), *outs = List(out);
    aclTensorList* scales = scale == nullptr ? nullptr : List(scale);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus code = aclnnGroupedMatmulV4GetWorkspaceSize(
        xs, weights, nullptr, nullptr, nullptr, scales, nullptr, nullptr, ends, nullptr, nullptr, nullptr, 3,
        0, 0, 0, outs, nullptr, nullptr, &size, &executor);
    if (code == 0) {
      void* workspace = nullptr;
      EXPECT_EQ(aclrtMalloc(&workspace, size + 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      EXPECT_EQ(aclnnGroupedMatmulV4(workspace, size, executor, nullptr), 0);
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
      EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
    }
    for (aclTensorList* list : {xs, weights, outs, scales}) {
      if (list != nullptr) {
        EXPECT_EQ(aclDestroyTensorList(list), 0);
      }
    }
    EXPECT_EQ(aclDestroyTensor(ends), 0);
    return code;
  }
  void TearDown() override {
    for (void* memory : memory_) EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    RuntimeTest::TearDown();
  }
  void* last() const { return memory_.back(); }

 private:
  std::vector<void*> memory_;
};

TEST_F(GroupedWeight, OfBytesIsSummedExactly) {
  constexpr int64_t kDepth = 2049;
  const std::vector<int8_t> most(kDepth, 127);
  aclTensor *x = Of(most, {1, kDepth}, ACL_INT8), *weight = Of(most, {1, kDepth, 1}, ACL_INT8);
  aclTensor* ends = Of(std::vector<int64_t>{1}, {1}, ACL_INT64);
  aclTensor* out = Of(std::vector<int32_t>{0}, {1, 1}, ACL_INT32);
  ASSERT_EQ(Run(x, weight, nullptr, ends, out), 0) << LastMessage();
  EXPECT_EQ(*static_cast<int32_t*>(last()), 127 * 127 * kDepth);
}

// Two experts, 16 rows in two groups with scales of their own, eight columns.
struct FourBits {
  static constexpr int64_t kExperts = 2, kDepth = 16, kColumns = 8, kGroups = 2, kRows = 3;
  static int Weight(int64_t e, int64_t k, int64_t n) {
    return static_cast<int>((e * 5 + k * 3 + n * 7) % 16) - 8;
  }
  static float Scale(int64_t e, int64_t g, int64_t n) {
    return 0.25f * static_cast<float>(1 + e + 2 * g + n % 3);
  }
  static float X(int64_t m, int64_t k) { return static_cast<float>((m * 5 + k) % 4) - 1; }
  static float Wanted(int64_t m, int64_t n) {
    const int64_t e = m == 0 ? 0 : 1;
    float sum = 0;
    for (int64_t k = 0; k < kDepth; ++k)
      sum += X(m, k) * static_cast<float>(Weight(e, k, n)) * Scale(e, k / (kDepth / kGroups), n);
    return sum;
  }
  // Eight neighbours in each number: columns, or (turned) rows of what is transposed.
  static std::vector<int32_t> Packed(bool turned) {
    std::vector<int32_t> packed;
    const int64_t lines = turned ? kColumns : kDepth, length = turned ? kDepth : kColumns;
    for (int64_t line = 0; line < kExperts * lines; ++line) {
      for (int64_t first = 0; first < length; first += 8) {
        uint32_t number = 0;
        for (int64_t i = 0; i < 8; ++i) {
          const int64_t at = line % lines, along = first + i, e = line / lines;
          number |= (static_cast<uint32_t>(turned ? Weight(e, along, at) : Weight(e, at, along)) & 15u)
                    << (4 * i);
        }
        packed.push_back(static_cast<int32_t>(number));
      }
    }
    return packed;
  }
};

TEST_F(GroupedWeight, OfFourBitsIsUnpacked) {
  using F = FourBits;
  std::vector<uint16_t> x, scales;
  for (int64_t i = 0; i < F::kRows * F::kDepth; ++i)
    x.push_back(aclFloatToFloat16(F::X(i / F::kDepth, i % F::kDepth)));
  for (int64_t i = 0; i < F::kExperts * F::kGroups * F::kColumns; ++i)
    scales.push_back(aclFloatToFloat16(
        F::Scale(i / (F::kGroups * F::kColumns), i / F::kColumns % F::kGroups, i % F::kColumns)));
  struct Way {
    Dims shape, strides;
    bool turned;
    aclDataType type;
  };
  const Way ways[] = {{{2, 16, 1}, {}, false, ACL_INT32},
                      {{2, 2, 8}, {16, 1, 2}, true, ACL_INT32},
                      {{2, 16, 8}, {}, false, ACL_INT4},
                      {{2, 16, 8}, {128, 1, 16}, true, ACL_INT4}};
  for (const Way& way : ways) {
    aclTensor* weight = Of(F::Packed(way.turned), way.shape, way.type, way.strides);
    aclTensor *left = Of(x, {F::kRows, F::kDepth}, ACL_FLOAT16),
              *scale = Of(scales, {F::kExperts, F::kGroups, F::kColumns}, ACL_FLOAT16),
              *ends = Of(std::vector<int64_t>{1, 3}, {2}, ACL_INT64),
              *out = Of(std::vector<uint16_t>(F::kRows * F::kColumns), {F::kRows, F::kColumns}, ACL_FLOAT16);
    ASSERT_EQ(Run(left, weight, scale, ends, out), 0) << LastMessage();
    const auto* got = static_cast<uint16_t*>(last());
    for (int64_t i = 0; i < F::kRows * F::kColumns; ++i) {
      const float wanted = F::Wanted(i / F::kColumns, i % F::kColumns);
      EXPECT_NEAR(aclFloat16ToFloat(got[i]), wanted, 1e-3f * (1 + std::abs(wanted)))
          << i << " of type " << way.type;
    }
  }
}

// Numbers of which eight lie nowhere side by side.
TEST_F(GroupedWeight, OfFourBitsWithGapsIsRefused) {
  aclTensor* weight = Of(std::vector<int32_t>(64), {2, 16, 1}, ACL_INT32, {32, 2, 2});
  aclTensor *x = Of(std::vector<uint16_t>(48), {3, 16}, ACL_FLOAT16),
            *scale = Of(std::vector<uint16_t>(16), {2, 8}, ACL_FLOAT16),
            *ends = Of(std::vector<int64_t>{1, 3}, {2}, ACL_INT64),
            *out = Of(std::vector<uint16_t>(24), {3, 8}, ACL_FLOAT16);
  EXPECT_EQ(Run(x, weight, scale, ends, out), 161002);
}

}  // namespace
}  // namespace conformance
