#include "graph/described.h"

#include <algorithm>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/op_schema.h"

namespace belay::graph {
namespace {

bool IsType(DType described, DType dtype) {
  if (described == dtype || described == DType::kUndefined) return true;
  return dtype == DType::kBool && (described == DType::kU8 || described == DType::kI8);
}

Shape WithoutOnes(const Shape& shape) {
  Shape rest;
  for (int64_t size : shape) {
    if (size != 1) rest.push_back(size);
  }
  return rest;
}

bool IsShape(const ValueType& described, const Shape& shape) {
  if (!described.rank_known) return true;
  const bool open =
      std::any_of(described.shape.begin(), described.shape.end(), [](int64_t size) { return size < 0; });
  if (!open) {
    return WithoutOnes(described.shape) == WithoutOnes(shape) ||
           (CountOf(described.shape) == 0 && CountOf(shape) == 0);
  }
  return std::equal(described.shape.begin(), described.shape.end(), shape.begin(), shape.end(),
                    [](int64_t said, int64_t is) { return said < 0 || said == is; });
}

// The output whose type an attribute decides: "indices_dtype" that of "indices", others that of the only one.
size_t OutputOf(const AttributeSchema& attribute, const OpSchema& schema) {
  const std::string name = attribute.name;
  for (size_t i = 0; i < schema.outputs.size(); ++i) {
    if (name == std::string(schema.outputs[i].name) + "_dtype") return i;
  }
  return schema.outputs.size() == 1 ? 0 : schema.outputs.size();
}

// The output of ViewCopy is the tensor that it writes into; callers describe the view of it that they wrote.
bool IsViewOfInput(const std::string& type) { return type == "ViewCopy"; }

// A mask of bytes may be described as one row that is as long as a mask of bits for the same elements has
// bits.
bool IsRowOfMask(const std::string& type, const ValueType& described, const ValueType& computed) {
  constexpr int64_t kUnit = 128;
  if (type != "DropOutGenMaskV3" || !described.rank_known || described.shape.rank() != 1) return false;
  const int64_t count = CountOf(computed.shape), units = count / kUnit + (count % kUnit != 0);
  return IsType(described.dtype, computed.dtype) && described.shape[0] == units * kUnit;
}

const PortSchema* OutputAt(const OpSchema* schema, size_t output) {
  return schema != nullptr && output < schema->outputs.size() ? &schema->outputs[output] : nullptr;
}

}  // namespace

bool IsAsDescribed(const ValueType& described, DType dtype, const Shape& shape) {
  return IsType(described.dtype, dtype) && IsShape(described, shape);
}

bool IsConverted(const std::string& type, DType described, size_t output) {
  const PortSchema* port = OutputAt(FindOp(type), output);
  return port != nullptr && port->any_float && IsFloat(described);
}

void NeedAsDescribed(const std::string& type, std::span<const ValueType> described, size_t output,
                     const ValueType& computed) {
  if (output >= described.size()) return;
  const ValueType& said = described[output];
  const bool known = computed.dtype != DType::kUndefined && computed.concrete();
  if (!known || IsAsDescribed(said, computed.dtype, computed.shape)) return;
  if (IsViewOfInput(type) && IsType(said.dtype, computed.dtype)) return;
  if (IsRowOfMask(type, said, computed)) return;
  if (IsConverted(type, said.dtype, output) && IsShape(said, computed.shape)) return;
  const PortSchema* port = OutputAt(FindOp(type), output);
  Fail(kGraphInvalid, "op-results", "output {} ('{}') of {} is described as {}, but it is {}", output,
       port == nullptr ? "" : port->name, type, said.ToString(), computed.ToString());
}

void FitTypes(const std::string& type, std::span<const ValueType> described, Attributes& attributes) {
  const OpSchema* schema = FindOp(type);
  if (schema == nullptr) return;
  for (const AttributeSchema& attribute : schema->attributes) {
    if (attribute.kind != AttributeKind::kType || attribute.use != AttributeUse::kRead) continue;
    const size_t output = OutputOf(attribute, *schema);
    if (output >= described.size() || described[output].dtype == DType::kUndefined) continue;
    attributes.emplace(attribute.name, described[output].dtype);
  }
}

}  // namespace belay::graph
