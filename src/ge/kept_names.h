// For string_overloads.cc, which sees nothing of the core.
#pragma once

#include <map>
#include <memory>

#include "ge/ge_error_codes.h"
#include "graph/graph.h"

namespace ge {

// Where the name of a graph is kept for one of the two kinds of std::string.
std::shared_ptr<void>& KeptName(const Graph& graph, int abi);

Status LoadSessionGraph(uint64_t session_id, uint32_t graph_id,
                        const std::map<AscendString, AscendString>& options, const char_t* path);

}  // namespace ge
