#include "graph/onnx/importer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/interpreter.h"
#include "graph/ops/node_samples.h"

namespace belay::graph::onnx {
namespace {

NodeData Call(const std::string& type, const std::string& from, const std::string& to,
              const std::string& domain = "local") {
  return {type + "_" + to, type, domain, {from}, {to}, {}};
}

ValueData TwoFloats(const std::string& name) { return {name, true, kFloat, true, {2}}; }

FunctionData Function(const std::string& name, std::vector<NodeData> nodes) {
  return {"local", name, {"a"}, {"b"}, std::move(nodes)};
}

class Functions : public testing::Test {
 protected:
  Functions() {
    model_.opsets = {{"", 17}, {"local", 1}};
    model_.graph.inputs = {TwoFloats("x")};
    model_.graph.outputs = {TwoFloats("y")};
    model_.graph.nodes = {Call("F0", "x", "y")};
  }

  std::string Refusal() {
    try {
      Import(model_, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), kFileCorrupt);
      return std::string(error.id());
    }
    return "";
  }

  ModelData model_;
};

TEST_F(Functions, StandInThePlaceOfTheirCalls) {
  model_.functions = {Function("F0", {Call("F1", "a", "once"), Call("F1", "once", "b")}),
                      Function("F1", {Call("Relu", "a", "b", "")})};
  const Graph graph = Import(model_, "");
  EXPECT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(graph.nodes.back().type, "Relu");
}

TEST_F(Functions, ThatCallThemselvesAreRefused) {
  model_.functions = {Function("F0", {Call("F0", "a", "b")})};
  EXPECT_EQ(Refusal(), "onnx-function");
  model_.functions = {Function("F0", {Call("F1", "a", "b")}), Function("F1", {Call("F0", "a", "b")})};
  EXPECT_EQ(Refusal(), "onnx-function");
}

TEST_F(Functions, ThatCallThemselvesInABodyAreRefused) {
  auto body = std::make_shared<GraphData>();
  body->nodes = {Call("F0", "a", "c")};
  body->outputs = {TwoFloats("c")};
  NodeData branch = Call("If", "a", "b", "");
  for (const char* name : {"then_branch", "else_branch"}) {
    AttributeData& attribute = branch.attributes.emplace_back();
    attribute.name = name;
    attribute.type = 5;
    attribute.graph = body;
  }
  model_.functions = {Function("F0", {branch})};
  EXPECT_EQ(Refusal(), "onnx-function");
}

// Each calls the next one twice: 2^40 nodes.
TEST_F(Functions, ThatBecomeTooManyNodesAreRefused) {
  for (int i = 0; i < 40; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    model_.functions.push_back(
        Function("F" + std::to_string(i), {Call(next, "a", "once"), Call(next, "once", "b")}));
  }
  model_.functions.push_back(Function("F40", {}));
  model_.functions.back().outputs = {"a"};
  EXPECT_EQ(Refusal(), "onnx-function");
}

AttributeData Real(const std::string& name, double value, const std::string& parameter = "") {
  AttributeData attribute;
  attribute.name = name;
  attribute.type = kFloatAttribute;
  attribute.f = value;
  attribute.parameter = parameter;
  return attribute;
}

double AlphaIn(const Graph& graph) { return std::get<double>(graph.nodes.back().attributes.at("alpha")); }

// Which of the call, of the function's default, and of the operator's default is there first.
TEST_F(Functions, TakeAttributesOfTheirCalls) {
  NodeData elu = Call("Elu", "a", "b", "");
  elu.attributes = {Real("alpha", 0, "slope")};
  model_.functions = {Function("F0", {elu})};
  model_.functions[0].parameters = {"slope"};
  EXPECT_EQ(AlphaIn(Import(model_, "")), 1);
  model_.functions[0].parameters = {};
  model_.functions[0].defaulted = {Real("slope", 0.5)};
  EXPECT_EQ(AlphaIn(Import(model_, "")), 0.5);
  model_.graph.nodes[0].attributes = {Real("slope", 0.25)};
  EXPECT_EQ(AlphaIn(Import(model_, "")), 0.25);
}

TEST_F(Functions, RefuseAttributesThatTheyDoNotHave) {
  model_.functions = {Function("F0", {Call("Relu", "a", "b", "")})};
  model_.graph.nodes[0].attributes = {Real("slope", 0.25)};
  try {
    Import(model_, "");
    ADD_FAILURE() << "the attribute was ignored";
  } catch (const Error& error) {
    EXPECT_STREQ(error.id(), "onnx-attribute");
  }
}

// A broadcast of opset 6: the sizes of the second operand are those of the first from the axis on.
TEST(Importer, BroadcastsFromAnAxis) {
  ModelData model;
  model.opsets = {{"", 6}};
  model.graph.inputs = {{"x", true, kFloat, true, {2, 2, 2}}, {"y", true, kFloat, true, {2}}};
  model.graph.outputs = {{"z", true, kFloat, false, {}}};
  NodeData add{"add", "Add", "", {"x", "y"}, {"z"}, {}};
  for (const char* name : {"axis", "broadcast"}) {
    AttributeData& attribute = add.attributes.emplace_back();
    attribute.name = name;
    attribute.type = kIntAttribute;
    attribute.i = 1;
  }
  model.graph.nodes = {add};
  const std::vector<Constant> inputs{samples::Counting({2, 2, 2}), samples::Reals({2}, {10, 20})};
  const std::vector<Constant> sums = Evaluate(Import(model, ""), inputs);
  EXPECT_EQ(sums.at(0)->Reals(), (std::vector<double>{10, 11, 22, 23, 14, 15, 26, 27}));
}

// The bias joins the product, in steps of both scales, so that it can be computed with bytes.
TEST(Importer, AQuantisedLayerOfOnnxruntime) {
  const std::vector<std::string> names{"x",      "x_scale", "x_zero",  "w",     "w_scale",
                                       "w_zero", "b",       "y_scale", "y_zero"};
  ModelData model;
  model.opsets = {{"", 17}, {"com.microsoft", 1}};
  model.graph.inputs = {{"x", true, kUint8, true, {1, 2}}};
  model.graph.outputs = {{"y", true, kUint8, false, {}}};
  model.graph.nodes = {{"n", "QGemm", "com.microsoft", names, {"y"}, {}}};
  const auto add = [&](const std::string& name, int32_t type, std::vector<int64_t> dims,
                       std::vector<float> floats, std::vector<int32_t> whole) {
    TensorData& tensor = model.graph.constants.emplace_back();
    tensor.name = name, tensor.type = type, tensor.dims = std::move(dims);
    tensor.floats = std::move(floats), tensor.int32s = std::move(whole);
  };
  add("x_scale", kFloat, {}, {0.5}, {});
  add("x_zero", kUint8, {}, {}, {10});
  add("w", kInt8, {2, 2}, {}, {1, 2, 3, -4});
  add("w_scale", kFloat, {2}, {0.25, 0.5}, {});
  add("w_zero", kInt8, {2}, {}, {0, 0});
  add("b", kInt32, {2}, {}, {8, -4});
  add("y_scale", kFloat, {}, {0.125}, {});
  add("y_zero", kUint8, {}, {}, {100});
  const Graph graph = Import(model, "");
  EXPECT_EQ(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.type == "Add"; }),
      0);
  auto x = std::make_shared<HostTensor>(DType::kU8, Shape{1, 2});
  x->as<uint8_t>()[0] = 14, x->as<uint8_t>()[1] = 8;
  // (4 * 1 - 2 * 3 + 8) / 8 = 0.75 and (4 * 2 + 2 * 4 - 4) / 4 = 3, in eighths.
  EXPECT_EQ(Evaluate(graph, std::vector<Constant>{x}).at(0)->Ints(), (std::vector<int64_t>{106, 124}));
}

// What a model of one value and these nodes gives, y of x.
std::vector<double> Chain(const std::vector<NodeData>& nodes, const Constant& x, int32_t type = kFloat) {
  ModelData model;
  model.opsets = {{"", 18}};
  model.graph.inputs = {{"x", true, type, true, {x->shape().begin(), x->shape().end()}}};
  model.graph.outputs = {{"y", true, kFloat, false, {}}};
  model.graph.nodes = nodes;
  return Evaluate(Import(model, ""), std::vector<Constant>{x}).at(0)->Reals();
}

TEST(Importer, ShrinksIntegers) {
  NodeData shrink = Call("Shrink", "x", "y", "");
  for (const char* name : {"lambd", "bias"}) {
    AttributeData& attribute = shrink.attributes.emplace_back();
    attribute.name = name, attribute.type = kFloatAttribute, attribute.f = 2;
  }
  const Constant x = samples::Reals({5}, {-9, -2, 0, 2, 7}, DType::kI32);
  EXPECT_EQ(Chain({shrink}, x, 6), (std::vector<double>{-7, 0, 0, 0, 5}));
}

TEST(Importer, AnOptionalValueIsTheValue) {
  const Constant x = samples::Reals({2}, {3, -4});
  const std::vector<NodeData> nodes{Call("Optional", "x", "o", ""), Call("OptionalGetElement", "o", "e", ""),
                                    Call("Neg", "e", "y", "")};
  EXPECT_EQ(Chain(nodes, x), (std::vector<double>{-3, 4}));
}

// Each member is negated and gets what the model has outside.
TEST(Importer, MapsSequences) {
  NodeData map = Call("SequenceMap", "s", "t", "");
  AttributeData& body = map.attributes.emplace_back();
  body.name = "body", body.type = kGraphAttribute, body.graph = std::make_shared<GraphData>();
  body.graph->inputs = {{"a", true, kFloat, false, {}}};
  body.graph->outputs = {{"b", true, kFloat, false, {}}};
  body.graph->nodes = {{"sub", "Sub", "", {"x", "a"}, {"b"}, {}}};
  NodeData join = Call("ConcatFromSequence", "t", "y", "");
  AttributeData& axis = join.attributes.emplace_back();
  axis.name = "axis", axis.type = kIntAttribute;
  const std::vector<NodeData> nodes{
      Call("Neg", "x", "n", ""), {"make", "SequenceConstruct", "", {"x", "n"}, {"s"}, {}}, map, join};
  EXPECT_EQ(Chain(nodes, samples::Reals({2}, {3, -4})), (std::vector<double>{0, 0, 6, -8}));
}

TEST(Importer, AnInputThatNobodyReadsIsRefused) {
  ModelData model;
  model.opsets = {{"", 6}};
  model.graph.inputs = {{"x", true, kFloat, true, {2}}, {"y", true, kFloat, true, {2}}};
  model.graph.outputs = {{"z", true, kFloat, false, {}}};
  model.graph.nodes = {{"n", "Clip", "", {"x", "y"}, {"z"}, {}}};
  try {
    Import(model, "");
    ADD_FAILURE() << "the input was ignored";
  } catch (const Error& error) {
    EXPECT_STREQ(error.id(), "onnx-input");
  }
}

}  // namespace
}  // namespace belay::graph::onnx
