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
  std::vector<int64_t> kernel = {}, stride = {};  // of the spatial dimensions; ones
};

// Of one place of the result in f64, clipped.
double ProductAt(const PlaneProductCase& c, const Shape& out, const float* x, const float* w,
                 const float* bias, int64_t place) {
  const int dims = c.in.rank() - 2;
  int64_t at[3] = {}, rest = place, taps = 1;
  for (int d = dims - 1; d >= 0; --d) at[d] = rest % out[d + 2], rest /= out[d + 2];
  for (int64_t k : c.kernel) taps *= k;
  const int64_t each = c.in[1] / c.groups, to = rest % c.out_channels, image = rest / c.out_channels,
                group = to / (c.out_channels / c.groups);
  double sum = c.bias ? bias[to] : 0;
  for (int64_t i = 0; i < each * taps; ++i) {
    int64_t pixel = image * c.in[1] + group * each + i / taps, tap[3] = {};
    for (int64_t d = dims - 1, left = i % taps; d >= 0; --d)
      tap[d] = left % c.kernel[static_cast<size_t>(d)], left /= c.kernel[static_cast<size_t>(d)];
    for (int d = 0; d < dims; ++d)
      pixel = pixel * c.in[d + 2] + at[d] * c.stride[static_cast<size_t>(d)] + tap[d];
    sum += double{x[pixel]} * w[to * each * taps + i];
  }
  float low, high;
  FindClip(c.activation, &low, &high);
  return std::clamp<double>(sum, low, high);
}

void AsFloats(const Tensor& from, Sample& to) {
  tensor::Convert(DType::kF32, to.tensor.data, from.dtype, from.data, from.count());
}

void ExpectProduct(PlaneProductCase c, bool as_planes) {
  std::mt19937 rng(7);
  Shape kernel{c.out_channels, c.in[1] / c.groups}, shape = c.in;
  const std::vector<int64_t> ones(static_cast<size_t>(c.in.rank() - 2), 1), zeros(ones.size(), 0);
  if (c.kernel.empty()) c.kernel = ones;
  if (c.stride.empty()) c.stride = ones;
  for (size_t d = 0; d < ones.size(); ++d) {
    kernel.push_back(c.kernel[d]);
    shape[static_cast<int>(d) + 2] =
        ConvOutputSize(c.in[static_cast<int>(d) + 2], c.kernel[d], c.stride[d], 1, 0, 0);
  }
  shape[1] = c.out_channels;
  Sample x(c.dtype, c.in), w(c.dtype, kernel), b(c.dtype, {c.out_channels}), y(c.dtype, shape);
  for (Sample* s : {&x, &w, &b}) s->Randomise(rng, 2);
  PlanRef plan = testing::NewPlan();
  ConvArgs args = {};
  args.input = x.BoundTo(*plan, Access::kRead, "x");
  args.weight = c.constant ? Operand{&w.tensor} : w.BoundTo(*plan, Access::kRead, "w");
  if (c.bias) args.bias = c.constant ? Operand{&b.tensor} : b.BoundTo(*plan, Access::kRead, "b");
  args.out = y.BoundTo(*plan, Access::kWrite, "y");
  args.strides = c.stride, args.dilations = ones, args.before = args.after = zeros;
  args.groups = c.groups, args.activation = c.activation;
  if (c.constant) args.constant_weight = w.tensor.data, args.constant_bias = c.bias ? b.tensor.data : nullptr;
  ASSERT_EQ(IsPlaneProduct(args, CheckedGeometry(args)), as_planes);
  PlanConv(*plan, args);
  testing::RunPlan(*plan);
  Sample fx(DType::kF32, c.in), fw(DType::kF32, kernel), fb(DType::kF32, {c.out_channels}),
      fy(DType::kF32, shape);
  AsFloats(x.tensor, fx), AsFloats(w.tensor, fw), AsFloats(b.tensor, fb), AsFloats(y.tensor, fy);
  for (int64_t i = 0; i < y.tensor.count(); ++i) {
    const double wanted = ProductAt(c, shape, Floats(fx), Floats(fw), Floats(fb), i);
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

// Taps that see each pixel once at most, and some not at all.
TEST(PlaneProduct, OfPatches) {
  const testing::InPieces pieces;
  const auto of = [](const Shape& in, int64_t filters, int64_t groups, std::vector<int64_t> kernel,
                     std::vector<int64_t> stride, DType type = DType::kF32) {
    return PlaneProductCase{in, filters, groups, true, true, {ActivationKind::kRelu}, type, kernel, stride};
  };
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    ExpectProduct(of({2, 12, 46, 47}, 17, 1, {2, 2}, {2, 2}), true);
    ExpectProduct(of({1, 3, 130, 77}, 16, 1, {4, 4}, {4, 4}), true);
    ExpectProduct(of({1, 40, 61, 27}, 16, 1, {1, 1}, {2, 2}), true);
    ExpectProduct(of({1, 66, 31, 63}, 32, 2, {1, 1}, {3, 1}), true);
    ExpectProduct(of({1, 9, 6, 21, 33}, 18, 1, {2, 2, 1}, {2, 3, 2}), true);
    ExpectProduct(of({2, 20, 600}, 16, 1, {3}, {5}), true);
    ExpectProduct(of({1, 16, 40, 48}, 32, 1, {2, 2}, {2, 2}, DType::kF16), true);
    ExpectProduct(of({1, 12, 46, 47}, 17, 1, {3, 2}, {2, 2}), false);  // some pixels twice
    ExpectProduct(of({1, 4, 46, 47}, 17, 1, {2, 2}, {2, 2}), false);   // few products
  }
  simd::SetLevel(9);
}

TEST(PlaneProduct, IsNotWhatTurnedImagesAreFasterIn) {
  ExpectProduct({{1, 16, 7, 7}, 16}, false);      // few pixels
  ExpectProduct({{1, 257, 24, 24}, 257}, false);  // many products for each
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
