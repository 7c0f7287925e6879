#include "ops/conv/plane_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/simd_targets.h"
#include "ops/conv/conv_parts.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

struct PlaneConvCase {
  Shape in, weight;
  std::vector<int64_t> strides, dilations, before, after;
  int64_t groups;
  bool transposed, constant;
  Activation activation = {};

  Shape out() const {
    Shape shape{in[0], transposed ? weight[1] * groups : weight[0]};
    for (size_t i = 0; i < strides.size(); ++i) {
      const int d = static_cast<int>(i) + 2;
      const int64_t pads = before[i] + after[i], reach = (weight[d] - 1) * dilations[i] + 1;
      shape.push_back(transposed ? (in[d] - 1) * strides[i] + reach - pads
                                 : (in[d] + pads - reach + strides[i]) / strides[i]);
    }
    return shape;
  }
  bool fits() const {
    const Shape result = out();
    return std::all_of(result.begin(), result.end(), [](int64_t size) { return size > 0; });
  }
};

// What the plan computes in FLOAT, and in DOUBLE, where no planes are summed. `as_planes`: whether the first
// one does.
void RunCase(const PlaneConvCase& c, Sample& x, Sample& w, Sample& b, Sample& y, bool* as_planes) {
  PlanRef plan = testing::NewPlan();
  ConvArgs args = {};
  args.input = x.BoundTo(*plan, Access::kRead, "x"), args.out = y.BoundTo(*plan, Access::kWrite, "y");
  args.weight = c.constant ? Operand{&w.tensor} : w.BoundTo(*plan, Access::kRead, "w");
  args.bias = c.constant ? Operand{&b.tensor} : b.BoundTo(*plan, Access::kRead, "b");
  if (c.constant) args.constant_weight = w.tensor.data, args.constant_bias = b.tensor.data;
  args.strides = c.strides, args.dilations = c.dilations, args.before = c.before, args.after = c.after;
  args.groups = c.groups, args.transposed = c.transposed, args.activation = c.activation;
  *as_planes = IsPlaneConv(args, CheckedGeometry(args));
  PlanConv(*plan, args);
  testing::RunPlan(*plan);
}

// The largest difference of any element.
double PlaneConvError(const PlaneConvCase& c, bool* as_planes) {
  std::mt19937 rng(7);
  const Shape result = c.out();
  const Shape shapes[] = {c.in, c.weight, {result[1]}, result};
  Sample f[] = {
      {DType::kF32, shapes[0]}, {DType::kF32, shapes[1]}, {DType::kF32, shapes[2]}, {DType::kF32, result}};
  Sample d[] = {
      {DType::kF64, shapes[0]}, {DType::kF64, shapes[1]}, {DType::kF64, shapes[2]}, {DType::kF64, result}};
  for (int i = 0; i < 3; ++i) {
    f[i].Randomise(rng, 1);
    tensor::Convert(DType::kF64, d[i].tensor.data, DType::kF32, f[i].tensor.data, f[i].tensor.count());
  }
  bool doubles;
  RunCase(c, d[0], d[1], d[2], d[3], &doubles);
  EXPECT_FALSE(doubles);
  RunCase(c, f[0], f[1], f[2], f[3], as_planes);
  double worst = 0;
  for (int64_t i = 0; i < f[3].tensor.count(); ++i)
    worst = std::max(worst, std::abs(Floats(f[3])[i] - static_cast<const double*>(d[3].tensor.data)[i]));
  return worst;
}

class RandomPlanes {
 public:
  PlaneConvCase Draw() {
    const int64_t dims = Pick(1, 3), groups = Pick(1, 3), in_each = Pick(1, 3), out_each = Pick(1, 9);
    PlaneConvCase c{{Pick(1, 2), groups * in_each},
                    {groups * out_each, in_each},
                    {},
                    {},
                    {},
                    {},
                    groups,
                    Pick(0, 2) == 0,
                    Pick(0, 1) == 0};
    if (c.transposed) c.weight = {groups * in_each, out_each};
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t kernel = Pick(1, dims == 3 ? 3 : 5);
      c.in.push_back(dims == 1 ? Pick(100, 300) : dims == 3 && d == 0 ? Pick(1, 4) : Pick(8, 40));
      c.weight.push_back(kernel), c.strides.push_back(Pick(1, 3)), c.dilations.push_back(Pick(1, 2));
      c.before.push_back(Pick(0, kernel)), c.after.push_back(Pick(0, kernel));
    }
    if (Pick(0, 3) == 0) c.activation = {ActivationKind::kRelu};
    if (Pick(0, 3) == 0) c.activation = {ActivationKind::kClip, -1, 2};
    return c;
  }

 private:
  int64_t Pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  std::mt19937 rng_{23};
};

TEST(PlaneConv, RandomGroupsKernelsAndDimensions) {
  const testing::InPieces pieces;
  RandomPlanes random;
  int tried = 0;
  for (int i = 0; i < 300; ++i) {
    const PlaneConvCase c = random.Draw();
    if (!c.fits() || simd::SetLevel(i % 3) != i % 3) continue;
    bool as_planes;
    EXPECT_LE(PlaneConvError(c, &as_planes), 3e-5)
        << "case " << i << " of " << c.in.ToString() << ", " << c.weight.ToString();
    tried += as_planes;
  }
  simd::SetLevel(9);
  EXPECT_GT(tried, 80);
}

// One filter a channel and one tap: the planes are read where they lie.
TEST(PlaneConv, PixelsByThemselves) {
  const testing::InPieces pieces;
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    for (const Shape& in : {Shape{2, 3, 100}, Shape{2, 3, 9, 7}, Shape{1, 5, 2, 8, 13}, Shape{1, 2, 1, 32}}) {
      PlaneConvCase c{in, {in[1], 1}, {}, {}, {}, {}, in[1], false, level != 1};
      for (int d = 2; d < in.rank(); ++d) {
        c.weight.push_back(1), c.strides.push_back(1), c.dilations.push_back(1);
        c.before.push_back(0), c.after.push_back(0);
      }
      bool as_planes;
      EXPECT_LE(PlaneConvError(c, &as_planes), 1e-6) << in.ToString();
      EXPECT_TRUE(as_planes) << in.ToString();
    }
  }
  simd::SetLevel(9);
}

// One filter a channel without padding: the planes are read where they lie, too, if there are rows enough.
TEST(PlaneConv, WindowsThatSeeNoPadding) {
  const testing::InPieces pieces;
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    for (const Shape& kernel : {Shape{1, 3}, Shape{3, 1}, Shape{3, 3}, Shape{5, 2}, Shape{2, 7}}) {
      for (int64_t dilation : {1, 2}) {
        for (int64_t height : {6, 13, 31}) {
          for (int64_t width : {15, 22, 39, 60}) {
            PlaneConvCase c{{2, 3, height, width},
                            {3, 1, kernel[0], kernel[1]},
                            {1, 1},
                            {dilation, dilation},
                            {0, 0},
                            {0, 0},
                            3,
                            false,
                            level != 1};
            if (!c.fits()) continue;
            bool as_planes;
            EXPECT_LE(PlaneConvError(c, &as_planes), 3e-5) << kernel.ToString() << height << " x " << width;
          }
        }
      }
    }
  }
  simd::SetLevel(9);
}

// Zeros of the padding times infinity would be no numbers.
TEST(PlaneConv, PaddingAddsNothingToAnyFilter) {
  Sample x(DType::kF32, {1, 2, 12, 12}), w(DType::kF32, {3, 2, 3, 3}), b(DType::kF32, {3}),
      y(DType::kF32, {1, 3, 12, 12});
  for (Sample* s : {&x, &w}) std::fill_n(Floats(*s), s->tensor.count(), 1.0f);
  std::fill_n(Floats(b), 3, 0.0f);
  Floats(w)[18] = std::numeric_limits<float>::infinity();  // of the second filter
  for (const bool constant : {false, true}) {
    const PlaneConvCase c{x.tensor.shape, w.tensor.shape, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false, constant};
    bool as_planes;
    RunCase(c, x, w, b, y, &as_planes);
    EXPECT_TRUE(as_planes);
    EXPECT_EQ(Floats(y)[0], 8);
    EXPECT_EQ(Floats(y)[144], 8) << "the first tap sees padding there";
    EXPECT_EQ(Floats(y)[144 + 13], std::numeric_limits<float>::infinity());
    EXPECT_EQ(Floats(y)[288 + 13], 18);
  }
}

TEST(PlaneConv, IsNotWhatTurnedImagesAreFasterIn) {
  EXPECT_TRUE(FewAreSeen({1, 3, 9, 64, 400, false}));
  EXPECT_FALSE(FewAreSeen({1, 8, 4, 64, 49, false})) << "small planes fill no vectors";
  EXPECT_TRUE(FewAreSeen({1, 3, 9, 64, 49, false})) << "... which matters less for a few channels";
  EXPECT_FALSE(FewAreSeen({1, 64, 9, 64, 400, false})) << "many products";
  EXPECT_TRUE(FewAreSeen({1, 64, 9, 4, 400, false})) << "... of few filters";
  EXPECT_TRUE(FewAreSeen({1, 64, 4, 32, 400, true}));
  EXPECT_FALSE(FewAreSeen({1, 64, 1, 32, 400, true})) << "each place sees one tap";
}

}  // namespace
}  // namespace belay::ops
