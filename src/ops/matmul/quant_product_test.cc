// Products of INT4, as such and packed into INT32, against sums of what was packed.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "base/error.h"
#include "ops/forms.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

constexpr int64_t kM = 3, kK = 16, kN = 24;

// Two elements a byte, the first one in the low bits.
void Pack(const std::vector<int>& values, std::vector<char>& to) {
  for (size_t i = 0; i < values.size(); i += 2)
    to[i / 2] = static_cast<char>((values[i] & 15) | (values[i + 1] & 15) << 4);
}

struct QuantProduct : ::testing::Test {
  QuantProduct() : a(kM * kK), b(kK * kN), scale(DType::kF32, {kN}), out(DType::kF16, {kM, kN}) {
    std::mt19937 rng(3);
    for (int& value : a) value = static_cast<int>(rng() % 16) - 8;
    for (int& value : b) value = static_cast<int>(rng() % 16) - 8;
    auto* by = reinterpret_cast<float*>(scale.storage.data());
    for (int64_t j = 0; j < kN; ++j) by[j] = j % 2 == 0 ? 0.5f : 0.25f;
  }

  std::vector<int> TransposedB() const {
    std::vector<int> turned(b.size());
    for (int64_t i = 0; i < kK; ++i) {
      for (int64_t j = 0; j < kN; ++j)
        turned[static_cast<size_t>(j * kK + i)] = b[static_cast<size_t>(i * kN + j)];
    }
    return turned;
  }

  void Run(const Tensor& x1, const Tensor& x2, bool transposed) {
    const Tensor* none = nullptr;
    std::vector<Arg> args{Arg(&x1),        Arg(&x2),        Arg(none),       Arg(&scale.tensor), Arg(none),
                          Arg(none),       Arg(none),       Arg(none),       Arg(none),          Arg(false),
                          Arg(transposed), Arg(int64_t{0}), Arg(&out.tensor)};
    testing::RunPlan(*WithoutHandle(MakePlan(forms::QuantMatmulV5, args)));
  }

  void ExpectSums() const {
    Sample wanted(DType::kF16, {kM, kN}), sums(DType::kF32, {kM, kN});
    auto* to = reinterpret_cast<float*>(sums.storage.data());
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        int sum = 0;
        for (int64_t k = 0; k < kK; ++k)
          sum += a[static_cast<size_t>(i * kK + k)] * b[static_cast<size_t>(k * kN + j)];
        to[i * kN + j] = static_cast<float>(sum) * (j % 2 == 0 ? 0.5f : 0.25f);
      }
    }
    EXPECT_LT(testing::Distance(out.tensor, sums.tensor), 1e-3);
  }

  std::vector<int> a, b;
  Sample scale, out;
};

TEST_F(QuantProduct, EightNumbersInAnInt32) {
  Sample x1(DType::kI32, {kM, kK / 8}), x2(DType::kI32, {kK, kN / 8});
  Pack(a, x1.storage), Pack(b, x2.storage);
  Run(x1.tensor, x2.tensor, false);
  ExpectSums();
}

TEST_F(QuantProduct, OfATransposedMatrixAlongItsRows) {
  Sample x1(DType::kI32, {kM, kK / 8}), x2(DType::kI32, {kN, kK / 8});
  Pack(a, x1.storage), Pack(TransposedB(), x2.storage);
  Tensor view = x2.tensor;
  view.shape = {kK / 8, kN}, view.strides = {1, kK / 8};
  Run(x1.tensor, view, false);
  ExpectSums();
  Run(x1.tensor, x2.tensor, true);
  ExpectSums();
}

TEST_F(QuantProduct, RefusesGapsBetweenPackedNumbers) {
  Sample x1(DType::kI32, {kM, kK / 8}), x2(DType::kI32, {kK, kN / 8}, testing::Layout::kStepped);
  EXPECT_THROW(Run(x1.tensor, x2.tensor, false), Error);
}

}  // namespace
}  // namespace belay::ops
