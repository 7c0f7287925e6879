#include "graph/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "base/error.h"
#include "graph/op_schema.h"
#include "graph/single_op.h"
#include "graph/specialise.h"

namespace belay::graph {
namespace {

Constant Floats(const Shape& shape, std::initializer_list<float> values) {
  auto tensor = std::make_shared<HostTensor>(DType::kF32, shape);
  std::copy(values.begin(), values.end(), tensor->as<float>());
  return tensor;
}

ValueType F32(const Shape& shape) { return {DType::kF32, Format::kND, true, shape}; }

TEST(Interpreter, RunsNodesInOrder) {
  Graph graph;
  Port x{graph.AddInput("x", F32({2, 2}))};
  Port two = graph.AddConstant("two", Floats({}, {2}));
  Port twice{graph.Add({.name = "mul", .type = "Mul", .inputs = {x, two}})};
  Port product{graph.Add({.name = "matmul", .type = "BatchMatMul", .inputs = {twice, x}})};
  Port order = graph.AddConstant("perm", IntsConstant(std::vector<int64_t>{1, 0}));
  graph.outputs = {{{graph.Add({.name = "t", .type = "Transpose", .inputs = {product, order}})}, "y"}};
  std::vector<Constant> outputs = Evaluate(graph, std::vector{Floats({2, 2}, {1, 2, 3, 4})});
  std::vector<double> values = outputs.at(0)->Reals();
  EXPECT_THAT(values, testing::ElementsAre(14, 30, 20, 44));
}

TEST(Interpreter, ReshapesWithoutCopying) {
  Graph graph;
  Port x{graph.AddInput("x", F32({2, 3}))};
  Port shape = graph.AddConstant("shape", IntsConstant(std::vector<int64_t>{-1, 2}));
  graph.outputs = {{{graph.Add({.name = "r", .type = "Reshape", .inputs = {x, shape}})}, "y"}};
  Constant input = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Constant output = Evaluate(graph, std::vector{input}).at(0);
  EXPECT_EQ(output->shape(), (Shape{3, 2}));
  EXPECT_EQ(output->data(), input->data());
}

TEST(Interpreter, OutputsAreMadeInTheirRoom) {
  Graph graph;
  Port x{graph.AddInput("x", F32({2}))};
  Port alone{graph.Add({.name = "alone", .type = "Neg", .inputs = {x}})};
  Port read{graph.Add({.name = "read", .type = "Neg", .inputs = {x}})};
  Port large{graph.Add({.name = "large", .type = "Add", .inputs = {read, x}})};
  graph.outputs = {{alone, "alone"}, {read, "read"}, {large, "large"}, {x, "x"}};
  float room[4][2] = {};
  const auto of = [&](int i, size_t bytes) { return OutputRoom{reinterpret_cast<char*>(room[i]), bytes}; };
  const std::vector rooms = {of(0, 8), of(1, 8), of(2, 7), of(3, 8)};
  Interpreter interpreter(graph);
  for (float factor : {1.f, 2.f}) {
    const auto outputs = interpreter.Run(std::vector{Floats({2}, {factor, 3 * factor})}, nullptr, rooms);
    EXPECT_EQ(static_cast<const void*>(outputs[0]->data()), room[0]);
    EXPECT_THAT(room[0], testing::ElementsAre(-factor, -3 * factor));
    EXPECT_THAT(outputs[1]->Reals(), testing::ElementsAre(-factor, -3 * factor)) << "a node reads it, too";
    EXPECT_THAT(outputs[2]->Reals(), testing::ElementsAre(0, 0)) << "its room is too small";
    EXPECT_THAT(outputs[3]->Reals(), testing::ElementsAre(factor, 3 * factor));
    for (int i = 1; i < 4; ++i) EXPECT_THAT(room[i], testing::ElementsAre(0, 0)) << i;
  }
}

TEST(Interpreter, BranchesByTheValue) {
  auto branch = [](double value) {
    auto graph = std::make_shared<Graph>();
    graph->outputs = {{graph->AddConstant("c", RealConstant(value)), "out"}};
    return graph;
  };
  Graph graph;
  Port condition{graph.AddInput("cond", {DType::kBool, Format::kND, true, {}})};
  Node node{.name = "if", .type = "If", .inputs = {condition}};
  node.attributes["then_branch"] = branch(1);
  node.attributes["else_branch"] = branch(2);
  graph.outputs = {{{graph.Add(node)}, "y"}};
  EXPECT_EQ(Evaluate(graph, std::vector{IntConstant(1, DType::kBool)})[0]->Reals()[0], 1);
  EXPECT_EQ(Evaluate(graph, std::vector{IntConstant(0, DType::kBool)})[0]->Reals()[0], 2);
}

// What was made ready for a node is right for later inputs, or made anew.
TEST(Interpreter, RunsAgainWithOtherInputs) {
  Graph graph;
  Port x{graph.AddInput("x", F32({-1}))};
  Port begin{graph.AddInput("begin", {DType::kI64, Format::kND, true, {1}})};
  Port end = graph.AddConstant("end", IntsConstant(std::vector<int64_t>{100}));
  Port cut{graph.Add({.name = "cut", .type = "StridedSliceV2", .inputs = {x, begin, end}})};
  graph.outputs = {{{graph.Add({.name = "add", .type = "Add", .inputs = {cut, cut}})}, "y"}};
  Interpreter interpreter(graph);
  int64_t from = 1;  // in memory of the caller, who changes it
  const auto run = [&](std::initializer_list<float> values) {
    const Constant x_value = Floats({static_cast<int64_t>(values.size())}, values);
    const auto begin_value = std::make_shared<HostTensor>(DType::kI64, Shape{1}, &from, nullptr);
    return interpreter.Run(std::vector<Constant>{x_value, begin_value}).at(0)->Reals();
  };
  EXPECT_THAT(run({1, 2, 3}), testing::ElementsAre(4, 6));
  EXPECT_THAT(run({4, 5, 6}), testing::ElementsAre(10, 12)) << "the same types";
  from = 2;
  EXPECT_THAT(run({4, 5, 6}), testing::ElementsAre(12)) << "elements that decide";
  EXPECT_THAT(run({4, 5, 6, 7}), testing::ElementsAre(12, 14)) << "another shape";
  from = 0;
  EXPECT_THAT(run({4, 5, 6, 7}), testing::ElementsAre(8, 10, 12, 14));
}

// More elements that decide than are kept.
TEST(Interpreter, ManyElementsThatDecide) {
  Graph graph;
  Port x{graph.AddInput("x", F32({100}))};
  graph.outputs = {{{graph.Add({.name = "n", .type = "NonZero", .inputs = {x}})}, "y"}};
  Interpreter interpreter(graph);
  for (int64_t place : {3, 97}) {
    const auto values = std::make_shared<HostTensor>(DType::kF32, Shape{100});
    values->as<float>()[place] = 1;
    EXPECT_THAT(interpreter.Run(std::vector<Constant>{values}).at(0)->Ints(), testing::ElementsAre(place));
  }
}

// A loop whose body's shapes change from trip to trip: 1 + ... of a vector that grows.
TEST(Interpreter, BodiesRunAgain) {
  auto body = std::make_shared<Graph>();
  body->AddInput("trip", {DType::kI64, Format::kND, true, {}});
  Port going{body->AddInput("going", {DType::kBool, Format::kND, true, {}})};
  Port carried{body->AddInput("carried", F32({-1}))};
  Node join{.name = "join", .type = "ConcatD", .inputs = {carried, carried}};
  join.attributes["concat_dim"] = int64_t{0};
  Port one = body->AddConstant("one", RealConstant(1));
  Port grown{body->Add({.name = "add", .type = "Add", .inputs = {{body->Add(join)}, one}})};
  body->outputs = {{going, "going"}, {grown, "grown"}};
  Node loop{.name = "loop", .type = "Loop"};
  loop.attributes["body"] = body;
  const std::vector<Constant> inputs{IntConstant(3), IntConstant(1, DType::kBool), Floats({1}, {0})};
  EXPECT_THAT(EvaluateNode(loop, inputs).at(0)->Reals(), testing::ElementsAre(3, 3, 3, 3, 3, 3, 3, 3));
}

// What it says of a node that runs a body with these inputs.
std::string RefusalOf(const char* type, const std::vector<Constant>& inputs, Attributes attributes) {
  auto body = std::make_shared<Graph>();
  Port x{body->AddInput("x", {})};
  body->AddInput("y", {});
  body->outputs = {{x, "out"}, {x, "gathered"}};
  Node node{.name = "n", .type = type, .attributes = std::move(attributes)};
  node.attributes["body"] = body;
  try {
    EvaluateNode(node, inputs);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

TEST(Interpreter, BodiesAndTheirInputsFit) {
  using testing::HasSubstr;
  const Constant one = Floats({1}, {1}), two = Floats({2}, {1, 2}), three = Floats({3}, {1, 2, 3});
  EXPECT_THAT(RefusalOf("Loop", {one}, {}), HasSubstr("no place for the trips"));
  EXPECT_THAT(RefusalOf("Loop", {one, one, nullptr}, {}), HasSubstr("input 2 is missing"));
  EXPECT_THAT(RefusalOf("Loop", {two, one, one}, {}), HasSubstr("not one number"));
  EXPECT_THAT(RefusalOf("Loop", {one, one, one}, {{"carried", int64_t{2}}}), HasSubstr("carried"));
  EXPECT_THAT(RefusalOf("Loop", {one, one, one, one}, {}), HasSubstr("fewer outputs"));
  const Attributes all{{"states", int64_t{0}}, {"scanned", int64_t{2}}};
  EXPECT_EQ(RefusalOf("Scan", {two, two}, all), "");
  EXPECT_THAT(RefusalOf("Scan", {two, three}, all), HasSubstr("different lengths"));
  EXPECT_THAT(RefusalOf("Scan", {two}, all), HasSubstr("scanned"));
  EXPECT_THAT(RefusalOf("Scan", {two, two}, {{"states", int64_t{-1}}}), HasSubstr("states"));
  const auto sequence = [](std::vector<Constant> members) {
    return EvaluateNode({.name = "s", .type = "SequenceConstruct"}, members).at(0);
  };
  const Attributes both{{"mapped", int64_t{2}}};
  EXPECT_EQ(RefusalOf("SequenceMap", {sequence({one}), sequence({two})}, both), "");
  EXPECT_EQ(RefusalOf("SequenceMap", {sequence({one, one}), two}, both), "");
  EXPECT_THAT(RefusalOf("SequenceMap", {two, sequence({one})}, both), HasSubstr("no sequence"));
  EXPECT_THAT(RefusalOf("SequenceMap", {sequence({one}), sequence({one, two})}, both),
              HasSubstr("different lengths"));
  EXPECT_THAT(RefusalOf("SequenceMap", {sequence({one})}, {{"mapped", int64_t{2}}}), HasSubstr("mapped"));
  EXPECT_THAT(RefusalOf("If", {}, {}), HasSubstr("no condition"));
}

// Of each operator with no inputs, and with more outputs than it has.
TEST(Interpreter, OperatorsAloneAreComputedOrRefused) {
  for (const OpSchema& schema : AllOps()) {
    for (int outputs : {0, 1, 9}) {
      SCOPED_TRACE(schema.type);
      const SingleOp op{.type = schema.type, .inputs = {}, .outputs = outputs, .attributes = {}};
      try {
        const Graph graph = Specialise(GraphOf(op), {}).graph;
        Evaluate(graph, {});
      } catch (const Error&) {
      }
    }
  }
}

void* RunLongChain(void*) {
  Graph graph;
  Port port{graph.AddInput("x", F32({1}))};
  for (int i = 0; i < 20000; ++i) port = {graph.Add({.name = "n", .type = "Identity", .inputs = {port}})};
  graph.outputs = {{port, "y"}};
  EXPECT_EQ(Evaluate(graph, std::vector{Floats({1}, {5})})[0]->Reals()[0], 5);
  return nullptr;
}

// What a node passes on without a copy is owned once: ending it does not call itself for each node, for which
// this thread's stack would be too small.
TEST(Interpreter, ChainsOfTheSameBytesMayBeLong) {
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 19), 0);
  ASSERT_EQ(pthread_create(&thread, &attributes, RunLongChain, nullptr), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(Interpreter, ErrorsNameTheNode) {
  Graph graph;
  Port x{graph.AddInput("x", F32({2}))};
  Port y{graph.AddInput("y", F32({3}))};
  graph.outputs = {{{graph.Add({.name = "sum", .type = "Add", .inputs = {x, y}})}, "z"}};
  try {
    Evaluate(graph, std::vector{Floats({2}, {1, 2}), Floats({3}, {1, 2, 3})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.sentence(), testing::AllOf(testing::HasSubstr("'sum'"), testing::HasSubstr("[3]")));
  }
}

TEST(SortNodes, FindsACycle) {
  Graph graph;
  graph.nodes = {{.name = "a", .type = "Identity", .inputs = {{1, 0}}},
                 {.name = "b", .type = "Identity", .inputs = {{0, 0}}}};
  EXPECT_THROW(SortNodes(graph), Error);
}

TEST(SortNodes, PutsUsersBehind) {
  Graph graph;
  graph.nodes = {{.name = "user", .type = "Identity", .inputs = {{1, 0}}}, {.name = "x", .type = "Data"}};
  graph.inputs = {1};
  graph.outputs = {{{0, 0}, "y"}};
  SortNodes(graph);
  EXPECT_EQ(graph.nodes[0].name, "x");
  EXPECT_EQ(graph.outputs[0].port.node, 1);
}

}  // namespace
}  // namespace belay::graph
