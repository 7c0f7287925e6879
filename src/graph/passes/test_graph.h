// For tests of passes: graphs to optimise, and what they compute before and after.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/interpreter.h"
#include "graph/passes/passes.h"
#include "graph/run_program.h"
#include "graph/specialise.h"

namespace belay::graph {

// Graphs of floats with constants and inputs that are always the same.
class Builder {
 public:
  Port Input(const Shape& shape) { return {graph.AddInput("x", {DType::kF32, Format::kND, true, shape})}; }
  Port Random(const Shape& shape, double low = -1, double high = 1) {
    auto tensor = std::make_shared<HostTensor>(DType::kF32, shape);
    std::uniform_real_distribution<float> values(static_cast<float>(low), static_cast<float>(high));
    for (int64_t i = 0; i < tensor->count(); ++i) tensor->as<float>()[i] = values(random_);
    return graph.AddConstant("c", std::move(tensor));
  }
  Port Add(const char* type, std::vector<Port> inputs, Attributes attributes = {}) {
    Node node{.name = type + std::to_string(graph.nodes.size()), .type = type, .inputs = std::move(inputs)};
    node.attributes = std::move(attributes);
    return {graph.Add(std::move(node))};
  }
  Port Conv(Port x, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, bool bias = true) {
    std::vector<int64_t> pads(4, kernel / 2);
    std::vector<Port> inputs{x, Random({out, in, kernel, kernel})};
    if (bias) inputs.push_back(Random({out}));
    return Add("Conv2D", inputs,
               {{"strides", std::vector<int64_t>{stride, stride}},
                {"pads", pads},
                {"groups", int64_t{1}},
                {"data_format", std::string("NCHW")}});
  }
  Constant RandomInput(const Shape& shape) {
    Random(shape);
    Constant value = ConstantOf(graph.nodes.back());
    graph.nodes.pop_back();
    return value;
  }
  Graph graph;

 private:
  std::mt19937 random_{42};
};

inline int Count(const Graph& graph, const std::string& type) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.type == type; }));
}

// The optimised graph computes what the plain one does.
inline Graph CheckOne(const Graph& plain, const Constant& input, const Constant& want) {
  std::vector<ValueType> types{{DType::kF32, Format::kND, true, input->shape()}};
  Graph graph = Specialise(plain, types).graph;
  Optimise(graph);
  Constant got = RunProgram(graph, {input}).at(0);
  EXPECT_EQ(got->shape(), want->shape());
  for (int64_t i = 0; i < want->count() && got->shape() == want->shape(); ++i) {
    float w = want->as<float>()[i];
    EXPECT_NEAR(got->as<float>()[i], w, 1e-4 * (1 + std::abs(w))) << i;
    if (testing::Test::HasFailure()) break;
  }
  return graph;
}

}  // namespace belay::graph
