#include <gtest/gtest.h>

#include "base/error.h"
#include "base/simd_targets.h"
#include "ops/matmul/exact.h"
#include "ops/matmul/integer.h"
#include "ops/matmul/linear.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

double ElementAt(const Sample& s, int64_t i, int64_t j) {
  const Tensor& t = s.tensor;
  const int64_t at = t.offset + i * t.strides.back(1) + j * t.strides.back(0);
  double value;
  tensor::Convert(DType::kF64, &value, t.dtype,
                  static_cast<const char*>(t.data) + at * static_cast<int64_t>(BytesOf(t.dtype)), 1);
  return value;
}

TEST(AddProduct, ScalesAndBroadcasts) {
  std::mt19937 rng(1);
  for (auto [dtype, allowed] : {std::pair{DType::kF32, 1e-5}, {DType::kF16, 2e-3}}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed}) {
      for (const Shape& added : {Shape{6, 5}, Shape{5}, Shape{6, 1}, Shape{}}) {
        Sample a(dtype, {6, 7}, layout), b(dtype, {7, 5}, layout), c(dtype, added),
            out(dtype, {6, 5}, layout);
        for (Sample* s : {&a, &b, &c}) s->Randomise(rng, 2);
        PlanRef plan = testing::NewPlan();
        AddProductArgs args;
        args.self = c.BoundTo(*plan, Access::kRead, "c"), args.mat1 = a.BoundTo(*plan, Access::kRead, "a");
        args.mat2 = b.BoundTo(*plan, Access::kRead, "b"), args.out = out.BoundTo(*plan, Access::kWrite, "y");
        args.beta = 0.5, args.alpha = 2;
        PlanAddProduct(*plan, args);
        testing::RunPlan(*plan);
        Tensor wide = c.tensor;
        wide.strides = BroadcastStrides(c.tensor.shape, c.tensor.strides, {6, 5}), wide.shape = {6, 5};
        Sample view = c.Copied();
        view.tensor.shape = wide.shape, view.tensor.strides = wide.strides;
        for (int64_t i = 0; i < 6; ++i) {
          for (int64_t j = 0; j < 5; ++j) {
            double want = 0.5 * ElementAt(view, i, j);
            for (int64_t k = 0; k < 7; ++k) want += 2 * ElementAt(a, i, k) * ElementAt(b, k, j);
            EXPECT_NEAR(ElementAt(out, i, j), want, allowed * std::max(1.0, std::abs(want)));
          }
        }
      }
    }
  }
}

TEST(Linear, WeightsAheadAndAtTheRun) {
  std::mt19937 rng(2);
  for (bool constant : {false, true}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed}) {
      Sample x(DType::kF32, {2, 3, 9}), w(DType::kF32, {17, 9}, layout), b(DType::kF32, {17});
      Sample add(DType::kF32, {2, 3, 17}), y(DType::kF32, {2, 3, 17});
      for (Sample* s : {&x, &w, &b, &add}) s->Randomise(rng, 2);
      PlanRef plan = testing::NewPlan();
      LinearArgs args{.x = x.BoundTo(*plan, Access::kRead, "x"),
                      .weight = {&w.tensor, nullptr, -1, "w"},
                      .bias = b.BoundTo(*plan, Access::kRead, "b"),
                      .residual = add.BoundTo(*plan, Access::kRead, "r"),
                      .out = y.BoundTo(*plan, Access::kWrite, "y"),
                      .activation = {ActivationKind::kRelu}};
      args.constant_weight = constant ? w.tensor.data : nullptr;
      if (!constant) args.weight = w.BoundTo(*plan, Access::kRead, "w");
      PlanLinear(*plan, args);
      testing::RunPlan(*plan);
      for (int64_t i = 0; i < 6; ++i) {
        for (int64_t j = 0; j < 17; ++j) {
          double want =
              static_cast<float*>(b.tensor.data)[j] + static_cast<float*>(add.tensor.data)[i * 17 + j];
          for (int64_t k = 0; k < 9; ++k)
            want += static_cast<float*>(x.tensor.data)[i * 9 + k] * ElementAt(w, j, k);
          EXPECT_NEAR(static_cast<float*>(y.tensor.data)[i * 17 + j], std::max(want, 0.0), 1e-4);
        }
      }
    }
  }
}

TEST(Linear, OneRow) {
  std::mt19937 rng(6);
  Sample x(DType::kF32, {1, 37}), w(DType::kF32, {21, 37}, Layout::kTransposed), b(DType::kF16, {21});
  Sample y(DType::kF32, {1, 21});
  for (Sample* s : {&x, &w, &b}) s->Randomise(rng, 2);
  PlanRef plan = testing::NewPlan();
  LinearArgs args{.x = x.BoundTo(*plan, Access::kRead, "x"),
                  .weight = {&w.tensor, nullptr, -1, "w"},
                  .bias = {&b.tensor, nullptr, -1, "b"},
                  .residual = {},
                  .out = y.BoundTo(*plan, Access::kWrite, "y")};
  args.constant_weight = w.tensor.data, args.constant_bias = b.tensor.data;
  PlanLinear(*plan, args);
  testing::RunPlan(*plan);
  Sample bias = b.Copied();
  bias.tensor.shape = {1, 21}, bias.tensor.strides = {21, 1};
  for (int64_t j = 0; j < 21; ++j) {
    double want = ElementAt(bias, 0, j);
    for (int64_t k = 0; k < 37; ++k) want += ElementAt(x, 0, k) * ElementAt(w, j, k);
    EXPECT_NEAR(ElementAt(y, 0, j), want, 1e-4);
  }
}

double ByteAt(const Sample& s, int64_t i) {
  const auto* bytes = static_cast<const uint8_t*>(s.tensor.data);
  return s.tensor.dtype == DType::kI8 ? static_cast<int8_t>(bytes[i]) : bytes[i];
}

void CheckIntegerProduct(DType left, DType right, int64_t m, int64_t zeros) {
  constexpr int64_t kK = 67, kN = 21;
  std::mt19937 rng(5);
  Sample a(left, {m, kK}), b(right, {kK, kN}), za(left, {}), zb(right, {zeros}), out(DType::kI32, {m, kN});
  for (Sample* s : {&a, &b, &za, &zb}) {
    for (int64_t i = 0; i < s->tensor.count(); ++i)
      static_cast<uint8_t*>(s->tensor.data)[i] = static_cast<uint8_t>(rng());
  }
  PlanRef plan = testing::NewPlan();
  IntegerProductArgs args{a.BoundTo(*plan, Access::kRead, "a"),
                          b.BoundTo(*plan, Access::kRead, "b"),
                          za.BoundTo(*plan, Access::kRead, "za"),
                          zb.BoundTo(*plan, Access::kRead, "zb"),
                          {}};
  args.out = out.BoundTo(*plan, Access::kWrite, "y");
  PlanIntegerProduct(*plan, args);
  testing::RunPlan(*plan);
  for (int64_t i = 0; i < m * kN; ++i) {
    double want = 0;
    for (int64_t k = 0; k < kK; ++k) {
      want += (ByteAt(a, i / kN * kK + k) - ByteAt(za, 0)) *
              (ByteAt(b, k * kN + i % kN) - ByteAt(zb, zeros == 1 ? 0 : i % kN));
    }
    ASSERT_EQ(static_cast<int32_t*>(out.tensor.data)[i], want)
        << NameOf(left) << " x " << NameOf(right) << " at " << i;
  }
}

TEST(IntegerProduct, BytesOfBothSignsAndTheirZeroPoints) {
  for (DType left : {DType::kU8, DType::kI8}) {
    for (DType right : {DType::kU8, DType::kI8}) {
      for (int64_t m : {1, 5, 40}) {
        CheckIntegerProduct(left, right, m, 1);
        CheckIntegerProduct(left, right, m, 21);
      }
    }
  }
}

TEST(IntegerProduct, PlainLoopsAndTheLibraryAgree) {
  std::mt19937 rng(6);
  std::vector<uint8_t> a(7 * 90);
  std::vector<int8_t> b(90 * 30);
  for (auto& x : a) x = static_cast<uint8_t>(rng());
  for (auto& x : b) x = static_cast<int8_t>(rng());
  std::vector<int32_t> plain(7 * 30), best(7 * 30, 1);
  IntegerGemm gemm{7, 30, 90, a.data(), 90, 200, b.data(), 30, -100, plain.data(), 30};
  ASSERT_TRUE(PlainIntegerGemm(gemm));
  gemm.c = best.data();
  ASSERT_TRUE(BestIntegerGemm()(gemm));
  EXPECT_EQ(plain, best);
}

int32_t SumOf(const IntegerGemm& g, int64_t i, int64_t j) {
  int32_t sum = 0;
  for (int64_t p = 0; p < g.k; ++p) sum += (g.a[i * g.lda + p] - g.a_zero) * (g.b[p * g.ldb + j] - g.b_zero);
  return sum;
}

TEST(IntegerProduct, ShortSumsInLongRows) {
  std::mt19937 rng(9);
  for (const int64_t m : {1, 3, 4, 37}) {
    for (const int64_t k : {1, 2, 8, 9, 16, 17}) {
      for (const int64_t n : {64, 75, 96, 331}) {
        std::vector<uint8_t> a(static_cast<size_t>(m * k));
        std::vector<int8_t> b(static_cast<size_t>(k * n));
        for (auto& x : a) x = static_cast<uint8_t>(rng());
        for (auto& x : b) x = static_cast<int8_t>(rng());
        std::vector<int32_t> c(static_cast<size_t>(m * n), 7);
        const IntegerGemm gemm{m, n, k, a.data(), k, 3, b.data(), n, -128, c.data(), n};
        ASSERT_TRUE(BestIntegerGemm()(gemm));
        for (int64_t i = 0; i < m * n; ++i) {
          ASSERT_EQ(c[static_cast<size_t>(i)], SumOf(gemm, i / n, i % n)) << m << ' ' << n << ' ' << k;
        }
      }
    }
  }
}

// Around the sizes of the blocks, and with rows that are wider than what is used of them.
TEST(IntegerProduct, PlainLoopsOnEveryProcessor) {
  std::mt19937 rng(8);
  const std::vector<int64_t> rows = {1, 3, 4, 6, 33}, columns = {1, 7, 16, 35},
                             depths = {1, 2, 63, 256, 257, 515};
  for (const int level : {0, 1, 2, 3}) {
    simd::SetLevel(level);
    for (const int64_t m : rows) {
      for (const int64_t n : columns) {
        const int64_t k = depths[rng() % depths.size()], lda = k + 3, ldb = n + 2, ldc = n + 1;
        std::vector<uint8_t> a(static_cast<size_t>(m * lda));
        std::vector<int8_t> b(static_cast<size_t>(k * ldb));
        for (auto& x : a) x = static_cast<uint8_t>(rng() % 3 == 0 ? 255 : rng());
        for (auto& x : b) x = static_cast<int8_t>(rng() % 3 == 0 ? -128 : rng());
        std::vector<int32_t> c(static_cast<size_t>(m * ldc), 7);
        const IntegerGemm gemm{m, n, k, a.data(), lda, 3, b.data(), ldb, 127, c.data(), ldc};
        ASSERT_TRUE(PlainIntegerGemm(gemm));
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j)
            ASSERT_EQ(c[static_cast<size_t>(i * ldc + j)], SumOf(gemm, i, j)) << m << ' ' << n << ' ' << k;
          ASSERT_EQ(c[static_cast<size_t>(i * ldc + n)], 7) << "written behind a row";
        }
      }
    }
  }
  simd::SetLevel(9);
}

TEST(ExactProduct, BatchesBroadcastAndSumsWrap) {
  std::mt19937 rng(4);
  Sample a(DType::kI32, {2, 1, 3, 4}), b(DType::kI32, {5, 4, 2}), out(DType::kI32, {2, 5, 3, 2});
  a.Randomise(rng, 9), b.Randomise(rng, 9);
  auto* x = static_cast<int32_t*>(a.tensor.data);
  auto* y = static_cast<int32_t*>(b.tensor.data);
  x[0] = y[0] = 1 << 20;
  PlanRef plan = testing::NewPlan();
  Operand left = a.BoundTo(*plan, Access::kRead, "a"), right = b.BoundTo(*plan, Access::kRead, "b");
  PlanExactProduct(*plan, left, right, out.BoundTo(*plan, Access::kWrite, "y"));
  testing::RunPlan(*plan);
  for (int64_t i = 0; i < 2 * 5 * 3 * 2; ++i) {
    int64_t column = i % 2, row = i / 2 % 3, second = i / 6 % 5, first = i / 30;
    uint32_t want = 0;
    for (int64_t k = 0; k < 4; ++k) {
      want += static_cast<uint32_t>(x[first * 12 + row * 4 + k]) *
              static_cast<uint32_t>(y[second * 8 + k * 2 + column]);
    }
    EXPECT_EQ(static_cast<uint32_t*>(out.tensor.data)[i], want);
  }
}

}  // namespace
}  // namespace belay::ops
