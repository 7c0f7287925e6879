// Operators that draw random numbers, all of them: without a seed other numbers at each execution, with one a
// sequence that begins at the seed and goes on, whichever way they are run and whatever is constant.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/build_model.h"
#include "graph/device_samples.h"
#include "graph/model.h"
#include "graph/op_schema.h"
#include "graph/ops/node_samples.h"
#include "graph/single_op.h"
#include "graph/specialise.h"

namespace belay::graph {
namespace {

using samples::Bytes;
using samples::Ints;
using samples::Reals;
using samples::Runtime;
using Draws = std::vector<Bytes>;  // of one execution after the other

constexpr int kRuns = 3;

Constant SampleOf(std::string_view port) {
  if (port == "shape") return Ints({20, 70});
  if (port == "prob" || port == "ratio") return Reals({1}, {0.5});
  if (port == "logits") return samples::Counting({5, 6});
  if (port == "num_samples") return Ints({100});
  if (port == "x") return samples::Counting({33, 40});
  if (port == "truths") {
    auto truths = std::make_shared<HostTensor>(DType::kBool, Shape{5, 60});
    std::fill_n(truths->as<bool>(), 300, true);
    return truths;
  }
  if (port == "training") return Ints({1});
  ADD_FAILURE() << "this test has no value for an input called " << port;
  return nullptr;
}

std::vector<Constant> SamplesFor(const OpSchema& schema) {
  const bool of_truths = schema.type == std::string_view("RandomChoiceWithMask");
  std::vector<Constant> samples;
  for (const PortSchema& port : schema.inputs) samples.push_back(SampleOf(of_truths ? "truths" : port.name));
  return samples;
}

// The ones that it always has.
int OutputsOf(const OpSchema& schema) {
  return static_cast<int>(
      std::count_if(schema.outputs.begin(), schema.outputs.end(),
                    [](const PortSchema& port) { return port.kind == PortKind::kRequired; }));
}

Attributes SeededWith(int64_t seed) {
  return seed == 0 ? Attributes{} : Attributes{{"seed", seed}, {"seed2", int64_t{7}}};
}

ValueType TypeOf(const Constant& value) { return {value->dtype(), Format::kND, true, value->shape()}; }

// The operator with its inputs as constants, or as inputs.
Graph GraphWith(const OpSchema& schema, int64_t seed, bool constant) {
  Graph graph;
  Node node{.name = "n", .type = schema.type, .attributes = SeededWith(seed)};
  node.outputs = OutputsOf(schema);
  for (const Constant& sample : SamplesFor(schema)) {
    node.inputs.push_back(constant ? graph.AddConstant("c", sample)
                                   : Port{graph.AddInput("i", TypeOf(sample))});
  }
  graph.outputs = {{{graph.Add(std::move(node))}, "y"}};
  return graph;
}

// The operator in a branch that only the data chooses, with another model's input in front of it.
Graph InBranch(const OpSchema& schema, int64_t seed) {
  Graph graph;
  Node node{
      .name = "if", .type = "If", .inputs = {{graph.AddInput("i", {DType::kBool, Format::kND, true, {}})}}};
  node.attributes["then_branch"] = std::make_shared<Graph>(GraphWith(schema, seed, true));
  node.attributes["else_branch"] = std::make_shared<Graph>(GraphWith(schema, seed, true));
  graph.outputs = {{{graph.Add(std::move(node))}, "y"}};
  return graph;
}

std::vector<Constant> InputsOf(const OpSchema& schema, bool constant) {
  return constant ? std::vector<Constant>{} : SamplesFor(schema);
}

Draws AsModel(const OpSchema& schema, int64_t seed, bool constant, bool from_file) {
  ModelFile file = BuildModel(GraphWith(schema, seed, constant), {});
  if (from_file) {
    const ModelBytes bytes = WriteModel(file);
    file = ReadModelCopy(bytes.data.get(), bytes.size);
  }
  Model model(Runtime::device(), std::move(file), {});
  Draws draws;
  for (int i = 0; i < kRuns; ++i)
    draws.push_back(Runtime::Execute(*model.MainInstance(), InputsOf(schema, constant)));
  return draws;
}

Draws AsBranch(const OpSchema& schema, int64_t seed) {
  Model model(Runtime::device(), BuildModel(InBranch(schema, seed), {}), {});
  Draws draws;
  for (int i = 0; i < kRuns; ++i)
    draws.push_back(Runtime::Execute(*model.MainInstance(), {IntConstant(1, DType::kBool)}));
  return draws;
}

// What is prepared is forgotten in between: the sequence is not. Inputs are constant or not by turns.
Draws AsSingleOp(const OpSchema& schema, int64_t seed, bool mixed) {
  Draws draws;
  for (int i = 0; i < kRuns; ++i) {
    const bool constant = !mixed || i % 2 == 0;
    SingleOp op{schema.type, {}, OutputsOf(schema), SeededWith(seed)};
    for (const Constant& sample : SamplesFor(schema))
      op.inputs.push_back({true, TypeOf(sample), constant ? sample : nullptr});
    draws.push_back(Runtime::Execute(*InstanceOf(Runtime::device(), op), InputsOf(schema, constant)));
    SetMostKept(1);
    InstanceOf(Runtime::device(), {"Relu", {{true, {DType::kF32, Format::kND, true, {2}}, nullptr}}, 1, {}});
  }
  SetMostKept(1024);
  return draws;
}

// Every way to run it, by name.
std::vector<std::pair<const char*, Draws>> AllWays(const OpSchema& schema, int64_t seed) {
  std::vector<std::pair<const char*, Draws>> ways;
  for (const char* workers : {"1", "3"}) {
    Runtime runtime(workers);
    ways.emplace_back("a model of constants", AsModel(schema, seed, true, false));
    ways.emplace_back("a model with inputs", AsModel(schema, seed, false, false));
    ways.emplace_back("a file", AsModel(schema, seed, true, true));
    ways.emplace_back("a branch", AsBranch(schema, seed));
  }
  for (bool mixed : {false, true}) {
    Runtime runtime("2");
    ways.emplace_back(mixed ? "single operators of any kind" : "a single operator",
                      AsSingleOp(schema, seed, mixed));
  }
  return ways;
}

TEST(RandomOperators, DrawOthersEachTimeWithoutASeed) {
  int count = 0;
  for (const OpSchema& schema : AllOps()) {
    if (!schema.Is(kTraitRandom)) continue;
    ++count;
    std::vector<Bytes> all;
    for (const auto& [way, draws] : AllWays(schema, 0)) {
      for (const Bytes& draw : draws) {
        EXPECT_EQ(std::count(all.begin(), all.end(), draw), 0) << schema.type << " as " << way;
        all.push_back(draw);
      }
    }
  }
  EXPECT_GE(count, 5);
}

TEST(RandomOperators, GoOnInTheSequenceOfTheirSeed) {
  for (const OpSchema& schema : AllOps()) {
    if (!schema.Is(kTraitRandom)) continue;
    const auto ways = AllWays(schema, 5);
    const Draws& first = ways[0].second;
    EXPECT_NE(first[0], first[1]) << schema.type;
    EXPECT_NE(first[1], first[2]) << schema.type;
    for (const auto& [way, draws] : ways) EXPECT_EQ(draws, first) << schema.type << " as " << way;
  }
}

TEST(RandomOperators, SizesOfOneModelShareItsSequence) {
  Runtime runtime("1");
  Graph graph;
  Port x{graph.AddInput("x", {DType::kF32, Format::kND, true, {kUnknownDim}})};
  Node node{.name = "n", .type = "Dropout", .inputs = {x}, .attributes = SeededWith(5)};
  for (const Constant& sample : {SampleOf("ratio"), SampleOf("training")})
    node.inputs.push_back(graph.AddConstant("c", sample));
  graph.outputs = {{{graph.Add(std::move(node))}, "y"}};
  Model model(Runtime::device(), BuildModel(graph, {}), {});
  Draws draws;
  for (int64_t size : {400, 401}) {
    const auto ones = std::make_shared<HostTensor>(DType::kF32, Shape{size});
    std::fill_n(ones->as<float>(), size, 1.0f);
    draws.push_back(Runtime::Execute(*model.InstanceFor({TypeOf(ones)}), {ones}));
    draws.back().resize(1600);
  }
  EXPECT_NE(draws[0], draws[1]) << "the other size does not begin again";
}

// Those that a seed and an offset decide are numbers like any others.
TEST(RandomOperators, WhatOffsetsDecideRepeats) {
  Node node{.name = "n", .type = "StatelessRandomUniformV2"};
  const std::vector<Constant> inputs = {Ints({50}), Ints({3}), Ints({0, 4})};
  EXPECT_EQ(EvaluateNode(node, inputs)[0]->Reals(), EvaluateNode(node, inputs)[0]->Reals());
  EXPECT_FALSE(FindOp("StatelessRandomUniformV2")->Is(kTraitRandom));
}

}  // namespace
}  // namespace belay::graph
