// What the generated table says about the operators of graphs (spec/graph): their inputs, attributes and
// outputs, and the function that turns a node into plans.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/ir.h"

namespace belay::graph {

class Translation;
struct Door;

enum class PortKind : uint8_t { kRequired, kOptional, kDynamic };

struct PortSchema {
  const char* name;
  PortKind kind;
  bool any_float;  // an output that single operators give in whichever type of floats is described
};

enum class AttributeKind : uint8_t {
  kInt,
  kFloat,
  kBool,
  kString,
  kType,
  kInts,
  kFloats,
  kStrings,
  kTensor,
  kGraph
};

enum class AttributeUse : uint8_t {
  kRead,
  kOnly,  // another value than the fallback is refused: what it asks for is not there
  kHint,  // no value of it changes a result
};

struct AttributeSchema {
  const char* name;
  AttributeKind kind;
  bool required;
  const char* fallback;  // as written in the row: "1", "0.5", "true", "1,1,1,1", "NHWC"
  AttributeUse use;
};

struct OpSchema {
  const char* type;
  std::span<const PortSchema> inputs;
  std::span<const PortSchema> outputs;
  std::span<const AttributeSchema> attributes;
  void (*translate)(Translation& node);
  uint8_t traits = 0;          // of those below
  const Door* door = nullptr;  // of one that spec/ops describes

  bool Is(uint8_t trait) const { return (traits & trait) != 0; }
};

// Works element by element on any layout of its inputs, which broadcast.
inline constexpr uint8_t kTraitPointwise = 1;
// Its result differs from execution to execution; docs/fidelity.md has the rule.
inline constexpr uint8_t kTraitRandom = 2;

// The next numbers at each execution of the node, from its seeds on: attributes seed and seed2, both 0 for
// none.
std::shared_ptr<ops::RandomSequence> NewSequence(const Node& node);

// What the row says where a node has no such attribute.
Attribute DefaultOf(const AttributeSchema& schema);

// Null when there is no such operator.
const OpSchema* FindOp(std::string_view type);
std::span<const OpSchema> AllOps();

// The attribute's value, or what the row says when the node has none; throws Error that names node and
// attribute when it is required and missing, or of the wrong kind.
Attribute AttributeOf(const Node& node, const AttributeSchema& schema);

// Throws Error that names node and attribute when the node has one that the operator does not have, or one
// with a value that this version does not compute. Names that begin with _ are notes for a compiler.
void CheckAttributes(const Node& node, const OpSchema& schema);

}  // namespace belay::graph
