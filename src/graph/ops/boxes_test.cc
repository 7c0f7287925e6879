// Boxes of detection networks, and other operators that torch_npu calls by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Apply;
using samples::Counting;
using samples::Ints;
using samples::Reals;
using samples::Results;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

using Sizes = std::vector<int64_t>;
using Near = std::vector<double>;

void ExpectBoxes(const Constant& result, const Near& expected, double error = 1e-4) {
  EXPECT_THAT(result->Reals(), Pointwise(testing::DoubleNear(error), expected));
}

const Attributes kBoth{{"trans", false}, {"is_cross", false}};

TEST(Boxes, ShareWhatTheyHaveInCommon) {
  const Constant boxes = Reals({2, 4}, {0, 0, 10, 10, 32, 32, 38, 42}),
                 others = Reals({2, 4}, {0, 0, 10, 20, 5, 5, 15, 15});
  ExpectBoxes(Apply("Iou", {boxes, others}, {{"eps", 0.0}})[0], {0.5, 0, 25.0 / 175, 0});
  ExpectBoxes(Apply("Iou", {boxes, others}, {{"eps", 0.0}, {"mode", std::string("iof")}})[0],
              {0.5, 0, 0.25, 0});
  ExpectBoxes(Apply("Iou", {boxes, boxes}, {{"eps", 1.0}})[0], {100.0 / 142, 0, 0, 60.0 / 94});
}

// Two squares of 2, a step of 1 apart along both axes: 1 of 7, in a square of 3.
TEST(Boxes, ShareLessWhatIsBetweenThem) {
  const Constant a = Reals({4, 1}, {0, 0, 2, 2}), b = Reals({4, 1}, {1, 1, 3, 3});
  ExpectBoxes(Apply("GIoU", {a, b}, kBoth)[0], {1.0 / 7 - 2.0 / 9});
  ExpectBoxes(Apply("DIoU", {a, b}, kBoth)[0], {1.0 / 7 - 1.0 / 9});
  const Constant wide = Reals({4, 1}, {1, 1, 4, 3});
  const double angle = std::atan(1.5) - std::atan(1.0), apart = 4 / (M_PI * M_PI) * angle * angle,
               share = 1.0 / 9;
  const std::vector<Constant> complete = Apply("CIoU", {a, wide}, kBoth, 2);
  ExpectBoxes(complete[0], {share - (1.5 * 1.5 + 1) / 25 - apart * apart / (1 - share + apart)});
  ExpectBoxes(complete[1], {angle});
  const Attributes all{{"trans", true}, {"is_cross", true}};
  const Constant two = Reals({4, 2}, {1, 5, 1, 5, 2, 2, 2, 2}), one = Reals({4, 1}, {2, 2, 2, 2});
  const std::vector<double> crossed = Results("GIoU", {two, one}, all);
  EXPECT_EQ(crossed.size(), 2u);
  EXPECT_NEAR(crossed[0], 1.0 / 7 - 2.0 / 9, 1e-6);
  EXPECT_EQ(Results("CIoU", {a, a}, kBoth)[0], 1);
}

// The gradients are those of differences.
TEST(Boxes, GradientsOfWhatTheyShare) {
  const std::vector<double> numbers{1, 1.25, 2, 1.5, 1.75, 0.5, 2.5, 1};
  const auto boxes = [](const std::vector<double>& x, size_t first) {
    return samples::Doubles(
        {4, 1}, {x.begin() + static_cast<ptrdiff_t>(first), x.begin() + static_cast<ptrdiff_t>(first) + 4});
  };
  for (const std::string kind : {"GIoU", "DIoU"}) {
    const std::vector<Constant> gradients =
        Apply(kind + "Grad", {Reals({1}, {2}), boxes(numbers, 0), boxes(numbers, 4)}, {{"trans", true}}, 2);
    for (size_t i = 0; i < numbers.size(); ++i) {
      constexpr double kStep = 1e-5;
      double values[2];
      for (const int way : {0, 1}) {
        std::vector<double> moved = numbers;
        moved[i] += way == 0 ? kStep : -kStep;
        values[way] =
            Results(kind, {boxes(moved, 0), boxes(moved, 4)}, {{"trans", true}, {"is_cross", false}})[0];
      }
      EXPECT_NEAR(gradients[i / 4]->Reals()[i % 4], (values[0] - values[1]) / kStep, 1e-4) << kind << i;
    }
  }
}

TEST(Boxes, WhatNetworksLearnOfThem) {
  const Constant anchor = Reals({1, 4}, {1, 2, 3, 4}), truth = Reals({1, 4}, {5, 6, 7, 8});
  const Attributes scaled{{"stds", Near{0.1, 0.1, 0.2, 0.2}}};
  ExpectBoxes(Apply("BoundingBoxEncode", {anchor, truth}, scaled)[0], {40.0 / 3, 40.0 / 3, 0, 0});
  const Constant back = Apply("BoundingBoxEncode", {anchor, truth})[0];
  ExpectBoxes(Apply("BoundingBoxDecode", {anchor, back})[0], {5, 6, 7, 8});
  ExpectBoxes(
      Apply("BoundingBoxDecode", {anchor, truth}, {{"max_shape", Sizes{10, 20}}, {"wh_ratio_clip", 0.1}})[0],
      {2.5, 6.5, 19, 9});
  ExpectBoxes(
      Apply("YoloBoxesEncode", {Reals({1, 4}, {0, 0, 2, 2}), Reals({1, 4}, {1, 1, 2, 5}), Ints({4})})[0],
      {0.625, 1 - 1e-6, std::log(0.5), std::log(2)});
}

TEST(Boxes, AnchorsOfTheirCells) {
  const Attributes map{
      {"featmap_size", Sizes{2, 3}}, {"strides", Sizes{10, 10}}, {"num_base_anchors", int64_t{2}}};
  EXPECT_THAT(Results("AnchorResponseFlags", {Reals({2, 4}, {20, 10, 28, 18, 90, 90, 99, 99})}, map),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1));
  const Attributes rule{{"pos_iou_thr", 0.5}, {"min_pos_iou", 0.0}, {"gt_max_assign_all", false}};
  const std::vector<Constant> inputs{Reals({4}, {-1, -1, -1, -1}),
                                     Reals({2, 4}, {0.7, 0.2, 0.1, 0.3, 0.1, 0.9, 0.4, 0.4}),
                                     Ints({1, 0, 1, 1}),
                                     Reals({4}, {0.7, 0.9, 0.4, 0.4}),
                                     Ints({0, 1, 1, 1}),
                                     Reals({2}, {0.7, 0.4}),
                                     Ints({0, 2}),
                                     Ints({2})};
  EXPECT_THAT(Results("GridAssignPositive", inputs, rule), ElementsAre(1, -1, 2, -1));
  Attributes all = rule;
  all["gt_max_assign_all"] = true;
  EXPECT_THAT(Results("GridAssignPositive", inputs, all), ElementsAre(1, -1, 2, 2));
}

// A square of 2, and the same turned by 45 degrees: an octagon is common to both.
TEST(Boxes, TurnedOnes) {
  const Constant square = Reals({1, 5, 1}, {3, 3, 2, 2, 0}), turned = Reals({1, 5, 1}, {3, 3, 2, 2, 45});
  const double octagon = 8 * (std::sqrt(2.0) - 1);
  ExpectBoxes(Apply("RotatedOverlaps", {square, turned})[0], {octagon});
  ExpectBoxes(Apply("RotatedIou", {square, turned})[0], {octagon / (8 - octagon)});
  const Constant left = Reals({1, 5, 1}, {2, 2, 4, 4, 0}), right = Reals({1, 5, 1}, {3, 2, 5, 4, 0});
  ExpectBoxes(Apply("RotatedOverlaps", {left, right}, {{"trans", true}})[0], {2});
  const Constant a = Reals({1, 5, 1}, {0, 0, 2, 4, 45}), b = Reals({1, 5, 1}, {1, 1, 5, 3, 0});
  ExpectBoxes(Apply("RotatedBoxEncode", {a, b})[0], {1, 0, std::log(2), std::log(0.5), -1});
  ExpectBoxes(Apply("RotatedBoxDecode", {a, Apply("RotatedBoxEncode", {a, b})[0]})[0], {1, 1, 5, 3, 0});
  EXPECT_THROW(Apply("RotatedBoxEncode", {a, b}, {{"weight", Near{1, 1, 1, 1, 2}}}), Error);
}

TEST(Boxes, ThoseToKeep) {
  const Constant scored = Reals({3, 5}, {0, 0, 4, 4, 0.9, 0, 0, 4, 3, 0.8, 9, 9, 11, 11, 0.7});
  const std::vector<Constant> masked = Apply("NMSWithMask", {scored}, {{"iou_threshold", 0.5}}, 3);
  EXPECT_EQ(masked[0]->Reals(), scored->Reals());
  EXPECT_THAT(masked[1]->Reals(), ElementsAre(0, 1, 2));
  EXPECT_THAT(masked[2]->Reals(), ElementsAre(1, 0, 1));
  const Constant boxes = Reals({3, 4}, {0, 0, 4, 3, 0, 0, 4, 4, 9, 9, 11, 11}),
                 scores = Reals({3}, {0.8, 0.9, 0.2});
  const std::vector<Constant> padded =
      Apply("NonMaxSuppressionV4", {boxes, scores, Ints({4}), Reals({1}, {0.5}), Reals({1}, {0.1})}, {}, 2);
  EXPECT_THAT(padded[0]->Reals(), ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(padded[1]->Reals(), ElementsAre(2));
  const Attributes classes{{"score_threshold", 0.1},
                           {"iou_threshold", 0.5},
                           {"max_size_per_class", int64_t{2}},
                           {"max_total_size", int64_t{4}}};
  const std::vector<Constant> best = Apply("BatchMultiClassNonMaxSuppression",
                                           {Reals({1, 3, 1, 4}, {0, 0, 4, 3, 0, 0, 4, 4, 9, 9, 11, 11}),
                                            Reals({1, 3, 2}, {0.25, 0.5, 0.75, 0, 0, 0.125})},
                                           classes, 4);
  EXPECT_THAT(best[0]->Reals(), ElementsAre(0, 0, 4, 4, 0, 0, 4, 3, 9, 9, 11, 11, 0, 0, 0, 0));
  EXPECT_THAT(best[1]->Reals(), ElementsAre(0.75, 0.5, 0.125, 0));
  EXPECT_THAT(best[2]->Reals(), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(best[3]->Reals(), ElementsAre(3));
  const Constant turned = Reals({3, 5}, {3, 3, 2, 2, 0, 3, 3, 2, 2, 45, 9, 9, 2, 2, 0});
  EXPECT_THAT(Apply("RotatedNMS", {turned, Reals({3}, {1, 2, 3}), Ints({0})}, {{"iou_threshold", 0.5}}, 2)[1]
                  ->Reals(),
              ElementsAre(2, 1));
}

TEST(Boxes, RegionsAndTheirGradients) {
  const Constant image = Counting({1, 1, 6, 6}), region = Reals({1, 5}, {0, -2, -2, 22, 22});
  Attributes bins{{"spatial_scale", 0.25},
                  {"pooled_height", int64_t{3}},
                  {"pooled_width", int64_t{3}},
                  {"roi_end_mode", int64_t{0}}};
  ExpectBoxes(Apply("ROIAlign", {image, region}, bins)[0],
              {3.5, 5.5, 7.5, 15.5, 17.5, 19.5, 27.5, 29.5, 31.5});
  bins["xdiff_shape"] = Sizes{1, 1, 6, 6};
  const std::vector<double> slopes = Results("ROIAlignGrad", {Counting({1, 1, 3, 3}), region}, bins);
  EXPECT_EQ(slopes[0], 0);
  EXPECT_EQ(slopes[7], 0);
  EXPECT_EQ(slopes[35], 2);
  const Attributes groups{{"spatial_scale", 0.5}, {"output_dim", int64_t{1}}, {"group_size", int64_t{2}}};
  // From 1 to the end of 3: the first bins are rows and columns 0 and 1, the others 1 and 2.
  const Constant boxes = Reals({1, 5, 1}, {0, 1, 1, 4, 4});
  ExpectBoxes(Apply("PSROIPoolingV2", {Counting({1, 4, 3, 3}), boxes}, groups)[0], {2, 12, 23, 33});
  Attributes back = groups;
  back["input_size"] = Sizes{3, 3};
  ExpectBoxes(Apply("PSROIPoolingGradV2D", {Reals({1, 1, 2, 2}, {4, 0, 0, 0}), boxes}, back)[0], [] {
    Near expected(36);
    expected[0] = expected[1] = expected[3] = expected[4] = 1;
    return expected;
  }());
}

// One tap a position: a pixel to the right, twice as much, and half a pixel down, at the edge and beyond it.
TEST(Boxes, DisplacedTaps) {
  const Attributes taps{{"strides", Sizes{1, 1, 1, 1}}, {"pads", Sizes{0, 0, 0, 0}}, {"ksize", Sizes{1, 1}}};
  const Constant x = Counting({1, 2, 2, 1});
  const std::vector<double> offsets{1, 0, 2, 0, 0.5, 1, 0, 0.5, 1, 9, 0, 1};
  const auto moved = [](const std::vector<double>& numbers) {
    return samples::Doubles({1, 2, 2, 3}, numbers);
  };
  EXPECT_THAT(Results("DeformableOffsets", {x, moved(offsets)}, taps), ElementsAre(2, 2, 1, 0));
  const std::vector<double> inner{0.25, 0.25, 2, -0.5, 0.25, 1, 0.25, -0.5, 3, -0.25, -0.25, 0.5};
  const Constant dy = Reals({1, 2, 2, 1}, {1, 2, 3, 4});
  const std::vector<Constant> gradients = Apply("DeformableOffsetsGrad", {dy, x, moved(inner)}, taps, 2);
  const auto loss = [&](const Constant& image, const std::vector<double>& numbers) {
    const std::vector<double> y = Results("DeformableOffsets", {image, moved(numbers)}, taps);
    return y[0] + 2 * y[1] + 3 * y[2] + 4 * y[3];
  };
  constexpr double kStep = 1.0 / 64;
  for (size_t i = 0; i < inner.size(); ++i) {
    std::vector<double> up = inner, down = inner;
    up[i] += kStep, down[i] -= kStep;
    EXPECT_NEAR(gradients[1]->Reals()[i], (loss(x, up) - loss(x, down)) / (2 * kStep), 1e-4) << i;
  }
  for (size_t i = 0; i < 4; ++i) {
    std::vector<double> pixels{0, 1, 2, 3};
    pixels[i] += 1;
    EXPECT_NEAR(gradients[0]->Reals()[i],
                loss(samples::Doubles({1, 2, 2, 1}, pixels), inner) - loss(x, inner), 1e-4)
        << i;
  }
}

TEST(Fallback, RangesPlacesAndSums) {
  const Constant x = Counting({2, 3}), value = Reals({1}, {9});
  EXPECT_THAT(Results("MaskedFillRange", {x, Ints({1, 2}, {0, 2}), Ints({1, 2}, {1, 9}), value}),
              ElementsAre(9, 1, 2, 3, 4, 9));
  EXPECT_THAT(
      Results("MaskedFillRange", {x, Ints({1, 1}, {1}), Ints({1, 1}, {2}), value}, {{"axis", int64_t{0}}}),
      ElementsAre(0, 1, 2, 9, 9, 9));
  const Constant truths = Reals({2, 2}, {1, 0, 1, 1}, DType::kBool);
  const std::vector<Constant> places = Apply("RandomChoiceWithMask", {truths}, {{"count", int64_t{4}}}, 2);
  EXPECT_THAT(places[0]->Reals(), ElementsAre(0, 0, 1, 0, 1, 1, 0, 0));
  EXPECT_THAT(places[1]->Reals(), ElementsAre(1, 1, 1, 0));
  const Attributes offsets{
      {"x1_c1_offset", int64_t{1}}, {"x2_c1_offset", int64_t{0}}, {"c1_len", int64_t{1}}};
  const std::vector<double> sums = Results("StrideAdd", {Counting({1, 17}), Counting({1, 2})}, offsets);
  EXPECT_EQ(sums[0], 16);
  EXPECT_EQ(sums[1], 1);
  EXPECT_EQ(sums[2], 0);
  EXPECT_THAT(Results("NPUAllocFloatStatus", {}), testing::SizeIs(8));
}

TEST(Fallback, TheGradientOfAFilter) {
  const Attributes windows{
      {"strides", Sizes{1, 1, 1, 1}}, {"pads", Sizes{0, 0, 0, 0}}, {"data_format", std::string("NCHW")}};
  const Constant x = Counting({1, 1, 3, 3}), dy = Reals({1, 1, 2, 2}, {1, 0, 0, 2});
  EXPECT_THAT(Results("Conv2DBackpropFilter", {x, Ints({1, 1, 2, 2}), dy}, windows),
              ElementsAre(8, 11, 17, 20));
}

// Integers from -127 to 127 with a scale of one lose nothing.
TEST(Fallback, AScaleThatLosesLeast) {
  const auto numbers = std::make_shared<HostTensor>(DType::kF32, Shape{255});
  for (int i = 0; i < 255; ++i) numbers->as<float>()[i] = static_cast<float>(i - 127);
  const Constant data = numbers;
  const Attributes search{{"min_percentile", 0.999999},
                          {"max_percentile", 0.999999},
                          {"search_range", Near{0.5, 1.5}},
                          {"search_step", 0.125},
                          {"with_offset", false}};
  const std::vector<Constant> found =
      Apply("IFMR", {data, Reals({1}, {-127}), Reals({1}, {127}), Ints({127, 255})}, search, 2);
  EXPECT_THAT(found[1]->Reals(), ElementsAre(0));
  EXPECT_THAT(found[0]->Reals(), ElementsAre(1));
}

}  // namespace
}  // namespace belay::graph
