// Attributes of operators and of their inputs and outputs. One list of types; the rest is said once.
#include "ge/operator_impl.h"

namespace ge {
namespace {

template <class T>
void SetIn(AttributeValues* values, const char_t* name, const T& value) {
  if (values != nullptr && name != nullptr) Put((*values)[name], value);
}

template <class T>
graphStatus GetFrom(const AttributeValues* values, const char_t* name, T* value) {
  if (values == nullptr || name == nullptr) return GRAPH_FAILED;
  auto it = values->find(std::string_view(name));
  return it != values->end() && Get(it->second, value) ? GRAPH_SUCCESS : GRAPH_FAILED;
}

// What the operator's type says, where the program said nothing.
template <class T>
graphStatus GetOf(const NodePtr& node, const char_t* name, T* value) {
  if (node == nullptr || name == nullptr) return GRAPH_FAILED;
  if (node->attributes.count(name) != 0) return GetFrom(&node->attributes, name, value);
  const auto* schema = node->SchemaOf(name);
  return schema != nullptr && Get(FallbackOf(*schema), value) ? GRAPH_SUCCESS : GRAPH_FAILED;
}

AttributeValues* AttributesOf(const NodePtr& node) { return node == nullptr ? nullptr : &node->attributes; }
AttributeValues* In(const NodePtr& node, int32_t index) {
  InputSlot* slot = node == nullptr ? nullptr : node->Input(index);
  return slot == nullptr ? nullptr : &slot->attributes;
}
AttributeValues* In(const NodePtr& node, const char_t* name) {
  return node == nullptr || name == nullptr ? nullptr : In(node, node->InputNamed(name));
}
AttributeValues* Out(const NodePtr& node, int32_t index) {
  Slot* slot = node == nullptr ? nullptr : node->Output(index);
  return slot == nullptr ? nullptr : &slot->attributes;
}
AttributeValues* Out(const NodePtr& node, const char_t* name) {
  return node == nullptr || name == nullptr ? nullptr : Out(node, node->OutputNamed(name));
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses
#define SET(By, T)                                        \
  Operator& Operator::SetAttr(const char_t* name, By v) { \
    SetIn<T>(AttributesOf(operator_impl_), name, v);      \
    return *this;                                         \
  }
#define GET(T) \
  graphStatus Operator::GetAttr(const char_t* name, T& v) const { return GetOf(operator_impl_, name, &v); }
#define BOTH(By, T) SET(By, T) GET(T)
BOTH(int64_t, int64_t)
BOTH(int32_t, int32_t)
BOTH(uint32_t, uint32_t)
BOTH(float32_t, float32_t)
BOTH(bool, bool)
BOTH(const AscendString&, AscendString)
BOTH(const Tensor&, Tensor)
BOTH(const DataType&, DataType)
BOTH(const OpBytes&, OpBytes)
BOTH(const std::vector<int64_t>&, std::vector<int64_t>)
BOTH(const std::vector<int32_t>&, std::vector<int32_t>)
BOTH(const std::vector<uint32_t>&, std::vector<uint32_t>)
BOTH(const std::vector<float32_t>&, std::vector<float32_t>)
BOTH(const std::vector<bool>&, std::vector<bool>)
BOTH(const std::vector<AscendString>&, std::vector<AscendString>)
BOTH(const std::vector<Tensor>&, std::vector<Tensor>)
BOTH(const std::vector<DataType>&, std::vector<DataType>)
BOTH(const std::vector<std::vector<int64_t>>&, std::vector<std::vector<int64_t>>)
BOTH(AttrValue&&, AttrValue)
#undef BOTH
SET(std::initializer_list<int64_t>&&, std::vector<int64_t>)
SET(const char_t*, AscendString)

#define PORT(By, T, Direction, Where, Key)                                              \
  Operator& Operator::Set##Direction##Attr(Key key, const char_t* name, By v) {         \
    SetIn<T>(Where(operator_impl_, key), name, v);                                      \
    return *this;                                                                       \
  }                                                                                     \
  graphStatus Operator::Get##Direction##Attr(Key key, const char_t* name, T& v) const { \
    return GetFrom(Where(operator_impl_, key), name, &v);                               \
  }
#define PORTS(By, T)                    \
  PORT(By, T, Input, In, const int32_t) \
  PORT(By, T, Input, In, const char_t*) \
  PORT(By, T, Output, Out, const int32_t) PORT(By, T, Output, Out, const char_t*)
PORTS(int64_t, int64_t)
PORTS(int32_t, int32_t)
PORTS(uint32_t, uint32_t)
PORTS(bool, bool)
PORTS(float32_t, float32_t)
PORTS(const AscendString&, AscendString)
PORTS(const std::vector<AscendString>&, std::vector<AscendString>)
PORTS(const std::vector<int64_t>&, std::vector<int64_t>)
PORTS(const std::vector<int32_t>&, std::vector<int32_t>)
PORTS(const std::vector<uint32_t>&, std::vector<uint32_t>)
PORTS(const std::vector<bool>&, std::vector<bool>)
PORTS(const std::vector<float32_t>&, std::vector<float32_t>)
// NOLINTEND(bugprone-macro-parentheses)

Operator& Operator::SetInputAttr(const int32_t index, const char_t* name, const char_t* v) {
  return SetInputAttr(index, name, AscendString(v));
}
Operator& Operator::SetInputAttr(const char_t* port, const char_t* name, const char_t* v) {
  return SetInputAttr(port, name, AscendString(v));
}
Operator& Operator::SetOutputAttr(const int32_t index, const char_t* name, const char_t* v) {
  return SetOutputAttr(index, name, AscendString(v));
}
Operator& Operator::SetOutputAttr(const char_t* port, const char_t* name, const char_t* v) {
  return SetOutputAttr(port, name, AscendString(v));
}

}  // namespace ge
