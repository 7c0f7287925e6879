#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Results;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Constant Floats(const Shape& shape, std::initializer_list<float> values) {
  auto tensor = std::make_shared<HostTensor>(DType::kF32, shape);
  std::copy(values.begin(), values.end(), tensor->as<float>());
  return tensor;
}

TEST(ElementwiseNodes, ExponentialsHaveABaseAScaleAndAShift) {
  Constant x = Floats({3}, {0, 1, 2});
  EXPECT_THAT(Results("Exp", {x}), Pointwise(DoubleNear(1e-5), std::vector<double>{1, 2.718282, 7.389056}));
  EXPECT_THAT(Results("Exp", {x}, {{"base", 2.0}, {"scale", 2.0}, {"shift", 1.0}}),
              Pointwise(DoubleNear(1e-4), std::vector<double>{2, 8, 32}));
  EXPECT_THAT(Results("Log", {x}, {{"base", 2.0}, {"scale", 3.0}, {"shift", 1.0}}),
              Pointwise(DoubleNear(1e-5), std::vector<double>{0, 2, 2.807355}));
}

TEST(ElementwiseNodes, TheFormsOfGelu) {
  const Constant x = Floats({5}, {-3, -0.5, 0, 0.5, 2});
  std::vector<double> fast, tanh, exact;
  for (double v : x->Reals()) {
    fast.push_back(v / (1 + std::exp(-1.702 * v)));
    tanh.push_back(v / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v))));
    exact.push_back(v / 2 * std::erfc(-v / std::numbers::sqrt2));
  }
  EXPECT_THAT(Results("FastGelu", {x}), Pointwise(DoubleNear(1e-6), fast));
  EXPECT_THAT(Results("GeluV2", {x}, {{"approximate", std::string("tanh")}}),
              Pointwise(DoubleNear(1e-6), tanh));
  EXPECT_THAT(Results("GeluV2", {x}), Pointwise(DoubleNear(1e-6), exact));
  EXPECT_THAT(Results("Gelu", {x}), Pointwise(DoubleNear(1e-6), exact));
}

TEST(ElementwiseNodes, MeansFoldAnyNumberOfInputs) {
  Constant column = Floats({2, 1}, {3, 6}), row = Floats({2}, {0, 3});
  EXPECT_THAT(Results("Mean", {column, row, row}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(Results("Max", {row}), ElementsAre(0, 3));
}

TEST(ElementwiseNodes, IntegersDivideWithoutARemainder) {
  EXPECT_THAT(Results("Div", {IntsConstant(std::vector<int64_t>{-7, 8}), IntConstant(2)}),
              ElementsAre(-3, 4));
}

TEST(ElementwiseNodes, ShapesThatDoNotBroadcastAreRefused) {
  Constant a = Floats({2}, {1, 2}), b = Floats({3}, {1, 2, 3});
  EXPECT_THROW(Results("Maximum", {a, b}), Error);
  EXPECT_THROW(Results("Sin", {IntConstant(2)}), Error);
}

}  // namespace
}  // namespace belay::graph
