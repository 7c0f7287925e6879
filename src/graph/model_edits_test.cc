#include "graph/model_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace belay::graph {
namespace {

using testing::HasSubstr;

template <class F>
std::string EditError(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

onnx::ValueData Value(const std::string& name) {
  onnx::ValueData value;
  value.name = name;
  return value;
}

onnx::NodeData NodeNamed(const std::string& name, const std::string& type, std::vector<std::string> inputs,
                         std::vector<std::string> outputs) {
  return {name, type, "", std::move(inputs), std::move(outputs), {}};
}

// x -> a: split in "left" and "right"; b:c: "left" -> "y"
onnx::ModelData SplitThenAbs() {
  onnx::ModelData model;
  model.graph.inputs.push_back(Value("x"));
  model.graph.nodes = {NodeNamed("a", "Split", {"x"}, {"left", "right"}),
                       NodeNamed("b:c", "Abs", {"left"}, {"y"})};
  model.graph.outputs.push_back(Value("y"));
  model.graph.outputs[0].dims = {2};
  return model;
}

std::vector<std::string> Names(const onnx::ModelData& model) {
  std::vector<std::string> names;
  for (const onnx::ValueData& output : model.graph.outputs) names.push_back(output.name);
  return names;
}

TEST(OutNodes, AreOutputsOfNodesOrTensors) {
  onnx::ModelData model = SplitThenAbs();
  ChooseOutputs(model, "a:1; b:c:0;left");
  EXPECT_THAT(Names(model), testing::ElementsAre("right", "y", "left"));
  EXPECT_EQ(model.graph.outputs[1].dims, std::vector<int64_t>{2}) << "what is known of an output stays";
  EXPECT_TRUE(model.graph.outputs[0].dims.empty());
}

TEST(OutNodes, ThatAreNotThereAreNamed) {
  onnx::ModelData model = SplitThenAbs();
  EXPECT_THAT(EditError([&] { ChooseOutputs(model, "a:2"); }), HasSubstr("node 'a' has 2 outputs"));
  EXPECT_THAT(EditError([&] { ChooseOutputs(model, "d:0"); }), HasSubstr("'d:0'"));
  EXPECT_THAT(EditError([&] { ChooseOutputs(model, "none"); }), HasSubstr("no tensor of this name"));
}

Graph TwoOutputs() {
  Graph graph;
  ValueType floats{DType::kF32, Format::kND, true, {2}};
  int x = graph.AddInput("x", floats);
  int abs = graph.Add({.name = "abs", .type = "Abs", .inputs = {{x, 0}}});
  graph.outputs = {{{abs, 0}, "y", floats}, {{x, 0}, "z", floats}};
  return graph;
}

TEST(OutputType, ConvertsBehindWhatComputesIt) {
  Graph graph = TwoOutputs();
  ConvertOutputs(graph, "FP16", "");
  for (const auto& output : graph.outputs) {
    const Node& cast = graph.nodes[static_cast<size_t>(output.port.node)];
    EXPECT_EQ(cast.type, "Cast");
    EXPECT_EQ(std::get<DType>(cast.attributes.at("dst_type")), DType::kF16);
    EXPECT_EQ(output.declared.dtype, DType::kF16);
  }
  EXPECT_EQ(graph.nodes[2].inputs[0], (Port{1, 0}));
}

TEST(OutputType, LeavesWhatHasTheType) {
  Graph graph = TwoOutputs();
  ConvertOutputs(graph, "FP32", "");
  EXPECT_EQ(graph.nodes.size(), 2u);
}

TEST(OutputType, OfOneOutputNeedsOutNodes) {
  Graph graph = TwoOutputs();
  ConvertOutputs(graph, "x:0:UINT8", "abs:0;x:0");
  EXPECT_EQ(graph.outputs[0].declared.dtype, DType::kF32);
  EXPECT_EQ(graph.outputs[1].declared.dtype, DType::kU8);
  EXPECT_THAT(EditError([&] { ConvertOutputs(graph, "x:0:UINT8", ""); }),
              HasSubstr("'x:0', which out_nodes does not name"));
  EXPECT_THAT(EditError([&] { ConvertOutputs(graph, "FP8", ""); }), HasSubstr("the type 'FP8'"));
}

TEST(OutNodes, OfAGraphAreOutputsOfItsNodes) {
  Graph graph = TwoOutputs();
  EXPECT_EQ(OutNodesOf(graph), "abs:0;x:0;");
  ChooseOutputs(graph, "x:0");
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.outputs[0].name, "z") << "what is known of an output stays";
  ChooseOutputs(graph, "abs:0; x:0");
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.outputs[0].port, (Port{1, 0}));
  for (const char* none : {"abs:1", "none:0", "abs", "y"})
    EXPECT_THAT(EditError([&] { ChooseOutputs(graph, none); }), HasSubstr(none));
}

TEST(HalfInputs, AreConvertedForAllWhoReadThem) {
  Graph graph = TwoOutputs();
  TakeHalfInputs(graph, "x");
  EXPECT_EQ(graph.nodes[0].types[0].dtype, DType::kF16);
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(std::get<DType>(graph.nodes[2].attributes.at("dst_type")), DType::kF32);
  EXPECT_EQ(graph.nodes[2].inputs[0], (Port{0, 0}));
  EXPECT_EQ(graph.nodes[1].inputs[0], (Port{2, 0}));
  EXPECT_EQ(graph.outputs[1].port, (Port{2, 0}));
  EXPECT_THAT(EditError([&] { TakeHalfInputs(graph, "w"); }), HasSubstr("no such input"));
}

}  // namespace
}  // namespace belay::graph
