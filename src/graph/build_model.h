// Compiling a graph into a model file, with the options of atc and of aclgrphBuildModel.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/om/om.h"

namespace belay::graph {

// Options by the names of GE ("input_shape", "ge.exec.precision_mode", ...). Throws Error that names an
// option which is unknown or has a bad value.
using BuildOptions = std::map<std::string, std::string>;

// Whether there is an option of that name.
bool IsBuildOption(std::string_view key);
// Process-wide ones, for aclgrphBuildInitialize: checked like the others.
void CheckBuildOptions(const BuildOptions& options);

// A graph whose sizes are all known is optimised here. One with open sizes stays as it is; whoever knows them
// specialises and optimises it.
ModelFile BuildModel(const Graph& graph, const BuildOptions& options);
void OptimiseFor(const BuildOptions& options, Graph& specialised);

}  // namespace belay::graph
