// Operators that training programs call by name.
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
using testing::DoubleNear;
using testing::ElementsAre;

using List = std::vector<int64_t>;

TEST(Training, AveragesVolumes) {
  const Constant x = Counting({1, 1, 2, 2, 2});
  Attributes attributes{{"ksize", List{2, 2, 2}},
                        {"strides", List{1, 1, 1}},
                        {"pads", List(6, 0)},
                        {"data_format", std::string("NCDHW")}};
  EXPECT_THAT(Apply("AvgPool3D", {x}, attributes)[0]->Reals(), ElementsAre(3.5));
  attributes["pads"] = List{1, 1, 0, 0, 0, 0};
  EXPECT_THAT(Apply("AvgPool3D", {x}, attributes)[0]->Reals(), ElementsAre(0.75, 3.5, 2.75));
  attributes["count_include_pad"] = false;
  EXPECT_THAT(Apply("AvgPool3D", {x}, attributes)[0]->Reals(), ElementsAre(1.5, 3.5, 5.5));
  attributes["divisor_override"] = int64_t{2};
  EXPECT_THAT(Apply("AvgPool3D", {x}, attributes)[0]->Reals(), ElementsAre(3, 14, 11));
}

TEST(Training, TransposedConvolutionOfVolumes) {
  const Attributes attributes{
      {"strides", List{1, 1, 1, 1, 2}}, {"pads", List(6, 0)}, {"data_format", std::string("NCDHW")}};
  Constant y = Apply("Conv3DTranspose",
                     {Ints({1, 1, 1, 1, 4}), Reals({1, 1, 1, 1, 2}, {1, 2}), Reals({1, 1, 1, 1, 2}, {3, 5})},
                     attributes)[0];
  EXPECT_THAT(y->Reals(), ElementsAre(3, 5, 6, 10));
}

TEST(Training, NormalisesSums) {
  const Constant x1 = Reals({1, 2}, {1, 5}), x2 = Reals({1, 2}, {2, -1}), gamma = Reals({2}, {2, 1});
  const std::vector<Constant> rms = Apply("AddRmsNorm", {x1, x2, gamma}, {{"epsilon", 0.0}}, 3);
  const double root = std::sqrt(12.5);
  EXPECT_THAT(rms[0]->Reals(), ElementsAre(DoubleNear(6 / root, 1e-6), DoubleNear(4 / root, 1e-6)));
  EXPECT_THAT(rms[1]->Reals(), ElementsAre(DoubleNear(1 / root, 1e-6)));
  EXPECT_THAT(rms[2]->Reals(), ElementsAre(3, 4));
  const std::vector<Constant> layer =
      Apply("AddLayerNorm", {x1, x2, gamma, Reals({2}, {10, 20})}, {{"epsilon", 0.0}}, 4);
  EXPECT_THAT(layer[0]->Reals(), ElementsAre(DoubleNear(8, 1e-5), DoubleNear(21, 1e-5)));
  EXPECT_THAT(layer[1]->Reals(), ElementsAre(3.5));
  EXPECT_THAT(layer[2]->Reals(), ElementsAre(DoubleNear(2, 1e-5)));
  EXPECT_THAT(layer[3]->Reals(), ElementsAre(3, 4));
}

TEST(Training, MaskedSoftmax) {
  const Constant x = Reals({2, 2}, {0, 7, 0, std::log(3.0)});
  const Constant fixed = Apply("ScaledMaskedSoftmax", {x, nullptr}, {{"fixed_triu_mask", true}})[0];
  EXPECT_THAT(fixed->Reals(), ElementsAre(1, 0, DoubleNear(0.25, 1e-6), DoubleNear(0.75, 1e-6)));
  const Constant given =
      Apply("ScaledMaskedSoftmax", {x, Reals({2, 2}, {0, 1, 0, 0}, DType::kBool)}, {{"scale", 2.0}})[0];
  EXPECT_THAT(given->Reals(), ElementsAre(1, 0, DoubleNear(0.1, 1e-6), DoubleNear(0.9, 1e-6)));
}

TEST(Training, GradientOfMaskedSoftmax) {
  const Constant y = Reals({1, 2}, {0.25, 0.75}), gradient = Reals({1, 2}, {4, 8});  // 7 in the mean
  const Attributes half{{"scale", 0.5}};
  const Constant none = Reals({1, 2}, {0, 0}, DType::kBool), first = Reals({1, 2}, {1, 0}, DType::kBool);
  EXPECT_THAT(Apply("ScaledMaskedSoftmaxGrad", {gradient, y, none}, half)[0]->Reals(),
              ElementsAre(-0.375, 0.375));
  EXPECT_THAT(Apply("ScaledMaskedSoftmaxGrad", {gradient, y, first}, half)[0]->Reals(),
              ElementsAre(0, 0.375));
}

TEST(Training, GradientOfNormalisedSums) {
  const Constant dy = Reals({1, 2}, {1, 3}), x1 = Reals({1, 2}, {1, 5}), x2 = Reals({1, 2}, {2, -1}),
                 gamma = Reals({2}, {1, 1});
  const std::vector<Constant> gradients =
      Apply("AddLayerNormGrad",
            {dy, x1, x2, Reals({1, 1}, {2}), Reals({1, 1}, {3.5}), gamma, Reals({1, 2}, {10, 20})}, {}, 3);
  EXPECT_THAT(gradients[0]->Reals(), ElementsAre(10, 20));  // two numbers always become -1 and 1
  EXPECT_THAT(gradients[1]->Reals(), ElementsAre(-1, 3));
  EXPECT_THAT(gradients[2]->Reals(), ElementsAre(1, 3));
}

// Two devices have told of 1, 3 and of 5, 7, 9, 11 in one channel: the mean of all is 6, the variance 35 / 3.
TEST(Training, StatisticsOfAllDevices) {
  const std::vector<Constant> told = Apply("BNTrainingReduce", {Reals({2, 1, 1}, {1, 3})}, {}, 2);
  EXPECT_THAT(told[0]->Reals(), ElementsAre(4));
  EXPECT_THAT(told[1]->Reals(), ElementsAre(10));
  const Constant old = Reals({1}, {2});
  const std::vector<Constant> all =
      Apply("SyncBatchNormGatherStats",
            {Reals({2, 1}, {4, 32}), Reals({2, 1}, {10, 276}), Ints({2}, {2, 4}), old, old},
            {{"momentum", 0.5}, {"eps", 0.0}}, 4);
  EXPECT_THAT(all[0]->Reals(), ElementsAre(6));
  EXPECT_THAT(all[1]->Reals(), ElementsAre(DoubleNear(std::sqrt(3.0 / 35), 1e-6)));
  EXPECT_THAT(all[2]->Reals(), ElementsAre(4));
  EXPECT_THAT(all[3]->Reals(), ElementsAre(DoubleNear((2 + 70.0 / 5) / 2, 1e-5)));
  const auto of_each = [](double a, double b) { return Reals({2, 1}, {a, b}); };
  const std::vector<Constant> counted = Apply("SyncBatchNormGatherStatsWithCounts",
                                              {of_each(2, 8), of_each(1, 1 / std::sqrt(5.0)), of_each(2, 4),
                                               of_each(6, 6), Reals({1, 1}, {6}), Reals({1, 1}, {2})},
                                              {{"momentum", 0.5}, {"epsilon", 0.0}}, 2);
  EXPECT_THAT(counted[0]->Reals(), ElementsAre(DoubleNear(std::sqrt(3.0 / 35), 1e-6)));
  EXPECT_THAT(counted[1]->Reals(), ElementsAre(DoubleNear((2 + 70.0 / 5) / 2, 1e-5)));
  EXPECT_THAT(Apply("SyncBNTrainingUpdate", {Reals({1}, {6}), old}, {{"momentum", 0.25}})[0]->Reals(),
              ElementsAre(3));
}

TEST(Training, GradientsOfSharedStatistics) {
  const auto one = [](double value) { return Reals({1}, {value}); };
  const std::vector<Constant> sums =
      Apply("SyncBatchNormBackwardReduce", {one(2), one(10), one(3), one(0.5)}, {}, 2);
  EXPECT_THAT(sums[0]->Reals(), ElementsAre(4));
  EXPECT_THAT(sums[1]->Reals(), ElementsAre(2));
  const auto channel = [](double value) { return Reals({1, 1, 1}, {value}); };
  const Constant slope =
      Apply("SyncBatchNormBackwardElemt", {Reals({1, 1, 2}, {5, 1}), Reals({1, 1, 2}, {4, 2}), channel(3),
                                           channel(0.5), channel(8), channel(2), channel(4)})[0];
  EXPECT_THAT(slope->Reals(), ElementsAre((3 - 1) * 4, (-1 + 1) * 4));
}

TEST(Training, StepsOfAdam) {
  const auto one = [](double value) { return Reals({1}, {value}); };
  const Constant var = Reals({2}, {1, 2}), zero = Reals({2}, {0, 0}), grad = Reals({2}, {2, -2});
  // beta1 1/2, beta2 3/4, after one step: m = 1, v = 1.
  const std::vector<Constant> plain =
      Apply("ApplyAdamD",
            {var, zero, zero, one(0.5), one(0.75), one(0.25), one(0.5), one(0.75), one(0), grad}, {}, 3);
  EXPECT_THAT(plain[0]->Reals(), ElementsAre(0.75, 2.25));
  EXPECT_THAT(plain[1]->Reals(), ElementsAre(1, -1));
  EXPECT_THAT(plain[2]->Reals(), ElementsAre(1, 1));
  // Another half of the gradient: 1 / 2 + 2 / 2.
  EXPECT_THAT(Apply("ApplyAdamD",
                    {var, zero, zero, one(0.5), one(0.75), one(0.25), one(0.5), one(0.75), one(0), grad},
                    {{"use_nesterov", true}}, 3)[0]
                  ->Reals(),
              ElementsAre(0.625, 2.375));
  const std::vector<Constant> decayed = Apply(
      "ApplyAdamW",
      {var, zero, zero, one(1), one(1), one(0.25), one(0.5), one(0.5), one(0.75), one(0), grad, nullptr}, {},
      3);
  EXPECT_THAT(decayed[0]->Reals(), ElementsAre(0.625, 2));  // an eighth less, and a quarter of 2 / 2
  const std::vector<Constant> upward = Apply("ApplyAdamW",
                                             {var, zero, zero, one(1), one(1), one(0.25), one(0), one(0.5),
                                              one(0.75), one(0), grad, Reals({2}, {4, 1})},
                                             {{"maximize", true}, {"amsgrad", true}}, 3);
  EXPECT_THAT(upward[0]->Reals(), ElementsAre(1.125, 1.75));  // the larger square halves the first
}

TEST(Training, RotatesHalves) {
  const Constant x = Reals({1, 1, 1, 4}, {1, 2, 3, 4}), r1 = Reals({1, 1, 1, 4}, {1, 1, 2, 2}),
                 r2 = Reals({1, 1, 1, 4}, {10, 10, 10, 10});
  EXPECT_THAT(Apply("RotaryMul", {x, r1, r2})[0]->Reals(), ElementsAre(-29, -38, 16, 28));
}

TEST(Training, ResizesTheLastDimensions) {
  const Constant y = Apply("ResizeD", {Reals({1, 1, 2}, {0, 4})},
                           {{"sizes", List{3}},
                            {"mode", std::string("linear")},
                            {"coordinate_transformation_mode", std::string("align_corners")}})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(0, 2, 4));
  const Constant x = Counting({1, 1, 1, 1, 2});
  const Attributes size{{"output_size", List{1, 1, 4}}};
  EXPECT_THAT(Apply("UpsampleNearest3d", {x}, size)[0]->Reals(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Apply("UpsampleTrilinear3d", {x}, size)[0]->Reals(), ElementsAre(0, 0.25, 0.75, 1));
}

TEST(Training, UnfoldsAndFolds) {
  const Constant columns = Apply("Im2col", {Counting({1, 1, 2, 3})}, {{"ksizes", List{2, 2}}})[0];
  ASSERT_EQ(columns->shape(), (Shape{1, 4, 2}));
  EXPECT_THAT(columns->Reals(), ElementsAre(0, 1, 1, 2, 3, 4, 4, 5));
  const Constant blocks = Reals({1, 1, 4, 2}, {0, 1, 1, 2, 3, 4, 4, 5});
  const Attributes folding{
      {"kernel_size", List{2, 2}}, {"dilation", List{1, 1}}, {"padding", List{0, 0}}, {"stride", List{1, 1}}};
  EXPECT_THAT(Apply("Col2im", {blocks, Ints({2, 3})}, folding)[0]->Reals(), ElementsAre(0, 2, 2, 3, 8, 5));
  EXPECT_THROW(Apply("Col2im", {blocks, Ints({2, 4})}, folding), Error);
}

TEST(Training, ShufflesChannels) {
  EXPECT_THAT(Apply("ShuffleChannel", {Counting({1, 6, 1, 1})}, {{"group", int64_t{2}}})[0]->Reals(),
              ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THROW(Apply("ShuffleChannel", {Counting({1, 6, 1, 1})}, {{"group", int64_t{4}}}), Error);
}

TEST(Training, GradientsOfEmbeddings) {
  const Constant grad = Reals({3, 2}, {1, 2, 3, 4, 5, 6}), indices = Ints({1, 0, 1});
  Attributes attributes{{"num_weights", int64_t{3}}};
  EXPECT_THAT(Apply("EmbeddingDenseGrad", {grad, indices}, attributes)[0]->Reals(),
              ElementsAre(3, 4, 6, 8, 0, 0));
  attributes["scale_grad_by_freq"] = true;
  attributes["padding_idx"] = int64_t{0};
  EXPECT_THAT(Apply("EmbeddingDenseGrad", {grad, indices}, attributes)[0]->Reals(),
              ElementsAre(0, 0, 3, 4, 0, 0));
}

TEST(Training, GradientsOfDistancesByTheFirstRows) {
  // One row (0, 0) and two others: (-3, 4) and itself.
  const Constant x1 = Reals({1, 2, 2}, {0, 0, 0, 0}), x2 = Reals({1, 2, 2}, {3, -4, 0, 0}),
                 ones = Reals({1, 2, 2}, {1, 1, 1, 1});
  const auto slopes = [&](double p, double distance) {
    const Constant norm = Reals({1, 2, 2}, {distance, distance, 0, 0});
    return Apply("CdistGrad", {ones, x1, x2, norm}, {{"p", p}})[0]->Reals();
  };
  EXPECT_THAT(slopes(2, 5), ElementsAre(DoubleNear(-0.6, 1e-6), DoubleNear(0.8, 1e-6)));
  EXPECT_THAT(slopes(1, 7), ElementsAre(-1, 1));
  EXPECT_THAT(slopes(0, 2), ElementsAre(0, 0));
  EXPECT_THAT(slopes(-1, 4), ElementsAre(0, 1));
  const double cube = std::cbrt(91.0);
  EXPECT_THAT(slopes(3, cube),
              ElementsAre(DoubleNear(-9 / cube / cube, 1e-6), DoubleNear(16 / cube / cube, 1e-6)));
}

TEST(Training, NormalisesScaledSums) {
  const Constant x = Reals({1, 2}, {1, 5}), gx = Reals({1, 2}, {2, -1}), gamma = Reals({2}, {2, 1});
  const std::vector<Constant> norm =
      Apply("DeepNorm", {x, gx, Reals({2}, {10, 20}), gamma}, {{"alpha", 0.5}, {"epsilon", 0.0}}, 3);
  EXPECT_THAT(norm[0]->Reals(), ElementsAre(2));
  EXPECT_THAT(norm[1]->Reals(), ElementsAre(DoubleNear(2, 1e-5)));
  EXPECT_THAT(norm[2]->Reals(), ElementsAre(DoubleNear(12, 1e-5), DoubleNear(19, 1e-5)));
  const Constant dy = Reals({1, 2}, {1, 3}), ones = Reals({2}, {1, 1});
  const std::vector<Constant> slopes =
      Apply("DeepNormGrad", {dy, x, gx, ones, norm[0], norm[1]}, {{"alpha", 0.5}}, 4);
  // Two numbers always become 1 and -1.
  for (const size_t i : {0u, 1u})
    EXPECT_THAT(slopes[i]->Reals(), ElementsAre(DoubleNear(0, 1e-5), DoubleNear(0, 1e-5)));
  EXPECT_THAT(slopes[2]->Reals(), ElementsAre(1, 3));
  EXPECT_THAT(slopes[3]->Reals(), ElementsAre(DoubleNear(1, 1e-5), DoubleNear(-3, 1e-5)));
}

TEST(Training, LossOfSequences) {
  const Constant logs = Reals({1, 1, 2}, {std::log(0.25), std::log(0.75)}), one = Ints({1}, {1});
  const Attributes attributes{{"blank", int64_t{2}}};  // class 0, and one label at most
  const std::vector<Constant> loss = Apply("CTCLossV2", {logs, Ints({1, 1}, {1}), one, one}, attributes, 2);
  EXPECT_THAT(loss[0]->Reals(), ElementsAre(DoubleNear(-std::log(0.75), 1e-6)));
  EXPECT_EQ(loss[1]->shape(), (Shape{1, 1, 8}));
  const Constant slope =
      Apply("CTCLossV2Grad", {Reals({1}, {2}), logs, Ints({1, 1}, {1}), one, one, loss[0], loss[1]},
            {{"blank", int64_t{0}}})[0];
  EXPECT_THAT(slope->Reals(), ElementsAre(DoubleNear(0.5, 1e-6), DoubleNear(-0.5, 1e-6)));
  EXPECT_THROW(Apply("CTCLossV2", {logs, Ints({1, 1}, {1}), one, one}, {{"blank", int64_t{4}}}, 2), Error);
}

TEST(Training, KeepsPartsOfSoftmax) {
  const Constant kept = Reals({2}, {1, 0}, DType::kU8);
  const Attributes attributes{{"alpha", 0.5}, {"input_keep_prob", 0.5}};
  const std::vector<Constant> soft =
      Apply("AxpyWithSoftmaxAndDropOutDoMask", {Reals({2}, {1, 1}), Reals({2}, {0, 2 * std::log(3.0)}), kept},
            attributes, 2);
  EXPECT_THAT(soft[0]->Reals(), ElementsAre(DoubleNear(0.25, 1e-6), DoubleNear(0.75, 1e-6)));
  EXPECT_THAT(soft[1]->Reals(), ElementsAre(DoubleNear(0.5, 1e-6), 0));
  const Constant slope = Apply("DropoutWithMulsAndSoftmaxGrad",
                               {Reals({2}, {4, 8}), kept, Reals({2}, {0.25, 0.75})}, attributes)[0];
  EXPECT_THAT(slope->Reals(), ElementsAre(0.75, -0.75));
  const Constant half =
      Apply("DropoutWithMulsAndSoftmaxGrad",
            {Reals({2}, {4, 8}, DType::kF16), kept, Reals({2}, {0.25, 0.75}, DType::kF16)}, attributes)[0];
  EXPECT_THAT(half->Reals(), ElementsAre(0.75, -0.75));
  EXPECT_THROW(Apply("AxpyWithSoftmaxAndDropOutDoMask",
                     {Reals({2}, {1, 1}), Reals({2}, {0, 0}), Reals({1}, {1}, DType::kU8)}, attributes, 2),
               Error);
}

}  // namespace
}  // namespace belay::graph
