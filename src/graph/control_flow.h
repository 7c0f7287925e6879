// Operators that run graphs: If, Case, While and the loops of ONNX. Only the interpreter runs them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/ir.h"

namespace belay::graph {

using ControlFunction = std::vector<Constant> (*)(const Node& node, std::span<const Constant> inputs);

// Null for operators that compute.
ControlFunction FindControl(std::string_view type);

}  // namespace belay::graph
