#include "graph/onnx/importer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/codes.h"

namespace belay::graph::onnx {
namespace {

NodeData Call(const std::string& type, const std::string& from, const std::string& to,
              const std::string& domain = "local") {
  return {type + "_" + to, type, domain, {from}, {to}, {}};
}

ValueData Value(const std::string& name) { return {name, true, kFloat, true, {2}}; }

FunctionData Function(const std::string& name, std::vector<NodeData> nodes) {
  return {"local", name, {"a"}, {"b"}, std::move(nodes)};
}

class Functions : public testing::Test {
 protected:
  Functions() {
    model_.opsets = {{"", 17}, {"local", 1}};
    model_.graph.inputs = {Value("x")};
    model_.graph.outputs = {Value("y")};
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
  body->outputs = {Value("c")};
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

}  // namespace
}  // namespace belay::graph::onnx
