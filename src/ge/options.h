// Options as programs give them.
#pragma once

#include <map>
#include <string>

#include "graph/ascend_string.h"

namespace belay::graph_interface {

using Options = std::map<std::string, std::string>;

inline Options OptionsOf(const std::map<ge::AscendString, ge::AscendString>& given) {
  Options options;
  for (const auto& [key, value] : given) options.emplace(key.GetString(), value.GetString());
  return options;
}

}  // namespace belay::graph_interface
