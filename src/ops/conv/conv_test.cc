#include "ops/conv/conv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/simd_targets.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv_backend.h"
#include "ops/conv/grouped_conv.h"
#include "ops/conv/narrow_conv.h"
#include "ops/conv/ready_conv.h"
#include "ops/conv/winograd.h"
#include "ops/kernels.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

struct Case {
  Shape in, weight;
  std::vector<int64_t> strides, dilations, before, after;
  int64_t groups = 1;
  bool transposed = false;
  DType dtype = DType::kF32;
  Layout layout = Layout::kPacked;
  bool channels_last = false;
  Activation activation = {};
  bool residual = false;
  bool constant = false;
  bool packed_ahead = false;
  bool plainly = false;                    // ... in an order that no kernel wants
  bool all_taps = false;                   // ... of the whole kernel
  const ConvBackend* packed_by = nullptr;  // ... as this one wants them
  bool bf16 = false;
};

Shape ResultShape(const Case& c) {
  Shape shape{c.in[0], c.transposed ? c.weight[1] * c.groups : c.weight[0]};
  for (size_t i = 0; i < c.strides.size(); ++i) {
    int d = static_cast<int>(i) + 2;
    if (c.transposed) {
      shape.push_back((c.in[d] - 1) * c.strides[i] + (c.weight[d] - 1) * c.dilations[i] + 1 - c.before[i] -
                      c.after[i]);
    } else {
      shape.push_back(
          ConvOutputSize(c.in[d], c.weight[d], c.strides[i], c.dilations[i], c.before[i], c.after[i]));
    }
  }
  return shape;
}

// The elements in the order of the shape, whatever their layout.
std::vector<double> ElementsOf(const Tensor& t) {
  std::vector<double> values(static_cast<size_t>(CountOf(t.shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t at = t.offset, rest = static_cast<int64_t>(i);
    for (int d = t.shape.rank() - 1; d >= 0; --d) at += rest % t.shape[d] * t.strides[d], rest /= t.shape[d];
    const char* data = static_cast<const char*>(t.data) + at * static_cast<int64_t>(BytesOf(t.dtype));
    tensor::Convert(DType::kF64, &values[i], t.dtype, data, 1);
  }
  return values;
}

// Every input element times every tap, wherever it lands: the definition turned round.
std::vector<double> Scattered(const Case& c, const Tensor& x, const Tensor& w, const Shape& out) {
  std::vector<double> sums(static_cast<size_t>(CountOf(out)), 0.0);
  int rank = c.in.rank();
  int64_t in_group = c.in[1] / c.groups, out_group = out[1] / c.groups;
  tensor::Strides steps = PackedStrides(out);
  int64_t count = CountOf(c.in), taps = CountOf(c.weight) / c.weight[0] / c.weight[1];
  const std::vector<double> inputs = ElementsOf(x), weights = ElementsOf(w);
  const tensor::Strides weight_steps = PackedStrides(c.weight);
  const int64_t next_weight = weight_steps[c.transposed ? 1 : 0], plane = steps[1];
  for (int64_t i = 0; i < count; ++i) {
    int64_t index[8], rest = i;
    for (int d = rank - 1; d >= 0; --d) index[d] = rest % c.in[d], rest /= c.in[d];
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t weight = tap, place = index[0] * steps[0], left = tap;
      bool inside = true;
      for (int d = rank - 1; d >= 2; --d) {
        auto k = static_cast<size_t>(d - 2);
        const int64_t offset = left % c.weight[d] * c.dilations[k];
        left /= c.weight[d];
        int64_t at =
            c.transposed ? index[d] * c.strides[k] + offset - c.before[k] : index[d] + c.before[k] - offset;
        if (!c.transposed) {
          inside = inside && at % c.strides[k] == 0;
          at = at >= 0 ? at / c.strides[k] : -1;
        }
        inside = inside && at >= 0 && at < out[d];
        place += at * steps[d];
      }
      if (!inside) continue;
      const int64_t group = index[1] / in_group;
      weight += c.transposed ? index[1] * weight_steps[0]
                             : group * out_group * weight_steps[0] + index[1] % in_group * weight_steps[1];
      place += group * out_group * plane;
      const double value = inputs[static_cast<size_t>(i)], *factor = weights.data() + weight;
      double* sum = sums.data() + place;
      for (int64_t o = 0; o < out_group; ++o, factor += next_weight, sum += plane) *sum += value * *factor;
    }
  }
  return sums;
}

Tensor ChannelsLast(Sample& sample) {
  Tensor t = sample.tensor;
  t.strides = ChannelsLastStrides(t.shape);
  return t;
}

double Error(const Case& c) {
  std::mt19937 rng(5);
  Shape shape = ResultShape(c);
  Sample x(c.dtype, c.in, c.layout), w(c.dtype, c.weight, c.layout), b(c.dtype, {shape[1]});
  Sample add(c.dtype, shape, c.layout), out(c.dtype, shape, c.layout);
  for (Sample* s : {&x, &w, &b, &add}) s->Randomise(rng, 2);
  if (c.channels_last) {
    for (Sample* s : {&x, &add, &out}) s->tensor = ChannelsLast(*s);
  }
  PlanRef plan = testing::NewPlan();
  ConvArgs args{.input = x.BoundTo(*plan, Access::kRead, "x"),
                .weight = {&w.tensor, nullptr, -1, "w"},
                .bias = b.BoundTo(*plan, Access::kRead, "b"),
                .residual = {},
                .out = out.BoundTo(*plan, Access::kWrite, "y"),
                .strides = c.strides,
                .dilations = c.dilations,
                .before = c.before,
                .after = c.after,
                .groups = c.groups,
                .transposed = c.transposed,
                .activation = c.activation,
                .constant_weight = c.constant ? w.tensor.data : nullptr};
  if (!c.constant) args.weight = w.BoundTo(*plan, Access::kRead, "w");
  args.bf16 = c.bf16;
  std::optional<PackedWeights> packed;
  if (c.packed_ahead) packed = PackConvWeights(args);
  if (packed && c.plainly) {
    WeightLayout layout = PlainWeightLayout(ParseWeightLayout(packed->layout).sizes);
    std::shared_ptr<const char[]> elements = Unpacked(*packed);
    if (c.all_taps) {
      const int64_t sizes[] = {c.groups, c.weight[0] / c.groups, c.weight[1], 1, c.weight[2], c.weight[3]};
      layout = PlainWeightLayout(sizes);
      elements = PackedConstant(args.weight, args.constant_weight, DType::kF32);
    }
    packed = PackedWeights{TextOf(layout), "another", elements, layout.bytes()};
  }
  if (packed) {
    args.packed_weight = &*packed;
    args.constant_weight = nullptr;
  }
  if (c.residual) args.residual = add.BoundTo(*plan, Access::kRead, "r");
  PlanConv(*plan, args);
  if (packed && !c.plainly) {
    EXPECT_GT(packed->data.use_count(), 1) << "the plan reads them where they lie";
    if (c.packed_by != nullptr) {
      EXPECT_EQ(ParseWeightLayout(packed->layout).mixed, c.packed_by == &WinogradConv());
      EXPECT_EQ(packed->machine, c.packed_by->machine());
    }
  }
  testing::RunPlan(*plan);

  const std::vector<double> want = Scattered(c, x.tensor, w.tensor, shape), biases = ElementsOf(b.tensor),
                            residual = ElementsOf(add.tensor), got = ElementsOf(out.tensor);
  const int64_t plane = PackedStrides(shape)[1];
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    double value = want[i] + biases[i / static_cast<size_t>(plane) % biases.size()];
    if (c.residual) value += residual[i];
    value = Activate(c.activation, value);
    worst = std::max(worst, std::abs(value - got[i]) / std::max(1.0, std::abs(value)));
  }
  return worst;
}

const std::vector<Case> kShapes = {
    {{1, 3, 7, 8}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{2, 3, 9, 8}, {5, 3, 3, 2}, {2, 1}, {1, 2}, {0, 1}, {2, 0}},
    {{2, 8, 6, 6}, {16, 8, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {{1, 8, 6, 5}, {8, 1, 3, 3}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, 8},
    {{2, 6, 6, 5}, {12, 1, 5, 3}, {1, 1}, {1, 1}, {2, 1}, {2, 1}, 6},
    {{1, 6, 6, 5}, {4, 3, 3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 2},
    {{2, 4, 11}, {6, 4, 3}, {2}, {1}, {1}, {0}},
    {{1, 2, 5, 6, 4}, {3, 2, 3, 2, 1}, {1, 2, 1}, {1, 1, 1}, {1, 0, 0}, {0, 1, 0}},
    {{1, 20, 40, 33}, {33, 20, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 3, 4, 5}, {3, 6, 3, 3}, {2, 2}, {1, 1}, {1, 0}, {1, 0}, 1, true},
    {{2, 4, 3, 3}, {4, 2, 2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 2, true},
    {{1, 3, 5}, {3, 2, 3}, {1}, {2}, {1}, {1}, 1, true},
    {{2, 3, 4, 5}, {3, 6, 2, 3}, {2, 3}, {1, 1}, {0, 0}, {0, 0}, 1, true},
    // Rows of one element.
    {{2, 5, 19, 1}, {6, 5, 3, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 0}},
    {{2, 4, 9, 1}, {4, 1, 3, 1}, {1, 1}, {2, 1}, {2, 0}, {1, 0}, 4},
    // Planes of a volume, each by itself, and lines through them.
    {{2, 7, 3, 8, 9}, {18, 7, 1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {{2, 4, 3, 6, 5}, {6, 2, 1, 3, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 0}, {0, 0, 2}, 2},
    {{2, 5, 7, 3, 4}, {6, 5, 3, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0}, {2, 0, 0}},
    {{1, 3, 8, 1, 1}, {4, 3, 3, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 0, 0}},
    {{1, 3, 5, 4, 1}, {4, 3, 3, 2, 1}, {1, 2, 1}, {1, 1, 1}, {1, 0, 0}, {0, 1, 0}},
    {{1, 3, 5, 1}, {3, 2, 3, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 0}, 1, true},
    // Transposed in steps of one: plain ones with their taps turned round, but for too much padding or few
    // sums.
    {{2, 5, 6, 7}, {5, 20, 3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, true},
    {{1, 8, 9}, {8, 7, 5}, {1}, {2}, {3}, {8}, 1, true},
    {{1, 3, 4, 5, 3}, {3, 17, 2, 3, 3}, {1, 1, 1}, {1, 2, 1}, {0, 4, 2}, {1, 0, 2}, 1, true},
    {{1, 16, 8, 8}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {3, 1}, {0, 1}, 1, true},
    {{1, 4, 6, 6}, {4, 3, 3, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, 1, true},
    // To many channels, and more images than fit together.
    {{1, 4, 5, 6}, {4, 70, 3, 4}, {2, 3}, {1, 2}, {1, 0}, {0, 1}, 2, true},
    {{3, 2, 14, 15}, {2, 66, 5, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 0}, 1, true},
};

TEST(Conv, ShapesOfEveryKind) {
  for (size_t i = 0; i < kShapes.size(); ++i) EXPECT_LE(Error(kShapes[i]), 1e-5) << "case " << i;
}

// Of all sorts, also with more padding than a kernel reaches over.
Case RandomConv(std::mt19937& rng) {
  using enum ActivationKind;
  const auto pick = [&rng](auto... of) {
    const int64_t all[] = {of...};
    return all[rng() % sizeof...(of)];
  };
  const int64_t spatial = pick(1, 2, 2, 3), groups = pick(1, 1, 1, 2, 4, 8),
                in = groups * pick(1, 1, 2, 3, 8, 16, 20), out = groups * pick(1, 1, 2, 4, 5, 16, 24, 48);
  Case c{};
  c.in = {pick(1, 1, 2), in}, c.weight = {out, in / groups};
  c.groups = groups;
  for (int64_t d = 0; d < spatial; ++d) {
    const int64_t kernel = pick(1, 1, 2, 3, 3, 5), dilation = pick(1, 1, 2, 3),
                  reach = (kernel - 1) * dilation + 1;
    c.weight.push_back(kernel);
    c.strides.push_back(pick(1, 1, 2, 3));
    c.dilations.push_back(dilation);
    c.before.push_back(pick(0, 0, kernel / 2, reach - 1, reach, reach + 2));
    c.after.push_back(pick(0, 0, kernel / 2, reach - 1, reach, reach + 2));
    const int64_t least = std::max<int64_t>(1, reach - c.before.back() - c.after.back());
    c.in.push_back(least + pick(0, 1, 2, 3, 7, 12));
  }
  c.activation = std::array<Activation, 4>{{{}, {kRelu, 0.1f}, {kClip, -1, 2}, {kSwish, 1}}}[rng() % 4];
  c.channels_last = pick(0, 1) != 0, c.residual = pick(0, 1) != 0;
  c.constant = pick(0, 1) != 0, c.packed_ahead = c.constant && pick(0, 1) != 0;
  return c;
}

std::string WordsOf(const Case& c) {
  return fmt::format(
      "{} by {}, strides {}, dilations {}, padding {} and {}, groups {}{}{}{}{}, activation {}",
      c.in.ToString(), c.weight.ToString(), fmt::join(c.strides, ","), fmt::join(c.dilations, ","),
      fmt::join(c.before, ","), fmt::join(c.after, ","), c.groups, c.channels_last ? ", channels last" : "",
      c.residual ? ", residual" : "", c.constant ? ", constant" : "", c.packed_ahead ? ", packed" : "",
      static_cast<int>(c.activation.kind));
}

TEST(Conv, RandomShapes) {
  std::mt19937 rng(1);
  for (int i = 0; i < 400; ++i) {
    std::optional<testing::InPieces> pieces;
    if (i % 3 == 0) pieces.emplace();
    const Case c = RandomConv(rng);
    ASSERT_LE(Error(c), 1e-4) << "case " << i << ": " << WordsOf(c);
  }
}

TEST(Conv, LayoutsTypesAndConstants) {
  for (size_t i = 0; i < kShapes.size(); ++i) {
    for (auto [dtype, allowed] :
         {std::pair{DType::kF32, 1e-5}, {DType::kF16, 1e-3}, {DType::kBF16, 8e-3}, {DType::kF64, 1e-12}}) {
      Case c = kShapes[i];
      c.dtype = dtype, c.residual = true, c.constant = true;
      EXPECT_LE(Error(c), allowed) << "case " << i << " " << NameOf(dtype);
      c.layout = Layout::kTransposed;
      EXPECT_LE(Error(c), allowed) << "transposed, case " << i << " " << NameOf(dtype);
      c.layout = Layout::kPacked, c.channels_last = true;
      EXPECT_LE(Error(c), allowed) << "channels last, case " << i << " " << NameOf(dtype);
    }
  }
}

// Of planes, with weights that change: one image, a few, and numbers of them that differ by one.
TEST(Conv, ImagesAFewAtATime) {
  const Case cases[] = {{{5, 24, 41, 40}, {33, 24, 3, 2}, {2, 1}, {1, 2}, {1, 0}, {0, 2}},
                        {{7, 40, 16, 16}, {64, 40, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
                        {{7, 32, 15, 17}, {48, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
                        {{6, 64, 5, 9, 9}, {32, 64, 2, 1, 1}, {1, 1, 2}, {1, 1, 1}, {1, 0, 0}, {0, 0, 0}},
                        {{7, 33, 13, 8}, {33, 18, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 1}, 1, true}};
  for (const Case& shape : cases) {
    for (auto [dtype, allowed] : {std::pair{DType::kF32, 1e-5}, {DType::kF16, 1e-3}, {DType::kBF16, 8e-3}}) {
      for (const bool in_pieces : {false, true}) {
        std::optional<testing::InPieces> pieces;
        if (in_pieces) pieces.emplace();
        Case c = shape;
        c.dtype = dtype;
        EXPECT_LE(Error(c), allowed) << WordsOf(c) << " " << NameOf(dtype);
      }
    }
  }
}

TEST(Conv, Activations) {
  using enum ActivationKind;
  for (Activation a : {Activation{kRelu},
                       {kRelu, 0.1f},
                       {kClip, -1, 2},
                       {kSigmoid},
                       {kTanh},
                       {kHardSwish},
                       {kHardSigmoid, 0.2f, 0.5f},
                       {kSwish, 1},
                       {kGelu},
                       {kGeluTanh},
                       {kElu, 1},
                       {kMish},
                       {kSoftplus}}) {
    for (bool residual : {false, true}) {
      for (size_t shape : {size_t{0}, size_t{2}, size_t{3}, size_t{9}}) {
        Case c = kShapes[shape];
        c.activation = a, c.residual = residual, c.channels_last = true;
        EXPECT_LE(Error(c), 2e-4) << "kind " << static_cast<int>(a.kind) << " case " << shape;
        c.activation.scale = -1.5f, c.activation.shift = 0.7f;
        EXPECT_LE(Error(c), 2e-4) << "scaled kind " << static_cast<int>(a.kind) << " case " << shape;
      }
    }
  }
}

// One filter a channel: kernels, strides, dilations and paddings of all kinds, plain and transposed.
TEST(Conv, PlanesAsTheyLie) {
  std::mt19937 rng(17);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  int tried = 0;
  for (int i = 0; i < 400; ++i) {
    const int level = i % 3;
    if (simd::SetLevel(level) != level) continue;
    const int64_t channels = pick(0, 5) == 0 ? pick(16, 20) : pick(2, 4), multiplier = pick(1, 2);
    Case c{{pick(1, 2), channels}, {channels * multiplier, 1}, {}, {}, {}, {}};
    c.groups = channels, c.transposed = pick(0, 1) == 1, c.constant = pick(0, 1) == 1;
    c.packed_ahead = c.constant;
    if (c.transposed) c.weight = {channels, multiplier};
    bool fits = true;
    for (int d = pick(0, 3) == 0 ? 1 : 0; d < 2; ++d) {
      const int64_t in = pick(1, d == 0            ? 20
                                 : pick(0, 3) == 0 ? 120
                                                   : 40),
                    kernel = pick(1, 6), stride = pick(1, 4), dilation = pick(1, 3);
      c.in.push_back(in), c.weight.push_back(kernel), c.strides.push_back(stride),
          c.dilations.push_back(dilation);
      c.before.push_back(pick(0, kernel)), c.after.push_back(pick(0, kernel));
      fits = fits && (c.transposed || in + c.before.back() + c.after.back() > (kernel - 1) * dilation);
    }
    const Shape result = ResultShape(c);
    fits = fits && std::all_of(result.begin(), result.end(), [](int64_t size) { return size > 0; });
    if (!fits) continue;
    ++tried;
    if (i % 5 == 0) c.dtype = DType::kF16;
    if (i % 4 == 1) c.activation = {ActivationKind::kRelu};
    if (i % 4 == 2) c.activation = {ActivationKind::kClip, -1, 2};
    EXPECT_LE(Error(c), c.dtype == DType::kF16 ? 2e-3 : 1e-5)
        << "case " << i << " of " << c.in.ToString() << ", " << c.weight.ToString();
  }
  simd::SetLevel(9);
  EXPECT_GT(tried, 150);
}

TEST(Conv, PaddingAddsNothingToAPlane) {
  Sample x(DType::kF32, {1, 2, 4, 5}), w(DType::kF32, {2, 1, 3, 3}), y(DType::kF32, {1, 2, 4, 5});
  for (Sample* s : {&x, &w}) std::fill_n(static_cast<float*>(s->tensor.data), s->tensor.count(), 1.0f);
  static_cast<float*>(w.tensor.data)[0] = INFINITY;
  const std::vector<int64_t> ones{1, 1};
  PlanRef plan = testing::NewPlan();
  PlanConv(*plan, {.input = x.BoundTo(*plan, Access::kRead, "x"),
                   .weight = w.BoundTo(*plan, Access::kRead, "w"),
                   .bias = {},
                   .residual = {},
                   .out = y.BoundTo(*plan, Access::kWrite, "y"),
                   .strides = ones,
                   .dilations = ones,
                   .before = ones,
                   .after = ones,
                   .groups = 2});
  testing::RunPlan(*plan);
  const auto* at = static_cast<const float*>(y.tensor.data);
  EXPECT_EQ(at[0], 4) << "the first tap sees padding there";
  EXPECT_EQ(at[6], INFINITY);
  EXPECT_EQ(at[20], 4);
}

TEST(Conv, TransposedRowsAreCutAnywhere) {
  ConvGeometry g{1,         1,         3,         2,         {1, 5, 4}, {1, 12, 9},
                 {1, 4, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {0, 0, 0}, true};
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> random(-1, 1);
  std::vector<float> src(3 * 5 * 4), weights(3 * 2 * 4 * 3), want(2 * 12 * 9), got(want.size());
  for (auto* list : {&src, &weights}) std::generate(list->begin(), list->end(), [&] { return random(rng); });
  auto run = [&](const ConvBackend& backend, const ConvPart& part, std::vector<float>* dst) {
    const ConvSpec spec{part.geometry, ConvType::kF32, false, false, {}};
    WeightLayout layout;
    ASSERT_TRUE(backend.layout(spec, &layout));
    ConvPrimitive* made = backend.make(spec, layout);
    ASSERT_NE(made, nullptr);
    std::vector<char> packed(static_cast<size_t>(layout.count() * 4));
    std::vector<char> scratch(static_cast<size_t>(backend.scratch_bytes(*made)) + 64);
    std::vector<char> turned(
        static_cast<size_t>(backend.pack_scratch_bytes == nullptr ? 0 : backend.pack_scratch_bytes(*made)));
    ASSERT_TRUE(backend.pack(*made, weights.data(), packed.data(), turned.data()));
    ASSERT_TRUE(backend.run(
        *made, {src.data() + part.src, packed.data(), nullptr, dst->data() + part.dst, scratch.data()}));
    backend.drop(made);
  };
  run(PlainConv(), {g, 0, 0}, &want);
  for (const ConvBackend* backend : {&PlainConv(), TransposedConv()}) {
    if (backend == nullptr) continue;
    for (int width : {1, 2, 5, 12}) {
      std::fill(got.begin(), got.end(), -1.0f);
      for (const ConvPart& part : CutRowsEvenly(g, width)) run(*backend, part, &got);
      for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << width << " at " << i;
    }
  }
}

TEST(Conv, ThePlainOneSumsInItsScratch) {
  const ConvGeometry g{1,         1,         3,         7,         {1, 5, 4}, {1, 5, 4},
                       {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, false};
  for (ConvType type : {ConvType::kF32, ConvType::kF64}) {
    const ReadyConv ready(PlainConv(), {g, type, false, false, {}}, {{g, 0, 0}}, nullptr);
    EXPECT_GE(ready.scratch_bytes(), 7 * (type == ConvType::kF64 ? 8 : 4));
  }
}

// A backend that cuts as for `width` cores gives what the whole one does. The parts of the second geometry
// want their weights packed in several ways.
TEST(Conv, PartsOfBothBackendsAgree) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> random(-1, 1);
  for (const ConvGeometry& g : {ConvGeometry{1,
                                             1,
                                             40,
                                             48,
                                             {1, 31, 33},
                                             {1, 31, 33},
                                             {1, 3, 3},
                                             {1, 1, 1},
                                             {1, 1, 1},
                                             {0, 1, 1},
                                             {0, 1, 1},
                                             false},
                                ConvGeometry{1,
                                             1,
                                             48,
                                             192,
                                             {1, 16, 40},
                                             {1, 8, 20},
                                             {1, 3, 3},
                                             {1, 2, 2},
                                             {1, 1, 1},
                                             {0, 1, 1},
                                             {0, 0, 0},
                                             false},
                                ConvGeometry{1,
                                             1,
                                             32,
                                             48,
                                             {1, 31, 33},
                                             {1, 30, 34},
                                             {1, 3, 3},
                                             {1, 1, 1},
                                             {1, 1, 1},
                                             {0, 1, 2},
                                             {0, 0, 1},
                                             false}}) {
    const int64_t in = g.in_channels * g.in[1] * g.in[2], out = g.out_channels * g.out[1] * g.out[2];
    std::vector<float> src(static_cast<size_t>(in)), want(static_cast<size_t>(out)), got(want.size());
    std::vector<float> weights(static_cast<size_t>(g.in_channels * g.out_channels * 9));
    for (auto* list : {&src, &weights})
      std::generate(list->begin(), list->end(), [&] { return random(rng); });
    auto run = [&](const ConvBackend& backend, int width, std::vector<float>* dst) {
      const ReadyConv ready(backend, {g, ConvType::kF32, false, false, {}}, CutConv(g, width), nullptr);
      ASSERT_TRUE(ready.usable());
      std::vector<char> packed(static_cast<size_t>(ready.weight_bytes())),
          scratch(static_cast<size_t>(ready.scratch_bytes()));
      ready.Pack(reinterpret_cast<const char*>(weights.data()), packed.data(), nullptr);
      for (const ReadyConv::Part& part : ready.parts()) {
        ConvCall call{src.data() + part.src, packed.data() + part.weights, nullptr, dst->data() + part.dst,
                      scratch.data()};
        ASSERT_TRUE(backend.run(*part.primitive, call));
      }
    };
    run(PlainConv(), 1, &want);
    for (const ConvBackend* backend :
         {&PlainConv(), OneDnnConv(), &WinogradConv(), &GroupedConv(), &NarrowConv()}) {
      for (int width : {1, 2, 3, 64}) {
        const ConvSpec spec{g, ConvType::kF32, false, false, {}};
        const bool fits = (backend != &WinogradConv() || WinogradFits(spec)) &&
                          (backend != &GroupedConv() || GroupedFits(spec)) &&
                          (backend != &NarrowConv() || NarrowFits(spec));
        if (backend == nullptr || !fits) continue;
        std::fill(got.begin(), got.end(), -1.0f);
        run(*backend, width, &got);
        for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-4) << width;
      }
    }
  }
}

// Kernels of three by three over many channels, which PlanConv computes so.
const std::vector<Case> kWinogradShapes = {
    {{2, 16, 8, 9}, {24, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 23, 9, 8}, {18, 23, 3, 3}, {1, 1}, {1, 1}, {0, 2}, {1, 0}},
    {{1, 16, 7, 7}, {33, 16, 3, 3}, {1, 1}, {1, 1}, {2, 0}, {0, 3}},
    {{1, 16, 3, 6, 5}, {18, 16, 1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},  // planes of a volume
    {{1, 16, 9, 11}, {20, 16, 3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}},  // images between each other
    {{2, 16, 7, 6}, {18, 16, 3, 3}, {1, 1}, {3, 5}, {1, 5}, {3, 7}},
    {{2, 16, 4, 6, 5}, {18, 16, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {0, 1, 1}},
    {{1, 16, 4, 5, 6}, {20, 16, 2, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1}, {1, 1, 2}},
};

TEST(Conv, ByWinogradOnEveryProcessor) {
  using enum ActivationKind;
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    for (size_t i = 0; i < kWinogradShapes.size(); ++i) {
      Case c = kWinogradShapes[i];
      c.constant = true;
      EXPECT_LE(Error(c), 1e-5) << "case " << i;
      c.channels_last = c.residual = c.packed_ahead = true, c.packed_by = &WinogradConv();
      EXPECT_LE(Error(c), 1e-5) << "case " << i << ", packed ahead";
    }
    for (Activation a : {Activation{kRelu, 0.1f},
                         {kClip, -1, 2},
                         {kSigmoid, 0, 0, 2, 1},
                         {kHardSwish},
                         {kSwish, 1},
                         {kMish}}) {
      Case c = kWinogradShapes[0];
      c.constant = c.residual = true;
      c.activation = a;
      EXPECT_LE(Error(c), 2e-4) << "kind " << static_cast<int>(a.kind);
    }
  }
  simd::SetLevel(9);
}

// `ahead`: who packs the weights of a case at a level of vectors, and computes it; null: it does not matter.
void CheckOnEveryProcessor(const std::vector<Case>& cases,
                           const std::function<const ConvBackend*(int, const Case&)>& ahead) {
  using enum ActivationKind;
  for (int level : {0, 1, 2}) {
    if (simd::SetLevel(level) != level) continue;
    for (size_t i = 0; i < cases.size(); ++i) {
      Case c = cases[i];
      c.constant = true;
      EXPECT_LE(Error(c), 1e-5) << "case " << i;
      c.channels_last = c.residual = c.packed_ahead = true;
      c.activation = {i % 2 == 0 ? kRelu : kSwish, i % 2 == 0 ? 0.1f : 1.0f};
      c.packed_by = ahead(level, c);
      EXPECT_LE(Error(c), 1e-5) << "case " << i << ", packed ahead";
      c.plainly = true;
      EXPECT_LE(Error(c), 1e-5) << "case " << i << ", packed by another";
    }
  }
  simd::SetLevel(9);
}

// Groups of a few channels: several in a vector, one, parts of several vectors.
const std::vector<Case> kGroupedShapes = {
    {{2, 32, 9, 11}, {32, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 8},
    {{1, 32, 9, 8}, {32, 2, 3, 3}, {2, 1}, {1, 1}, {1, 0}, {0, 2}, 16},
    {{1, 80, 7, 7}, {64, 5, 3, 2}, {1, 1}, {1, 2}, {2, 1}, {1, 0}, 16},
    {{1, 48, 6, 5}, {72, 16, 1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 3},
    {{1, 6, 8, 8}, {60, 2, 5, 3}, {2, 3}, {1, 1}, {2, 2}, {2, 0}, 3},
    {{1, 6, 4, 150}, {10, 3, 3, 9}, {1, 1}, {1, 1}, {1, 4}, {1, 4}, 2},
    {{2, 96, 70}, {96, 32, 16}, {1}, {1}, {8}, {7}, 3},
    {{1, 12, 20, 14}, {17, 12, 11, 9}, {2, 1}, {1, 1}, {5, 4}, {5, 4}, 1},
    {{1, 20, 90}, {21, 20, 5}, {1}, {7}, {14}, {14}, 1},
    {{1, 5, 8, 40}, {30, 5, 2, 4}, {1, 2}, {3, 9}, {2, 13}, {1, 14}, 1},
    {{1, 16, 40}, {16, 1, 13}, {1}, {2}, {12}, {12}, 16},
    // The last vector is not full of groups.
    {{1, 21, 12, 13}, {21, 1, 9, 9}, {1, 1}, {1, 1}, {4, 4}, {4, 4}, 21},
    {{2, 20, 6, 7}, {20, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 10},
    {{1, 40, 7, 6}, {40, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 5},
    // Groups of other channels in the input than in the result: pixels of one vector, of two, of more.
    {{1, 10, 9, 8}, {20, 2, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 5},
    {{2, 48, 6, 9}, {24, 16, 3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 1}, 3},
    {{1, 100, 70}, {20, 20, 3}, {2}, {1}, {1}, {1}, 5},
    {{1, 80, 21, 34}, {20, 16, 5, 5}, {1, 1}, {2, 2}, {1, 3}, {1, 3}, 5},
};

TEST(Conv, OfSmallGroupsOnEveryProcessor) {
  CheckOnEveryProcessor(kGroupedShapes, [](int level, const Case& c) {
    const bool whole_vectors = c.in[1] / c.groups % 16 == 0 && c.weight[0] / c.groups % 16 == 0;
    return level == 1 || (level == 2 && !whole_vectors) ? &GroupedConv() : nullptr;
  });
}

// Of many channels in steps: weights are taken some taps at a time, or some channels of a tap.
const std::vector<Case> kStridedShapes = {
    {{1, 64, 33, 35}, {24, 64, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 270, 33, 32}, {16, 270, 2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {{1, 64, 520}, {9, 64, 3}, {2}, {1}, {1}, {0}},
};

TEST(Conv, OfManyChannelsInStepsOnEveryProcessor) {
  CheckOnEveryProcessor(kStridedShapes,
                        [](int level, const Case&) { return level == 1 ? &GroupedConv() : nullptr; });
}

// To a few channels: columns of the kernel share vectors.
const std::vector<Case> kNarrowShapes = {
    {{2, 16, 9, 11}, {3, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 20, 12, 17}, {3, 20, 9, 9}, {1, 1}, {1, 1}, {4, 4}, {4, 4}},
    {{1, 9, 8, 8}, {1, 9, 3, 7}, {2, 1}, {1, 1}, {0, 3}, {1, 5}},
    {{2, 8, 5, 30}, {2, 8, 2, 5}, {1, 1}, {3, 2}, {4, 3}, {2, 9}},
    {{1, 32, 700}, {1, 32, 7}, {1}, {1}, {3}, {3}},
    {{1, 8, 530}, {4, 8, 3}, {1}, {100}, {100}, {100}},
    {{1, 8, 8}, {2, 8, 4}, {1}, {2}, {20}, {1}},  // some positions see padding only
    {{1, 8, 3, 9}, {1, 8, 2, 3}, {1, 1}, {1, 1}, {4, 0}, {3, 0}},
};

TEST(Conv, ToFewChannelsOnEveryProcessor) {
  CheckOnEveryProcessor(kNarrowShapes,
                        [](int level, const Case&) { return level > 0 ? &NarrowConv() : nullptr; });
}

TEST(Conv, WeightsMixedForWinogradServeOthers) {
  for (Case c : kWinogradShapes) {
    c.constant = c.packed_ahead = c.plainly = true;
    EXPECT_LE(Error(c), 1e-5) << "unmixed, and mixed once more";
  }
  const int64_t sizes[] = {1, 32, 16, 1, 3, 3};
  const ConvSpec spec{
      {1, 1, 16, 32, {1, 9, 9}, {1, 9, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, false},
      ConvType::kF32,
      false,
      false,
      {}};
  WeightLayout layout;
  ASSERT_TRUE(WinogradConv().layout(spec, &layout));
  EXPECT_TRUE(layout.HasSizes(sizes));
  EXPECT_EQ(layout.count(), 32 * 16 * 16);
  EXPECT_EQ(TextOf(ParseWeightLayout(TextOf(layout))), TextOf(layout));
  layout.mixed = false;
  EXPECT_THROW(ParseWeightLayout(TextOf(layout)), belay::Error);
  EXPECT_FALSE(WinogradConv().takes(spec, layout));
  EXPECT_FALSE(OneDnnConv() != nullptr && OneDnnConv()->takes(spec, layout));
}

TEST(Conv, WeightsPackedAhead) {
  for (size_t i = 0; i < kShapes.size(); ++i) {
    Case c = kShapes[i];
    c.constant = c.packed_ahead = c.channels_last = true;
    EXPECT_LE(Error(c), 1e-5) << "case " << i;
    c.plainly = true;
    EXPECT_LE(Error(c), 1e-5) << "case " << i << ", by another machine";
  }
}

// Taps that only meet padding go; of those that stay each meets the input somewhere.
TEST(Conv, TapsThatOnlyMeetPadding) {
  const std::vector<Case> cases = {
      {{1, 8, 6, 7}, {16, 8, 3, 3}, {1, 1}, {9, 9}, {9, 9}, {9, 9}},
      {{1, 8, 6, 7}, {16, 8, 3, 3}, {1, 1}, {6, 6}, {6, 6}, {6, 6}},    // in the one dimension, not in the
                                                                        // other
      {{1, 8, 6, 7}, {16, 8, 3, 5}, {1, 1}, {5, 4}, {5, 8}, {5, 8}},    // the outermost columns only
      {{2, 4, 5, 5}, {6, 2, 3, 3}, {2, 3}, {5, 7}, {8, 7}, {5, 7}, 2},  // unlike paddings, groups
      {{1, 4, 3, 4}, {4, 1, 5, 5}, {1, 1}, {3, 4}, {6, 8}, {6, 8}, 4},  // one filter a channel
      {{1, 4, 3}, {4, 4, 4}, {1}, {4}, {7}, {8}},  // one tap may not go: less than no padding
      {{1, 3, 2, 3, 2}, {4, 3, 3, 3, 3}, {1, 1, 1}, {2, 3, 1}, {2, 3, 1}, {2, 3, 1}},
      {{1, 2, 2}, {3, 2, 2}, {1}, {9}, {4}, {4}},  // no tap meets anything
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    for (bool ahead : {false, true}) {
      Case c = cases[i];
      EXPECT_LE(Error(c), 1e-5) << "case " << i;
      c.constant = c.channels_last = c.residual = true;
      c.packed_ahead = ahead;
      EXPECT_LE(Error(c), 1e-5) << "constant, case " << i;
      c.plainly = ahead;
      EXPECT_LE(Error(c), 1e-5) << "by another machine, case " << i;
      c.dtype = DType::kF16, c.packed_ahead = false, c.layout = Layout::kTransposed;
      EXPECT_LE(Error(c), 1e-3) << "transposed, case " << i;
    }
  }
}

TEST(Conv, WeightsPackedWithAllTapsKeepThem) {
  Case c{{1, 8, 6, 7}, {16, 8, 3, 3}, {1, 1}, {9, 9}, {9, 9}, {9, 9}};
  c.constant = c.packed_ahead = c.plainly = c.all_taps = true;
  EXPECT_LE(Error(c), 1e-5);
}

// Rounded where the processor multiplies bf16; elsewhere the same in f32. passes_test.cc sees that it
// happens.
TEST(Conv, MayRoundToBfloat16) {
  for (size_t i = 0; i < kShapes.size(); ++i) {
    for (bool ahead : {false, true}) {
      Case c = kShapes[i];
      c.constant = c.channels_last = c.bf16 = true;
      c.packed_ahead = ahead;
      EXPECT_LE(Error(c), 3e-2) << "case " << i;
    }
  }
}

TEST(Conv, WeightsRoundedAheadServeF32Too) {
  const int64_t sizes[] = {1, 2, 3, 1, 1, 1};
  WeightLayout layout = PlainWeightLayout(sizes);
  layout.bf16 = true;
  EXPECT_EQ(TextOf(ParseWeightLayout(TextOf(layout))), TextOf(layout));
  auto stored = std::make_shared<std::vector<uint16_t>>();
  for (int i = 0; i < 6; ++i) stored->push_back(static_cast<uint16_t>(0x3f80 + i));  // 1 and what follows it
  auto floats =
      Unpacked({TextOf(layout), "any", {stored, reinterpret_cast<const char*>(stored->data())}, 12});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(reinterpret_cast<const float*>(floats.get())[i], 1 + i / 128.0f);
}

// Another machine, or another version of the library, wants them in another order.
TEST(Conv, WeightsPackedInAnotherWay) {
  const int64_t sizes[] = {20, 29, 5, 1, 2, 3};
  WeightLayout plain = PlainWeightLayout(sizes), blocked = plain;
  blocked.padded[1] = 30, blocked.padded[2] = 8;
  const int64_t strides[] = {30 * 8 * 6, 2 * 8 * 6, 4 * 2 * 6, 0, 4 * 2 * 3, 4 * 2};
  std::copy_n(strides, WeightLayout::kRank, blocked.strides);
  blocked.block_count = 2;
  blocked.block_dims[0] = 2, blocked.block_sizes[0] = 4;
  blocked.block_dims[1] = 1, blocked.block_sizes[1] = 2;
  EXPECT_EQ(TextOf(ParseWeightLayout(TextOf(blocked))), TextOf(blocked));
  auto bytes = std::make_shared<std::vector<float>>(static_cast<size_t>(blocked.count()), -1.0f);
  std::set<int64_t> places;
  for (int64_t i = 0; i < plain.count(); ++i) {
    int64_t index[WeightLayout::kRank], rest = i;
    for (int d = WeightLayout::kRank - 1; d >= 0; --d) index[d] = rest % sizes[d], rest /= sizes[d];
    EXPECT_EQ(plain.OffsetOf(index), i);
    (*bytes)[static_cast<size_t>(blocked.OffsetOf(index))] = static_cast<float>(i);
    EXPECT_TRUE(places.insert(blocked.OffsetOf(index)).second);
  }
  PackedWeights packed{
      TextOf(blocked), "any", {bytes, reinterpret_cast<const char*>(bytes->data())}, blocked.count() * 4};
  auto unpacked = Unpacked(packed);
  for (int64_t i = 0; i < plain.count(); ++i) {
    ASSERT_EQ(reinterpret_cast<const float*>(unpacked.get())[i], static_cast<float>(i));
  }
  packed.bytes -= 4;
  EXPECT_THROW(Unpacked(packed), belay::Error) << "cut off";
  for (const char* bad : {"", "f32 sizes=1,2", "f64 sizes=1,1,1,1,1,1 padded=1,1,1,1,1,1 strides=1,1,1,1,1,1",
                          "f32 sizes=1,1,2,1,1,1 padded=1,1,1,1,1,1 strides=1,1,1,1,1,1",
                          "f32 sizes=1,1,1,1,1,1 padded=1,1,1,1,1,1 strides=1,1,1,1,1,1 9x2",
                          "f32 sizes=1,1,1,1,1,1 padded=1,1,1,1,1,1 strides=1,1,1,1,1,1 1x0",
                          "f32 sizes=1,1,1,1,1,2 padded=1,1,1,1,1,4 strides=1,1,1,1,1,1",
                          "f32 sizes=1,1,1,1,1,2 padded=1,1,1,1,1,2 strides=1,1,1,1,1,999999"}) {
    EXPECT_THROW(ParseWeightLayout(bad), belay::Error) << bad;
  }
}

TEST(Conv, WrongShapesSayWhatIsWrong) {
  Case c = kShapes[0];
  c.weight = {4, 2, 3, 3};
  EXPECT_THROW(Error(c), belay::Error);
  c = kShapes[0], c.groups = 2;
  EXPECT_THROW(Error(c), belay::Error);
  c = kShapes[0], c.strides = {1};
  EXPECT_THROW(Error(c), belay::Error);
}

TEST(Conv, PackedWeightsAreOfFloats) {
  Sample x(DType::kF64, {1, 4, 2, 2}), w(DType::kF64, {6, 4, 3, 3}), out(DType::kF64, {1, 6, 2, 2});
  const int64_t sizes[] = {1, 6, 4, 1, 3, 3};
  const PackedWeights packed{TextOf(PlainWeightLayout(sizes)), "any", AlignedBytes(6 * 4 * 9 * 4),
                             6 * 4 * 9 * 4};
  const std::vector<int64_t> ones = {1, 1};
  PlanRef plan = testing::NewPlan();
  ConvArgs args{.input = x.BoundTo(*plan, Access::kRead, "x"),
                .weight = {&w.tensor, nullptr, -1, "w"},
                .bias = {},
                .residual = {},
                .out = out.BoundTo(*plan, Access::kWrite, "y"),
                .strides = ones,
                .dilations = ones,
                .before = ones,
                .after = ones};
  args.packed_weight = &packed;
  EXPECT_THROW(PlanConv(*plan, args), belay::Error);
}

}  // namespace
}  // namespace belay::ops
