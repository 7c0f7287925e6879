// Runs of pointwise operators, each read only by the next, become one node.
#include <algorithm>

#include "graph/ops/chain.h"
#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

class PointwiseFuser {
 public:
  explicit PointwiseFuser(Graph& graph) : edit_(graph), taken_(graph.nodes.size()) {}

  void Run() {
    for (size_t n = 0; n < taken_.size(); ++n) {
      if (!taken_[n]) Try(static_cast<int>(n));
    }
  }

 private:
  static constexpr size_t kMostSteps = 8;
  static constexpr int64_t kFewestElements =
      2 * 1024 * 1024;  // less stays in a cache between the operators anyhow
  static constexpr int64_t kLongestRow = 16384;

  struct Chain {
    std::string steps;
    std::vector<Port> inputs;
    int64_t row = 1;
    int last = -1;
    size_t count = 0;
  };

  // Adds the node that takes `value` as one of its inputs; false where it cannot be a step.
  bool Append(Chain& run, int n, const Port& value) {
    const Node& node = edit_.at(n);
    const auto* what = translate::FindChainOperator(node);
    const ValueType& type = edit_.TypeOf(value);
    if (what == nullptr || node.outputs != 1 || !IsFloat32(node.types[0]) || !IsFloat32(type)) return false;
    if (node.types[0].shape != type.shape || node.inputs.size() != (what->unary != nullptr ? 1 : 2))
      return false;
    const bool second = node.inputs[0] != value;
    if (what->binary != nullptr) {
      const Port other = node.inputs[second ? 0 : 1];
      const int64_t row =
          IsFloat32(edit_.TypeOf(other)) ? translate::RowOf(edit_.TypeOf(other).shape, type.shape) : -1;
      if (row < 0 || row > kLongestRow || (row > 1 && run.row > 1 && row != run.row)) return false;
      run.row = std::max(run.row, row);
      run.inputs.push_back(other);
    }
    run.steps += (run.count == 0 ? "" : ",") + std::string(what->type) + (second ? "'" : "");
    run.last = n;
    ++run.count;
    return true;
  }

  static bool IsFloat32(const ValueType& type) { return type.concrete() && type.dtype == DType::kF32; }

  void Try(int first) {
    const Node& node = edit_.at(first);
    if (translate::FindChainOperator(node) == nullptr || !IsFloat32(node.types[0])) return;
    if (CountOf(node.types[0].shape) < kFewestElements) return;
    const bool second = edit_.TypeOf(node.inputs[0]).shape != node.types[0].shape && node.inputs.size() > 1;
    Chain run;
    run.inputs = {node.inputs[second ? 1 : 0]};
    if (!Append(run, first, run.inputs[0])) return;
    for (int user; run.count < kMostSteps && (user = edit_.OnlyUser({run.last, 0})) >= 0;) {
      if (!Append(run, user, {run.last, 0})) break;
      taken_[static_cast<size_t>(user)] = true;
    }
    if (run.count < 2) return;
    static_cast<void>(
        edit_.Rewrite(run.last, "FusedPointwise", std::move(run.inputs), {{"steps", run.steps}}));
  }

  Editor edit_;
  std::vector<bool> taken_;
};

}  // namespace

void FusePointwise(Graph& graph) {
  PointwiseFuser(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
