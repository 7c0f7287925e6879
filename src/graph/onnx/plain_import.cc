#include "graph/onnx/plain_import.h"

#include <string>
#include <utility>

namespace belay::graph::onnx {
namespace {

Attribute ValueOf(const OnnxNode& node, const PlainAttribute& row) {
  const Attribute fallback = DefaultOf(row.attribute);
  if (const auto* value = std::get_if<int64_t>(&fallback)) return node.Int(row.name, *value);
  if (const auto* value = std::get_if<double>(&fallback)) return node.Float(row.name, *value);
  if (const auto* value = std::get_if<bool>(&fallback)) return node.Int(row.name, *value) != 0;
  if (const auto* value = std::get_if<std::string>(&fallback)) return node.String(row.name, *value);
  if (const auto* value = std::get_if<std::vector<int64_t>>(&fallback)) return node.Ints(row.name, *value);
  node.Refuse("attribute '" + std::string(row.name) + "' has no value here");
}

}  // namespace

void ImportPlain(OnnxNode& node, const PlainImport& row) {
  Attributes attributes;
  for (const PlainAttribute& attribute : row.attributes)
    attributes[attribute.attribute.name] = ValueOf(node, attribute);
  node.Become(row.type, std::move(attributes));
}

}  // namespace belay::graph::onnx
