#include "belay_graph/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace belay::graph_tool {
namespace {

constexpr Box kBox = {100, 40};

double MiddleOf(const Layout& layout, const std::vector<Box>& boxes, size_t i) {
  return layout.corners[i].x + boxes[i].width / 2;
}

// Boxes lie inside the picture and apart; edges go down, from a box's bottom to a box's top.
void CheckPlaces(const std::vector<Box>& boxes, const std::vector<Edge>& edges, const Layout& layout) {
  ASSERT_EQ(layout.corners.size(), boxes.size());
  ASSERT_EQ(layout.paths.size(), edges.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Point& at = layout.corners[i];
    EXPECT_GE(at.x, -0.01);
    EXPECT_LE(at.x + boxes[i].width, layout.width + 0.01);
    EXPECT_GE(at.y, -0.01);
    EXPECT_LE(at.y + boxes[i].height, layout.height + 0.01);
    for (size_t k = 0; k < i; ++k) {
      const Point& other = layout.corners[k];
      bool apart = at.x >= other.x + boxes[k].width || other.x >= at.x + boxes[i].width ||
                   at.y >= other.y + boxes[k].height || other.y >= at.y + boxes[i].height;
      EXPECT_TRUE(apart) << "boxes " << k << " and " << i;
    }
  }
  for (size_t e = 0; e < edges.size(); ++e) {
    auto from = static_cast<size_t>(edges[e].from);
    auto to = static_cast<size_t>(edges[e].to);
    const std::vector<Point>& path = layout.paths[e];
    EXPECT_NEAR(path.front().x, MiddleOf(layout, boxes, from), 0.01);
    EXPECT_NEAR(path.front().y, layout.corners[from].y + boxes[from].height, 0.01);
    EXPECT_NEAR(path.back().x, MiddleOf(layout, boxes, to), 0.01);
    EXPECT_NEAR(path.back().y, layout.corners[to].y, 0.01);
    EXPECT_TRUE(
        std::is_sorted(path.begin(), path.end(), [](const Point& a, const Point& b) { return a.y < b.y; }));
  }
}

TEST(Layout, NothingAndOneBox) {
  EXPECT_EQ(PlaceBoxes({}, {}).height, 0);
  Layout layout = PlaceBoxes({kBox}, {});
  EXPECT_EQ(layout.width, kBox.width);
  EXPECT_EQ(layout.height, kBox.height);
}

TEST(Layout, AChainIsStraight) {
  std::vector<Box> boxes = {{60, 20}, {140, 50}, {80, 30}};
  std::vector<Edge> edges = {{0, 1}, {1, 2}};
  Layout layout = PlaceBoxes(boxes, edges);
  CheckPlaces(boxes, edges, layout);
  EXPECT_EQ(layout.width, 140);
  EXPECT_EQ(layout.height, 20 + 50 + 30 + 2 * Gaps().down);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(MiddleOf(layout, boxes, i), 70, 0.01);
}

// The edge around the middle box keeps clear of it.
TEST(Layout, AnEdgeOverALayerPassesBesideItsBoxes) {
  std::vector<Box> boxes(3, kBox);
  std::vector<Edge> edges = {{0, 1}, {1, 2}, {0, 2}};
  Layout layout = PlaceBoxes(boxes, edges);
  CheckPlaces(boxes, edges, layout);
  ASSERT_EQ(layout.paths[2].size(), 4u);  // past the middle layer's top and bottom
  for (size_t i : {1, 2}) {
    double x = layout.paths[2][i].x;
    EXPECT_TRUE(x < layout.corners[1].x || x > layout.corners[1].x + kBox.width) << x;
  }
  EXPECT_NEAR(MiddleOf(layout, boxes, 0), MiddleOf(layout, boxes, 1), 1);
  EXPECT_NEAR(MiddleOf(layout, boxes, 1), MiddleOf(layout, boxes, 2), 1);
}

// 0 and 1 feed 2 and 3 crosswise: in the order of their numbers the edges would cross.
TEST(Layout, CrossingsGoAway) {
  std::vector<Box> boxes(4, kBox);
  std::vector<Edge> edges = {{0, 3}, {1, 2}};
  Layout layout = PlaceBoxes(boxes, edges);
  CheckPlaces(boxes, edges, layout);
  bool above = layout.corners[0].x < layout.corners[1].x;
  bool below = layout.corners[3].x < layout.corners[2].x;
  EXPECT_EQ(above, below);
}

TEST(Layout, WhatNeedsNothingLiesAboveItsUser) {
  Layout layout = PlaceBoxes(std::vector<Box>(4, kBox), {{0, 1}, {1, 3}, {2, 3}});
  EXPECT_EQ(layout.layers, (std::vector<int>{0, 1, 1, 2}));
}

TEST(Layout, BranchesLieAroundWhatTheyComeFrom) {
  std::vector<Box> boxes(5, kBox);
  std::vector<Edge> edges = {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}};
  Layout layout = PlaceBoxes(boxes, edges);
  CheckPlaces(boxes, edges, layout);
  EXPECT_NEAR(MiddleOf(layout, boxes, 0), MiddleOf(layout, boxes, 2), 0.01);
  EXPECT_NEAR(MiddleOf(layout, boxes, 4), MiddleOf(layout, boxes, 2), 0.01);
}

TEST(Layout, RandomGraphsKeepTheRules) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    std::vector<Box> boxes;
    std::vector<Edge> edges;
    for (int i = 0; i < 40; ++i) {
      boxes.push_back({40.0 + random() % 120, 20.0 + random() % 60});
      for (int k = 0; i > 0 && k < static_cast<int>(random() % 3); ++k)
        edges.push_back({static_cast<int>(random() % i), i});
    }
    SCOPED_TRACE(round);
    CheckPlaces(boxes, edges, PlaceBoxes(boxes, edges));
  }
}

}  // namespace
}  // namespace belay::graph_tool
