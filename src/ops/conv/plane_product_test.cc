#include "ops/conv/plane_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/simd_targets.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

struct PlaneProductCase {
  Shape in;
  int64_t out_channels, groups = 1;
  bool bias = true, constant = true;
  Activation activation = {};
  DType dtype = DType::kF32;
};

// Of one pixel in f64, clipped.
double ProductAt(const PlaneProductCase& c, const float* x, const float* w, const float* bias, int64_t image,
                 int64_t to, int64_t pixel, int64_t pixels) {
  const int64_t each = c.in[1] / c.groups, group = to / (c.out_channels / c.groups);
  double sum = c.bias ? bias[to] : 0;
  for (int64_t k = 0; k < each; ++k)
    sum += double{x[(image * c.in[1] + group * each + k) * pixels + pixel]} * w[to * each + k];
  float low, high;
  FindClip(c.activation, &low, &high);
  return std::clamp<double>(sum, low, high);
}

void AsFloats(const Tensor& from, Sample& to) {
  tensor::Convert(DType::kF32, to.tensor.data, from.dtype, from.data, from.count());
}

void ExpectProduct(const PlaneProductCase& c, bool as_planes) {
  std::mt19937 rng(7);
  Shape kernel{c.out_channels, c.in[1] / c.groups}, shape = c.in;
  for (int d = 2; d < c.in.rank(); ++d) kernel.push_back(1);
  shape[1] = c.out_channels;
  Sample x(c.dtype, c.in), w(c.dtype, kernel), b(c.dtype, {c.out_channels}), y(c.dtype, shape);
  for (Sample* s : {&x, &w, &b}) s->Randomise(rng, 2);
  const std::vector<int64_t> ones(static_cast<size_t>(c.in.rank() - 2), 1), zeros(ones.size(), 0);
  PlanRef plan = testing::NewPlan();
  ConvArgs args = {};
  args.input = x.BoundTo(*plan, Access::kRead, "x");
  args.weight = c.constant ? Operand{&w.tensor} : w.BoundTo(*plan, Access::kRead, "w");
  if (c.bias) args.bias = c.constant ? Operand{&b.tensor} : b.BoundTo(*plan, Access::kRead, "b");
  args.out = y.BoundTo(*plan, Access::kWrite, "y");
  args.strides = args.dilations = ones, args.before = args.after = zeros;
  args.groups = c.groups, args.activation = c.activation;
  if (c.constant) args.constant_weight = w.tensor.data, args.constant_bias = c.bias ? b.tensor.data : nullptr;
  ASSERT_EQ(IsPlaneProduct(args, CheckedGeometry(args)), as_planes);
  PlanConv(*plan, args);
  testing::RunPlan(*plan);
  Sample fx(DType::kF32, c.in), fw(DType::kF32, kernel), fb(DType::kF32, {c.out_channels}),
      fy(DType::kF32, shape);
  AsFloats(x.tensor, fx), AsFloats(w.tensor, fw), AsFloats(b.tensor, fb), AsFloats(y.tensor, fy);
  const int64_t pixels = y.tensor.count() / (c.in[0] * c.out_channels);
  for (int64_t i = 0; i < y.tensor.count(); ++i) {
    const double wanted = ProductAt(c, Floats(fx), Floats(fw), Floats(fb), i / pixels / c.out_channels,
                                    i / pixels % c.out_channels, i % pixels, pixels);
    ASSERT_NEAR(Floats(fy)[i], wanted, c.dtype == DType::kF16 ? 0.05 : 1e-4) << "at " << i;
  }
}

TEST(PlaneProduct, OfRowsPlanesAndVolumes) {
  const testing::InPieces pieces;
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    ExpectProduct({{1, 16, 700}, 8}, true);
    ExpectProduct({{2, 5, 23, 31}, 7, 1, true, true, {ActivationKind::kRelu}}, true);
    ExpectProduct({{2, 8, 5, 11, 13}, 12, 4, false, false, {ActivationKind::kClip, -0.5f, 1}}, true);
    ExpectProduct({{1, 32, 40, 64}, 32, 1, true, false}, true);
    ExpectProduct({{1, 16, 24, 32}, 16, 2, true, true, {}, DType::kF16}, true);
  }
  simd::SetLevel(9);
}

TEST(PlaneProduct, IsNotWhatTurnedImagesAreFasterIn) {
  ExpectProduct({{1, 16, 7, 7}, 16}, false);      // few pixels
  ExpectProduct({{1, 300, 24, 24}, 300}, false);  // many products for each
}

// What is not a number stays one behind a clip.
TEST(PlaneProduct, NotANumberStays) {
  Sample x(DType::kF32, {1, 1, 600}), w(DType::kF32, {1, 1, 1}), y(DType::kF32, {1, 1, 600});
  std::fill_n(Floats(x), 600, 3.0f);
  Floats(x)[599] = std::numeric_limits<float>::quiet_NaN(), Floats(w)[0] = 1;
  const std::vector<int64_t> one = {1}, zero = {0};
  PlanRef plan = testing::NewPlan();
  ConvArgs args = {};
  args.input = x.BoundTo(*plan, Access::kRead, "x"), args.weight = w.BoundTo(*plan, Access::kRead, "w");
  args.out = y.BoundTo(*plan, Access::kWrite, "y");
  args.strides = args.dilations = one, args.before = args.after = zero;
  args.activation = {ActivationKind::kClip, -1, 1};
  PlanConv(*plan, args);
  testing::RunPlan(*plan);
  EXPECT_EQ(Floats(y)[0], 1);
  EXPECT_NE(Floats(y)[599], Floats(y)[599]);
}

}  // namespace
}  // namespace belay::ops
