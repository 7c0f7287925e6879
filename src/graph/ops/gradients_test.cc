// Gradients against the slopes of the functions, and losses against their definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Doubles;
using samples::Results;
using samples::Row;
using Function = std::function<double(double)>;

constexpr double kStep = 1e-6;

// Away from the places where functions have a corner.
const std::vector<double> kPoints{-4.1, -2.7, -1.3, -0.7, -0.2, 0.1, 0.4, 0.9, 1.7, 3.3, 5.2};

double Slope(const Function& f, double x) { return (f(x + kStep) - f(x - kStep)) / (2 * kStep); }
double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

enum class Takes { kGradientAndOperand, kResultAndGradient, kGradientAndResult };

struct GradientCase {
  const char* type;
  Function function;
  Attributes attributes;
  Takes takes = Takes::kGradientAndOperand;
};

double EluOf(double x) { return x > 0 ? 1.5 * x : 1.5 * 0.7 * (std::exp(x * 0.5) - 1); }

const Attributes kElu{{"alpha", 0.7}, {"scale", 1.5}, {"input_scale", 0.5}};

const GradientCase kGradients[] = {
    {"ReluGrad", [](double x) { return std::max(x, 0.0); }, {}},
    {"ThresholdGradV2D", [](double x) { return x > 0.5 ? x : 3; }, {{"threshold", 0.5}}},
    {"SigmoidGrad", Logistic, {}, Takes::kResultAndGradient},
    {"TanhGrad", [](double x) { return std::tanh(x); }, {}, Takes::kResultAndGradient},
    {"HardSwishGrad", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, {}},
    {"HardSigmoidGrad", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }, {}},
    {"HardtanhGrad",
     [](double x) { return std::clamp(x, -0.5, 2.0); },
     {{"min_val", -0.5}, {"max_val", 2.0}},
     Takes::kResultAndGradient},
    {"SiluGrad", [](double x) { return x * Logistic(x); }, {}},
    {"SwishGrad", [](double x) { return x * Logistic(2 * x); }, {{"scale", 2.0}}},
    {"FastGeluGrad", [](double x) { return x * Logistic(1.702 * x); }, {}},
    {"LeakyReluGrad", [](double x) { return x > 0 ? x : 0.3 * x; }, {{"negative_slope", 0.3}}},
    {"EluGradV2", EluOf, kElu},
    {"SeluGrad",
     [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * (std::exp(x) - 1)); },
     {},
     Takes::kGradientAndResult},
    {"MishGrad", [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }, {}},
    {"SoftShrinkGrad",
     [](double x) { return std::fabs(x) > 0.3 ? x - std::copysign(0.3, x) : 0; },
     {{"lambd", 0.3}}},
    {"HardShrinkGrad", [](double x) { return std::fabs(x) > 0.3 ? x : 0; }, {{"lambd", 0.3}}},
    {"LogSigmoidGrad", [](double x) { return std::log(Logistic(x)); }, {}},
};

TEST(GradientNodes, AreTheSlopesOfTheFunctions) {
  for (const GradientCase& each : kGradients) {
    std::vector<double> gradients(kPoints.size()), results(kPoints.size());
    std::iota(gradients.begin(), gradients.end(), 1);
    std::transform(kPoints.begin(), kPoints.end(), results.begin(), each.function);
    std::vector<Constant> inputs{Row(gradients), Row(kPoints)};
    if (each.takes == Takes::kResultAndGradient) inputs = {Row(results), Row(gradients)};
    if (each.takes == Takes::kGradientAndResult) inputs = {Row(gradients), Row(results)};
    const std::vector<double> found = Results(each.type, inputs, each.attributes);
    for (size_t i = 0; i < kPoints.size(); ++i) {
      EXPECT_NEAR(found[i], gradients[i] * Slope(each.function, kPoints[i]), 1e-6 * gradients[i])
          << each.type << " at " << kPoints[i];
    }
  }
}

TEST(GradientNodes, EluMayBeGivenItsResult) {
  Attributes attributes = kElu;
  attributes["is_result"] = true;
  const std::vector<double> found =
      Results("EluGradV2", {Row({2, 2}), Row({EluOf(-1), EluOf(1)})}, attributes);
  EXPECT_NEAR(found[0], 2 * Slope(EluOf, -1), 1e-6);
  EXPECT_NEAR(found[1], 2 * Slope(EluOf, 1), 1e-6);
}

std::vector<double> SoftmaxOf(std::vector<double> x, bool logarithm) {
  double sum = 0;
  for (double each : x) sum += std::exp(each);
  for (double& each : x) each = logarithm ? each - std::log(sum) : std::exp(each) / sum;
  return x;
}

TEST(GradientNodes, SoftmaxAddsUpWhatEveryResultGives) {
  const std::vector<double> x{0.3, -1.2, 0.8}, gradient{1, -2, 0.5};
  for (bool logarithm : {false, true}) {
    const std::vector<double> result = SoftmaxOf(x, logarithm);
    const std::vector<double> found =
        logarithm ? Results("LogSoftmaxGrad", {Doubles({1, 3}, gradient), Doubles({1, 3}, result)})
                  : Results("SoftmaxGrad", {Doubles({1, 3}, result), Doubles({1, 3}, gradient)});
    for (size_t i = 0; i < x.size(); ++i) {
      auto total = [&](double value) {
        std::vector<double> moved = x;
        moved[i] = value;
        moved = SoftmaxOf(moved, logarithm);
        return std::inner_product(moved.begin(), moved.end(), gradient.begin(), 0.0);
      };
      EXPECT_NEAR(found[i], Slope(total, x[i]), 1e-6);
    }
  }
}

struct LossCase {
  const char* type;
  std::function<double(double x, double y)> loss;
  Attributes attributes;
  const char* gradient;  // null: not there
  bool gradient_first = false;
};

const LossCase kLosses[] = {
    {"MseLoss", [](double x, double y) { return (x - y) * (x - y); }, {}, "MseLossGrad"},
    {"LpLoss", [](double x, double y) { return std::fabs(x - y); }, {{"p", int64_t{1}}}, "L1LossGrad", true},
    {"SmoothL1LossV2",
     [](double x, double y) {
       const double d = std::fabs(x - y);
       return d < 0.5 ? d * d : d - 0.25;
     },
     {{"sigma", 0.5}},
     "SmoothL1LossGradV2"},
    {"KLDiv", [](double x, double y) { return y * (std::log(y) - x); }, {}, nullptr},
    {"KLDiv", [](double x, double y) { return std::exp(y) * (y - x); }, {{"log_target", true}}, nullptr},
    {"SoftMarginLoss",
     [](double x, double y) { return std::log(1 + std::exp(-x * y)); },
     {},
     "SoftMarginLossGrad"},
    {"BinaryCrossEntropy",
     [](double x, double y) { return -y * std::log(x) - (1 - y) * std::log(1 - x); },
     {},
     "BinaryCrossEntropyGrad"},
    {"SigmoidCrossEntropyWithLogitsV2",
     [](double x, double y) { return -y * std::log(Logistic(x)) - (1 - y) * std::log(1 - Logistic(x)); },
     {},
     nullptr},
};

const std::vector<double> kPredictions{0.2, 0.7, 0.9, 0.35}, kTargets{0.4, 0.1, 0.95, 0.9};

Attributes With(Attributes attributes, const char* reduction) {
  attributes["reduction"] = std::string(reduction);
  return attributes;
}

TEST(LossNodes, FoldWhatEachElementLoses) {
  for (const LossCase& each : kLosses) {
    std::vector<double> expected;
    for (size_t i = 0; i < 4; ++i) expected.push_back(each.loss(kPredictions[i], kTargets[i]));
    const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
    const std::vector<Constant> inputs{Doubles({2, 2}, kPredictions), Doubles({2, 2}, kTargets)};
    const std::vector<double> found = Results(each.type, inputs, With(each.attributes, "none"));
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << each.type;
    EXPECT_NEAR(Results(each.type, inputs, With(each.attributes, "sum"))[0], sum, 1e-12) << each.type;
    EXPECT_NEAR(Results(each.type, inputs, With(each.attributes, "mean"))[0], sum / 4, 1e-12) << each.type;
    EXPECT_NEAR(Results(each.type, inputs, With(each.attributes, "batchmean"))[0], sum / 2, 1e-12)
        << each.type;
    EXPECT_THROW(Results(each.type, inputs, With(each.attributes, "most")), Error);
  }
}

TEST(LossNodes, HaveTheirSlopesAsGradients) {
  const std::vector<double> upstream{1, -2, 3, 0.5};
  for (const LossCase& each : kLosses) {
    if (each.gradient == nullptr) continue;
    std::vector<Constant> inputs{Row(kPredictions), Row(kTargets), Row(upstream)};
    if (each.gradient_first) inputs = {inputs[2], inputs[0], inputs[1]};
    Attributes attributes = each.attributes;
    attributes.erase("p");
    const std::vector<double> sum = Results(each.gradient, inputs, With(attributes, "sum"));
    const std::vector<double> mean = Results(each.gradient, inputs, With(attributes, "mean"));
    for (size_t i = 0; i < 4; ++i) {
      const double slope = Slope([&](double x) { return each.loss(x, kTargets[i]); }, kPredictions[i]);
      EXPECT_NEAR(sum[i], upstream[i] * slope, 1e-7) << each.gradient;
      EXPECT_NEAR(mean[i], upstream[i] * slope / 4, 1e-7) << each.gradient;
    }
  }
}

TEST(LossNodes, ElementsHaveWeights) {
  const std::vector<Constant> inputs{Row(kPredictions), Row(kTargets), Row({2, 3, 4, 5}), Row({7, 7, 7, 7})};
  const std::vector<double> found = Results("SigmoidCrossEntropyWithLogitsV2", inputs, With({}, "none"));
  const std::vector<double> plain =
      Results("BinaryCrossEntropy", {inputs[0], inputs[1], inputs[2]}, With({}, "none"));
  for (size_t i = 0; i < 4; ++i) {
    const double x = kPredictions[i], y = kTargets[i], weight = 2 + static_cast<double>(i);
    EXPECT_NEAR(found[i], -weight * (7 * y * std::log(Logistic(x)) + (1 - y) * std::log(1 - Logistic(x))),
                1e-12);
    EXPECT_NEAR(plain[i], -weight * (y * std::log(x) + (1 - y) * std::log(1 - x)), 1e-12);
  }
}

}  // namespace
}  // namespace belay::graph
