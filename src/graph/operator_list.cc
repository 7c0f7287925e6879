#include "graph/operator_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/whole_file.h"
#include "graph/codes.h"

namespace belay::graph {
namespace {

constexpr std::string_view kTypePrefix = "OpType::";

std::string Trimmed(const std::string& text) {
  const char* spaces = " \t\r";
  size_t begin = text.find_first_not_of(spaces);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

}  // namespace

OperatorList::OperatorList(const std::string& path) : path_(path) {
  const std::string text = ReadWholeFile(path).value_or("");
  if (text.empty()) {
    Fail(kFileUnreadable, "operator-list-file",
         "E10001: '{}', which lists operators, cannot be read, or is empty", path);
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end_of_line = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end_of_line - at);
    at = end_of_line + 1;
    if (line.starts_with('#')) continue;
    std::replace(line.begin(), line.end(), ';', '\n');
    for (size_t begin = 0; begin <= line.size();) {
      size_t end = std::min(line.find('\n', begin), line.size());
      std::string entry = Trimmed(line.substr(begin, end - begin));
      begin = end + 1;
      if (entry.starts_with(kTypePrefix)) {
        types_.insert(entry.substr(kTypePrefix.size()));
      } else if (!entry.empty()) {
        found_[entry] = false;
      }
    }
  }
}

bool OperatorList::Holds(const std::string& name, const std::string& type) {
  auto it = found_.find(name);
  if (it == found_.end()) return types_.count(type) != 0;
  it->second = true;
  return true;
}

void OperatorList::NeedAllFound() const {
  for (const auto& [name, found] : found_) {
    if (!found)
      Fail(kGraphInvalid, "operator-list-name",
           "'{}' lists '{}', but the network has no operator of that name", path_, name);
  }
}

void KeepTypes(Graph& graph, const std::string& path) {
  OperatorList list(path);
  for (Node& node : graph.nodes) {
    if (list.Holds(node.name, node.type)) node.attributes[kKeepType] = true;
  }
  list.NeedAllFound();
}

}  // namespace belay::graph
