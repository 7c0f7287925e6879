#include "graph/size_range.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/specialise.h"

namespace belay::graph {
namespace {

// Inputs of open shapes by these names.
Graph WithInputs(const std::vector<std::string>& names) {
  Graph graph;
  for (const std::string& name : names) graph.AddInput(name, {DType::kF32, Format::kND, false, {}});
  return graph;
}
const Node& Input(const Graph& graph, size_t i) { return graph.nodes[static_cast<size_t>(graph.inputs[i])]; }
Shape ShapeOf(const Graph& graph, size_t i) { return Input(graph, i).types[0].shape; }

std::string RangeRefusal(const std::vector<std::string>& names, std::string_view text) {
  Graph graph = WithInputs(names);
  try {
    ApplyInputShapes(graph, text);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

TEST(SizeRange, NamesMayHoldColons) {
  Graph graph = WithInputs({"a:0", "onnx::scale", "onnx::Gather_3", "s", "e"});
  ApplyInputShapes(graph, "a:0:1,2;onnx::scale;onnx::Gather_3:4;s;other:9;e:");
  EXPECT_EQ(ShapeOf(graph, 0), (Shape{1, 2}));
  EXPECT_EQ(ShapeOf(graph, 2), Shape{4});
  for (size_t scalar : {1u, 3u, 4u}) {
    EXPECT_TRUE(Input(graph, scalar).types[0].rank_known);
    EXPECT_EQ(ShapeOf(graph, scalar), Shape{});
  }
}

TEST(SizeRange, ShapesWithoutNamesAreThoseOfTheInputsInOrder) {
  Graph graph = WithInputs({"a", "b", "3"});
  ApplyInputShapes(graph, "8~20,3,-1;;3");
  EXPECT_EQ(ShapeOf(graph, 0), (Shape{-1, 3, -1}));
  EXPECT_FALSE(Input(graph, 1).types[0].rank_known) << "nothing was said of it";
  EXPECT_EQ(ShapeOf(graph, 2), Shape{}) << "a scalar of that name";
  EXPECT_NE(RangeRefusal({"a"}, "4;5").find("one too many for 1 inputs"), std::string::npos);
  EXPECT_NE(RangeRefusal({"a"}, "a:4;5").find("one too many for 1 inputs"), std::string::npos);
  EXPECT_NE(RangeRefusal({"a", "b"}, "4;a:4").find("'a:4' names an input twice"), std::string::npos);
}

TEST(SizeRange, KnowsBothBounds) {
  Graph graph = WithInputs({"a"});
  ApplyInputShapes(graph, "a:2~4,3,-1,5~-1,7~7");
  EXPECT_EQ(ShapeOf(graph, 0), (Shape{-1, 3, -1, -1, 7}));
  const SizeRanges ranges = SizeRangesOf(Input(graph, 0));
  const std::vector<std::pair<int64_t, int64_t>> expected = {{2, 4}, {3, 3}, {0, -1}, {5, -1}, {7, 7}};
  ASSERT_EQ(ranges.size(), expected.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(std::pair(ranges[i].least, ranges[i].most), expected[i]) << i;
  }
  auto passed = [&](const Shape& shape) {
    const ValueType type{DType::kF32, Format::kND, true, shape};
    try {
      NeedSizesInRange(graph, std::span(&type, 1));
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(passed({2, 3, 0, 5, 7}));
  EXPECT_TRUE(passed({4, 3, 1000, 1000, 7}));
  EXPECT_FALSE(passed({1, 3, 1, 5, 7}));
  EXPECT_FALSE(passed({5, 3, 1, 5, 7}));
  EXPECT_FALSE(passed({2, 3, 1, 4, 7}));
}

TEST(SizeRange, ALaterShapeTakesTheBoundsAway) {
  Graph graph = WithInputs({"a"});
  ApplyInputShapes(graph, "a:2~4");
  EXPECT_TRUE(HasBounds(Input(graph, 0)));
  ApplyInputShapes(graph, "a:-1");
  EXPECT_FALSE(HasBounds(Input(graph, 0)));
}

TEST(SizeRange, WhatIsNoShapeIsRefused) {
  for (const char* text : {"a:two", "a:1~", "a:~4", "a:4~2", "a:-1~4", "a:1~-2", "a:-2", "a:3000000000",
                           "a:1,1,1,1,1,1,1,1,1", "a:1;a:2", "other:two"}) {
    EXPECT_EQ(RangeRefusal({"a"}, text).substr(0, 6), "E10002") << text;
  }
}

}  // namespace
}  // namespace belay::graph
