// A compiled graph: plans in an order that works, with a place in memory for every value. Immutable, and
// independent of any device; a Model binds it to memory and runs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir.h"
#include "graph/memory_plan.h"
#include "ops/plan.h"

namespace belay::graph {

// A place is an offset into one of these memories. Constants stay where they are (most lie in the mapped
// model file, which processes share), so their base is address 0.
enum Base : uint16_t { kWorkBase = 0, kConstantBase = 1, kFirstPortBase = 2 };  // then inputs, then outputs

struct Place {
  uint16_t base = kWorkBase;
  bool used = false;
  int64_t offset = 0;
};

struct Kernel {
  ops::PlanRef plan;
  std::string name;  // of the node
  std::string type;
  std::vector<Place> bindings;
  Place workspace;
  std::vector<uint32_t> after;  // kernels that must be done before
};

// An input or output of the model.
struct ModelPort {
  std::string name;
  ValueType type;  // unknown sizes where the data decides them
  size_t bytes = 0;
};

class Program {
 public:
  // Compiles a specialised graph that is not dynamic.
  explicit Program(const Graph& graph);

  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::vector<ModelPort>& inputs() const { return inputs_; }
  const std::vector<ModelPort>& outputs() const { return outputs_; }
  const MemoryPlan& memory() const { return memory_; }
  uint64_t work_bytes() const { return memory_.bytes; }
  uint64_t weight_bytes() const { return weight_bytes_; }  // of constants, as the graph holds them
  size_t base_count() const { return kFirstPortBase + inputs_.size() + outputs_.size(); }
  static void Run(const Kernel& kernel, char* const* bases);

 private:
  friend class ProgramBuilder;
  std::vector<Kernel> kernels_;
  std::vector<ModelPort> inputs_, outputs_;
  std::vector<Constant> constants_;  // that kernels read
  MemoryPlan memory_;
  uint64_t weight_bytes_ = 0;
};

ModelPort PortOf(std::string name, const ValueType& type);
// What a graph says of its inputs and outputs: of an output what its node does, or else the model's word.
std::vector<ModelPort> InputPorts(const Graph& graph);
std::vector<ModelPort> OutputPorts(const Graph& graph);

}  // namespace belay::graph
