#include "graph/passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "base/error.h"
#include "graph/interpreter.h"
#include "graph/operator_list.h"
#include "graph/passes/editor.h"
#include "graph/passes/other_ranks.h"
#include "graph/passes/test_graph.h"
#include "graph/program.h"
#include "graph/specialise.h"
#include "ops/conv/conv_backend.h"

namespace belay::graph {
namespace {

// And so do those whose constants have other shapes, as far as the operators take them.
Graph CheckPasses(Builder& builder, Port output, const Shape& shape) {
  builder.graph.outputs = {{output, "y"}};
  Constant input = builder.RandomInput(shape);
  Graph graph = CheckOne(builder.graph, input, Evaluate(builder.graph, std::vector{input}).at(0));
  if (input->count() > 10'000) return graph;
  int number = 0;
  for (const Graph& variant : WithOtherRanks(builder.graph)) {
    SCOPED_TRACE("variant " + std::to_string(number++));
    Constant want;
    try {
      want = Evaluate(variant, std::vector{input}).at(0);
    } catch (const Error&) {
      continue;
    }
    CheckOne(variant, input, want);
    if (testing::Test::HasFailure()) break;
  }
  return graph;
}

TEST(Passes, AConvolutionTakesScaleShiftAndActivation) {
  Builder b;
  Port x = b.Input({2, 3, 7, 6});
  Port y = b.Conv(x, 3, 5, 3, 2);
  y = b.Add("Mul", {y, b.Random({5, 1, 1})});
  y = b.Add("Add", {b.Random({1, 5, 1, 1}), y});
  y = b.Add("Relu", {y});
  Graph graph = CheckPasses(b, y, {2, 3, 7, 6});
  EXPECT_EQ(Count(graph, "FusedConv2D"), 1);
  EXPECT_EQ(Count(graph, "Mul") + Count(graph, "Add") + Count(graph, "Relu"), 0);
}

TEST(Passes, AResidualBlock) {
  Builder b;
  Port x = b.Input({1, 8, 9, 9});
  Port y = b.Add("Relu", {b.Conv(x, 8, 8, 3)});
  y = b.Conv(y, 8, 8, 3, 1, false);
  y = b.Add("HardSwish", {b.Add("Add", {y, x})});
  Graph graph = CheckPasses(b, y, {1, 8, 9, 9});
  EXPECT_EQ(Count(graph, "FusedConv2D"), 2);
  EXPECT_EQ(Count(graph, "Add"), 0);
  EXPECT_EQ(Count(graph, "TransposeD"), 2) << "once in, once out";
}

// What is added to and what is activated lies where its result does, unless somebody still reads it.
TEST(Passes, ResultsLieWhereWhatTheyAreMadeOfDid) {
  for (bool read_later : {false, true}) {
    Builder b;
    Port x = b.Conv(b.Input({1, 8, 9, 9}), 8, 8, 3);
    Port y = b.Add("Add", {b.Conv(b.Add("Relu", {b.Conv(x, 8, 8, 1)}), 8, 8, 3), x});
    if (read_later) y = b.Add("Mul", {y, x});
    Graph graph = CheckPasses(b, b.Conv(y, 8, 8, 1), {1, 8, 9, 9});
    Program program(graph);
    EXPECT_EQ(program.memory().bytes, program.memory().lower_bound);
    auto in_place =
        std::count_if(program.kernels().begin(), program.kernels().end(), [](const Kernel& kernel) {
          return kernel.type == "FusedConv2D" && kernel.plan->binding_count() == 3 &&
                 kernel.bindings[1].offset == kernel.bindings[2].offset;
        });
    EXPECT_EQ(in_place, read_later ? 0 : 1);
  }
}

TEST(Passes, AChainInPlaceHasOneEdgeANode) {
  Builder b;
  Port y = b.Input({64});
  for (int i = 0; i < 100; ++i) y = b.Add(i % 2 == 0 ? "Neg" : "Abs", {y});
  Graph graph = CheckPasses(b, y, {64});
  Program program(graph);
  for (const Kernel& kernel : program.kernels()) EXPECT_LE(kernel.after.size(), 1u) << kernel.name;
}

TEST(Passes, LargeProductsMayRoundToBfloat16) {
  Builder b;
  Port x = b.Input({1, 64, 20, 20});
  Port y = b.Conv(x, 64, 64, 3);
  y = b.Conv(y, 64, 2, 1);  // small
  b.graph.outputs = {{y, "y"}};
  std::vector<ValueType> types{{DType::kF32, Format::kND, true, {1, 64, 20, 20}}};
  Graph graph = Specialise(b.graph, types).graph;
  Optimise(graph);
  Constant input = b.RandomInput({1, 64, 20, 20});
  Constant want = RunProgram(graph, {input}).at(0);
  ComputeInBfloat16(graph);
  PackWeights(graph);
  int rounded = 0, packed = 0;
  for (const Node& node : graph.nodes) {
    rounded += node.attributes.count("compute");
    packed += node.attributes.count("packed_layout");
  }
  EXPECT_EQ(rounded, 1);
  EXPECT_TRUE(packed == 2 || packed == 0) << "none without oneDNN";
  Constant got = RunProgram(graph, {input}).at(0);
  double error = 0, largest = 0;
  for (int64_t i = 0; i < want->count(); ++i) {
    error = std::max(error, std::abs(static_cast<double>(got->as<float>()[i]) - want->as<float>()[i]));
    largest = std::max(largest, std::abs(static_cast<double>(want->as<float>()[i])));
  }
  EXPECT_LE(error, largest * 2e-2);
  ops::WeightLayout layout;
  const ops::ConvSpec spec{
      {1, 1, 64, 64, {1, 8, 8}, {1, 8, 8}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, {}, false},
      ops::ConvType::kBF16,
      false,
      false,
      {}};
  const bool rounds = ops::OneDnnConv() != nullptr && ops::OneDnnConv()->layout(spec, &layout);
  EXPECT_EQ(error > largest * 1e-4, rounds);
}

TEST(Passes, WhatKeepsItsTypeDoesNotRound) {
  for (auto [keeps, product] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    Builder b;
    Shape shape = product ? Shape{256, 256} : Shape{1, 64, 20, 20};
    Port x = b.Input(shape);
    Port y = product ? b.Add("BatchMatMul", {x, b.Random({256, 256})}) : b.Conv(x, 64, 64, 3);
    if (keeps) b.graph.nodes[static_cast<size_t>(y.node)].attributes[kKeepType] = true;
    b.graph.outputs = {{b.Add("Relu", {y}), "y"}};
    std::vector<ValueType> types{{DType::kF32, Format::kND, true, shape}};
    Graph graph = Specialise(b.graph, types).graph;
    Optimise(graph);
    ComputeInBfloat16(graph);
    auto rounds = [](const Node& node) { return node.attributes.count("compute") != 0; };
    EXPECT_EQ(std::count_if(graph.nodes.begin(), graph.nodes.end(), rounds), keeps ? 0 : 1);
  }
}

TEST(Passes, AHardSwishInPartsWithAScaleBehindIt) {
  for (bool divided_first : {false, true}) {
    Builder b;
    auto number = [&](double value) { return b.graph.AddConstant("n", RealConstant(value)); };
    Port x = b.Conv(b.Input({1, 4, 5, 6}), 4, 8, 3);
    Port ramp = b.Add("ClipByValueV2", {b.Add("Add", {x, number(3)}), number(0), number(6)});
    Port y = divided_first ? b.Add("Mul", {b.Add("Mul", {number(1.0 / 6), ramp}), x})
                           : b.Add("Div", {b.Add("Mul", {x, ramp}), number(6)});
    y = b.Add("Add", {b.Add("Mul", {b.Random({1}), y}), b.Random({1})});
    Graph graph = CheckPasses(b, y, {1, 4, 5, 6});
    EXPECT_EQ(Count(graph, "FusedConv2D"), 1);
    EXPECT_EQ(Count(graph, "Mul") + Count(graph, "Add") + Count(graph, "HardSwish") + Count(graph, "Div"), 0);
  }
}

TEST(Passes, WhatIsNoHardSwishStays) {
  Builder b;
  auto number = [&](double value) { return b.graph.AddConstant("n", RealConstant(value)); };
  Port x = b.Input({2, 3});
  Port ramp = b.Add("ClipByValueV2", {b.Add("Add", {x, number(3)}), number(0), number(5)});
  Graph graph = CheckPasses(b, b.Add("Div", {b.Add("Mul", {x, ramp}), number(6)}), {2, 3});
  EXPECT_EQ(Count(graph, "HardSwish"), 0);
}

TEST(Passes, ATransposedConvolutionTakesScaleAndShift) {
  for (int64_t groups : {1, 2}) {
    Builder b;
    Port x = b.Input({1, 4, 3, 3});
    Port y = b.Add(
        "ConvTranspose", {x, b.Random({4, 3, 2, 2})},
        {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>(4, 0)}, {"groups", groups}});
    Shape channels{1, 3 * groups, 1, 1};
    y = b.Add("Add", {b.Add("Mul", {y, b.Random(channels)}), b.Random(channels)});
    Graph graph = CheckPasses(b, y, {1, 4, 3, 3});
    EXPECT_EQ(Count(graph, "Mul") + Count(graph, "Add"), 0);
  }
}

TEST(Passes, ResizedImagesStayTurned) {
  for (const char* mode : {"nearest", "linear"}) {
    Builder b;
    auto scales = std::make_shared<HostTensor>(DType::kF32, Shape{4});
    for (int i = 0; i < 4; ++i) scales->as<float>()[i] = i < 2 ? 1 : static_cast<float>(i);
    Port y = b.Conv(b.Input({1, 4, 5, 6}), 4, 3, 3);
    y = b.Add("Resize", {y, {}, b.graph.AddConstant("scales", scales)}, {{"mode", std::string(mode)}});
    Graph graph = CheckPasses(b, b.Conv(y, 3, 2, 1), {1, 4, 5, 6});
    EXPECT_EQ(Count(graph, "TransposeD"), 2);
  }
}

TEST(Passes, WhatNamesAxesWorksOnTurnedImages) {
  const auto ints = [](Builder& b, std::vector<int64_t> values) {
    return b.graph.AddConstant("axes", IntsConstant(values));
  };
  using Make = std::function<Port(Builder&, Port)>;
  const auto first_of = [](Builder& b, Node node) { return Port{b.graph.Add(std::move(node)), 1}; };
  const std::pair<const char*, Make> makes[] = {
      {"a piece of the channels",
       [&](Builder& b, Port x) {
         return first_of(b, {.name = "split",
                             .type = "SplitD",
                             .inputs = {x},
                             .attributes = {{"num_split", int64_t{2}}, {"split_dim", int64_t{1}}},
                             .outputs = 2});
       }},
      {"a piece of the channels, by an input",
       [&](Builder& b, Port x) {
         return first_of(b, {.name = "split",
                             .type = "SplitV",
                             .inputs = {x, ints(b, {1, 3}), b.graph.AddConstant("axis", IntConstant(-3))},
                             .attributes = {{"num_split", int64_t{2}}},
                             .outputs = 2});
       }},
      {"some columns",
       [&](Builder& b, Port x) {
         return b.Add("StridedSliceV2",
                      {x, ints(b, {1, 0}), ints(b, {5, 3}), ints(b, {3, 1}), ints(b, {2, 1})});
       }},
      {"padded",
       [&](Builder& b, Port x) {
         return b.Add("PadAxes", {x, ints(b, {0, 0, 1, 2, 0, 0, 3, 0})}, {{"mode", std::string("reflect")}});
       }},
      {"padded along some axes",
       [&](Builder& b, Port x) {
         return b.Add("PadAxes", {x, ints(b, {1, 0, 2, 1}), b.Random({}), ints(b, {-1, 1})},
                      {{"mode", std::string("constant")}});
       }},
      {"some rows, in another order",
       [&](Builder& b, Port x) {
         return b.Add("GatherV2D", {x, ints(b, {4, 0, -1})}, {{"axis", int64_t{-2}}});
       }},
      {"the mean of each channel",
       [&](Builder& b, Port x) {
         return b.Add("ReduceMean", {x, ints(b, {2, 3})}, {{"keep_dims", true}});
       }},
      {"the largest of all channels",
       [&](Builder& b, Port x) {
         return b.Add("ReduceMax", {x, ints(b, {1})}, {{"keep_dims", true}});
       }},
      {"normalised",
       [&](Builder& b, Port x) {
         return b.Add(
             "BatchNorm",
             {b.Add("Sigmoid", {x}), b.Random({4}), b.Random({4}), b.Random({4}), b.Random({4}, 1, 2)},
             {{"epsilon", 1e-3}, {"data_format", std::string("NCHW")}});
       }},
  };
  for (const auto& [what, make] : makes) {
    SCOPED_TRACE(what);
    Builder b;
    Port y = make(b, b.Conv(b.Input({1, 3, 6, 7}), 3, 4, 3));
    b.graph.outputs = {{y, "y"}};
    std::vector<ValueType> types{{DType::kF32, Format::kND, true, {1, 3, 6, 7}}};
    const Graph known = Specialise(b.graph, types).graph;
    const int64_t channels = known.nodes[static_cast<size_t>(known.outputs[0].port.node)]
                                 .types[static_cast<size_t>(known.outputs[0].port.output)]
                                 .shape[1];
    Graph graph = CheckPasses(b, b.Conv(y, channels, 2, 1), {1, 3, 6, 7});
    EXPECT_EQ(Count(graph, "TransposeD"), 2) << "once in, once out";
  }
}

TEST(Passes, ConvolutionsOfRowsAndVolumes) {
  for (const Shape& shape : {Shape{2, 3, 20}, Shape{1, 3, 5, 6, 4}}) {
    const int rank = shape.rank();
    const auto spatial = static_cast<size_t>(rank - 2);
    Builder b;
    const auto conv = [&](Port x, int64_t in, int64_t out, int64_t kernel) {
      Shape filter{out, in};
      std::vector<int64_t> pads;
      for (size_t d = 0; d < spatial; ++d)
        filter.push_back(kernel), pads.push_back(kernel - 1), pads.push_back(0);
      return b.Add(rank == 5 ? "Conv3D" : "Conv2D", {x, b.Random(filter)},
                   {{"strides", std::vector<int64_t>(spatial, 1)},
                    {"pads", pads},
                    {"groups", int64_t{1}},
                    {"data_format", std::string("NCHW")}});
    };
    Shape channels = Shape::Filled(rank - 1, 1);
    channels[0] = 8;
    Port x = conv(b.Input(shape), 3, 8, 3);
    x = b.Add("BatchNorm", {x, b.Random({8}), b.Random({8}), b.Random({8}), b.Random({8}, 1, 2)},
              {{"epsilon", 1e-3}, {"data_format", std::string("NCHW")}, {"is_training", false}});
    x = b.Add("Relu", {b.Add("Add", {x, b.Random(channels)})});
    x = b.Add("ConcatD", {x, conv(x, 8, 8, 1)}, {{"concat_dim", int64_t{1}}, {"N", int64_t{2}}});
    Graph graph = CheckPasses(b, conv(b.Add("Sigmoid", {b.Add("Mul", {x, b.Random({1})})}), 16, 2, 3), shape);
    EXPECT_EQ(Count(graph, "FusedConv2D"), 3);
    EXPECT_EQ(Count(graph, "BatchNorm") + Count(graph, "Relu") + Count(graph, "Add"), 0);
    EXPECT_EQ(Count(graph, "TransposeD"), 2) << "once in, once out";
  }
}

// Which is what it does unless it is told not to.
TEST(Passes, ABatchNormThatTrainsIsNotFolded) {
  Builder b;
  Port x = b.Conv(b.Input({2, 3, 4, 5}), 3, 4, 1);
  x = b.Add("BatchNorm", {x, b.Random({4}), b.Random({4}), b.Random({4}), b.Random({4}, 1, 2)},
            {{"data_format", std::string("NCHW")}});
  EXPECT_EQ(Count(CheckPasses(b, x, {2, 3, 4, 5}), "BatchNorm"), 1);
}

TEST(Passes, RowsThatAreTurnedForSomethingElse) {
  Builder b;  // a convolution over time in a network of tokens
  Port x = b.Input({2, 20, 6});
  Port first = b.Add("TransposeD", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  Port y = b.Add("Conv2D", {first, b.Random({6, 6, 3})},
                 {{"strides", std::vector<int64_t>{1}},
                  {"pads", std::vector<int64_t>{1, 1}},
                  {"groups", int64_t{1}},
                  {"data_format", std::string("NCHW")}});
  y = b.Add("TransposeD", {y}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  Graph graph = CheckPasses(b, b.Add("Add", {x, y}), {2, 20, 6});
  EXPECT_EQ(Count(graph, "TransposeD"), 0) << "tokens have their channels last";

  Builder attention;  // no convolution wants these keys
  x = attention.Input({2, 20, 6});
  Port keys =
      attention.Add("Abs", {attention.Add("TransposeD", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}})});
  graph = CheckPasses(attention, attention.Add("BatchMatMul", {x, keys}), {2, 20, 6});
  EXPECT_LE(Count(graph, "TransposeD"), 1);
}

TEST(Passes, MeansWithoutTheirDimensions) {
  for (const std::vector<int64_t>& axes :
       std::vector<std::vector<int64_t>>{{2, 3}, {-1, -2}, {1}, {3}, {1, 2}, {0, 2, 3}}) {
    Builder b;
    Port x = b.Conv(b.Input({2, 3, 6, 7}), 3, 4, 3);
    Port y =
        b.Add("ReduceMean", {x, b.graph.AddConstant("axes", IntsConstant(axes))}, {{"keep_dims", false}});
    Graph graph = CheckPasses(b, y, {2, 3, 6, 7});
    EXPECT_EQ(Count(graph, "TransposeD"), axes == std::vector<int64_t>{3} ? 2 : 1)
        << "the input, and what would change order";
  }
}

TEST(Passes, OnePlaceOfATurnedImage) {
  for (const Shape& shape : {Shape{2, 3, 9}, Shape{2, 3, 6, 7}, Shape{1, 3, 4, 5, 6}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      Builder b;
      const auto spatial = static_cast<size_t>(shape.rank() - 2);
      Shape filter = Shape::Filled(shape.rank(), 1);
      filter[0] = 4, filter[1] = 3;
      Port x = b.Add(spatial == 3 ? "Conv3D" : "Conv2D", {b.Input(shape), b.Random(filter)},
                     {{"strides", std::vector<int64_t>(spatial, 1)},
                      {"pads", std::vector<int64_t>(2 * spatial, 0)},
                      {"groups", int64_t{1}},
                      {"data_format", std::string("NCHW")}});
      Port y =
          b.Add("GatherV2D", {x, b.graph.AddConstant("place", IntConstant(-1))}, {{"axis", int64_t{axis}}});
      Graph graph = CheckPasses(b, b.Add("Neg", {y}), shape);
      const bool batch = axis == 0, in_order = axis == 1 || shape.rank() == 3;
      EXPECT_EQ(Count(graph, "TransposeD"), !batch && in_order ? 1 : 2) << axis;
    }
  }
}

TEST(Passes, ImagesThatAreTurnedAnywayAreNotTurnedTwice) {
  Builder b;
  Port y = b.Conv(b.Input({1, 3, 6, 7}), 3, 4, 3);
  Port last = b.Add("TransposeD", {y}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  last = b.Add("Mul", {last, b.Random({4})});
  Port first = b.Add("TransposeD", {last}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  Graph graph = CheckPasses(b, b.Conv(b.Add("Add", {first, y}), 4, 5, 3), {1, 3, 6, 7});
  EXPECT_EQ(Count(graph, "TransposeD"), 2) << "once in, once out";

  Builder out;  // what leaves the graph has its own shape
  y = out.Conv(out.Input({1, 3, 6, 7}), 3, 4, 3);
  graph = CheckPasses(out, out.Add("TransposeD", {y}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}),
                      {1, 3, 6, 7});
  EXPECT_EQ(Count(graph, "TransposeD"), 1);
}

TEST(Passes, WhatOthersReadStays) {
  Builder b;
  Port x = b.Input({1, 4, 5, 5});
  Port c = b.Conv(x, 4, 4, 1);
  Port y = b.Add("Mul", {b.Add("Relu", {c}), b.Add("Sigmoid", {c})});
  Graph graph = CheckPasses(b, y, {1, 4, 5, 5});
  EXPECT_EQ(Count(graph, "Relu"), 1);
  EXPECT_EQ(Count(graph, "TransposeD"), 2) << "what is between works on turned images";
}

TEST(Passes, JoinedAlongTheChannels) {
  Builder b;
  Port x = b.Input({1, 4, 6, 6});
  Port y = b.Add("ConcatD", {b.Conv(x, 4, 3, 3), b.Conv(x, 4, 2, 1)},
                 {{"concat_dim", int64_t{1}}, {"N", int64_t{2}}});
  Graph graph = CheckPasses(b, b.Conv(y, 5, 2, 3), {1, 4, 6, 6});
  EXPECT_EQ(Count(graph, "TransposeD"), 2);
}

TEST(Passes, AFullyConnectedLayerWithGelu) {
  Builder b;
  Port x = b.Input({2, 5, 8});
  Port u = b.Add("Add", {b.Add("BatchMatMul", {x, b.Random({8, 12})}), b.Random({12})});
  auto number = [&](double value) { return b.graph.AddConstant("n", RealConstant(value)); };
  Port erf = b.Add("Erf", {b.Add("Mul", {u, number(0.70710678)})});
  Port y = b.Add("Mul", {b.Add("Mul", {u, b.Add("Add", {erf, number(1)})}), number(0.5)});
  y = b.Add("BatchMatMul", {y, b.Random({12, 3})});
  Graph graph = CheckPasses(b, b.Add("Add", {b.Random({3}), y}), {2, 5, 8});
  EXPECT_EQ(Count(graph, "FusedMatMul"), 2);
  EXPECT_EQ(Count(graph, "Erf") + Count(graph, "Gelu") + Count(graph, "Add"), 0);
  const auto first = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [](const Node& node) { return node.type == "FusedMatMul"; });
  const auto* origins = FindAttribute<std::vector<std::string>>(*first, kOriginsAttribute);
  ASSERT_NE(origins, nullptr);
  EXPECT_THAT(*origins,
              testing::ElementsAre("BatchMatMul2", "Add4", "Mul6", "Erf7", "Add9", "Mul10", "Mul12"));
}

TEST(Passes, AFullyConnectedLayerTakesWhatIsAddedToAllOfIt) {
  for (bool whole : {false, true}) {
    Builder b;
    Port x = b.Input({2, 5, 8});
    Port y = b.Add("Add", {b.Add("BatchMatMul", {x, b.Random({8, 8})}), b.Random({8})});
    Port other =
        whole ? x
              : b.Add("ReduceSum", {x, b.graph.AddConstant("axes", IntsConstant(std::vector<int64_t>{1}))},
                      {{"keep_dims", true}});
    y = b.Add("Relu", {b.Add("Add", {other, y})});
    Graph graph = CheckPasses(b, y, {2, 5, 8});
    EXPECT_EQ(Count(graph, "FusedMatMul"), 1);
    EXPECT_EQ(Count(graph, "Add") + Count(graph, "Relu"), whole ? 0 : 2);
  }
}

// x over the root, written in one of four ways.
Port OverRoot(Builder& b, Port x, Port square, const std::string& way) {
  if (way == "Rsqrt") return b.Add("Mul", {b.Add("Rsqrt", {square}), x});
  Port root = b.Add("Sqrt", {square});
  if (way == "Reciprocal") return b.Add("Mul", {x, b.Add("Reciprocal", {root})});
  if (way == "one over")
    return b.Add("Mul", {x, b.Add("Div", {b.graph.AddConstant("n", RealConstant(1)), root})});
  return b.Add("Div", {x, root});
}
const std::vector<std::string> kWaysOver = {"Div", "one over", "Reciprocal", "Rsqrt"};

// The parts of layer normalisation as exporters write them; `axes` of its second mean.
Port LayerNormInParts(Builder& b, Port x, const char* square, bool weighted, std::vector<int64_t> axes = {-1},
                      const std::string& way = "Div") {
  const Shape row{7};
  auto number = [&](double value) { return b.graph.AddConstant("n", RealConstant(value)); };
  auto mean = [&](Port of, std::vector<int64_t> over) {
    return b.Add("ReduceMean", {of, b.graph.AddConstant("axes", IntsConstant(over))}, {{"keep_dims", true}});
  };
  Port d = b.Add("Sub", {x, mean(x, {-1})});
  Port squares = b.Add(square, {d, square == std::string("Mul") ? d : number(2)});
  Port y = OverRoot(b, d, b.Add("Add", {mean(squares, axes), number(1e-5)}), way);
  return weighted ? b.Add("Add", {b.Random({1, 1, 7}), b.Add("Mul", {y, b.Random(row)})}) : y;
}

TEST(Passes, LayerNormalisationInParts) {
  for (bool weighted : {false, true}) {
    for (const char* square : {"Pow", "Mul"}) {
      Builder b;
      Port y = LayerNormInParts(b, b.Input({2, 5, 7}), square, weighted);
      Graph graph = CheckPasses(b, y, {2, 5, 7});
      EXPECT_EQ(Count(graph, "LayerNormV3"), 1);
      EXPECT_EQ(graph.nodes.size(), weighted ? 4u : 2u) << "the input, the operator and its weights";
    }
  }
  for (const std::string& way : kWaysOver) {
    Builder b;
    Port y = LayerNormInParts(b, b.Input({2, 5, 7}), "Pow", true, {-1}, way);
    EXPECT_EQ(Count(CheckPasses(b, y, {2, 5, 7}), "LayerNormV3"), 1) << way;
  }
}

TEST(Passes, NormalisationByTheRootOfTheMeanSquare) {
  auto parts = [](Builder& b, Port squared, Port x, const std::string& way, int64_t axis) {
    Port square = b.Add("Pow", {squared, b.graph.AddConstant("n", RealConstant(2))});
    Port axes = b.graph.AddConstant("axes", IntsConstant(std::vector<int64_t>{axis}));
    Port mean = b.Add("ReduceMean", {square, axes}, {{"keep_dims", true}});
    mean = b.Add("Add", {b.graph.AddConstant("n", RealConstant(1e-6)), mean});
    return b.Add("Mul", {b.Random({7}), OverRoot(b, x, mean, way)});
  };
  for (const std::string& way : kWaysOver) {
    Builder b;
    Port x = b.Input({2, 5, 7});
    Graph graph = CheckPasses(b, parts(b, x, x, way, -1), {2, 5, 7});
    EXPECT_EQ(Count(graph, "RmsNorm"), 1) << way;
    EXPECT_EQ(graph.nodes.size(), 3u) << "the input, the operator and its weight";
  }
  Builder other_axis, other_value;
  Port x = other_axis.Input({2, 5, 7});
  EXPECT_EQ(Count(CheckPasses(other_axis, parts(other_axis, x, x, "Rsqrt", 1), {2, 5, 7}), "RmsNorm"), 0);
  x = other_value.Input({2, 5, 7});
  Port y = parts(other_value, x, other_value.Add("Abs", {x}), "Div", -1);
  EXPECT_EQ(Count(CheckPasses(other_value, y, {2, 5, 7}), "RmsNorm"), 0);
}

TEST(Passes, GeluByTanhInItsParts) {
  const auto number = [](Builder& b, double value) { return b.graph.AddConstant("n", RealConstant(value)); };
  const auto end = [&](Builder& b, Port x, Port inner) {
    Port sum = b.Add("Add", {number(b, 1), b.Add("Tanh", {inner})});
    return b.Add("Mul", {b.Add("Mul", {number(b, 0.5), x}), sum});
  };
  Builder powers;  // sqrt(2 / pi) * (x + 0.044715 * x ^ 3)
  Port x = powers.Input({4, 8});
  Port cube = powers.Add("Mul", {number(powers, 0.044715), powers.Add("Pow", {x, number(powers, 3)})});
  Port inner = powers.Add("Mul", {number(powers, 0.7978845608028654), powers.Add("Add", {x, cube})});
  EXPECT_EQ(Count(CheckPasses(powers, end(powers, x, inner), {4, 8}), "GeluV2"), 1);

  for (const double factor : {0.044715, 0.05}) {
    Builder factors;  // sqrt(2 / pi) * x * (1 + 0.044715 * x * x)
    x = factors.Input({4, 8});
    Port square = factors.Add("Mul", {factors.Add("Mul", {number(factors, factor), x}), x});
    inner = factors.Add("Mul", {factors.Add("Mul", {x, number(factors, 0.79788456)}),
                                factors.Add("Add", {number(factors, 1), square})});
    EXPECT_EQ(Count(CheckPasses(factors, end(factors, x, inner), {4, 8}), "GeluV2"), factor < 0.05 ? 1 : 0);
  }

  Builder other;  // of another value than what it is multiplied by
  x = other.Input({4, 8});
  cube = other.Add("Mul", {number(other, 0.044715), other.Add("Pow", {x, number(other, 3)})});
  inner = other.Add("Mul", {number(other, 0.7978845608028654), other.Add("Add", {x, cube})});
  EXPECT_EQ(Count(CheckPasses(other, end(other, other.Add("Abs", {x}), inner), {4, 8}), "GeluV2"), 0);
}

TEST(Passes, SwishAndMishInTheirParts) {
  for (const double factor : {1.0, 1.702}) {
    Builder b;
    Port x = b.Conv(b.Input({1, 3, 5, 5}), 3, 4, 3);
    Port of = factor == 1 ? x : b.Add("Mul", {b.graph.AddConstant("n", RealConstant(factor)), x});
    Graph graph = CheckPasses(b, b.Add("Mul", {x, b.Add("Sigmoid", {of})}), {1, 3, 5, 5});
    EXPECT_EQ(Count(graph, "FusedConv2D"), 1);
    EXPECT_EQ(Count(graph, "Mul") + Count(graph, "Sigmoid") + Count(graph, "Swish"), 0) << factor;

    Builder product;
    x = product.Add("BatchMatMul", {product.Input({2, 5, 8}), product.Random({8, 12})});
    of = factor == 1 ? x : product.Add("Mul", {x, product.graph.AddConstant("n", RealConstant(factor))});
    graph = CheckPasses(product, product.Add("Mul", {product.Add("Sigmoid", {of}), x}), {2, 5, 8});
    EXPECT_EQ(Count(graph, "FusedMatMul"), 1);
    EXPECT_EQ(Count(graph, "Mul") + Count(graph, "Sigmoid") + Count(graph, "Swish"), 0) << factor;
  }
  Builder mish;
  Port x = mish.Input({4, 8});
  Graph graph =
      CheckPasses(mish, mish.Add("Mul", {x, mish.Add("Tanh", {mish.Add("Softplus", {x})})}), {4, 8});
  EXPECT_EQ(Count(graph, "Mish"), 1);
  Builder gate;  // the gate of another value stays
  x = gate.Input({4, 8});
  graph = CheckPasses(gate, gate.Add("Mul", {x, gate.Add("Sigmoid", {gate.Add("Neg", {x})})}), {4, 8});
  EXPECT_EQ(Count(graph, "Swish"), 0);
}

// What stands for several operators has the shape that they gave: [1, 4, 8], not [4, 8].
TEST(Passes, AConstantOfAHigherRankKeepsTheParts) {
  const std::vector<int64_t> last{-1};
  for (const Shape& rank : {Shape{}, Shape{1, 1, 1}}) {
    auto number = [&](Builder& b, double value) {
      auto constant = std::make_shared<HostTensor>(DType::kF32, rank);
      *constant->as<float>() = static_cast<float>(value);
      return b.graph.AddConstant("n", constant);
    };
    const int found = rank.rank() == 0 ? 1 : 0;
    Builder gelu;
    Port x = gelu.Input({4, 8});
    Port erf = gelu.Add("Erf", {gelu.Add("Mul", {x, number(gelu, 0.70710678)})});
    Port y =
        gelu.Add("Mul", {gelu.Add("Mul", {x, gelu.Add("Add", {erf, number(gelu, 1)})}), number(gelu, 0.5)});
    EXPECT_EQ(Count(CheckPasses(gelu, y, {4, 8}), "Gelu"), found);
    for (bool centred : {true, false}) {
      Builder norm;
      auto mean = [&](Port of) {
        return norm.Add("ReduceMean", {of, norm.graph.AddConstant("axes", IntsConstant(last))},
                        {{"keep_dims", true}});
      };
      x = norm.Input({4, 8});
      Port d = centred ? norm.Add("Sub", {x, mean(x)}) : x;
      Port root = norm.Add("Sqrt", {norm.Add("Add", {mean(norm.Add("Mul", {d, d})), number(norm, 1e-5)})});
      y = norm.Add("Mul", {norm.Add("Div", {d, root}), norm.Random({8})});
      EXPECT_EQ(Count(CheckPasses(norm, y, {4, 8}), centred ? "LayerNormV3" : "RmsNorm"), found);
    }
  }
}

TEST(Passes, CopiesAreReadThrough) {
  Builder b;
  Port x = b.Input({2, 3});
  Port sizes = b.graph.AddConstant("sizes", IntsConstant(std::vector<int64_t>{2, 3}));
  Port y = b.Add("Reshape", {b.Add("Identity", {x}), sizes});
  y = b.Add("Expand", {b.Add("Cast", {y}, {{"dst_type", DType::kF32}}), sizes});
  Graph graph = CheckPasses(b, b.Add("Abs", {y}), {2, 3});
  EXPECT_EQ(graph.nodes.size(), 2u) << "the input and its size";
  Builder only;  // what leaves the graph is a copy still
  EXPECT_EQ(CheckPasses(only, only.Add("Identity", {only.Input({2, 3})}), {2, 3}).outputs.size(), 1u);
}

TEST(Passes, WhatIsNoLayerNormalisationStays) {
  Builder other_axis;
  Port y = LayerNormInParts(other_axis, other_axis.Input({2, 5, 7}), "Pow", true, {1});
  EXPECT_EQ(Count(CheckPasses(other_axis, y, {2, 5, 7}), "LayerNormV3"), 0);
  Builder weight_of_all;
  y = LayerNormInParts(weight_of_all, weight_of_all.Input({2, 5, 7}), "Mul", false);
  y = weight_of_all.Add("Mul", {y, weight_of_all.Random({5, 7})});
  Graph graph = CheckPasses(weight_of_all, y, {2, 5, 7});
  EXPECT_EQ(Count(graph, "LayerNormV3"), 1);
  EXPECT_EQ(Count(graph, "Mul"), 1) << "one weight for each element is no gamma";
}

// Attention with three heads of four, as BERT writes it: rows of 12, taken apart and put together again.
struct AttentionParts {
  bool masked = false, key_swapped = false, read_twice = false, divided = false;
  bool scaled_before = false, query_columns = false, by_attribute = false;
  int selected = 0;  // where a condition is false (1) or true (2) a low number stands for the scores
  double low = -1e38;
  int64_t softmax_axis = -1;

  Port Make(Builder& b, Port x) const {
    auto reshaped = [&](Port from, const std::vector<int64_t>& sizes) {
      return b.Add("Reshape", {from, b.graph.AddConstant("sizes", IntsConstant(sizes))});
    };
    auto head = [&](std::vector<int64_t> perm) {
      Port split = reshaped(b.Add("BatchMatMul", {x, b.Random({12, 12})}), {2, 5, 3, 4});
      return b.Add("TransposeD", {split}, {{"perm", std::move(perm)}});
    };
    Port key = head(key_swapped ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{0, 2, 3, 1});
    Port query = head({0, 2, 1, 3});
    if (query_columns) {
      query =
          b.Add("TransposeD", {reshaped(query, {2, 3, 4, 5})}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    }
    if (scaled_before) {
      query = b.Add("Mul", {query, b.graph.AddConstant("n", RealConstant(0.7))});
      key = b.Add("Mul", {b.graph.AddConstant("n", RealConstant(0.6)), key});
    }
    Port scores = b.Add("BatchMatMul", {query, key}, {{"adj_x2", key_swapped}});
    Port factor = b.graph.AddConstant("n", RealConstant(divided ? 2.0 : 0.5));
    Port y = by_attribute ? b.Add("Muls", {scores}, {{"value", 0.5}})
                          : b.Add(divided ? "Div" : "Mul", {scores, factor});
    if (masked) y = b.Add("Add", {b.Random({2, 1, 1, 5}, -5, 5), y});
    if (selected > 0) {
      Port condition = b.Add("Less", {b.Random({5, 5}), b.graph.AddConstant("n", RealConstant(0.1))});
      Port lowest = b.graph.AddConstant("n", RealConstant(low));
      y = b.Add("SelectV2", {condition, selected == 1 ? y : lowest, selected == 1 ? lowest : y});
    }
    y = b.Add("SoftmaxV2", {y}, {{"axes", std::vector<int64_t>{softmax_axis}}});
    y = b.Add("Cast", {y}, {{"dst_type", DType::kF32}});
    y = b.Add("BatchMatMul", {y, head({0, 2, 1, 3})});
    y = reshaped(b.Add("TransposeD", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}), {2, 5, 12});
    if (read_twice)
      y = b.Add(
          "Add",
          {y, b.Add("ReduceSum",
                    {scores, b.graph.AddConstant("axes", IntsConstant(std::vector<int64_t>{0, 1, 2, 3}))})});
    return y;
  }
};

TEST(Passes, AttentionIsOneNodeWithoutTranspositions) {
  const AttentionParts plain{}, masked{.masked = true},
      swapped{.masked = true, .key_swapped = true, .divided = true};
  const AttentionParts before{.scaled_before = true}, columns{.query_columns = true},
      attribute{.by_attribute = true};
  const AttentionParts where_true{.selected = 1},
      where_false{.selected = 2, .low = -std::numeric_limits<double>::infinity()};
  for (const AttentionParts& parts :
       {plain, masked, swapped, before, columns, attribute, where_true, where_false}) {
    Builder b;
    Graph graph = CheckPasses(b, parts.Make(b, b.Input({2, 5, 12})), {2, 5, 12});
    EXPECT_EQ(Count(graph, "FusedAttention"), 1);
    EXPECT_EQ(Count(graph, "FusedMatMul"), 3);
    EXPECT_EQ(Count(graph, "SoftmaxV2") + Count(graph, "BatchMatMul"), 0);
    EXPECT_EQ(Count(graph, "TransposeD"), parts.query_columns ? 1 : 0) << "one is before a reshape";
    EXPECT_EQ(Count(graph, "Mul") + Count(graph, "Muls") + Count(graph, "Div") + Count(graph, "Add"), 0);
  }
}

// Heads that were folded into the batch, as older exporters write it.
TEST(Passes, AttentionOfThreeDimensions) {
  for (bool masked : {false, true}) {
    Builder b;
    Port x = b.Input({6, 5, 4});
    Port key = b.Add("TransposeD", {b.Add("BatchMatMul", {x, b.Random({4, 4})})},
                     {{"perm", std::vector<int64_t>{0, 2, 1}}});
    Port scores = b.Add("BatchMatMul", {b.Add("Mul", {x, b.graph.AddConstant("n", RealConstant(0.5))}), key});
    if (masked) scores = b.Add("Add", {scores, b.Random({6, 1, 5}, -5, 5)});
    Port y = b.Add("BatchMatMul", {b.Add("SoftmaxV2", {scores}, {{"axes", std::vector<int64_t>{2}}}), x});
    Graph graph =
        CheckPasses(b, b.Add("TransposeD", {y}, {{"perm", std::vector<int64_t>{1, 0, 2}}}), {6, 5, 4});
    EXPECT_EQ(Count(graph, "FusedAttention"), 1);
    EXPECT_EQ(Count(graph, "SoftmaxV2") + Count(graph, "BatchMatMul") + Count(graph, "TransposeD"), 0);
  }
}

TEST(Passes, WhatIsNoAttentionStays) {
  const AttentionParts scores_read{.read_twice = true}, other_axis{.softmax_axis = 2},
      not_low{.selected = 1, .low = -2};
  for (const AttentionParts& parts : {scores_read, other_axis, not_low}) {
    Builder b;
    Graph graph = CheckPasses(b, parts.Make(b, b.Input({2, 5, 12})), {2, 5, 12});
    EXPECT_EQ(Count(graph, "FusedAttention"), 0);
    EXPECT_EQ(Count(graph, "SoftmaxV2"), 1);
  }
}

TEST(Passes, ARunOfPointwiseOperatorsIsOneNode) {
  const Shape shape{300, 125, 70};
  for (const Shape& row : {Shape{70}, Shape{1, 125, 70}, Shape{1}}) {
    Builder b;
    Port x = b.Input(shape);
    Port y = b.Add("Mul", {b.Random(row), b.Add("Abs", {x})});
    y = b.Add("Sub", {b.Random(shape), y});
    y = b.Add("Tanh", {b.Add("Div", {y, b.Random({}, 1, 2)})});
    y = b.Add("Add", {b.Add("Mul", {y, x}),
                      b.Add("ReduceSum",
                            {x, b.graph.AddConstant("axes", IntsConstant(std::vector<int64_t>{0, 1, 2}))})});
    Graph graph = CheckPasses(b, y, shape);
    EXPECT_EQ(Count(graph, "FusedPointwise"), 1);
    EXPECT_EQ(graph.nodes.size(), 7u) << "the input, the sum and its axes, three constants, and the run";
  }
}

TEST(Passes, ARunTakesBothFormsOfGelu) {
  for (const char* approximate : {"tanh", "none"}) {
    Builder b;
    Port y = b.Add("GeluV2", {b.Add("Add", {b.Input({300, 7000}), b.Random({7000})})},
                   {{"approximate", std::string(approximate)}});
    Graph graph = CheckPasses(b, b.Add("Neg", {y}), {300, 7000});
    EXPECT_EQ(Count(graph, "FusedPointwise"), 1) << approximate;
  }
}

// A run ends after eight, before what others read, before rows of another size, and where its shape grows; a
// small one stays.
TEST(Passes, WhereARunOfPointwiseOperatorsEnds) {
  const Shape shape{7000, 300};
  Builder longer;
  Port y = longer.Input(shape);
  for (int i = 0; i < 9; ++i) y = longer.Add("Neg", {y});
  Graph graph = CheckPasses(longer, y, shape);
  EXPECT_EQ(Count(graph, "FusedPointwise"), 1);
  EXPECT_EQ(Count(graph, "Neg"), 1);
  Builder read;
  y = read.Add("Abs", {read.Add("Neg", {read.Input(shape)})});
  y = read.Add("Sub", {read.Add("SoftmaxV2", {read.Add("Tanh", {y})}), y});
  graph = CheckPasses(read, y, shape);
  EXPECT_EQ(Count(graph, "FusedPointwise"), 1);
  EXPECT_EQ(Count(graph, "Tanh"), 1);
  Builder rows;
  y = rows.Add("Mul", {rows.Add("Mul", {rows.Input(shape), rows.Random({300})}), rows.Random({7000, 1})});
  graph = CheckPasses(rows, y, shape);
  EXPECT_EQ(Count(graph, "FusedPointwise"), 0);
  Builder grows;
  y = grows.Add("Mul", {grows.Add("Neg", {grows.Input(shape)}), grows.Random({2, 1, 1})});
  EXPECT_EQ(Count(CheckPasses(grows, y, shape), "FusedPointwise"), 0);
  Builder small;
  y = small.Add("Abs", {small.Add("Neg", {small.Input({4, 3})})});
  EXPECT_EQ(Count(CheckPasses(small, y, {4, 3}), "FusedPointwise"), 0);
}

TEST(Passes, PoolsAndTransposedConvolutionsToo) {
  Builder b;
  Port x = b.Input({1, 4, 8, 8});
  Port y = b.Add("MaxPoolV3", {b.Conv(x, 4, 6, 3)},
                 {{"ksize", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  Port s = b.Add("Sigmoid", {b.Conv(b.Add("AvgPoolV2", {y}, {{"global_pooling", true}}), 6, 6, 1)});
  y = b.Add("Mul", {y, s});
  y = b.Add("ConvTranspose", {y, b.Random({6, 3, 2, 2})},
            {{"strides", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>(4, 0)}});
  Graph graph = CheckPasses(b, y, {1, 4, 8, 8});
  EXPECT_EQ(Count(graph, "TransposeD"), 2);
}

TEST(Passes, AProductOfChannelsThatStandsAloneIsNotTurned) {
  const Shape shape{1, 6, 24, 24};
  Builder alone, before;
  Port y = alone.Add("Relu", {alone.Conv(alone.Input(shape), 6, 5, 1)});
  EXPECT_EQ(Count(CheckPasses(alone, y, shape), "TransposeD"), 0);
  y = before.Conv(before.Conv(before.Input(shape), 6, 5, 1), 5, 4, 3);
  EXPECT_EQ(Count(CheckPasses(before, y, shape), "TransposeD"), 2);
}

TEST(Passes, SmallConstantsAreTurnedToo) {
  Builder b;
  Port x = b.Input({1, 4, 6, 6});
  Port c = b.Conv(x, 4, 3, 3);
  Port y = b.Add("Sub", {b.Random({3, 1, 1}), c});
  CheckPasses(b, b.Add("Mul", {y, b.Random({6})}), {1, 4, 6, 6});
}

}  // namespace
}  // namespace belay::graph
