// A file that lists operators of a network, one a line: by name, or all of a type as OpType::Type.
#pragma once

#include <map>
#include <set>
#include <string>

#include "graph/ir.h"

namespace belay::graph {

// The attribute of an operator that computes in its own type where the build's options let others round.
inline constexpr const char* kKeepType = "keep_dtype";

class OperatorList {
 public:
  // Lines that start with # are left out, and a semicolon parts names as the end of a line does.
  explicit OperatorList(const std::string& path);

  // Whether it is listed. Names that were asked for count as found.
  bool Holds(const std::string& name, const std::string& type);
  // Throws Error that says which name no operator has.
  void NeedAllFound() const;

 private:
  std::string path_;
  std::map<std::string, bool> found_;  // by name
  std::set<std::string> types_;
};

// What the file lists keeps its type.
void KeepTypes(Graph& graph, const std::string& path);

}  // namespace belay::graph
