// Where images lie as planes, and where with their channels last.
#include <gtest/gtest.h>

#include "graph/passes/test_graph.h"

namespace belay::graph {
namespace {

Graph CheckLayouts(Builder& b, Port output, const Shape& shape) {
  b.graph.outputs = {{output, "y"}};
  Constant x = b.RandomInput(shape);
  return CheckOne(b.graph, x, Evaluate(b.graph, std::vector{x}).at(0));
}

Port Depthwise(Builder& b, Port x, const Shape& filter, std::vector<int64_t> strides,
               std::vector<int64_t> pads) {
  return b.Add(filter.rank() == 5 ? "Conv3D" : "Conv2D", {x, b.Random(filter), b.Random({filter[0]})},
               {{"strides", std::move(strides)},
                {"pads", std::move(pads)},
                {"groups", filter[0]},
                {"data_format", std::string(filter.rank() == 5 ? "NCDHW" : "NCHW")}});
}

TEST(Layouts, SlopesOfChannelsFollowImages) {
  for (const Shape& slopes : {Shape{4, 1, 1}, Shape{1}}) {
    Builder b;
    Port y =
        b.Add("PRelu", {b.Conv(b.Input({1, 4, 9, 8}), 4, 4, 3), b.Random(slopes)}, {{"broadcast", true}});
    Graph graph = CheckLayouts(b, b.Conv(y, 4, 4, 3), {1, 4, 9, 8});
    EXPECT_EQ(Count(graph, "TransposeD"), slopes.rank() == 1 ? 2 : 3) << "once in, once out, and the slopes";
  }
}

// A few filters of a few taps stay planes where only such operators follow as take planes, too.
TEST(Layouts, PlanesStayPlanesAlongAChain) {
  const Shape shape{2, 1, 12, 40};
  Builder b;
  Port y = b.Add("Conv2D", {b.Input(shape), b.Random({8, 1, 1, 9}), b.Random({8})},
                 {{"strides", std::vector<int64_t>{1, 1}},
                  {"pads", std::vector<int64_t>{0, 0, 4, 4}},
                  {"groups", int64_t{1}},
                  {"data_format", std::string("NCHW")}});
  y = Depthwise(b, y, {8, 1, 3, 1}, {1, 1}, {1, 1, 0, 0});
  y = b.Add("Elu", {y});
  EXPECT_EQ(Count(CheckLayouts(b, y, shape), "TransposeD"), 0);
}

// A pool takes planes, too, but the product is quicker with the channels last.
TEST(Layouts, ProductsOfChannelsAreTurnedBeforePools) {
  const Shape shape{1, 32, 20, 20};
  Builder b;
  Port y = b.Add("MaxPoolV3", {b.Conv(b.Input(shape), 32, 32, 1)},
                 {{"ksize", std::vector<int64_t>{2, 2}},
                  {"strides", std::vector<int64_t>{2, 2}},
                  {"padding_mode", std::string("VALID")},
                  {"data_format", std::string("NCHW")}});
  EXPECT_EQ(Count(CheckLayouts(b, b.Add("Relu", {y}), shape), "TransposeD"), 2);
}

TEST(Layouts, VolumesAreConvolvedByAFilterEachAsTheyLie) {
  const Shape shape{1, 6, 5, 12, 14};
  for (const char* activation : {"Relu", "Swish"}) {
    Builder b;
    Port y = Depthwise(b, b.Input(shape), {6, 1, 3, 3, 3}, {1, 2, 2}, {1, 1, 1, 1, 1, 1});
    Graph graph = CheckLayouts(b, b.Add(activation, {y}), shape);
    EXPECT_EQ(Count(graph, "TransposeD"), 0) << activation;
    EXPECT_EQ(Count(graph, "Swish"), activation == std::string("Swish") ? 1 : 0);
  }
}

}  // namespace
}  // namespace belay::graph
