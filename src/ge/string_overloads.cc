// The functions that take or return std::string. This file is compiled twice, once for each std::string of
// libstdc++, so it must not include anything of the core: what it calls takes AscendString or pointers.
#include <map>
#include <string>

#include "ge/ge_ir_build.h"
#include "graph/graph.h"

namespace ge {
namespace {

std::map<AscendString, AscendString> Converted(const std::map<std::string, std::string>& options) {
  std::map<AscendString, AscendString> converted;
  for (const auto& option : options) converted.emplace(option.first.c_str(), option.second.c_str());
  return converted;
}

}  // namespace

Graph::Graph(const std::string& name) : Graph(name.c_str()) {}

graphStatus aclgrphBuildInitialize(std::map<std::string, std::string> global_options) {
  auto options = Converted(global_options);
  return aclgrphBuildInitialize(options);
}
graphStatus aclgrphBuildModel(const Graph& graph, const std::map<std::string, std::string>& build_options,
                              ModelBufferData& model) {
  return aclgrphBuildModel(graph, Converted(build_options), model);
}
graphStatus aclgrphBuildModel(const std::vector<Graph>& graphs, const std::map<std::string, std::string>& build_options,
                              ModelBufferData& model) {
  return aclgrphBuildModel(graphs, Converted(build_options), model);
}
graphStatus aclgrphSaveModel(const std::string& output_file, const ModelBufferData& model) {
  return aclgrphSaveModel(output_file.c_str(), model);
}

}  // namespace ge
