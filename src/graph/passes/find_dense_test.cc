#include <gmock/gmock.h>

#include "graph/passes/test_graph.h"

namespace belay::graph {
namespace {

// Of 5 channels, behind which a batch norm and an activation are folded.
Graph Covering(const Shape& image, const Shape& kernel, int64_t pad, const char* activation, Builder* b) {
  const auto spatial = static_cast<size_t>(image.rank() - 2);
  Port y = b->Add("Conv2D", {b->Input(image), b->Random(kernel)},
                  {{"strides", std::vector<int64_t>(spatial, 3)},
                   {"pads", std::vector<int64_t>(2 * spatial, pad)},
                   {"groups", image[1] / kernel[1]},
                   {"data_format", std::string("NCHW")}});
  y = b->Add("BatchNorm", {y, b->Random({5}), b->Random({5}), b->Random({5}), b->Random({5}, 1, 2)},
             {{"epsilon", 1e-3}, {"data_format", std::string("NCHW")}, {"is_training", false}});
  y = b->Add(activation, {y});
  b->graph.outputs = {{y, "y"}};
  const Constant input = b->RandomInput(image);
  return CheckOne(b->graph, input, Evaluate(b->graph, std::vector{input}).at(0));
}

TEST(FindDense, KernelsThatCoverTheImage) {
  for (const char* activation : {"Relu", "Tanh", "Gelu"}) {
    for (const Shape& image : {Shape{2, 3, 4, 6}, Shape{1, 4, 7}, Shape{3, 2, 2, 3, 2}}) {
      Shape kernel = image;
      kernel[0] = 5;
      Builder b;
      const Graph graph = Covering(image, kernel, 0, activation, &b);
      EXPECT_EQ(Count(graph, "FusedMatMul"), 1) << activation << image.ToString();
      EXPECT_EQ(Count(graph, "FusedConv2D") + Count(graph, "TransposeD"), 0)
          << activation << image.ToString();
    }
  }
}

TEST(FindDense, OthersStayConvolutions) {
  struct {
    Shape image, kernel;
    int64_t pad;
  } const others[] = {{{1, 3, 4, 4}, {5, 3, 3, 4}, 0},   // smaller
                      {{1, 3, 4, 4}, {5, 3, 4, 4}, 1},   // moved
                      {{1, 3, 1, 1}, {5, 3, 1, 1}, 0}};  // of a pixel
  for (const auto& other : others) {
    Builder b;
    const Graph graph = Covering(other.image, other.kernel, other.pad, "Relu", &b);
    EXPECT_EQ(Count(graph, "FusedConv2D"), 1) << other.kernel.ToString();
  }
}

}  // namespace
}  // namespace belay::graph
