// AIPP in a graph: a node "Aipp" between an input and those who read it. What the program passes is then the
// image; with dynamic AIPP the graph has one more input, for the parameters.
#pragma once

#include <optional>

#include "graph/aipp/config.h"
#include "graph/om/om.h"

namespace belay::graph {

inline constexpr const char* kDynamicAippName = "ascend_dynamic_aipp_data";
inline constexpr const char* kAippType = "Aipp";

// Puts one node for each block of the configuration. Inputs have their shapes by now. Throws Error that says
// what does not fit.
void InsertAipp(Graph& graph, const std::vector<AippConfig>& configs, Gears::Kind gears);

// What stands behind an input that is preprocessed.
struct AippInput {
  AippConfig config;
  std::vector<int64_t> features;  // what the network takes, [n, c, h, w]
  Format format = Format::kNCHW;  // and in which order
  DType dtype = DType::kF32;
  int params = -1;  // the place of the input for the parameters; -1: static
};
// By the place of the input that takes the images.
std::optional<AippInput> AippAt(const Graph& graph, size_t input);
// The input takes parameters of dynamic AIPP: the place of the input for the images that they belong to.
std::optional<size_t> ImagesFor(const Graph& graph, size_t input);

}  // namespace belay::graph
