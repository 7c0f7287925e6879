#include "graph/build_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/specialise.h"

namespace belay::graph {
namespace {

// x [rows, 64] times a constant [64, 128]: with 256 rows two million products.
Graph OneProduct(int64_t rows = 256) {
  Graph graph;
  Port x{graph.AddInput("x", {DType::kF32, Format::kND, true, {rows, 64}})};
  Port w = graph.AddConstant("w", std::make_shared<HostTensor>(DType::kF32, Shape{64, 128}));
  Node node{.name = "y", .type = "BatchMatMul", .inputs = {x, w}};
  graph.outputs = {{{graph.Add(std::move(node))}, "y"}};
  return graph;
}

bool IsRounded(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.attributes.count("compute") != 0; });
}
bool Rounds(const BuildOptions& options) { return IsRounded(BuildModel(OneProduct(), options).graph); }

TEST(BuildModel, PrecisionModesThatRound) {
  EXPECT_FALSE(Rounds({}));
  for (const char* mode :
       {"force_fp16", "must_keep_origin_dtype", "allow_mix_precision_fp16", "force_fp32"}) {
    EXPECT_FALSE(Rounds({{"ge.exec.precision_mode", mode}})) << mode;
  }
  EXPECT_TRUE(Rounds({{"ge.exec.precision_mode", "allow_mix_precision"}}));
  EXPECT_TRUE(Rounds({{"ge.exec.precision_mode", "allow_mix_precision_bf16"}}));
  EXPECT_TRUE(Rounds({{"ge.exec.precision_mode_v2", "mixed_bfloat16"}}));
  EXPECT_FALSE(Rounds({{"ge.exec.precision_mode_v2", "origin"}}));
}

TEST(BuildModel, GraphsOfOpenSizesAreOptimisedOnceTheSizesAreKnown) {
  const ModelFile file = BuildModel(OneProduct(-1), {{"ge.exec.precision_mode", "allow_mix_precision"}});
  EXPECT_FALSE(IsRounded(file.graph));
  const ValueType known{DType::kF32, Format::kND, true, {256, 64}};
  Graph graph = Specialise(file.graph, std::span(&known, 1)).graph;
  OptimiseFor(file.options, graph);
  EXPECT_TRUE(IsRounded(graph));
  EXPECT_THROW(BuildModel(OneProduct(-1), {{"ge.exec.precision_mode", "fast"}}), Error);
}

TEST(BuildModel, ShapesOfInputsWhoseNamesHoldColons) {
  const auto shapes = ParseShapes("a:0:1,2;onnx::scale;onnx::Gather_3:4;s");
  ASSERT_EQ(shapes.size(), 4u);
  EXPECT_EQ(shapes.at("a:0"), (Shape{1, 2}));
  EXPECT_EQ(shapes.at("onnx::scale"), Shape{});
  EXPECT_EQ(shapes.at("onnx::Gather_3"), Shape{4});
  EXPECT_EQ(shapes.at("s"), Shape{});
  EXPECT_THROW(ParseShapes("a:two"), Error);
}

TEST(BuildModel, UnknownPrecisionModesAreRefused) {
  EXPECT_THROW(Rounds({{"ge.exec.precision_mode", "fast"}}), Error);
  EXPECT_THROW(Rounds({{"ge.exec.precision_mode_v2", "allow_mix_precision"}}), Error);
}

}  // namespace
}  // namespace belay::graph
