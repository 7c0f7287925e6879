// A captured graph as text in the terminal and as JSON for chrome://tracing.
#pragma once

#include <cstdint>

#include "runtime/task_graph.h"

namespace belay::api {

// To standard output: a drawing with a lane for each stream, or a table when the graph is large.
void PrintGraph(const rt::TaskGraph& graph, uint32_t model);
// Throws 107009 or 107010 when the file cannot be opened or written.
void WriteGraphJson(const rt::TaskGraph& graph, uint32_t model, const char* path, bool verbose);

}  // namespace belay::api
