#include "belay_graph/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::graph_tool {
namespace {

using graph::DType;
using graph::Graph;
using graph::Node;
using graph::ValueType;
using testing::HasSubstr;
using testing::Not;

ValueType Floats(const tensor::Shape& shape) { return {DType::kF32, graph::Format::kND, true, shape}; }

// y = relu(x * 3), and the same bytes as a vector.
Graph SmallGraph() {
  Graph graph;
  graph.name = "small";
  int x = graph.AddInput("x", Floats({2, 3}));
  auto three = std::make_shared<graph::HostTensor>(DType::kF32, tensor::Shape{1});
  *three->as<float>() = 3;
  graph::Port factor = graph.AddConstant("three", three);
  int product =
      graph.Add({.name = "product", .type = "Mul", .inputs = {{x, 0}, factor}, .types = {Floats({2, 3})}});
  int relu = graph.Add(
      {.name = "<relu> & \"more\"", .type = "Relu", .inputs = {{product, 0}}, .types = {Floats({2, 3})}});
  graph.outputs = {{{relu, 0}, "y", Floats({2, 3})}};
  return graph;
}

Picture Small(int runs) { return MakePicture(SmallGraph(), {Floats({2, 3})}, {runs, ""}); }

TEST(Picture, HoldsWhatRunsAndWhatFlows) {
  Picture picture = Small(0);
  ASSERT_EQ(picture.shown.size(), 4u);  // the constant is part of who reads it
  EXPECT_EQ(picture.shown[0].kind, Shown::kInput);
  EXPECT_EQ(picture.shown[1].type, "Mul");
  EXPECT_EQ(picture.shown[1].result, "f32 [2, 3]");
  EXPECT_EQ(picture.shown[1].result_bytes, 24u);
  EXPECT_EQ(picture.shown[1].constant_bytes, 4u);
  EXPECT_EQ(picture.shown[1].kernels, 1);
  EXPECT_EQ(picture.shown[1].place, "0x0");
  EXPECT_EQ(picture.shown[2].place, "output");
  EXPECT_EQ(picture.shown[3].kind, Shown::kOutput);
  ASSERT_EQ(picture.flows.size(), 3u);
  EXPECT_EQ(picture.flows[1].bytes, 24u);
  EXPECT_TRUE(picture.planned);
  EXPECT_EQ(picture.constant_bytes, 4u);
  EXPECT_EQ(picture.least_work_bytes, 64u);
  EXPECT_FALSE(picture.shown[1].microseconds.has_value());
}

TEST(Picture, ARunGivesTimes) {
  Picture picture = Small(3);
  EXPECT_GT(picture.microseconds, 0);
  ASSERT_TRUE(picture.shown[1].microseconds.has_value());
  EXPECT_GT(*picture.shown[1].microseconds, 0);
  EXPECT_FALSE(picture.shown[0].microseconds.has_value());
  std::string text = WriteText(picture);
  EXPECT_THAT(text, HasSubstr("in one run, node after node (medians of 3 runs)"));
  EXPECT_THAT(text, HasSubstr("GFLOP/s  GB/s"));
  EXPECT_EQ(picture.shown[1].operations, 0);
  EXPECT_EQ(picture.shown[1].moved_bytes, 24u + 24 + 4);
  ASSERT_TRUE(picture.shown[1].of_roof.has_value());
  EXPECT_THAT(text, HasSubstr("% <\n"));  // six numbers are far from it
}

TEST(Picture, TextHasALineForEachNode) {
  std::string text = WriteText(Small(0));
  EXPECT_THAT(text, HasSubstr("small: 2 nodes, 1 inputs, 1 outputs, constants 4 B"));
  EXPECT_THAT(text, HasSubstr("no  reads  node    name"));
  EXPECT_THAT(text, HasSubstr("1   0      Mul     product"));
  EXPECT_THAT(text, HasSubstr("3   2      output  y"));
  EXPECT_THAT(text, Not(HasSubstr("time")));
}

TEST(Picture, DotQuotesNames) {
  std::string dot = WriteDot(Small(0));
  EXPECT_THAT(dot, HasSubstr(R"(n2 [label="Relu\n<relu> & \"more\"\nf32 [2, 3]\n24 B at output")"));
  EXPECT_THAT(dot, HasSubstr("n1 -> n2 [tooltip=\"f32 [2, 3], 24 B\"]"));
}

TEST(Picture, SvgEscapesNames) {
  std::string svg = WriteSvg(Small(0));
  EXPECT_THAT(svg, HasSubstr(">&lt;relu&gt; &amp; &quot;more&quot;</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<relu>")));
  EXPECT_THAT(svg, HasSubstr("</svg>\n"));
}

TEST(Picture, NamesOfSizesAndTimes) {
  EXPECT_EQ(TextOfBytes(0), "0 B");
  EXPECT_EQ(TextOfBytes(1023), "1023 B");
  EXPECT_EQ(TextOfBytes(1536), "1.5 KiB");
  EXPECT_EQ(TextOfBytes(20 << 20), "20 MiB");
  EXPECT_EQ(TextOfMicroseconds(12.34), "12.3 us");
  EXPECT_EQ(TextOfMicroseconds(1234.5), "1.23 ms");
  EXPECT_EQ(Shortened("short", 8), "short");
  EXPECT_EQ(Shortened("a/long/name", 6), "..name");
}

}  // namespace
}  // namespace belay::graph_tool
