// Sums of very many terms keep their digits: in pieces, whose sums are added in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/kernels.h"
#include "ops/layout/col2im.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/gemv.h"
#include "ops/pool/pool.h"
#include "ops/resize/resample.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

void Fill(Sample& sample, float value) { std::fill_n(Floats(sample), sample.tensor.count(), value); }

// 1 where got is want.
double Ratio(float got, double want) { return static_cast<double>(got) / want; }

TEST(LongSums, SoftmaxAlongAndAcrossRows) {
  constexpr int64_t kLong = 300'000;
  for (const Shape& shape : {Shape{1, kLong}, Shape{kLong, 3}}) {
    Sample x(DType::kF32, shape), out(DType::kF32, shape);
    const int64_t rows = x.tensor.count() / kLong;
    Fill(x, -0.3f);
    std::fill_n(Floats(x), rows, 0.0f);  // the largest
    PlanRef plan = testing::NewPlan();
    Operand self = x.BoundTo(*plan, Access::kRead, "self");
    kernels::Softmax(*plan, DType::kF32, self, rows == 1 ? 1 : 0, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    const double each = std::exp(static_cast<double>(-0.3f));
    EXPECT_NEAR(Ratio(Floats(out)[rows], each / (1 + (kLong - 1) * each)), 1, 1e-6) << shape.ToString();
  }
}

TEST(LongSums, LogSoftmaxTakesTheCommonPartAwayFirst) {
  for (float common : {0.0f, 1e5f, -1e5f, 3e38f}) {
    for (DType type : {DType::kF32, DType::kF64}) {
      Sample x(type, {4}), out(type, {4});
      double values[4];
      for (int i = 0; i < 4; ++i) {
        const float value = common + 0.25f * static_cast<float>(i);  // which 1e5 leaves in place
        values[i] = value;
        tensor::Convert(type, static_cast<char*>(x.tensor.data) + i * BytesOf(type), DType::kF32, &value, 1);
      }
      PlanRef plan = testing::NewPlan();
      Operand self = x.BoundTo(*plan, Access::kRead, "self");
      kernels::LogSoftmax(*plan, type, self, 0, out.BoundTo(*plan, Access::kWrite, "out"));
      testing::RunPlan(*plan);
      double sum = 0;
      for (double value : values) sum += std::exp(value - values[3]);
      for (int i = 0; i < 4; ++i) {
        double got;
        tensor::Convert(DType::kF64, &got, type,
                        static_cast<const char*>(out.tensor.data) + i * BytesOf(type), 1);
        EXPECT_NEAR(got, values[i] - values[3] - std::log(sum), 3e-7) << common << " " << i;
      }
    }
  }
}

TEST(LongSums, CrossEntropyTakesTheCommonPartAwayFirst) {
  Sample x(DType::kF32, {1, 4}), labels(DType::kF32, {1, 4}), back(DType::kF32, {1, 4});
  Sample loss(DType::kF32, {1});
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    Floats(x)[i] = 1e5f + 0.25f * static_cast<float>(i);
    Floats(labels)[i] = i == 1 ? 1 : 0;
    sum += std::exp(0.25 * (i - 3));
  }
  PlanRef plan = testing::NewPlan();
  Operand features = x.BoundTo(*plan, Access::kRead, "features");
  Operand wanted = labels.BoundTo(*plan, Access::kRead, "labels");
  Operand result = loss.BoundTo(*plan, Access::kWrite, "loss");
  kernels::SoftmaxCrossEntropy(*plan, DType::kF32, features, wanted, result,
                               back.BoundTo(*plan, Access::kWrite, "backprop"));
  testing::RunPlan(*plan);
  EXPECT_NEAR(Floats(loss)[0], 0.5 + std::log(sum), 3e-7);
  EXPECT_NEAR(Floats(back)[0], std::exp(-0.75) / sum, 3e-7);
}

TEST(LongSums, ProductsWithAVector) {
  constexpr int64_t kLong = 1 << 20, kFew = 3;
  const std::vector<float> w(kLong * kFew, 0.1f), x(kLong, 1.0f);
  std::vector<float> y(kFew), z(kFew);
  BestGemv()(w.data(), kLong, x.data(), kLong, kFew, y.data());
  BestTransposedGemv()(w.data(), kFew, x.data(), kFew, kLong, z.data());
  for (size_t i = 0; i < kFew; ++i) {
    EXPECT_NEAR(Ratio(y[i], kLong * static_cast<double>(0.1f)), 1, 3e-6);
    EXPECT_NEAR(Ratio(z[i], kLong * static_cast<double>(0.1f)), 1, 1e-5);
  }
}

TEST(LongSums, ProductsOfMatrices) {
  constexpr int64_t kLong = 300'000, kRows = 2, kColumns = 3;
  const std::vector<float> a(kLong * kRows, 0.1f), b(kLong * kColumns, 1.0f);
  for (bool turned : {false, true}) {
    std::vector<float> c(kRows * kColumns);
    const Gemm gemm{kRows,
                    kColumns,
                    kLong,
                    {a.data(), turned ? kRows : kLong, turned},
                    {b.data(), turned ? kLong : kColumns, turned},
                    c.data(),
                    kColumns,
                    GemmType::kF32,
                    GemmType::kF32};
    ASSERT_TRUE(BestGemm().run(gemm));
    for (float sum : c) EXPECT_NEAR(Ratio(sum, kLong * static_cast<double>(0.1f)), 1, 3e-6);
    ASSERT_TRUE(PlainGemm().run(gemm));
    for (float sum : c) EXPECT_NEAR(Ratio(sum, kLong * static_cast<double>(0.1f)), 1, 1e-4);
  }
}

// More than a tile of the result, with a matrix that lies inside another one.
TEST(LongSums, DeepProductsAgreeWithShallowOnes) {
  constexpr int64_t kLong = 66'000, kRows = 3, kColumns = 5, kLd = 7;
  std::vector<float> a(kLong * kRows), b(kLong * kLd);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) - 5;
  std::vector<float> c(kRows * kLd, -1.0f);
  ASSERT_TRUE(BestGemm().run({kRows,
                              kColumns,
                              kLong,
                              {a.data(), kLong, false},
                              {b.data(), kLd, false},
                              c.data(),
                              kLd,
                              GemmType::kF32,
                              GemmType::kF32}));
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kLd; ++j) {
      double want = j < kColumns ? 0 : -1;
      for (int64_t k = 0; k < kLong && j < kColumns; ++k) {
        want += static_cast<double>(a[static_cast<size_t>(i * kLong + k)]) *
                static_cast<double>(b[static_cast<size_t>(k * kLd + j)]);
      }
      EXPECT_EQ(c[static_cast<size_t>(i * kLd + j)], static_cast<float>(want)) << i << " " << j;
    }
  }
}

TEST(LongSums, MeansOfLargeWindows) {
  constexpr int64_t kSide = 1100;
  Sample x(DType::kF32, {1, 1, kSide, kSide}), y(DType::kF32, {1, 1, 1, 1});
  Fill(x, 0.1f);
  PlanRef plan = testing::NewPlan();
  PoolArgs args{};
  args.kind = PoolKind::kMean;
  args.input = x.BoundTo(*plan, Access::kRead, "x");
  args.out = y.BoundTo(*plan, Access::kWrite, "y");
  args.spans = {PoolSpans{{0, kSide, 1, kSide}}, PoolSpans{{0, kSide, 1, kSide}}};
  PlanPool(*plan, args);
  testing::RunPlan(*plan);
  EXPECT_NEAR(Ratio(Floats(y)[0], static_cast<double>(0.1f)), 1, 5e-5);
}

// Tenths that all go to one place, and what their sum is.
constexpr int64_t kTenths = 300'000;
constexpr double kSumOfTenths = kTenths * static_cast<double>(0.1f);

TEST(LongSums, GradientsOfARowThatIsTakenOften) {
  for (bool by_frequency : {false, true}) {
    Sample grad(DType::kF32, {kTenths, 3}), indices(DType::kI64, {kTenths}), out(DType::kF32, {2, 3});
    Fill(grad, 0.1f);
    std::fill_n(static_cast<int64_t*>(indices.tensor.data), kTenths, 1);
    PlanRef plan = testing::NewPlan();
    Operand from = grad.BoundTo(*plan, Access::kRead, "grad"),
            places = indices.BoundTo(*plan, Access::kRead, "indices");
    kernels::EmbeddingDenseBackward(*plan, DType::kF32, from, places, 2, -1, by_frequency,
                                    out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Floats(out)[i], 0);
      EXPECT_NEAR(Ratio(Floats(out)[3 + i], kSumOfTenths / (by_frequency ? kTenths : 1)), 1, 3e-6);
    }
  }
}

TEST(LongSums, ColumnsOfALargeKernel) {
  Sample columns(DType::kF32, {1, kTenths, 1}), image(DType::kF32, {1, 1, 1});
  Fill(columns, 0.1f);
  PlanRef plan = testing::NewPlan();
  Operand from = columns.BoundTo(*plan, Access::kRead, "x");
  PlanColumnsToImage(*plan, from, image.BoundTo(*plan, Access::kWrite, "y"), {{1, kTenths, 0, 1, 0, 1}});
  testing::RunPlan(*plan);
  EXPECT_NEAR(Ratio(Floats(image)[0], kSumOfTenths), 1, 1e-7);
}

TEST(LongSums, ResizingToAlmostNothing) {
  for (int64_t inner : {1, 3}) {
    Sample x(DType::kF32, {kTenths, inner}), y(DType::kF32, {1, inner});
    Fill(x, 0.1f);
    AxisTaps all{}, same{};
    all.outside = {false}, same.outside.assign(static_cast<size_t>(inner), false);
    all.in = kTenths, all.out = 1, all.begin = {0, kTenths}, all.weight.assign(kTenths, 1.0);
    for (int64_t i = 0; i < kTenths; ++i) all.index.push_back(i);
    same.in = same.out = inner;
    for (int64_t i = 0; i < inner; ++i) {
      same.begin.push_back(i), same.index.push_back(i), same.weight.push_back(1);
    }
    same.begin.push_back(inner);
    PlanRef plan = testing::NewPlan();
    Operand from = x.BoundTo(*plan, Access::kRead, "x");
    PlanResample(*plan, from, y.BoundTo(*plan, Access::kWrite, "y"), {all, same}, 0);
    testing::RunPlan(*plan);
    for (int64_t i = 0; i < inner; ++i) EXPECT_NEAR(Ratio(Floats(y)[i], kSumOfTenths), 1, 1e-7);
  }
}

}  // namespace
}  // namespace belay::ops
