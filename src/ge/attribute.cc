#include "ge/attribute.h"

#include <array>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/tensor_impl.h"

namespace ge {
namespace {

using belay::graph::Attribute;
using belay::graph::AttributeKind;
using belay::graph::AttributeSchema;
using belay::graph::Constant;
using belay::graph::DType;

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// Programs write an int where the schema says type, float or a list.
void Coerce(Attribute& value, AttributeKind kind) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    int64_t copy = *number;
    if (kind == AttributeKind::kType) value = static_cast<DType>(copy);
    if (kind == AttributeKind::kFloat) value = static_cast<double>(copy);
    if (kind == AttributeKind::kBool) value = copy != 0;
    if (kind == AttributeKind::kInts) value = std::vector<int64_t>{copy};
  } else if (const auto* type = std::get_if<DType>(&value); type != nullptr && kind == AttributeKind::kInt) {
    value = static_cast<int64_t>(*type);
  } else if (const auto* flag = std::get_if<bool>(&value); flag != nullptr && kind == AttributeKind::kInt) {
    value = static_cast<int64_t>(*flag);
  }
}

}  // namespace

const char* TypeNameOf(const AttributeValue& value) {
  static constexpr std::array kNames = {
      "VT_NONE",        "VT_INT",       "VT_FLOAT",         "VT_BOOL",
      "VT_STRING",      "VT_DATA_TYPE", "VT_TENSOR",        "VT_LIST_INT",
      "VT_LIST_FLOAT",  "VT_LIST_BOOL", "VT_LIST_STRING",   "VT_LIST_DATA_TYPE",
      "VT_LIST_TENSOR", "VT_BYTES",     "VT_LIST_LIST_INT", "VT_GRAPH"};
  static_assert(kNames.size() == std::variant_size_v<AttributeValue>);
  return kNames[value.index()];
}

const char* TypeNameOf(AttributeKind kind) {
  static constexpr std::array kNames = {"VT_INT",       "VT_FLOAT",    "VT_BOOL",       "VT_STRING",
                                        "VT_DATA_TYPE", "VT_LIST_INT", "VT_LIST_FLOAT", "VT_LIST_STRING",
                                        "VT_TENSOR",    "VT_GRAPH"};
  return kNames[static_cast<size_t>(kind)];
}

AttributeValue FallbackOf(const AttributeSchema& schema) {
  if (schema.required || schema.kind == AttributeKind::kTensor || schema.kind == AttributeKind::kGraph)
    return {};
  return Raised(belay::graph::AttributeOf({.name = "", .type = ""}, schema));
}

Attribute Lowered(const AttributeValue& value, const AttributeSchema* schema, const std::string& where) {
  auto numbers = [](const auto& list) { return std::vector<int64_t>(list.begin(), list.end()); };
  auto refuse = [&](const auto&) -> Attribute {
    belay::Fail(belay::graph_interface::kNotSupported, "ge-attribute-kind",
                "{} is of type {}, which is not supported", where, TypeNameOf(value));
  };
  Attribute lowered = std::visit(
      Overloaded{
          [](int64_t v) -> Attribute { return v; },
          [](float v) -> Attribute { return static_cast<double>(v); }, [](bool v) -> Attribute { return v; },
          [](const std::string& v) -> Attribute { return v; },
          [](DataType v) -> Attribute { return DTypeOf(v); },
          [&](const Tensor& v) -> Attribute { return ConstantOf(v, where); },
          [](const std::vector<int64_t>& v) -> Attribute { return v; },
          [](const std::vector<float>& v) -> Attribute { return std::vector<double>(v.begin(), v.end()); },
          [&](const std::vector<bool>& v) -> Attribute { return numbers(v); },
          [](const std::vector<std::string>& v) -> Attribute { return v; },
          [&](const std::vector<DataType>& v) -> Attribute { return numbers(v); },
          [](const std::shared_ptr<belay::graph::Graph>& v) -> Attribute { return v; }, refuse},
      value);
  if (schema != nullptr) Coerce(lowered, schema->kind);
  return lowered;
}

AttributeValue Raised(const Attribute& attribute) {
  return std::visit(
      Overloaded{
          [](int64_t v) -> AttributeValue { return v; },
          [](double v) -> AttributeValue { return static_cast<float>(v); },
          [](bool v) -> AttributeValue { return v; },
          [](const std::string& v) -> AttributeValue { return v; },
          [](DType v) -> AttributeValue { return DataTypeOf(v); },
          [](const std::vector<int64_t>& v) -> AttributeValue { return v; },
          [](const std::vector<double>& v) -> AttributeValue {
            return std::vector<float>(v.begin(), v.end());
          },
          [](const std::vector<std::string>& v) -> AttributeValue { return v; },
          [](const Constant& v) -> AttributeValue { return v == nullptr ? AttributeValue() : TensorOf(v); },
          [](const std::shared_ptr<belay::graph::Graph>& v) -> AttributeValue { return v; }},
      attribute);
}

AttrValue::AttrValue() : impl(std::make_shared<AttrValueImpl>()) {}
graphStatus AttrValue::GetValue(AscendString& val) {
  return Get(impl->value, &val) ? GRAPH_SUCCESS : GRAPH_FAILED;
}
graphStatus AttrValue::GetValue(INT& val) const {
  return Get(impl->value, &val) ? GRAPH_SUCCESS : GRAPH_FAILED;
}
graphStatus AttrValue::GetValue(FLOAT& val) const {
  return Get(impl->value, &val) ? GRAPH_SUCCESS : GRAPH_FAILED;
}

// NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses
#define BOTH(T)                                                 \
  graphStatus AttrValue::SetAttrValue(const T& v) const {       \
    Put(impl->value, v);                                        \
    return GRAPH_SUCCESS;                                       \
  }                                                             \
  graphStatus AttrValue::GetAttrValue(T& v) const {             \
    return Get(impl->value, &v) ? GRAPH_SUCCESS : GRAPH_FAILED; \
  }
BOTH(int64_t)
BOTH(float32_t)
BOTH(AscendString)
BOTH(bool)
BOTH(Tensor)
BOTH(std::vector<int64_t>)
BOTH(std::vector<float32_t>)
BOTH(std::vector<AscendString>)
BOTH(std::vector<bool>)
BOTH(std::vector<Tensor>)
BOTH(std::vector<std::vector<int64_t>>)
BOTH(std::vector<DataType>)
BOTH(DataType)
#undef BOTH
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace ge
