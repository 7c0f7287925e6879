#include "graph/op_schema.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/operator_list.h"

namespace belay::graph {
namespace {

template <class T>
T DefaultNumber(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

template <class Use>
void ForEachPart(std::string_view text, Use use) {
  while (!text.empty()) {
    size_t comma = text.find(',');
    use(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
}

template <class T>
std::vector<T> NumbersIn(std::string_view text) {
  std::vector<T> values;
  ForEachPart(text, [&](std::string_view part) { values.push_back(DefaultNumber<T>(part)); });
  return values;
}

// What is not the operator's own: the compiler's, and how a list of lists that was given is divided.
bool IsNote(const Node& node, std::string_view name) {
  constexpr std::string_view kDivision = ".lengths";
  if (name.substr(0, 1) == "_" || name == kKeepType) return true;
  return name.size() > kDivision.size() && name.substr(name.size() - kDivision.size()) == kDivision &&
         node.attributes.count(name.substr(0, name.size() - kDivision.size())) != 0;
}

std::string NamesOf(const OpSchema& schema) {
  if (schema.attributes.empty()) return "this operator has none";
  std::string names;
  for (const AttributeSchema& attribute : schema.attributes)
    names += (names.empty() ? "this operator has " : ", ") + std::string(attribute.name);
  return names;
}

// Callers give whole numbers for others.
bool Same(const Attribute& value, const Attribute& only) {
  const auto* whole = std::get_if<int64_t>(&value);
  if (whole == nullptr) return value == only;
  if (const auto* real = std::get_if<double>(&only)) return static_cast<double>(*whole) == *real;
  if (const auto* flag = std::get_if<bool>(&only)) return *whole == static_cast<int64_t>(*flag);
  return value == only;
}

}  // namespace

Attribute DefaultOf(const AttributeSchema& schema) {
  std::string_view text = schema.fallback;
  switch (schema.kind) {
    case AttributeKind::kInt:
      return DefaultNumber<int64_t>(text);
    case AttributeKind::kFloat:
      return DefaultNumber<double>(text);
    case AttributeKind::kBool:
      return text == "true";
    case AttributeKind::kString:
      return std::string(text);
    case AttributeKind::kType:
      return tensor::DTypeNamed(schema.fallback);
    case AttributeKind::kInts:
      return NumbersIn<int64_t>(text);
    case AttributeKind::kFloats:
      return NumbersIn<double>(text);
    case AttributeKind::kStrings: {
      std::vector<std::string> parts;
      ForEachPart(text, [&](std::string_view part) { parts.emplace_back(part); });
      return parts;
    }
    case AttributeKind::kTensor:
      return Constant();
    case AttributeKind::kGraph:
      return std::shared_ptr<Graph>();
  }
  return int64_t{0};
}

const OpSchema* FindOp(std::string_view type) {
  static const auto* table = [] {
    auto* map = new std::unordered_map<std::string_view, const OpSchema*>;
    for (const OpSchema& op : AllOps()) map->emplace(op.type, &op);
    return map;
  }();
  auto it = table->find(type);
  return it == table->end() ? nullptr : it->second;
}

Attribute AttributeOf(const Node& node, const AttributeSchema& schema) {
  auto it = node.attributes.find(schema.name);
  if (it != node.attributes.end()) return it->second;
  if (!schema.required) return DefaultOf(schema);
  Fail(kGraphInvalid, "graph-attribute-missing", "node '{}' ({}) has no attribute '{}', which it needs",
       node.name, node.type, schema.name);
}

void CheckAttributes(const Node& node, const OpSchema& schema) {
  for (const auto& [name, value] : node.attributes) {
    if (IsNote(node, name)) continue;
    auto known =
        std::find_if(schema.attributes.begin(), schema.attributes.end(),
                     [&wanted = name](const AttributeSchema& attribute) { return wanted == attribute.name; });
    if (known == schema.attributes.end()) {
      Fail(kGraphInvalid, "graph-attribute-unknown", "node '{}' ({}) has an attribute '{}'; {}", node.name,
           node.type, name, NamesOf(schema));
    }
    if (known->use == AttributeUse::kOnly && !Same(value, DefaultOf(*known))) {
      Fail(kGraphInvalid, "graph-attribute-only",
           "node '{}' ({}): attribute '{}' has a value that is not supported; the only one is '{}'",
           node.name, node.type, name, known->fallback);
    }
  }
}

}  // namespace belay::graph
