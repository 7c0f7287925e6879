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

TEST(BuildModel, TheProcessorMustExist) {
  for (const char* name : {"Ascend910B3", "Ascend310", "Ascend310P3vir02", "Ascend910_9391", ""}) {
    EXPECT_NO_THROW(CheckBuildOptions({{"ge.socVersion", name}})) << name;
  }
  for (const char* name : {"Ascned910B3", "910B3", "Ascend", "ascend910b"}) {
    EXPECT_THROW(CheckBuildOptions({{"ge.socVersion", name}}), Error) << name;
  }
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

// What is said of a graph with the inputs a [-1, 3, -1, -1] and b [2, 4].
std::string ErrorOf(const BuildOptions& options) {
  Graph graph;
  Port a{graph.AddInput("a", {DType::kF32, Format::kND, true, {-1, 3, -1, -1}})};
  Port b{graph.AddInput("b", {DType::kF32, Format::kND, true, {2, 4}})};
  graph.outputs = {{{graph.Add({.name = "y", .type = "Relu", .inputs = {a}})}, "y"},
                   {{graph.Add({.name = "z", .type = "Relu", .inputs = {b}})}, "z"}};
  try {
    BuildModel(graph, options);
  } catch (const Error& error) {
    return error.sentence().substr(0, 6);
  }
  return "";
}

TEST(BuildModel, GearsAreForSizesThatAreOpen) {
  const std::string batch = "a:-1,3,8,8", images = "a:1,3,-1,-1", all = "a:-1,3,-1,-1", none = "a:1,3,8,8";
  EXPECT_EQ(ErrorOf({{"input_shape", batch}, {"ge.dynamicBatchSize", "1,2"}}), "");
  EXPECT_EQ(ErrorOf({{"input_shape", batch + ";b:-1,4"}, {"ge.dynamicBatchSize", "1,2"}}), "");
  EXPECT_EQ(ErrorOf({{"input_shape", none}, {"ge.dynamicBatchSize", "1,2"}}), "E10012");
  EXPECT_EQ(ErrorOf({{"input_shape", all}, {"ge.dynamicBatchSize", "1,2"}}), "E10012");
  EXPECT_EQ(ErrorOf({{"input_shape", batch + ";b:2,-1"}, {"ge.dynamicBatchSize", "1,2"}}), "E10012");
  EXPECT_EQ(ErrorOf({{"input_shape", images}, {"ge.dynamicImageSize", "8,8;4,4"}}), "");
  EXPECT_EQ(ErrorOf({{"input_shape", images}, {"ge.dynamicImageSize", "8;4"}}), "E10042");
  EXPECT_EQ(ErrorOf({{"input_shape", batch}, {"ge.dynamicImageSize", "8,8;4,4"}}), "E10012");
  EXPECT_EQ(ErrorOf({{"input_shape", all}, {"ge.dynamicDims", "1,8,8;2,4,4"}}), "");
  EXPECT_EQ(ErrorOf({{"input_shape", all}, {"ge.dynamicDims", "1,8,8;2,4"}}), "E10042");
}

TEST(BuildModel, GearsAreSeveralAndDiffer) {
  const auto error = [](const std::string& gears) {
    return ErrorOf({{"input_shape", "a:-1,3,8,8"}, {"ge.dynamicBatchSize", gears}});
  };
  std::string hundred = "1";
  for (int i = 2; i <= 100; ++i) hundred += "," + std::to_string(i);
  EXPECT_EQ(error(hundred), "");
  EXPECT_EQ(error(hundred + ",101"), "E10036");
  EXPECT_EQ(error("4"), "E10035");
  EXPECT_EQ(error("1,4,1"), "E10039");
  EXPECT_EQ(error("1,0"), "E10001");
}

TEST(BuildModel, RangesFixTheSizesThatAreNone) {
  const auto shape = [](const char* range) {
    const ModelFile file = BuildModel(OneProduct(-1), {{"input_shape_range", range}});
    return InputTypes(file.graph).at(0).shape;
  };
  EXPECT_EQ(shape("x:[1~4,64]"), (Shape{-1, 64}));
  EXPECT_EQ(shape("x:[8,64]"), (Shape{8, 64}));
  EXPECT_EQ(ErrorOf({{"input_shape_range", "a:[1~2,3,8,8];b:[2,4]"}}), "");
  for (const char* range : {"a:1~2,3,8,8", "a:[1~2,3,8,8", "a"}) {
    EXPECT_EQ(ErrorOf({{"input_shape_range", range}}), "E10001") << range;
  }
  EXPECT_EQ(ErrorOf({{"input_shape_range", "a:[1~2,3,8,8]"}, {"ge.dynamicBatchSize", "1,2"}}), "E10047");
  EXPECT_EQ(ErrorOf({{"input_shape", "a:1~2,3,8,8"}, {"ge.dynamicBatchSize", "1,2"}}), "E10047");
}

TEST(BuildModel, UnknownPrecisionModesAreRefused) {
  EXPECT_THROW(Rounds({{"ge.exec.precision_mode", "fast"}}), Error);
  EXPECT_THROW(Rounds({{"ge.exec.precision_mode_v2", "allow_mix_precision"}}), Error);
}

}  // namespace
}  // namespace belay::graph
