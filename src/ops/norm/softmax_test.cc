#include <gtest/gtest.h>

#include <cmath>

#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

void RunSoftmax(Sample& in, int64_t dim, Sample& out) {
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernels::Softmax(*plan, in.tensor.dtype, self, dim, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
}

double SoftmaxError(DType type, const Shape& shape, Layout in_layout, Layout out_layout, int64_t dim,
                    std::mt19937& rng) {
  Sample in(type, shape, in_layout), out(type, shape, out_layout);
  in.Randomise(rng, 20);
  Sample want = out.Copied();
  reference::Softmax(in.tensor, dim, want.tensor);
  RunSoftmax(in, dim, out);
  return testing::Distance(out.tensor, want.tensor);
}

class Softmax : public testing::SimdLevels {
 protected:
  std::mt19937 rng_{5};
};
INSTANTIATE_TEST_SUITE_P(Simd, Softmax, ::testing::Values(0, 1, 2));

TEST_P(Softmax, AllTypesDimsAndLayouts) {
  for (auto [type, allowed] :
       {std::pair{DType::kF32, 4e-7}, {DType::kF16, 5e-4}, {DType::kBF16, 4e-3}, {DType::kF64, 1e-15}}) {
    for (Layout in : {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated}) {
      for (Layout out : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
        for (int dim : {0, 1, -1}) {
          EXPECT_LE(SoftmaxError(type, {5, 33, 70}, in, out, dim, rng_), allowed)
              << NameOf(type) << " dim " << dim << " layouts " << int(in) << int(out);
        }
      }
    }
  }
}

TEST_P(Softmax, OddShapes) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 3}, Shape{3, 0}, Shape{1300},
                             Shape{2, 1, 2, 1, 3, 1, 2, 2}, Shape{300, 8}, Shape{41, 3}, Shape{19, 16}}) {
    EXPECT_LE(SoftmaxError(DType::kF32, shape, Layout::kPacked, Layout::kPacked, -1, rng_), 4e-7)
        << shape.ToString();
  }
}

void ExpectLogarithms(Sample& x, int dim, Sample& out) {
  Sample want = out.Copied();
  reference::ForEach(x.tensor.shape, [&](Shape i) {
    reference::Real sum = 0, value = reference::Get(x.tensor, i);
    Shape at = i;
    for (i[dim] = 0; i[dim] < x.tensor.shape[dim]; ++i[dim]) sum += std::exp(reference::Get(x.tensor, i));
    reference::Set(want.tensor, at, value - std::log(sum));
  });
  PlanRef plan = testing::NewPlan();
  Operand in = x.BoundTo(*plan, Access::kRead, "x");
  kernels::LogSoftmax(*plan, x.tensor.dtype, in, dim, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  EXPECT_LE(testing::Distance(out.tensor, want.tensor), x.tensor.dtype == DType::kF16 ? 2e-3 : 3e-6)
      << x.tensor.shape.ToString() << " dim " << dim;
}

TEST_P(Softmax, ManyShortRows) {
  const testing::InPieces pieces;
  for (int64_t size : {1, 2, 3, 4, 7, 16, 17, 31, 64, 65}) {
    for (const Shape& shape : {Shape{7, size}, Shape{8, size}, Shape{53, size}, Shape{3, size, 1, 20}}) {
      const int64_t dim = shape.rank() - (shape.rank() == 2 ? 1 : 3);
      EXPECT_LE(SoftmaxError(DType::kF32, shape, Layout::kPacked, Layout::kPacked, dim, rng_), 4e-7)
          << shape.ToString();
      Sample x(DType::kF32, shape), out(DType::kF32, shape);
      x.Randomise(rng_, 20);
      ExpectLogarithms(x, static_cast<int>(dim), out);
    }
  }
}

// Of few rows side by side several elements are taken in one turn.
TEST_P(Softmax, FewRowsSideBySide) {
  const testing::InPieces pieces;
  for (int64_t rows : {2, 3, 7, 11, 16, 31, 32, 33}) {
    for (int64_t size : {2, 5, 23, 100, 1000}) {
      for (Layout layout : {Layout::kPacked, Layout::kStepped}) {
        EXPECT_LE(SoftmaxError(DType::kF32, {3, size, rows}, layout, Layout::kPacked, 1, rng_), 4e-7)
            << rows << " of " << size;
      }
    }
  }
}

// Of small packed blocks each has a lane of the vectors; those with steps between their elements are taken
// otherwise and give the same.
TEST_P(Softmax, SmallBlocks) {
  const testing::InPieces pieces;
  for (const Shape& shape : {Shape{53, 7, 3}, Shape{16, 2, 2}, Shape{5, 4, 8, 8}, Shape{9, 32, 2},
                             Shape{40, 3, 21}, Shape{33, 13, 5}, Shape{7, 7, 3}, Shape{2, 10, 1, 17}}) {
    const int dim = shape.rank() - 2;
    for (DType type : {DType::kF32, DType::kF16, DType::kF64}) {
      for (Layout layout : {Layout::kPacked, Layout::kStepped}) {
        EXPECT_LE(SoftmaxError(type, shape, layout, Layout::kPacked, dim, rng_),
                  type == DType::kF16 ? 5e-4 : 4e-7)
            << shape.ToString();
      }
    }
    Sample x(DType::kF32, shape), out(DType::kF32, shape);
    x.Randomise(rng_, 20);
    ExpectLogarithms(x, dim, out);
  }
}

// So long that nothing is kept between the passes.
TEST_P(Softmax, LongRows) {
  EXPECT_LE(SoftmaxError(DType::kF32, {2100, 260}, Layout::kPacked, Layout::kPacked, 0, rng_), 4e-7);
  EXPECT_LE(SoftmaxError(DType::kF16, {530'000}, Layout::kStepped, Layout::kPacked, 0, rng_), 5e-4);
}

TEST_P(Softmax, SmallResultsAreAccurateToo) {
  Sample in(DType::kF32, {88}), out(DType::kF32, {88});
  for (int i = 0; i < 88; ++i) static_cast<float*>(in.tensor.data)[i] = -static_cast<float>(i) + 0.013f * i;
  RunSoftmax(in, 0, out);
  double sum = 0;
  for (int i = 0; i < 88; ++i) sum += std::exp(static_cast<double>(static_cast<float*>(in.tensor.data)[i]));
  for (int i = 0; i < 86; ++i) {
    double want = std::exp(static_cast<double>(static_cast<float*>(in.tensor.data)[i])) / sum;
    EXPECT_NEAR(static_cast<float*>(out.tensor.data)[i] / want, 1, 5e-7) << i;
  }
}

TEST_P(Softmax, SpecialValues) {
  Sample in(DType::kF32, {3, 40}), out(DType::kF32, {3, 40});
  auto* x = static_cast<float*>(in.tensor.data);
  auto* y = static_cast<float*>(out.tensor.data);
  std::fill(x, x + 40, -INFINITY);
  x[7] = 3;
  x[40] = NAN;
  x[80] = 1e30f;
  RunSoftmax(in, -1, out);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(y[i], i == 7 ? 1 : 0);
    EXPECT_TRUE(std::isnan(y[40 + i]));
    EXPECT_EQ(y[80 + i], i == 0 ? 1 : 0);
  }
}

TEST_P(Softmax, SpecialValuesOfShortRows) {
  for (int64_t rows : {3, 21}) {  // few, and so many that they are taken side by side
    Sample in(DType::kF32, {rows, 5}), out(DType::kF32, {rows, 5});
    auto* x = static_cast<float*>(in.tensor.data);
    auto* y = static_cast<float*>(out.tensor.data);
    std::fill(x, x + rows * 5, -INFINITY);
    for (int64_t r = 0; r < rows; r += 3) x[r * 5 + 4] = 3, x[r * 5 + 7] = NAN, x[r * 5 + 10] = 1e30f;
    RunSoftmax(in, -1, out);
    for (int64_t r = 0; r < rows; r += 3, y += 15) {
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(y[i], i == 4 ? 1 : 0);
        EXPECT_TRUE(std::isnan(y[5 + i]));
        EXPECT_EQ(y[10 + i], i == 0 ? 1 : 0);
      }
    }
  }
}

TEST_P(Softmax, Logarithms) {
  for (int dim : {0, 1, 2}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated}) {
      for (DType type : {DType::kF32, DType::kF16, DType::kF64}) {
        Sample x(type, {5, 33, 7}, layout), out(type, {5, 33, 7});
        x.Randomise(rng_, 20);
        ExpectLogarithms(x, dim, out);
      }
    }
  }
  Sample x(DType::kF32, {6, 700}), out(DType::kF32, {6, 700});
  x.Randomise(rng_, 20);
  ExpectLogarithms(x, 1, out);
}

TEST_P(Softmax, LogarithmsOfALongRow) {
  Sample x(DType::kF32, {530'000}, Layout::kStepped), out(DType::kF32, {530'000});
  auto* from = static_cast<float*>(x.tensor.data);
  for (int64_t i = 0; i < 530'000; ++i) from[i * x.tensor.strides[0]] = i % 2 == 0 ? 0.0f : -2.0f;
  PlanRef plan = testing::NewPlan();
  Operand in = x.BoundTo(*plan, Access::kRead, "x");
  kernels::LogSoftmax(*plan, DType::kF32, in, 0, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  const double log = std::log(265'000 * (1 + std::exp(-2.0)));
  EXPECT_NEAR(static_cast<const float*>(out.tensor.data)[0], -log, 1e-5);
  EXPECT_NEAR(static_cast<const float*>(out.tensor.data)[529'999], -2 - log, 1e-5);
}

}  // namespace
}  // namespace belay::ops
