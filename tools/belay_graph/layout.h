// Places the boxes of a directed graph in layers from top to bottom, so that edges go down, cross
// seldom and are nearly straight. Knows nothing of what the boxes are.
#pragma once

#include <vector>

namespace belay::graph_tool {

struct Box {
  double width = 0;
  double height = 0;
};

struct Point {
  double x = 0;
  double y = 0;
};

struct Edge {
  int from = 0;  // numbers of boxes
  int to = 0;
};

struct Layout {
  std::vector<Point> corners;             // top left, of each box
  std::vector<int> layers;                // of each box, 0 on top
  std::vector<std::vector<Point>> paths;  // of each edge: from the bottom of one box to the top of the other
  double width = 0;
  double height = 0;
};

struct Gaps {
  double across = 24;  // between boxes of one layer
  double down = 36;    // between layers
};

// Edges lead from a lower number to a higher one, as nodes of a sorted graph do.
Layout PlaceBoxes(const std::vector<Box>& boxes, const std::vector<Edge>& edges, Gaps gaps = {});

}  // namespace belay::graph_tool
