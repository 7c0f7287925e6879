#include <gmock/gmock.h>

#include "graph/passes/test_graph.h"

namespace belay::graph {
namespace {

// Places from -3 to 3, some of them twice, repeated along rows of `width`.
Graph Scattering(const char* reduction, int64_t axis, int64_t width) {
  Builder b;
  Port numbers = b.Add("Mul", {b.Input({6, 1}), b.graph.AddConstant("n", RealConstant(3.9))});
  Port places = b.Add("Cast", {numbers}, {{"dst_type", DType::kI64}});
  Port sizes = b.graph.AddConstant("sizes", IntsConstant(std::vector<int64_t>{6, width}));
  Port all = b.Add("Expand", {places, sizes});
  Port y = b.Add("ScatterElements", {b.Random({7, 3}), all, b.Random({6, width})},
                 {{"axis", axis}, {"reduction", std::string(reduction)}});
  b.graph.outputs.push_back({y, "y"});
  const ValueType type{DType::kF32, Format::kND, true, {6, 1}};
  return Specialise(b.graph, std::vector<ValueType>{type}).graph;
}

std::vector<double> ResultsOf(const Graph& graph) {
  Builder b;
  return RunProgram(graph, {b.RandomInput({6, 1})}).at(0)->Reals();
}

TEST(FindRows, OfEachReduction) {
  for (const char* reduction : {"add", "max", "min", "none", "mul"}) {
    for (int64_t axis : {0, -2}) {
      Graph graph = Scattering(reduction, axis, 3);
      const std::vector<double> before = ResultsOf(graph);
      FindRows(graph);
      EXPECT_EQ(Count(graph, "ScatterElements"), std::string(reduction) == "mul") << reduction;
      EXPECT_EQ(Count(graph, "Expand"), std::string(reduction) == "mul") << reduction;
      EXPECT_THAT(ResultsOf(graph), testing::ContainerEq(before)) << reduction;
    }
  }
}

TEST(FindRows, PartsOfRowsAndColumnsStayElements) {
  Graph narrow = Scattering("add", 0, 2), columns = Scattering("add", 1, 3);
  for (Graph* graph : {&narrow, &columns}) {
    FindRows(*graph);
    EXPECT_EQ(Count(*graph, "ScatterElements"), 1);
  }
}

}  // namespace
}  // namespace belay::graph
