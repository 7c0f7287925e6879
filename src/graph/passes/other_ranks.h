// For tests of passes: graphs that are like one another but for the shapes of their constants.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "graph/ir.h"

namespace belay::graph {

// The constant under a shape of a higher rank; `twice`: a single number twice, which makes results larger.
inline Constant OfHigherRank(const Constant& from, int more, bool twice) {
  Shape shape = Shape::Filled(more, 1);
  for (int64_t size : from->shape()) shape.push_back(size);
  if (!twice) return std::make_shared<HostTensor>(from->dtype(), shape, from->data(), from);
  shape[0] = 2;
  auto both = std::make_shared<HostTensor>(from->dtype(), shape);
  for (size_t half : {0, 1})
    std::copy_n(from->data(), from->bytes(), both->mutable_data() + half * from->bytes());
  return both;
}

// Each constant alone with one and two dimensions more, and with a first dimension of two where it is a
// number; and several of them at random. Not all of these graphs are valid.
inline std::vector<Graph> WithOtherRanks(const Graph& graph) {
  std::vector<size_t> constants;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Constant value = ConstantOf(graph.nodes[n]);
    if (value != nullptr && value->bytes() <= 65536) constants.push_back(n);
  }
  std::vector<Graph> variants;
  auto change = [](Graph& variant, size_t n, int more, bool twice) {
    Constant value = ConstantOf(variant.nodes[n]);
    if (value->shape().rank() + more > 6) return;
    Graph one;
    one.AddConstant(variant.nodes[n].name, OfHigherRank(value, more, twice && value->count() == 1));
    variant.nodes[n] = one.nodes[0];
  };
  for (size_t n : constants) {
    for (int way : {1, 2, 3}) change(variants.emplace_back(graph), n, way, way == 3);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 8; ++i) {
    Graph& variant = variants.emplace_back(graph);
    for (size_t n : constants) {
      if (random() % 3 == 0) change(variant, n, static_cast<int>(1 + random() % 4), random() % 4 == 0);
    }
  }
  return variants;
}

}  // namespace belay::graph
