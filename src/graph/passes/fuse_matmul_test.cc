#include "graph/passes/test_graph.h"

namespace belay::graph {
namespace {

// alpha * (x w) + beta * bias, of rows of 6 and 4 columns.
Graph OptimisedGemm(const Attributes& attributes, bool bias) {
  Builder b;
  const bool turned = attributes.count("transpose_a") != 0;
  const Shape rows = turned ? Shape{6, 3} : Shape{3, 6};
  const Port x = b.Input(rows),
             w = b.Random(attributes.count("transpose_b") != 0 ? Shape{4, 6} : Shape{6, 4});
  std::vector<Port> inputs{x, w};
  if (bias) inputs.push_back(b.Random({4}));
  b.graph.outputs = {{b.Add("Gemm", inputs, attributes), "y"}};
  const Constant input = b.RandomInput(rows);
  return CheckOne(b.graph, input, Evaluate(b.graph, std::vector{input}).at(0));
}

TEST(FuseMatMul, FactorsBecomePartOfConstants) {
  for (double alpha : {1.0, 0.5, -3.0}) {
    for (double beta : {1.0, 2.5, 0.0}) {
      for (bool bias : {false, true}) {
        Attributes factors{{"alpha", alpha}, {"beta", beta}};
        EXPECT_EQ(Count(OptimisedGemm(factors, bias), "FusedMatMul"), 1)
            << alpha << " " << beta << " " << bias;
        factors["transpose_b"] = true;
        EXPECT_EQ(Count(OptimisedGemm(factors, bias), "FusedMatMul"), 1)
            << alpha << " " << beta << " " << bias;
        factors["transpose_a"] = true;  // rows that have to be laid out first
        EXPECT_EQ(Count(OptimisedGemm(factors, bias), "Gemm"), 1) << alpha << " " << beta << " " << bias;
      }
    }
  }
}

}  // namespace
}  // namespace belay::graph
