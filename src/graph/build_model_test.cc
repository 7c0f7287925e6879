#include "graph/build_model.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace belay::graph {
namespace {

// x [256, 64] times a constant [64, 128]: two million products.
Graph OneProduct() {
  Graph graph;
  Port x{graph.AddInput("x", {DType::kF32, Format::kND, true, {256, 64}})};
  Port w = graph.AddConstant("w", std::make_shared<HostTensor>(DType::kF32, Shape{64, 128}));
  Node node{.name = "y", .type = "BatchMatMul", .inputs = {x, w}};
  graph.outputs = {{{graph.Add(std::move(node))}, "y"}};
  return graph;
}

bool Rounds(const BuildOptions& options) {
  const ModelFile file = BuildModel(OneProduct(), options);
  for (const Node& node : file.graph.nodes) {
    if (node.attributes.count("compute") != 0) return true;
  }
  return false;
}

TEST(BuildModel, PrecisionModesThatRound) {
  EXPECT_FALSE(Rounds({}));
  for (const char* mode : {"force_fp16", "must_keep_origin_dtype", "allow_mix_precision_fp16", "force_fp32"}) {
    EXPECT_FALSE(Rounds({{"ge.exec.precision_mode", mode}})) << mode;
  }
  EXPECT_TRUE(Rounds({{"ge.exec.precision_mode", "allow_mix_precision"}}));
  EXPECT_TRUE(Rounds({{"ge.exec.precision_mode", "allow_mix_precision_bf16"}}));
  EXPECT_TRUE(Rounds({{"ge.exec.precision_mode_v2", "mixed_bfloat16"}}));
  EXPECT_FALSE(Rounds({{"ge.exec.precision_mode_v2", "origin"}}));
}

TEST(BuildModel, UnknownPrecisionModesAreRefused) {
  EXPECT_THROW(Rounds({{"ge.exec.precision_mode", "fast"}}), Error);
  EXPECT_THROW(Rounds({{"ge.exec.precision_mode_v2", "allow_mix_precision"}}), Error);
}

}  // namespace
}  // namespace belay::graph
