#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/simd_targets.h"
#include "ops/forms.h"
#include "ops/layout/rearranged.h"
#include "ops/reference/reference.h"
#include "ops/resize/resample.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using reference::ForEach;
using reference::Get;
using reference::Real;
using reference::Set;
using testing::Layout;
using testing::Sample;

void Call(const Form& form, std::vector<Arg> args) { testing::RunPlan(*WithoutHandle(MakePlan(form, args))); }

int64_t Clamp(int64_t i, int64_t n) { return std::clamp<int64_t>(i, 0, n - 1); }

TEST(Upsample, NearestTakesTheElementBefore) {
  std::mt19937 rng(1);
  for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
    Sample in(DType::kF16, {2, 3, 5, 4}, layout), out(DType::kF16, {2, 3, 7, 12}, layout);
    in.Randomise(rng);
    int64_t numbers[] = {7, 12};
    tensor::IntArray size(numbers, 2);
    Call(forms::UpsampleNearest2d, {Arg(&in.tensor), Arg(&size), Arg(&out.tensor)});
    ForEach(out.tensor.shape, [&](const Shape& i) {
      ASSERT_EQ(Get(out.tensor, i), Get(in.tensor, {i[0], i[1], i[2] * 5 / 7, i[3] / 3}));
    });
  }
}

// Between the four elements around the place that pixel centres map to.
Real Bilinear(const Tensor& in, const Shape& i, const Shape& out, bool align) {
  Real sum = 0, place[2];
  for (int d = 0; d < 2; ++d) {
    auto n = static_cast<Real>(in.shape[d + 2]), m = static_cast<Real>(out[d + 2]),
         x = static_cast<Real>(i[d + 2]);
    place[d] = align ? x * (n - 1) / (m - 1) : (x + 0.5L) * n / m - 0.5L;
  }
  auto top = static_cast<int64_t>(std::floor(place[0])), left = static_cast<int64_t>(std::floor(place[1]));
  for (int64_t y : {top, top + 1}) {
    for (int64_t x : {left, left + 1}) {
      Real weight = (1 - std::fabs(place[0] - y)) * (1 - std::fabs(place[1] - x));
      sum += weight * Get(in, {i[0], i[1], Clamp(y, in.shape[2]), Clamp(x, in.shape[3])});
    }
  }
  return sum;
}

TEST(Upsample, BilinearBothWays) {
  std::mt19937 rng(1);
  for (auto [type, allowed] : {std::pair{DType::kF32, 1e-6}, {DType::kF64, 1e-14}, {DType::kF16, 1e-3}}) {
    for (bool align : {false, true}) {
      for (const Shape& shape : {Shape{2, 3, 7, 11}, Shape{2, 3, 3, 2}}) {
        Sample in(type, {2, 3, 5, 4}), out(type, shape, Layout::kTransposed), want(type, shape);
        in.Randomise(rng);
        int64_t numbers[] = {shape[2], shape[3]};
        tensor::IntArray size(numbers, 2);
        Call(forms::UpsampleBilinear2d,
             {Arg(&in.tensor), Arg(&size), Arg(align), Arg(0.0), Arg(0.0), Arg(&out.tensor)});
        ForEach(shape, [&](const Shape& i) { Set(want.tensor, i, Bilinear(in.tensor, i, shape, align)); });
        EXPECT_LE(testing::Distance(out.tensor, want.tensor), allowed) << NameOf(type) << align;
      }
    }
  }
}

// Rows of several vectors, and elements that are made of one tap beside others that are made of two: what is
// infinite there stays so.
TEST(Upsample, LongRowsOnEveryProcessor) {
  std::mt19937 rng(2);
  for (const int level : {0, 1, 2, 3}) {
    simd::SetLevel(level);
    for (const Shape& shape : {Shape{1, 2, 30, 73}, Shape{1, 2, 5, 90}, Shape{1, 2, 21, 19}}) {
      Sample in(DType::kF32, {1, 2, 11, 37}), out(DType::kF32, shape), want(DType::kF32, shape);
      in.Randomise(rng);
      Set(in.tensor, {0, 0, 0, 0}, std::numeric_limits<Real>::infinity());
      int64_t numbers[] = {shape[2], shape[3]};
      tensor::IntArray size(numbers, 2);
      Call(forms::UpsampleBilinear2d,
           {Arg(&in.tensor), Arg(&size), Arg(true), Arg(0.0), Arg(0.0), Arg(&out.tensor)});
      EXPECT_EQ(Get(out.tensor, {0, 0, 0, 0}), std::numeric_limits<Real>::infinity());
      Set(in.tensor, {0, 0, 0, 0}, 0);
      ForEach(shape, [&](const Shape& i) {
        const Real found = Get(out.tensor, i);
        if (!std::isfinite(found)) return;
        ASSERT_NEAR(static_cast<double>(found), static_cast<double>(Bilinear(in.tensor, i, shape, true)),
                    2e-6);
      });
    }
  }
  simd::SetLevel(9);
}

// Each element equally often, one behind the other, of every size; rows that repeat are copied. 8 of 5 are
// not.
TEST(Upsample, NearestRepeatsElementsOfEverySize) {
  std::mt19937 rng(3);
  for (const DType type : {DType::kU8, DType::kF16, DType::kF32, DType::kF64}) {
    for (auto [from, to] : {std::pair{19, 38}, {19, 57}, {19, 95}, {5, 8}, {10, 16}}) {
      Sample in(type, {2, 1, 4, from}), out(type, {2, 1, 8, to});
      in.Randomise(rng);
      int64_t numbers[] = {8, to};
      tensor::IntArray size(numbers, 2);
      Call(forms::UpsampleNearest2d, {Arg(&in.tensor), Arg(&size), Arg(&out.tensor)});
      ForEach(out.tensor.shape, [&](const Shape& i) {
        ASSERT_EQ(Get(out.tensor, i), Get(in.tensor, {i[0], i[1], i[2] / 2, i[3] * from / to}));
      });
    }
  }
}

// Around a single one the result is the cubic itself, with -3/4 for its free coefficient.
TEST(Upsample, CubicShowsItsWeights) {
  Sample in(DType::kF64, {1, 1, 1, 9}), out(DType::kF64, {1, 1, 1, 27});
  Set(in.tensor, {0, 0, 0, 4}, 1);
  int64_t numbers[] = {1, 27};
  tensor::IntArray size(numbers, 2);
  Call(forms::UpsampleBicubic2d,
       {Arg(&in.tensor), Arg(&size), Arg(false), Arg(0.0), Arg(0.0), Arg(&out.tensor)});
  for (auto [at, want] : {std::pair{13, 1.0}, {14, 43.0 / 54}, {12, 43.0 / 54}, {17, -1.0 / 9}, {19, 0.0}}) {
    EXPECT_NEAR(static_cast<double>(Get(out.tensor, {0, 0, 0, at})), want, 1e-12) << at;
  }
}

// 4.5 * 7 / 9 is 3.5; dividing by the double 9 / 7 misses it, and a rounding takes another element.
TEST(Resample, PlacesOnAnElementAreExact) {
  const AxisResize nine{.in = 7, .out = 9, .scale = 9.0 / 7},
      seventeen{.in = 7, .out = 17, .scale = 17.0 / 7};
  EXPECT_EQ(nine.PlaceOf(4), 3);
  EXPECT_EQ(seventeen.PlaceOf(8), 3);
  const AxisResize plain{.in = 7, .out = 18, .scale = 18.0 / 7, .coordinates = Coordinates::kAsymmetric};
  EXPECT_EQ(plain.PlaceOf(9), 3.5);
}

// 0.2 as a float is a little more than a fifth, so that in doubles none of these places would lie half way.
TEST(Resample, PlacesOfARegionAreRoundedToFloats) {
  const AxisResize axis{
      .in = 76, .out = 16, .start = 0.2F, .end = 0.9F, .coordinates = Coordinates::kCropAndResize};
  EXPECT_EQ(axis.PlaceOf(1), 18.5);
  EXPECT_EQ(axis.PlaceOf(15), 67.5);
}

TEST(Resample, TheOnlyElementOfTorchIsTheFirst) {
  const AxisResize axis{.in = 7, .out = 1, .scale = 1.0 / 7, .coordinates = Coordinates::kTorchHalfPixel};
  EXPECT_EQ(axis.PlaceOf(0), 0);
}

TEST(Resample, WholeNumbersLoseTheirFractions) {
  Sample in(DType::kI32, {2}), out(DType::kI32, {4});
  Set(in.tensor, {0}, -7), Set(in.tensor, {1}, 10);
  PlanRef plan = testing::NewPlan();
  AxisTaps taps = TapsOf({.in = 2, .out = 4, .scale = 2}, {});
  PlanResample(*plan, in.BoundTo(*plan, Access::kRead, "x"), out.BoundTo(*plan, Access::kWrite, "y"), {taps},
               0);
  testing::RunPlan(*plan);
  const Real wanted[] = {-7, -2, 5, 10};  // of -7, -2.75, 5.75 and 10
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(Get(out.tensor, {i}), wanted[i]) << i;
}

TEST(Resample, RefusesMoreElementsThanMemoryHolds) {
  const AxisResize axis{.in = 4, .out = int64_t{1} << 40};
  EXPECT_THROW(TapsOf(axis, {}), Error);
  EXPECT_THROW(NearestOf(axis, Rounding::kFloor), Error);
  EXPECT_THROW(TiledMap(3, int64_t{1} << 62), Error);
  EXPECT_THROW(PaddedMap(3, 0, int64_t{1} << 33, PadMode::kConstant), Error);
}

TEST(GridSampler, AnIdentityGridGivesTheImageBack) {
  std::mt19937 rng(1);
  Sample in(DType::kF32, {2, 3, 4, 5}), out(DType::kF32, {2, 3, 4, 5});
  Sample theta(DType::kF32, {2, 2, 3}), grid(DType::kF32, {2, 4, 5, 2}, Layout::kStepped);
  in.Randomise(rng);
  for (int64_t n = 0; n < 2; ++n) {
    Set(theta.tensor, {n, 0, 0}, 1);
    Set(theta.tensor, {n, 1, 1}, 1);
  }
  int64_t numbers[] = {2, 3, 4, 5};
  tensor::IntArray size(numbers, 4);
  for (bool align : {false, true}) {
    Call(forms::AffineGrid, {Arg(&theta.tensor), Arg(&size), Arg(align), Arg(&grid.tensor)});
    for (int64_t mode : {0, 1, 2}) {
      Call(forms::GridSampler2D,
           {Arg(&in.tensor), Arg(&grid.tensor), Arg(mode), Arg(int64_t{0}), Arg(align), Arg(&out.tensor)});
      EXPECT_LE(testing::Distance(out.tensor, in.tensor), 1e-5) << mode << align;
    }
  }
}

// Of images and volumes whose rows have any number of points, placed as they lie or not.
TEST(AffineGrid, IsTheProductOfMatricesAndPlaces) {
  std::mt19937 rng(2);
  for (const Shape& shape :
       {Shape{3, 4, 5, 2}, Shape{2, 3, 41, 2}, Shape{1, 1, 6, 2}, Shape{2, 3, 4, 7, 3}}) {
    const auto dims = static_cast<int>(shape.back(0));
    for (DType type : {DType::kF32, DType::kF64, DType::kF16}) {
      for (bool align : {false, true}) {
        Sample theta(type, {shape[0], dims, dims + 1}),
            grid(type, shape, align ? Layout::kStepped : Layout::kPacked);
        theta.Randomise(rng);
        std::vector<int64_t> numbers{shape[0], 1};
        for (int d = 1; d <= dims; ++d) numbers.push_back(shape[d]);
        tensor::IntArray size(numbers.data(), numbers.size());
        Call(forms::AffineGrid, {Arg(&theta.tensor), Arg(&size), Arg(align), Arg(&grid.tensor)});
        ForEach(shape, [&](const Shape& i) {
          const int64_t r = i.back(0);
          Real want = Get(theta.tensor, {i[0], r, dims});
          for (int c = 0; c < dims; ++c) {
            const auto n = static_cast<Real>(shape[dims - c]), at = static_cast<Real>(i[dims - c]);
            const Real place = !align ? (2 * at + 1) / n - 1 : n == 1 ? 0 : 2 * at / (n - 1) - 1;
            want += Get(theta.tensor, {i[0], r, c}) * place;
          }
          const double allowed = type == DType::kF16 ? 4e-3 : type == DType::kF64 ? 1e-12 : 1e-5;
          ASSERT_NEAR(double(Get(grid.tensor, i)), double(want), allowed * (1 + std::abs(double(want))))
              << NameOf(type) << shape.ToString() << i.ToString();
        });
      }
    }
  }
}

TEST(GridSampler, PaddingDecidesWhatLiesOutside) {
  Sample in(DType::kF32, {1, 1, 1, 3}), grid(DType::kF32, {1, 1, 2, 2}), out(DType::kF32, {1, 1, 1, 2});
  for (int64_t k = 0; k < 3; ++k) Set(in.tensor, {0, 0, 0, k}, 10 + k);
  Set(grid.tensor, {0, 0, 0, 0}, 2);  // place 4 of an image that ends at 2.5
  Set(grid.tensor, {0, 0, 1, 0}, NAN);
  const double wanted[] = {0, 12, 11};
  for (int64_t padding : {0, 1, 2}) {
    Call(forms::GridSampler2D,
         {Arg(&in.tensor), Arg(&grid.tensor), Arg(int64_t{0}), Arg(padding), Arg(false), Arg(&out.tensor)});
    EXPECT_EQ(Get(out.tensor, {0, 0, 0, 0}), wanted[padding]) << padding;
  }
}

// Vectors of places between four pixels, in and far outside of images, some of which are infinite.
TEST(GridSampler, VectorsGiveWhatDoublesDo) {
  std::mt19937 rng(3);
  std::uniform_int_distribution<int> sixteenths(-40, 40);
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    for (const Shape& to : {Shape{2, 9, 8}, Shape{1, 1, 3}, Shape{3, 13, 15}}) {
      const Shape image{to[0], 2, 7, 12}, places{to[0], to[1], to[2], 2}, result{to[0], 2, to[1], to[2]};
      Sample in(DType::kF32, image), grid(DType::kF32, places), out(DType::kF32, result);
      Sample wide_in(DType::kF64, image), wide_grid(DType::kF64, places), want(DType::kF64, result);
      ForEach(image, [&](const Shape& i) { Set(in.tensor, i, sixteenths(rng)); });
      ForEach(places, [&](const Shape& i) { Set(grid.tensor, i, Real(sixteenths(rng)) / 16); });
      Set(in.tensor, {0, 0, 0, 0}, INFINITY), Set(in.tensor, {0, 1, 6, 11}, NAN);
      Set(grid.tensor, {0, 0, 0, 0}, -3), Set(grid.tensor, {0, 0, 0, 1}, -3);
      Set(grid.tensor, {0, 0, 1, 0}, INFINITY), Set(grid.tensor, {0, 0, 2, 1}, NAN);
      ForEach(image, [&](const Shape& i) { Set(wide_in.tensor, i, Get(in.tensor, i)); });
      ForEach(places, [&](const Shape& i) { Set(wide_grid.tensor, i, Get(grid.tensor, i)); });
      for (int64_t padding : {0, 1}) {
        for (bool align : {false, true}) {
          const auto sample = [&](Sample& x, Sample& at, Sample& y) {
            Call(forms::GridSampler2D, {Arg(&x.tensor), Arg(&at.tensor), Arg(int64_t{0}), Arg(padding),
                                        Arg(align), Arg(&y.tensor)});
          };
          sample(in, grid, out), sample(wide_in, wide_grid, want);
          ForEach(result, [&](const Shape& i) {
            const auto got = double(Get(out.tensor, i)), wanted = double(Get(want.tensor, i));
            EXPECT_EQ(std::isnan(got), std::isnan(wanted)) << i.ToString();
            if (!std::isfinite(wanted)) return;
            EXPECT_NEAR(got, wanted, 1e-4) << level << padding << align << i.ToString();
          });
        }
      }
    }
  }
  simd::SetLevel(9);
}

TEST(GridSampler, RefusesAGridOfOtherDimensions) {
  Sample in(DType::kF32, {1, 1, 2, 3}), grid(DType::kF32, {1, 1, 2, 3}), out(DType::kF32, {1, 1, 1, 2});
  EXPECT_THROW(Call(forms::GridSampler2D, {Arg(&in.tensor), Arg(&grid.tensor), Arg(int64_t{0}),
                                           Arg(int64_t{0}), Arg(false), Arg(&out.tensor)}),
               Error);
}

}  // namespace
}  // namespace belay::ops
