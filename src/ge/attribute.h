// Values of attributes, between what programs give and what the graph engine takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/attr_value.h"
#include "graph/ir.h"
#include "graph/op_schema.h"
#include "graph/tensor.h"

namespace ge {

using Bytes = std::vector<uint8_t>;
using AttributeValue =
    std::variant<std::monostate, int64_t, float, bool, std::string, DataType, Tensor, std::vector<int64_t>,
                 std::vector<float>, std::vector<bool>, std::vector<std::string>, std::vector<DataType>,
                 std::vector<Tensor>, Bytes, std::vector<std::vector<int64_t>>,
                 std::shared_ptr<belay::graph::Graph>>;
using AttributeValues = std::map<std::string, AttributeValue, std::less<>>;

class AttrValueImpl {
 public:
  AttributeValue value;
};

// "VT_INT", "VT_LIST_FLOAT", ...
const char* TypeNameOf(const AttributeValue& value);
const char* TypeNameOf(belay::graph::AttributeKind kind);
// What a schema says an attribute is when it is not set.
AttributeValue FallbackOf(const belay::graph::AttributeSchema& schema);

// To the graph engine, as the kind that its schema wants where there is one. Throws Error when the engine
// has no such attributes.
belay::graph::Attribute Lowered(const AttributeValue& value, const belay::graph::AttributeSchema* schema,
                                const std::string& where);
AttributeValue Raised(const belay::graph::Attribute& attribute);

// Between the types of the interface and the stored ones. Get: false when the value is of another type or
// does not fit.
template <class T>
void Put(AttributeValue& to, const T& from) {
  if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, uint32_t>) {
    to = static_cast<int64_t>(from);
  } else if constexpr (std::is_same_v<T, std::vector<int32_t>> || std::is_same_v<T, std::vector<uint32_t>>) {
    to = std::vector<int64_t>(from.begin(), from.end());
  } else if constexpr (std::is_same_v<T, AscendString>) {
    to = std::string(from.GetString(), from.GetLength());
  } else if constexpr (std::is_same_v<T, std::vector<AscendString>>) {
    std::vector<std::string> texts;
    for (const AscendString& text : from) texts.emplace_back(text.GetString(), text.GetLength());
    to = std::move(texts);
  } else if constexpr (std::is_same_v<T, AttrValue>) {
    to = from.impl == nullptr ? AttributeValue() : from.impl->value;
  } else {
    to = from;
  }
}

template <class To>
bool Narrow(int64_t from, To* to) {
  *to = static_cast<To>(from);
  return static_cast<int64_t>(*to) == from;
}

template <class T>
bool Get(const AttributeValue& from, T* to) {
  if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, uint32_t>) {
    const auto* value = std::get_if<int64_t>(&from);
    return value != nullptr && Narrow(*value, to);
  } else if constexpr (std::is_same_v<T, std::vector<int32_t>> || std::is_same_v<T, std::vector<uint32_t>>) {
    const auto* values = std::get_if<std::vector<int64_t>>(&from);
    if (values == nullptr) return false;
    T narrow;
    for (int64_t value : *values) {
      if (!Narrow(value, &narrow.emplace_back())) return false;
    }
    *to = std::move(narrow);
    return true;
  } else if constexpr (std::is_same_v<T, AscendString>) {
    const auto* value = std::get_if<std::string>(&from);
    if (value != nullptr) *to = AscendString(value->data(), value->size());
    return value != nullptr;
  } else if constexpr (std::is_same_v<T, std::vector<AscendString>>) {
    const auto* values = std::get_if<std::vector<std::string>>(&from);
    if (values == nullptr) return false;
    to->clear();
    for (const std::string& value : *values) to->emplace_back(value.data(), value.size());
    return true;
  } else if constexpr (std::is_same_v<T, AttrValue>) {
    to->impl = std::make_shared<AttrValueImpl>(AttrValueImpl{from});
    return true;
  } else {
    const auto* value = std::get_if<T>(&from);
    if (value != nullptr) *to = *value;
    return value != nullptr;
  }
}

}  // namespace ge
