// Running a graph node by node on values in ordinary memory: how constants are folded, and how graphs
// run whose shapes only the data decides (and their loops and branches).
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/control_flow.h"
#include "graph/ir.h"
#include "graph/op_listener.h"

namespace belay::graph {

// The outputs of one node for these inputs (null: an absent optional input).
std::vector<Constant> EvaluateNode(const Node& node, std::span<const Constant> inputs);

// The outputs of a graph whose nodes are sorted. Throws Error that names the node.
std::vector<Constant> Evaluate(const Graph& graph, std::span<const Constant> inputs);

class PreparedNode;

// Where an output may lie. Nothing else that the graph reads lies there.
struct OutputRoom {
  char* data = nullptr;
  size_t bytes = 0;
};

// Room that nodes take turns in.
struct NodeScratch {
  std::vector<Constant> values;
  std::vector<char*> addresses;
  std::vector<OutputRoom> rooms;  // of the node's outputs
};

// The same for a graph that runs again and again, as a loop's body does: what was made ready for a node
// serves as long as its inputs keep their types, and their elements where those decided.
class Interpreter final : public BodyRunner {
 public:
  explicit Interpreter(const Graph& graph);  // which lives as long
  ~Interpreter() override;
  // One at a time. The listener is told of the graph's nodes, not of those of graphs within them. An output
  // that a node makes is made in its room where it fits, so that nothing has to be copied there.
  std::vector<Constant> Run(std::span<const Constant> inputs, OpListener* listener = nullptr,
                            std::span<const OutputRoom> rooms = {});
  std::vector<Constant> RunBody(const Graph& body, std::span<const Constant> inputs) override;

 private:
  const Graph& graph_;
  const std::vector<int> uses_;            // how often each node's outputs are wanted
  std::vector<Constant> constants_;        // of each node, as are
  std::vector<ControlFunction> controls_;  // null for those that compute, and
  std::vector<PreparedNode> prepared_;
  std::vector<size_t> places_;  // of each node's outputs among all results, and the end
  std::vector<int> made_for_;   // the graph's output that such a result is, and nothing else; or -1
  NodeScratch scratch_;
  std::unordered_map<const Graph*, std::unique_ptr<Interpreter>> bodies_;
};

}  // namespace belay::graph
