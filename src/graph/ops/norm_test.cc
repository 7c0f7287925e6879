// Normalisations as nodes of graphs.
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/interpreter.h"

namespace belay::graph {
namespace {

Constant Filled(const Shape& shape, std::initializer_list<float> values) {
  auto tensor = std::make_shared<HostTensor>(DType::kF32, shape);
  for (int64_t i = 0; i < tensor->count(); ++i)
    tensor->as<float>()[i] = values.begin()[static_cast<size_t>(i) % values.size()];
  return tensor;
}

std::vector<double> Normalised(const Constant& gamma, const Constant& beta) {
  Node node{.name = "n", .type = "LayerNormV3"};
  node.attributes = {{"begin_norm_axis", int64_t{-1}}, {"epsilon", 0.0}};
  return EvaluateNode(node, std::vector{Filled({2, 2, 2}, {1, 3}), gamma, beta})[0]->Reals();
}

TEST(LayerNormNodes, WeightsAreBroadcastToTheInput) {
  using Reals = std::vector<double>;
  EXPECT_EQ(Normalised(Filled({1}, {2}), Filled({}, {5})), (Reals{3, 7, 3, 7, 3, 7, 3, 7}));
  EXPECT_EQ(Normalised(Filled({2, 1}, {1, 10}), Filled({2, 1, 1}, {0, 100})),
            (Reals{-1, 1, -10, 10, 99, 101, 90, 110}));
  EXPECT_THROW(Normalised(Filled({3}, {1}), Filled({2}, {0})), Error);
  EXPECT_THROW(Normalised(Filled({2, 2, 2, 1}, {1}), Filled({2}, {0})), Error);
}

}  // namespace
}  // namespace belay::graph
