#include "ops/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/simd_targets.h"
#include "ops/conv/channels_last.h"
#include "ops/forms.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

struct Case {
  PoolKind kind;
  Shape in;
  std::vector<PoolDimension> dims;  // `in` is filled in
  bool ceil = false, count_padding = false, channels_last = false;
  double norm = 2;
  DType dtype = DType::kF32;
  int64_t divisor = 0;
};

double At(const Tensor& t, const std::vector<int64_t>& index) {
  int64_t at = t.offset;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * t.strides[static_cast<int>(d)];
  double value;
  tensor::Convert(DType::kF64, &value, t.dtype,
                  static_cast<const char*>(t.data) + at * static_cast<int64_t>(BytesOf(t.dtype)), 1);
  return value;
}

// One window by its definition: every tap of the kernel is looked at.
double Window(const Case& c, const Tensor& x, const std::vector<int64_t>& out) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0, norm = 0;
  int64_t inside = 0, counted = 0, taps = 1;
  for (const PoolDimension& d : c.dims) taps *= d.kernel;
  for (int64_t tap = 0; tap < taps; ++tap) {
    std::vector<int64_t> index = out;
    bool in_image = true, in_padding = true;
    int64_t rest = tap;
    for (size_t d = c.dims.size(); d-- > 0;) {
      const PoolDimension& dim = c.dims[d];
      index[d + 2] = out[d + 2] * dim.stride - dim.before + rest % dim.kernel * dim.dilation;
      rest /= dim.kernel;
      in_image = in_image && index[d + 2] >= 0 && index[d + 2] < dim.in;
      in_padding = in_padding && index[d + 2] < dim.in + dim.after;
    }
    counted += in_padding;
    if (!in_image) continue;
    ++inside;
    double value = At(x, index);
    most = std::max(most, value), sum += value, norm += std::pow(std::abs(value), c.norm);
  }
  if (c.kind == PoolKind::kMax) return most;
  if (c.kind == PoolKind::kNorm) return std::pow(norm, 1 / c.norm);
  return sum / static_cast<double>(c.divisor != 0 ? c.divisor : c.count_padding ? counted : inside);
}

double Error(Case c) {
  std::mt19937 rng(11);
  Shape shape{c.in[0], c.in[1]};
  std::vector<PoolSpans> spans;
  for (size_t d = 0; d < c.dims.size(); ++d) {
    c.dims[d].in = c.in[static_cast<int>(d) + 2];
    shape.push_back(PoolOutputSize(c.dims[d], c.ceil));
    spans.push_back(SlidingSpans(c.dims[d], shape.back(0)));
  }
  Sample x(c.dtype, c.in), y(c.dtype, shape);
  x.Randomise(rng);
  if (c.channels_last) {
    x.tensor.strides = ChannelsLastStrides(c.in);
    y.tensor.strides = ChannelsLastStrides(shape);
  }
  PlanRef plan = testing::NewPlan();
  PoolArgs args{.kind = c.kind,
                .input = x.BoundTo(*plan, Access::kRead, "x"),
                .out = y.BoundTo(*plan, Access::kWrite, "y"),
                .places = {},
                .spans = spans};
  args.count_padding = c.count_padding, args.norm = c.norm, args.divisor = c.divisor;
  PlanPool(*plan, args);
  testing::RunPlan(*plan);
  double worst = 0;
  for (int64_t i = 0; i < CountOf(shape); ++i) {
    std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
    int64_t rest = i;
    for (int d = shape.rank() - 1; d >= 0; --d)
      index[static_cast<size_t>(d)] = rest % shape[d], rest /= shape[d];
    double want = Window(c, x.tensor, index);
    worst = std::max(worst, std::abs(want - At(y.tensor, index)) / std::max(1.0, std::abs(want)));
  }
  return worst;
}

TEST(Pool, KindsShapesAndLayouts) {
  const std::vector<std::pair<Shape, std::vector<PoolDimension>>> shapes = {
      {{2, 3, 9}, {{0, 3, 2, 1, 1, 0}}},
      {{1, 5, 8, 7}, {{0, 3, 2, 1, 1, 1}, {0, 2, 1, 2, 0, 1}}},
      {{2, 2, 6, 5}, {{0, 3, 3, 1, 1, 1}, {0, 3, 2, 1, 0, 2}}},
      {{1, 37, 5, 6}, {{0, 3, 1, 1, 1, 1}, {0, 2, 2, 2, 0, 0}}},
      {{1, 2, 4, 5, 6}, {{0, 2, 1, 1, 0, 0}, {0, 3, 2, 1, 1, 1}, {0, 2, 2, 2, 1, 0}}}};
  for (PoolKind kind : {PoolKind::kMax, PoolKind::kMean, PoolKind::kNorm}) {
    for (const auto& [in, dims] : shapes) {
      for (int flags = 0; flags < 8; ++flags) {
        for (double norm : {1.0, 2.0, 3.0}) {
          Case c{kind, in, dims, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, norm};
          EXPECT_LE(Error(c), 1e-5) << in.ToString() << " kind " << int(kind) << " flags " << flags;
        }
      }
    }
  }
}

// Small integers, of planes of every size and of images whose channels come last.
TEST(Pool, SmallIntegers) {
  for (DType type : {DType::kI8, DType::kU8, DType::kI16, DType::kU16}) {
    for (const Shape& in :
         {Shape{3, 21, 9, 11}, Shape{1, 3, 40, 50}, Shape{2, 40, 5, 4}, Shape{1, 2, 7, 200}}) {
      for (bool last : {false, true}) {
        Case c{PoolKind::kMax, in, {{0, 3, 2, 1, 1, 0}, {0, 2, 1, 2, 1, 1}}, false, false, last, 1};
        c.dtype = type;
        EXPECT_EQ(Error(c), 0) << NameOf(type) << in.ToString() << last;
      }
    }
  }
}

// body() for each of the processor's vectors.
template <class Body>
void OnEachLevel(const Body& body) {
  for (int level = 0; level <= 2; ++level) {
    if (simd::SetLevel(level) != level) continue;
    SCOPED_TRACE(level);
    body();
  }
  simd::SetLevel(9);
}

TEST(Pool, PlanesOfEveryWidth) {
  const PoolDimension windows[] = {
      {0, 2, 2, 1, 0, 0}, {0, 3, 1, 1, 1, 1}, {0, 3, 2, 1, 1, 1}, {0, 3, 1, 2, 0, 2}, {0, 5, 3, 1, 2, 2},
      {0, 3, 3, 2, 1, 0}, {0, 7, 4, 1, 3, 3}, {0, 9, 1, 1, 4, 4}, {0, 8, 9, 1, 0, 0}, {0, 2, 2, 3, 1, 1}};
  OnEachLevel([&] {
    for (int64_t width : {8, 9, 15, 16, 17, 31, 35, 56}) {
      for (const PoolDimension& window : windows) {
        for (PoolKind kind : {PoolKind::kMax, PoolKind::kMean}) {
          Case c{kind, {1, 2, 5, width}, {{0, 3, 2, 1, 1, 1}, window}, width % 2 == 1, width > 15};
          if (width == 17) c.dtype = DType::kF64;
          if (width == 31) c.dtype = DType::kF16;
          EXPECT_LE(Error(c), c.dtype == DType::kF16 ? 1e-3 : 1e-5)
              << "width " << width << " kernel " << window.kernel << " stride " << window.stride << " kind "
              << int(kind);
        }
      }
    }
  });
}

// A divisor that is given may be negative, too.
TEST(Pool, MeansByAGivenDivisor) {
  for (int64_t divisor : {1, 3, -2}) {
    for (bool channels_last : {false, true}) {
      for (DType type : {DType::kF32, DType::kF64}) {
        Case c{PoolKind::kMean, {2, 3, 7, 20}, {{0, 3, 2, 1, 1, 1}, {0, 3, 1, 1, 1, 1}}};
        c.channels_last = channels_last, c.dtype = type, c.divisor = divisor;
        EXPECT_LE(Error(c), 1e-5) << divisor << ' ' << NameOf(type);
      }
    }
  }
}

TEST(Pool, WindowsOfWholePlanesAndVolumes) {
  OnEachLevel([] {
    for (PoolKind kind : {PoolKind::kMax, PoolKind::kMean}) {
      for (int64_t width : {2, 7, 20, 130}) {  // the last is too large to be a row
        const PoolDimension all{0, width, 1, 1, 0, 0};
        EXPECT_LE(Error({kind, {1, 2, width, width}, {all, all}}), 1e-5) << width;
        EXPECT_LE(Error({kind, {1, 2, 3, 4, width}, {{0, 2, 1, 1, 0, 0}, {0, 3, 1, 1, 1, 0}, all}}), 1e-5)
            << width;
      }
    }
  });
}

TEST(Pool, ANanInAPlaneReachesTheWindowsThatSeeIt) {
  constexpr int64_t kWide = 37, kHigh = 6;
  const std::vector<PoolSpans> spans = {SlidingSpans({kHigh, 3, 1, 1, 1, 1}, kHigh),
                                        SlidingSpans({kWide, 3, 1, 1, 1, 1}, kWide)};
  OnEachLevel([&] {
    for (auto [line, column] : {std::pair{0, 0}, {2, 13}, {3, 32}, {5, 36}}) {
      Sample x(DType::kF32, {1, 1, kHigh, kWide}), y(DType::kF32, {1, 1, kHigh, kWide});
      std::fill_n(static_cast<float*>(x.tensor.data), kHigh * kWide, 1.0f);
      static_cast<float*>(x.tensor.data)[line * kWide + column] = NAN;
      PlanRef plan = testing::NewPlan();
      PlanPool(*plan, {.kind = PoolKind::kMax,
                       .input = x.BoundTo(*plan, Access::kRead, "x"),
                       .out = y.BoundTo(*plan, Access::kWrite, "y"),
                       .places = {},
                       .spans = spans});
      testing::RunPlan(*plan);
      for (int64_t i = 0; i < kHigh * kWide; ++i) {
        const bool near = std::abs(i / kWide - line) <= 1 && std::abs(i % kWide - column) <= 1;
        ASSERT_EQ(std::isnan(static_cast<const float*>(y.tensor.data)[i]), near) << i << " of " << line;
      }
    }
  });
}

// Of as many channels as a processor takes at once, and of those that are left.
TEST(Pool, ANanThatIsMetStays) {
  Sample x(DType::kF32, {1, 37, 5, 5}), y(DType::kF32, {1, 37, 1, 1});
  std::mt19937 rng(12);
  x.Randomise(rng);
  auto* values = static_cast<float*>(x.tensor.data);
  const std::pair<int, int> places[] = {{0, 0}, {7, 24}, {16, 4}, {35, 12}, {36, 13}};
  for (auto [channel, pixel] : places) values[channel * 25 + pixel] = NAN;
  const std::vector<PoolSpans> spans(2, SlidingSpans({5, 5, 1, 1, 0, 0}, 1));
  PlanRef plan = testing::NewPlan();
  PoolArgs args{.kind = PoolKind::kMax,
                .input = x.BoundTo(*plan, Access::kRead, "x"),
                .out = y.BoundTo(*plan, Access::kWrite, "y"),
                .places = {},
                .spans = spans};
  PlanPool(*plan, args);
  testing::RunPlan(*plan);
  for (int c = 0; c < 37; ++c) {
    const bool met = c == 0 || c == 7 || c == 16 || c == 35 || c == 36;
    EXPECT_EQ(std::isnan(static_cast<const float*>(y.tensor.data)[c]), met) << c;
  }
}

TEST(Pool, Types) {
  for (auto [dtype, allowed] : {std::pair{DType::kF16, 1e-3},
                                {DType::kBF16, 8e-3},
                                {DType::kF64, 1e-12},
                                {DType::kI8, 0.0},
                                {DType::kU8, 0.0},
                                {DType::kI64, 0.0}}) {
    for (int64_t channels : {3, 131}) {
      Case c{PoolKind::kMax, {1, channels, 6, 5}, {{0, 3, 2, 1, 1, 1}, {0, 2, 1, 1, 0, 0}}};
      c.dtype = dtype;
      EXPECT_LE(Error(c), allowed) << NameOf(dtype) << channels;
    }
  }
}

TEST(Pool, AdaptiveWindowsCoverTheInput) {
  PoolSpans spans = AdaptiveSpans(7, 3);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].first, 0);
  EXPECT_EQ(spans[0].count, 3);
  EXPECT_EQ(spans[1].first, 2);
  EXPECT_EQ(spans[1].count, 3);
  EXPECT_EQ(spans[2].first, 4);
  EXPECT_EQ(spans[2].count, 3);
}

// 23 into 5 in rows: windows of five and six, none as far from the one before as the next is.
TEST(Pool, AdaptiveMeansOfPlanes) {
  constexpr int64_t kWide = 23, kHigh = 9;
  const std::vector<PoolSpans> spans = {AdaptiveSpans(kHigh, 4), AdaptiveSpans(kWide, 5)};
  Sample x(DType::kF32, {1, 2, kHigh, kWide}), y(DType::kF32, {1, 2, 4, 5});
  std::mt19937 rng(13);
  x.Randomise(rng);
  PlanRef plan = testing::NewPlan();
  PlanPool(*plan, {.kind = PoolKind::kMean,
                   .input = x.BoundTo(*plan, Access::kRead, "x"),
                   .out = y.BoundTo(*plan, Access::kWrite, "y"),
                   .places = {},
                   .spans = spans});
  testing::RunPlan(*plan);
  for (int64_t c = 0; c < 2; ++c) {
    for (int64_t i = 0; i < 20; ++i) {
      const PoolSpan &lines = spans[0][static_cast<size_t>(i / 5)],
                     &columns = spans[1][static_cast<size_t>(i % 5)];
      double sum = 0;
      for (int64_t k = 0; k < lines.count * columns.count; ++k)
        sum += At(x.tensor, {0, c, lines.first + k / columns.count, columns.first + k % columns.count});
      EXPECT_NEAR(At(y.tensor, {0, c, i / 5, i % 5}), sum / static_cast<double>(lines.count * columns.count),
                  1e-6);
    }
  }
}

TEST(Pool, PlacesOfTheLargest) {
  Sample x(DType::kF32, {1, 2, 2, 4}), y(DType::kF32, {1, 2, 1, 2}), places(DType::kI64, {1, 2, 1, 2});
  const float values[] = {1, 5, 2, 2, 3, 4, 9, 0, -1, -2, -3, -4, -5, -6, -7, -1};
  std::copy_n(values, 16, static_cast<float*>(x.tensor.data));
  PlanRef plan = testing::NewPlan();
  PoolArgs args{.kind = PoolKind::kMax,
                .input = x.BoundTo(*plan, Access::kRead, "x"),
                .out = y.BoundTo(*plan, Access::kWrite, "y"),
                .places = places.BoundTo(*plan, Access::kWrite, "indices"),
                .spans = {SlidingSpans({2, 2, 2, 1, 0, 0}, 1), SlidingSpans({4, 2, 2, 1, 0, 0}, 2)}};
  PlanPool(*plan, args);
  testing::RunPlan(*plan);
  const auto* at = static_cast<const int64_t*>(places.tensor.data);
  EXPECT_EQ(std::vector<int64_t>(at, at + 4), (std::vector<int64_t>{1, 6, 8, 15}));
}

}  // namespace
}  // namespace belay::ops
