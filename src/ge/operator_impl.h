// What stands behind a ge::Operator and a ge::GNode: a node of a graph that is being built. A node keeps
// alive what it reads; what reads it is only known.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ge/attribute.h"
#include "graph/graph.h"
#include "graph/op_schema.h"
#include "graph/operator.h"

namespace ge {

class OperatorImpl;
using NodePtr = std::shared_ptr<OperatorImpl>;

// An input or output of a node.
struct Slot {
  std::string name;
  TensorDesc desc;
  bool described = false;  // by the program
  AttributeValues attributes;
};

struct InputSlot : Slot {
  NodePtr source;  // null: nothing is connected
  int output = 0;  // of the source
};

// A list of inputs or outputs, or a body, by its name and number.
using Numbered = std::pair<std::string, uint32_t>;

class OperatorImpl : public std::enable_shared_from_this<OperatorImpl> {
 public:
  // Without recursion: what it read last may be the end of a chain of a hundred thousand nodes.
  ~OperatorImpl();
  // Inputs and outputs as the type's schema says; an unknown type has none until they are set.
  static NodePtr Make(std::string name, std::string type);
  // Of an operator that may be empty: null then.
  static const NodePtr& Of(const Operator& op) { return op.operator_impl_; }
  static Operator Facade(NodePtr node);

  bool IsData() const { return type == "Data" || type == "RefData"; }
  const belay::graph::AttributeSchema* SchemaOf(std::string_view attribute) const;
  // -1 when there is none.
  int InputNamed(std::string_view input) const;
  int OutputNamed(std::string_view output) const;
  // By number, null beyond the end.
  InputSlot* Input(int64_t number);
  Slot* Output(int64_t number);

  // A list gets this many entries, called <name>0, <name>1, ...
  void ResizeInputs(const std::string& list, uint32_t count);
  void ResizeOutputs(const std::string& list, uint32_t count);
  int CountOf(const std::map<std::string, uint32_t>& lists, const std::string& list) const;

  void Connect(int input, const NodePtr& from, int output);
  void Disconnect(int input);
  void Follow(const NodePtr& before);
  void BreakConnections();
  std::vector<NodePtr> Users() const;
  // What a constant that the input reads holds; false when it reads none.
  bool ConstantInput(int input, Tensor* value);
  std::vector<std::pair<std::string, std::shared_ptr<belay::graph::Graph>>> Bodies();

  // The first thing that went wrong in a call that cannot say so; told when the graph is built.
  void Note(std::string what) {
    if (problem.empty()) problem = std::move(what);
  }

  std::string name, type;
  const belay::graph::OpSchema* schema = nullptr;
  std::vector<InputSlot> inputs;
  std::vector<Slot> outputs;
  std::map<std::string, uint32_t> input_lists, output_lists;  // how long they are
  std::vector<NodePtr> after;
  AttributeValues attributes;
  std::map<Numbered, SubgraphBuilder> builders;
  std::string problem;

 private:
  static void End(NodePtr& read, NodePtr& ending);

  std::vector<std::weak_ptr<OperatorImpl>> users_;
  NodePtr next_ending_;  // while a chain ends
};

}  // namespace ge
