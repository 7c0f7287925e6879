// A captured graph, as aclmdlRIDebugJsonPrint has written it down.
#pragma once

#include <string_view>

#include "belay_graph/picture.h"

namespace belay::graph_tool {

// Throws std::invalid_argument where it is none.
Picture PictureOfCapture(std::string_view text);

}  // namespace belay::graph_tool
