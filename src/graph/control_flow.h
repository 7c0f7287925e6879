// Operators that run graphs: If, Case, While and the loops of ONNX. Only the interpreter runs them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/ir.h"

namespace belay::graph {

// Who runs the graphs that a node has.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  virtual std::vector<Constant> RunBody(const Graph& body, std::span<const Constant> inputs) = 0;
};

using ControlFunction = std::vector<Constant> (*)(const Node& node, std::span<const Constant> inputs,
                                                  BodyRunner& bodies);

// Refuses a node that lacks inputs or bodies, or whose bodies take or give another number of values, in
// bodies too; before anything runs. Nodes that compute pass.
void CheckControl(const Node& node);

// Null for operators that compute.
ControlFunction FindControl(std::string_view type);

}  // namespace belay::graph
