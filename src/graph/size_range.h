// Which sizes a graph is compiled for where its inputs leave them open: "1~4".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir.h"

namespace belay::graph {

struct SizeRange {
  int64_t least = 0;
  int64_t most = kUnknownDim;  // -1: no bound

  bool fixed() const { return least == most; }
  bool bounded() const { return least > 0 || most >= 0; }
  bool Admits(int64_t size) const { return size >= least && (most < 0 || size <= most); }
};
using SizeRanges = std::vector<SizeRange>;  // one for each size of a shape

Shape ShapeOf(const SizeRanges& ranges);
// Of an input's sizes; empty where its rank is not known.
SizeRanges SizeRangesOf(const Node& input);
// The same for a shape that the input is told as, whose fixed sizes may be others.
SizeRanges SizeRangesOf(const Node& input, const Shape& shape);
// Makes the input's shape what the ranges say.
void SetSizeRanges(Node& input, const SizeRanges& ranges);
bool HasBounds(const Node& input);

// Throws for the first size that is out of its range.
void NeedSizesInRange(const Graph& graph, std::span<const ValueType> inputs);

// One shape of --input_shape.
struct InputShape {
  int input = -1;  // its place among the graph's inputs; -1: none has that name
  std::string name;
  SizeRanges sizes;
};
// "name:1~4,3,-1;other:4;scalar", or without names, in the order of the inputs: "1~4,3,-1;4".
// Whether a text has that form, for whichever graph.
bool AreInputShapes(std::string_view text);
std::vector<InputShape> ReadInputShapes(const Graph& graph, std::string_view text);
// Names that are no inputs change nothing, as on a card.
void ApplyInputShapes(Graph& graph, std::string_view text);

}  // namespace belay::graph
