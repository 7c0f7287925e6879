// Graphs on a device.
#include "graph/instance.h"

#include <gtest/gtest.h>

#include "graph/device_samples.h"
#include "graph/model.h"
#include "graph/ops/node_samples.h"
#include "graph/specialise.h"

namespace belay::graph {
namespace {

// Outputs that are an input: one copy of it serves them all.
TEST(DynamicInstance, ResultsOfOneInputAreCopiedOnce) {
  samples::Runtime runtime("1");
  Graph graph;
  const Constant x = samples::Counting({3, 5});
  Port in{graph.AddInput("x", {x->dtype(), Format::kND, true, x->shape()})};
  graph.outputs = {{{graph.Add({.name = "open", .type = "NonZero", .inputs = {in}})}, "places"}};
  for (int i = 0; i < 100; ++i)
    graph.outputs.push_back({{graph.Add({.name = "same", .type = "Identity", .inputs = {in}})}, "same"});
  auto instance = MakeInstance(samples::Runtime::device(), graph, InputTypes(graph));
  ASSERT_TRUE(instance->dynamic());
  auto result = std::make_shared<DynamicResult>();
  const Buffer input = samples::Runtime::BufferOf(x);
  std::vector<Buffer> outputs(graph.outputs.size());
  for (size_t i = 1; i < outputs.size(); ++i) outputs[i] = samples::Runtime::BufferOf(x);
  rt::Stream& stream = samples::Runtime::device().default_context()->default_stream();
  const Buffer inputs[] = {input};
  instance->Execute(stream, inputs, outputs, result);
  while (!stream.Idle()) std::this_thread::yield();
  rt::FreeDevice(input.data);
  for (size_t i = 1; i < outputs.size(); ++i) rt::FreeDevice(outputs[i].data);
  ASSERT_EQ(result->outputs.size(), 101u);
  for (size_t i = 1; i < result->outputs.size(); ++i) {
    EXPECT_EQ(result->outputs[i]->Reals(), x->Reals());
    EXPECT_EQ(result->outputs[i]->data(), result->outputs[1]->data());
  }
}

// The outputs of one execution that the caller gave no memory for, however many they are.
TEST(Model, KeepsAllOutputsOfAnExecution) {
  samples::Runtime runtime("1");
  ModelFile file;
  const Constant x = samples::Counting({3});
  Port in{file.graph.AddInput("x", {x->dtype(), Format::kND, true, x->shape()})};
  for (int i = 0; i < 100; ++i) file.graph.outputs.push_back({in, "same"});
  Model model(samples::Runtime::device(), std::move(file), {});
  std::vector<void*> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(model.Keep(*x));
  for (void* data : kept) EXPECT_TRUE(rt::Lookup(data).live);
}

}  // namespace
}  // namespace belay::graph
