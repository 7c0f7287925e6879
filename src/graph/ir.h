// A graph of operators, as GE knows them: nodes of a named type with inputs, attributes and outputs.
// Every front door (GE, ONNX, single operators) makes one of these; passes rewrite it; Program turns it
// into tasks. A node's number is its place in `nodes`, and inputs come before their users.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/host_tensor.h"
#include "tensor/format.h"

namespace belay::ops {
class RandomSequence;
}

namespace belay::graph {

using tensor::Format;

inline constexpr int64_t kUnknownDim = -1;

// What is known of a value before anything runs.
struct ValueType {
  DType dtype = DType::kUndefined;
  Format format = Format::kND;
  bool rank_known = false;
  Shape shape;  // kUnknownDim where a size is not known

  bool concrete() const;
  std::string ToString() const;  // "ACL_FLOAT [1, ?, 3]"
};

struct Graph;

using AttributeValue =
    std::variant<int64_t, double, bool, std::string, DType, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, Constant, std::shared_ptr<Graph>>;

// Copied value by value: where a copy finds no memory, the one of libstdc++ 12 destroys a value that it has
// not made (it takes a variant of these for one that always has a value).
struct Attribute : AttributeValue {
  using AttributeValue::AttributeValue;
  using AttributeValue::operator=;
  Attribute() = default;
  Attribute(Attribute&&) = default;
  Attribute& operator=(Attribute&&) = default;
  Attribute(const Attribute& other) : AttributeValue() { *this = other; }
  Attribute& operator=(const Attribute& other) {
    std::visit([this](const auto& value) { AttributeValue::operator=(std::decay_t<decltype(value)>(value)); },
               static_cast<const AttributeValue&>(other));
    return *this;
  }
};
using Attributes = std::map<std::string, Attribute, std::less<>>;

// One output of a node; `node` -1: an optional input that is absent.
struct Port {
  int node = -1;
  int output = 0;

  bool present() const { return node >= 0; }
  auto operator<=>(const Port&) const = default;
};

struct Node {
  std::string name;
  std::string type;
  std::vector<Port> inputs = {};
  Attributes attributes = {};
  int outputs = 1;
  std::vector<int> after = {};        // nodes that must have run, though nothing flows from them
  std::vector<ValueType> types = {};  // of the outputs, as far as they are known
  // Of an operator that draws random numbers, once it is loaded: whatever is made of the node draws from it.
  std::shared_ptr<ops::RandomSequence> sequence = {};
};

struct GraphOutput {
  Port port;
  std::string name;
  ValueType declared = {};  // what the model says of it, which may be nothing
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<int> inputs;  // the nodes of type Data, in the order of the call
  std::vector<GraphOutput> outputs;

  // Returns the number of the new node.
  int Add(Node node);
  int AddInput(std::string name, const ValueType& type);
  // Its place in `inputs`; -1: there is none of that name.
  int FindInput(std::string_view name) const;
  Port AddConstant(std::string name, Constant value);
};

inline constexpr std::string_view kDataType = "Data";
inline constexpr std::string_view kConstType = "Const";

// The attribute when it is there and has this type.
template <class T>
const T* FindAttribute(const Node& node, std::string_view name) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

// The value of a constant node; null for others.
Constant ConstantOf(const Node& node);

// Puts nodes behind what they need, in an order that otherwise keeps theirs. Throws Error that names a
// node when there is a cycle or an input that does not exist.
void SortNodes(Graph& graph);

// Leaves out what no output needs; inputs stay.
void RemoveDeadNodes(Graph& graph);

// What is loaded starts at its seeds: nodes that draw random numbers, those of bodies too, get sequences
// where they have none.
void BeginSequences(Graph& graph);

// How large the constants are that nodes and outputs read, each counted once; those of bodies too.
uint64_t ConstantBytes(const Graph& graph);

}  // namespace belay::graph
