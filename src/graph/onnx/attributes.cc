// Attributes of nodes as importers read them. What is read is noted, so that what nobody reads can be
// refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"
#include "graph/onnx/scope.h"

namespace belay::graph::onnx {
namespace {

const char* NameOfKind(int32_t kind) {
  static constexpr const char* kNames[] = {
      "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
      "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  return kind >= 0 && static_cast<size_t>(kind) < std::size(kNames) ? kNames[kind] : "unknown";
}

// Notes of tools, and the plan for memory of the first operator set.
bool IsNote(std::string_view name) { return name.substr(0, 1) == "_" || name == "consumed_inputs"; }

}  // namespace

const AttributeData* OnnxNode::Find(std::string_view name) const {
  for (size_t i = 0; i < data_.attributes.size(); ++i) {
    if (data_.attributes[i].name != name) continue;
    attributes_read_[i] = true;
    return &data_.attributes[i];
  }
  return nullptr;
}

const AttributeData* OnnxNode::Find(std::string_view name, AttributeType kind, AttributeType also) const {
  const AttributeData* found = Find(name);
  if (found == nullptr || found->type == kind || found->type == also || found->type == kAnyAttribute)
    return found;
  Refuse(fmt::format("attribute '{}' is of kind {}; {} is wanted", name, NameOfKind(found->type),
                     NameOfKind(kind)));
}

int64_t OnnxNode::Int(std::string_view name, int64_t missing) const {
  const AttributeData* found = Find(name, kIntAttribute, kFloatAttribute);
  if (found == nullptr) return missing;
  if (found->type != kFloatAttribute) return found->i;
  constexpr double kMost = 1 << 24;
  if (found->f != std::trunc(found->f) || std::fabs(found->f) > kMost)
    Refuse(fmt::format("attribute '{}' is {}; a whole number is wanted", name, found->f));
  return static_cast<int64_t>(found->f);
}
double OnnxNode::Float(std::string_view name, double missing) const {
  const AttributeData* found = Find(name, kFloatAttribute, kIntAttribute);
  if (found == nullptr) return missing;
  return found->type == kIntAttribute ? static_cast<double>(found->i) : found->f;
}
std::string OnnxNode::String(std::string_view name, std::string missing) const {
  const AttributeData* found = Find(name, kStringAttribute, kStringAttribute);
  return found == nullptr ? missing : found->s;
}
std::vector<int64_t> OnnxNode::Ints(std::string_view name, std::vector<int64_t> missing) const {
  const AttributeData* found = Find(name, kIntsAttribute, kIntsAttribute);
  return found == nullptr ? missing : found->ints;
}
std::vector<double> OnnxNode::Floats(std::string_view name, std::vector<double> missing) const {
  const AttributeData* found = Find(name, kFloatsAttribute, kFloatsAttribute);
  return found == nullptr ? missing : found->floats;
}
std::vector<std::string> OnnxNode::Strings(std::string_view name) const {
  const AttributeData* found = Find(name, kStringsAttribute, kStringsAttribute);
  return found == nullptr ? std::vector<std::string>() : found->strings;
}
graph::Constant OnnxNode::Value(std::string_view name) const {
  const AttributeData* found = Find(name, kTensorAttribute, kTensorAttribute);
  if (found == nullptr || found->tensor == nullptr) return nullptr;
  return TensorOf(*found->tensor, scope_.model().owner, scope_.folder());
}
const GraphData* OnnxNode::Subgraph(std::string_view name) const {
  const AttributeData* found = Find(name, kGraphAttribute, kGraphAttribute);
  return found == nullptr ? nullptr : found->graph.get();
}

void OnnxNode::WithoutEffect(std::initializer_list<std::string_view> names) const {
  for (std::string_view name : names) Find(name);
}

void OnnxNode::InputsWithoutEffect(std::initializer_list<int> inputs) const {
  for (int i : inputs) {
    if (has(i)) inputs_read_[static_cast<size_t>(i)] = true;
  }
}

void OnnxNode::Only(std::string_view name, int64_t value) const {
  if (const int64_t given = Int(name, value); given != value)
    Refuse(fmt::format("attribute '{}' is {}; only {} is supported", name, given, value));
}
void OnnxNode::Only(std::string_view name, const std::string& value) const {
  if (const std::string given = String(name, value); given != value)
    Refuse(fmt::format("attribute '{}' is '{}'; only '{}' is supported", name, given, value));
}

void OnnxNode::CheckAllRead() const {
  for (size_t i = 0; i < data_.attributes.size(); ++i) {
    const std::string& name = data_.attributes[i].name;
    if (attributes_read_[i] || IsNote(name)) continue;
    Fail(
        kGraphInvalid, "onnx-attribute",
        "node '{}' ({}, opset {}) has an attribute '{}', which this version does not read there; remove it if "
        "it changes nothing, or convert the model to an operator set that has it",
        DisplayName(), data_.type, opset_, name);
  }
  for (int i = 0; i < input_count(); ++i) {
    if (!has(i) || inputs_read_[static_cast<size_t>(i)]) continue;
    Fail(kGraphInvalid, "onnx-input",
         "node '{}' ({}, opset {}) has an input {} ('{}'), which this version does not read", DisplayName(),
         data_.type, opset_, i, data_.inputs[static_cast<size_t>(i)]);
  }
}

// --- functions

namespace {

using Given = std::map<std::string, const AttributeData*>;

NodeData Bound(const NodeData& node, const Given& given);

std::shared_ptr<GraphData> Bound(const std::shared_ptr<GraphData>& body, const Given& given) {
  if (body == nullptr) return nullptr;
  auto bound = std::make_shared<GraphData>(*body);
  for (NodeData& node : bound->nodes) node = Bound(node, given);
  return bound;
}

// A parameter that the call does not give, and that has no default, is an attribute that is not there.
NodeData Bound(const NodeData& node, const Given& given) {
  NodeData bound = node;
  bound.attributes.clear();
  for (const AttributeData& attribute : node.attributes) {
    if (attribute.parameter.empty()) {
      bound.attributes.push_back(attribute);
      bound.attributes.back().graph = Bound(attribute.graph, given);
    } else if (auto it = given.find(attribute.parameter); it != given.end()) {
      bound.attributes.push_back(*it->second);
      bound.attributes.back().name = attribute.name;
    }
  }
  return bound;
}

}  // namespace

std::vector<NodeData> Called(const FunctionData& function, const NodeData& call) {
  Given given;
  for (const AttributeData& attribute : function.defaulted) given[attribute.name] = &attribute;
  for (const AttributeData& attribute : call.attributes) {
    const bool known =
        given.count(attribute.name) != 0 ||
        std::count(function.parameters.begin(), function.parameters.end(), attribute.name) != 0;
    if (!known && !IsNote(attribute.name)) {
      Fail(kGraphInvalid, "onnx-attribute",
           "node '{}' calls the function {} with an attribute '{}', which the function does not have",
           call.name.empty() ? call.type : call.name, function.name, attribute.name);
    }
    given[attribute.name] = &attribute;
  }
  std::vector<NodeData> nodes;
  for (const NodeData& node : function.nodes) nodes.push_back(Bound(node, given));
  return nodes;
}

}  // namespace belay::graph::onnx
