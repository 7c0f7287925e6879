// Operators on sequences of tensors. Like loops they run in the interpreter only.
#pragma once

#include <string_view>

#include "graph/control_flow.h"

namespace belay::graph {

// Null for operators that know no sequences.
ControlFunction FindSequenceOp(std::string_view type);

}  // namespace belay::graph
