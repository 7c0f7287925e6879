// Pointwise operators made of others, and what tells something of a tensor as a whole, against their
// definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <random>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Apply;
using samples::Doubles;
using samples::Results;
using samples::Row;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;
using RealList = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Constant Mask(const Shape& shape, const std::vector<bool>& values) {
  auto tensor = std::make_shared<HostTensor>(DType::kBool, shape);
  std::copy(values.begin(), values.end(), tensor->as<bool>());
  return tensor;
}

std::vector<RealList> AllResults(const std::string& type, const std::vector<Constant>& inputs,
                                 Attributes attributes = {}, int outputs = 1) {
  std::vector<RealList> results;
  for (const Constant& each : Apply(type, inputs, std::move(attributes), outputs))
    results.push_back(each->Reals());
  return results;
}
auto Are(const RealList& values) { return Pointwise(DoubleNear(1e-9), values); }

const RealList kX{-1.5, 0.25, 2, 0.75}, kY{0.5, 3, 0.125, 1};

TEST(ComposedNodes, ErfinvTurnsErfRound) {
  const RealList points{-3.5, -1.2, -0.3, 0, 0.01, 0.5, 1.7, 4};
  RealList values;
  for (double x : points) values.push_back(std::erf(x));
  EXPECT_THAT(Results("Erfinv", {Row(values)}), Pointwise(DoubleNear(1e-8), points));
  EXPECT_THAT(Results("Erfinv", {Row({1, -1})}), ElementsAre(kInfinity, -kInfinity));
  EXPECT_TRUE(std::isnan(Results("Erfinv", {Row({1.5})})[0]));
}

TEST(ComposedNodes, ProductsAndQuotientsAreAdded) {
  RealList products, quotients, sums, between;
  for (size_t i = 0; i < 4; ++i) {
    products.push_back(kX[i] + 0.5 * kY[i] * kX[i]);
    quotients.push_back(kX[i] + 0.5 * kX[i] / kY[i]);
    sums.push_back(kX[i] + 0.5 * kY[i]);
    between.push_back(kX[i] + 0.5 * (kY[i] - kX[i]));
  }
  const Constant x = Row(kX), y = Row(kY), half = Row({0.5});
  EXPECT_THAT(Results("Addcmul", {x, y, x, half}), Are(products));
  EXPECT_THAT(Results("Addcdiv", {x, x, y, half}), Are(quotients));
  EXPECT_THAT(Results("AxpyV2", {x, y, half}), Are(sums));
  EXPECT_THAT(Results("Lerp", {x, y, half}), Are(between));
}

TEST(ComposedNodes, Logarithms) {
  RealList natural, binary, product;
  for (size_t i = 0; i < 4; ++i) {
    natural.push_back(std::log(std::exp(kX[i]) + std::exp(kY[i])));
    binary.push_back(std::log2(std::exp2(kX[i]) + std::exp2(kY[i])));
    product.push_back(kX[i] * std::log(kY[i]));
  }
  EXPECT_THAT(Results("LogAddExp", {Row(kX), Row(kY)}), Are(natural));
  EXPECT_THAT(Results("LogAddExp", {Row(kX), Row(kY)}, {{"base", 2.0}}), Are(binary));
  EXPECT_THAT(Results("LogAddExp", {Row({kInfinity, 1000}), Row({kInfinity, 0})}),
              ElementsAre(kInfinity, 1000));
  EXPECT_THAT(Results("Xlogy", {Row(kX), Row(kY)}), Are(product));
  EXPECT_THAT(Results("Xlogy", {Row({0}), Row({0})}), ElementsAre(0));
}

TEST(ComposedNodes, ActivationsWithAttributes) {
  RealList celu;
  for (double x : kX) celu.push_back(x > 0 ? x : 0.7 * (std::exp(x / 0.7) - 1));
  EXPECT_THAT(Results("CeluV2", {Row(kX)}, {{"alpha", 0.7}}), Are(celu));
  EXPECT_THAT(Results("ThresholdV2D", {Row(kX)}, {{"threshold", 0.5}, {"value", 9.0}}),
              ElementsAre(9, 9, 2, 0.75));
  EXPECT_THAT(Results("NanToNum", {Row({std::nan(""), kInfinity, -kInfinity, 4})},
                      {{"nan", 1.0}, {"posinf", 2.0}, {"neginf", 3.0}}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Results("GLU", {Doubles({2, 2}, {1, 2, 0, std::log(3)})}, {{"dim", int64_t{0}}}),
              Are({0.5, 1.5}));
  EXPECT_THROW(Results("GLU", {Row({1, 2, 3})}), Error);
}

TEST(ComposedNodes, Comparisons) {
  const Constant a = Row({1, 1, 100, kInfinity, std::nan("")}),
                 b = Row({1.05, 1.2, 108, kInfinity, std::nan("")});
  EXPECT_THAT(Results("IsClose", {a, b}, {{"rtol", 0.05}, {"atol", 0.1}}), ElementsAre(1, 0, 0, 1, 0));
  EXPECT_THAT(Results("IsClose", {a, b}, {{"rtol", 0.1}, {"atol", 0.0}, {"equal_nan", true}}),
              ElementsAre(1, 0, 1, 1, 1));
  EXPECT_THAT(Results("TensorEqual", {Row(kX), Row(kX)}), ElementsAre(1));
  EXPECT_THAT(Results("TensorEqual", {Row(kX), Row(kY)}), ElementsAre(0));
  EXPECT_THAT(Results("TensorEqual", {Row(kX), Row({1})}), ElementsAre(0));
}

using Complex = std::complex<float>;

Constant Numbers(const Shape& shape, const std::vector<Complex>& values) {
  auto tensor = std::make_shared<HostTensor>(DType::kC64, shape);
  std::copy(values.begin(), values.end(), tensor->as<Complex>());
  return tensor;
}
Constant NumberRow(const std::vector<Complex>& values) {
  return Numbers({static_cast<int64_t>(values.size())}, values);
}

// What comes out is `wanted`, to a rounding.
void ExpectNumbers(const std::string& type, const std::vector<Constant>& inputs,
                   const std::vector<Complex>& wanted) {
  Node node{.name = "n", .type = type, .attributes = {}};
  for (size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back({static_cast<int>(i), 0});
  const Constant result = EvaluateNode(node, inputs).at(0);
  ASSERT_EQ(result->dtype(), DType::kC64);
  ASSERT_EQ(static_cast<size_t>(result->count()), wanted.size());
  const auto* numbers = result->as<Complex>();
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_LT(std::abs(numbers[i] - wanted[i]), 1e-5) << type << i;
}

TEST(ComposedNodes, OfComplexNumbers) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const Constant a = NumberRow({{1, 2}, {3, 4}, {0, nan}, {infinity, 0}, {5, 0}});
  const Constant b = NumberRow({{1, 2.05f}, {3, -4}, {nan, 0}, {infinity, 0}, {-5, 0}});
  EXPECT_THAT(Results("IsClose", {a, b}, {{"rtol", 0.0}, {"atol", 0.1}}), ElementsAre(1, 0, 0, 1, 0));
  EXPECT_THAT(Results("IsClose", {a, b}, {{"rtol", 0.05}, {"atol", 0.0}, {"equal_nan", true}}),
              ElementsAre(1, 0, 1, 1, 0));
  const Constant x = NumberRow({{1, 2}, {0, -1}, {3, 0}}), y = NumberRow({{2, 0}, {1, 1}, {0, 4}});
  EXPECT_THAT(Results("TensorEqual", {x, x}), ElementsAre(1));
  EXPECT_THAT(Results("TensorEqual", {x, NumberRow({{1, 2}, {0, 1}, {3, 0}})}), ElementsAre(0));
  EXPECT_THAT(Results("TensorEqual", {NumberRow({{1, 0}, {3, 0}}), Row({1, 3})}), ElementsAre(1));
  ExpectNumbers("Cross", {x, y}, {{1, -3}, {14, -4}, {-1, 5}});
  ExpectNumbers("Trace", {Numbers({2, 3}, {{1, 2}, {9, 9}, {9, 9}, {9, 9}, {3, -5}, {9, 9}})}, {{4, -3}});
  const auto both = [](Complex p, Complex q) { return std::log(std::exp(p) + std::exp(q)); };
  const Complex p(1, 2), q(-0.5f, -1), large(300, 1);
  ExpectNumbers("LogAddExp", {NumberRow({p, large}), NumberRow({q, large})},
                {both(p, q), large + Complex(std::log(2.0f), 0)});
}

TEST(ComposedNodes, MasksChooseElements) {
  const Constant x = Doubles({2, 2}, kX), mask = Mask({2}, {false, true});
  EXPECT_THAT(Results("MaskedFill", {x, mask, Row({7})}), ElementsAre(-1.5, 7, 2, 7));
  EXPECT_THAT(Results("MaskedScatter", {x, mask, Row({7, 8, 9})}), ElementsAre(-1.5, 7, 2, 8));
  EXPECT_THROW(Results("MaskedScatter", {x, mask, Row({7})}), Error);
}

// They would be read beyond their end.
TEST(ComposedNodes, OperandsThatDoNotBroadcastAreRefused) {
  const Constant x = Doubles({2, 2}, {0.1, 0.2, 0.3, 0.4}), mask = Mask({2}, {false, true}),
                 three = Row({1, 2, 3});
  EXPECT_THROW(Results("MaskedFill", {x, mask, three}), Error);
  EXPECT_THROW(Results("BinaryCrossEntropy", {x, x, three}), Error);
  EXPECT_THROW(Results("BinaryCrossEntropyGrad", {x, x, three}), Error);
  EXPECT_THROW(Results("SigmoidCrossEntropyWithLogitsV2", {x, x, three}), Error);
  EXPECT_THROW(Results("SmoothL1LossGradV2", {x, x, three}), Error);
}

TEST(ComposedNodes, CrossProductsAndDiagonals) {
  EXPECT_THAT(Results("Cross", {Row({1, 2, 3}), Row({4, 5, 7})}), ElementsAre(-1, 5, -3));
  EXPECT_THAT(Results("Cross", {Doubles({2, 3}, {1, 0, 0, 0, 1, 0}), Doubles({2, 3}, {0, 1, 0, 0, 0, 1})},
                      {{"dim", int64_t{-1}}}),
              ElementsAre(0, 0, 1, 1, 0, 0));
  const Constant tall = Doubles({5, 2}, RealList(10, 0));
  EXPECT_THAT(Results("FillDiagonal", {tall}, {{"fill_value", 1.0}}),
              ElementsAre(1, 0, 0, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(Results("FillDiagonal", {tall}, {{"fill_value", 1.0}, {"wrap", true}}),
              ElementsAre(1, 0, 0, 1, 0, 0, 1, 0, 0, 1));
}

TEST(StatisticNodes, ExtremesHavePlaces) {
  const Constant x = Doubles({2, 3}, {1, 5, 5, 4, 2, 3});
  using Both = std::vector<RealList>;
  EXPECT_EQ(AllResults("ArgMaxWithValue", {x}, {{"dimension", int64_t{1}}}, 2), (Both{{1, 0}, {5, 4}}));
  EXPECT_EQ(AllResults("ArgMinWithValue", {x}, {{"dimension", int64_t{0}}}, 2), (Both{{0, 1, 1}, {1, 2, 3}}));
  EXPECT_EQ(AllResults("Cummax", {x}, {{"dim", int64_t{1}}}, 2),
            (Both{{1, 5, 5, 4, 4, 4}, {0, 1, 2, 0, 0, 0}}));
  EXPECT_EQ(AllResults("Cummin", {x}, {{"axis", int64_t{0}}}, 2),
            (Both{{1, 5, 5, 1, 2, 3}, {0, 0, 0, 0, 1, 1}}));
}

TEST(StatisticNodes, MeansAndDeviations) {
  const Constant x = Doubles({2, 2}, {1, 3, 2, 8}), mean = Doubles({2, 1}, {2, 5});
  const Attributes rows{{"dim", std::vector<int64_t>{1}}};
  EXPECT_THAT(Results("ReduceStdWithMean", {x, mean}, rows), Are({std::sqrt(2), std::sqrt(18)}));
  Attributes inverse = rows;
  inverse["unbiased"] = false, inverse["invert"] = true, inverse["epsilon"] = 3.0;
  EXPECT_THAT(Results("ReduceStdWithMean", {x, mean}, inverse), Are({0.5, 1 / std::sqrt(12)}));
  EXPECT_THAT(Results("ReduceMeanWithCount", {x, Doubles({2, 1}, {1, 3}), Doubles({1}, {4})},
                      {{"axes", std::vector<int64_t>{0}}}),
              Are({1.75, 6.75}));
}

TEST(StatisticNodes, Counts) {
  const Attributes four{{"bins", int64_t{4}}, {"min", -2.0}, {"max", 2.0}};
  EXPECT_THAT(Results("Histogram", {Row({-2, -1.5, 0, 0.5, 2, 2.1, std::nan("")})}, four),
              ElementsAre(2, 0, 2, 1));
  EXPECT_THAT(Results("Histogram", {Row({3, 4, 5})}, {{"bins", int64_t{2}}}), ElementsAre(1, 2));
  EXPECT_THROW(Results("Histogram", {Row({3, HUGE_VAL})}, {{"bins", int64_t{2}}}), Error);
  const Constant x = IntsConstant(std::vector<int64_t>{0, 2, 2, 5});
  EXPECT_THAT(Results("Bincount", {x, IntsConstant(std::vector<int64_t>{4}), Row({1, 2, 3, 4})}),
              ElementsAre(1, 0, 5, 0));
  EXPECT_THAT(Results("Bincount", {x, IntsConstant(std::vector<int64_t>{6}), Row({})}),
              ElementsAre(1, 0, 2, 0, 0, 1));
}

TEST(StatisticNodes, Distances) {
  const Constant points = Doubles({3, 2}, {0, 0, 3, 4, 3, 0});
  EXPECT_THAT(Results("Pdist", {points}), Are({5, 3, 4}));
  EXPECT_THAT(Results("Pdist", {points}, {{"p", 1.0}}), Are({7, 3, 4}));
  EXPECT_THAT(Results("Pdist", {points}, {{"p", kInfinity}}), Are({4, 3, 4}));
  EXPECT_THAT(Results("Pdist", {points}, {{"p", 0.0}}), Are({2, 1, 1}));
  const Constant origin = Doubles({1, 2}, {0, 1});
  EXPECT_THAT(Results("Cdist", {points, origin}), Are({1, std::sqrt(18), std::sqrt(10)}));
  EXPECT_THAT(Results("Cdist", {points, origin}, {{"p", -1.0}}), Are({1, 3, 3}));
  EXPECT_THAT(Results("Renorm", {points}, {{"p", 2.0}, {"dim", int64_t{0}}, {"maxnorm", 4.0}}),
              Pointwise(DoubleNear(1e-6), RealList{1, 0.8, 1}));
  EXPECT_THAT(Results("Trace", {points}), ElementsAre(4));
  EXPECT_THAT(Results("Dot", {Row({1, 2}), Row({3, 5})}), ElementsAre(13));
}

TEST(StatisticNodes, InversesAndDeterminants) {
  const Constant x = Doubles({2, 2, 2}, {0, 2, 4, 1, 3, 1, 2, 1});
  EXPECT_THAT(Results("MatrixInverse", {x}), Are({-0.125, 0.25, 0.5, 0, 1, -1, -2, 3}));
  EXPECT_THROW(Results("MatrixInverse", {Doubles({2, 2}, {1, 2, 2, 4})}), Error);
  const std::vector<RealList> found = AllResults("LogMatrixDeterminant", {x}, {}, 2);
  EXPECT_THAT(found[0], ElementsAre(-1, 1));
  EXPECT_THAT(found[1], Are({std::log(8), 0}));
  EXPECT_EQ(AllResults("LogMatrixDeterminant", {Doubles({1, 1}, {0})}, {}, 2),
            (std::vector<RealList>{{0}, {-kInfinity}}));
}

// Small matrices are taken otherwise than those of nine rows, of which they are a part here.
TEST(StatisticNodes, DeterminantsOfSmallMatrices) {
  std::mt19937 rng(77);
  std::normal_distribution<float> normal;
  for (int64_t m = 1; m <= 8; ++m) {
    const auto small = std::make_shared<HostTensor>(DType::kF32, Shape{300, m, m});
    const auto large = std::make_shared<HostTensor>(DType::kF32, Shape{300, 9, 9});
    for (int64_t i = 0; i < small->count(); ++i) {
      const int64_t matrix = i / (m * m), row = i / m % m, column = i % m;
      // The first matrix is zero, and the second begins with a zero.
      const float value = matrix == 0 || (matrix == 1 && row + column == 0) ? 0 : normal(rng);
      small->as<float>()[i] = value;
      large->as<float>()[matrix * 81 + row * 9 + column] = value;
    }
    for (int64_t i = 0; i < 300; ++i) {
      for (int64_t k = m; k < 9; ++k) large->as<float>()[i * 81 + k * 10] = 1;
    }
    EXPECT_EQ(Results("Det", {small}), Results("Det", {large})) << m;
  }
}

}  // namespace
}  // namespace belay::graph
