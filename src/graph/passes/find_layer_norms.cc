// Layer normalisation that exporters write as means, differences and a root becomes one operator.
#include <algorithm>
#include <optional>

#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

class LayerNormFinder {
 public:
  explicit LayerNormFinder(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      const std::string& type = edit_.at(static_cast<int>(n)).type;
      if (type == "Div" || type == "RealDiv") Try(static_cast<int>(n));
    }
  }

 private:
  // Values less their mean over the dimensions from `axis` on.
  struct Deviation {
    Port x;
    int axis;
    bool operator==(const Deviation&) const = default;
  };

  // The first of the dimensions of a mean that keeps its rank, when they are the last ones; -1: it is another node.
  int MeanAxis(const Port& port) {
    const Node& node = edit_.at(port.node);
    const auto* keeps = FindAttribute<bool>(node, "keep_dims");
    if ((node.type != "ReduceMean" && node.type != "ReduceMeanD") || keeps == nullptr || !*keeps) return -1;
    std::vector<int64_t> axes;
    if (const auto* listed = FindAttribute<std::vector<int64_t>>(node, "axes")) axes = *listed;
    if (node.inputs.size() > 1) {
      if (Constant constant = edit_.ConstantAt(node.inputs[1])) axes = constant->Ints();
    }
    const ValueType& type = edit_.TypeOf(node.inputs[0]);
    if (axes.empty() || !type.concrete()) return -1;
    const int rank = type.shape.rank();
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) return -1;
    }
    return static_cast<int>(axes[0]);
  }

  std::optional<Deviation> DeviationAt(const Port& port) {
    const Node& node = edit_.at(port.node);
    if (node.type != "Sub" || node.inputs.size() != 2) return {};
    const int axis = MeanAxis(node.inputs[1]);
    if (axis < 0 || edit_.at(node.inputs[1].node).inputs[0] != node.inputs[0]) return {};
    return Deviation{node.inputs[0], axis};
  }

  // What is squared, when the port is a square.
  Port Root(const Port& port) {
    const Node& node = edit_.at(port.node);
    if (node.type == "Square") return node.inputs[0];
    if (node.inputs.size() != 2) return {};
    if (node.type == "Mul" && node.inputs[0] == node.inputs[1]) return node.inputs[0];
    return node.type == "Pow" && edit_.NumberAt(node.inputs[1]) == 2 ? node.inputs[0] : Port{};
  }

  // Whether the port is sqrt(mean of the deviation's squares + epsilon).
  std::optional<double> EpsilonOf(const Port& port, const Deviation& deviation) {
    if (edit_.at(port.node).type != "Sqrt") return {};
    const Node& sum = edit_.at(edit_.at(port.node).inputs[0].node);
    if (sum.type != "Add") return {};
    for (size_t side : {0, 1}) {
      std::optional<double> epsilon = edit_.NumberAt(sum.inputs[1 - side]);
      if (!epsilon || MeanAxis(sum.inputs[side]) != deviation.axis) continue;
      Port root = Root(edit_.at(sum.inputs[side].node).inputs[0]);
      if (root.present() && DeviationAt(root) == deviation) return epsilon;
    }
    return {};
  }

  // The weight, when the only user of `node` is this operator with one element for each of a slice.
  Port WeightBehind(int node, const char* type, const Deviation& deviation) {
    const int user = edit_.OnlyUser({node, 0});
    if (user < 0 || edit_.at(user).type != type || edit_.at(user).inputs.size() != 2) return {};
    const auto& inputs = edit_.at(user).inputs;
    const Port other = inputs[0] == Port{node, 0} ? inputs[1] : inputs[0];
    const ValueType& weight = edit_.TypeOf(other);
    const ValueType& x = edit_.TypeOf(deviation.x);
    const int slice = x.shape.rank() - deviation.axis;
    if (!weight.concrete() || weight.dtype != x.dtype) return {};
    if (weight.shape.rank() < slice || weight.shape.rank() > x.shape.rank()) return {};
    for (int i = 0; i < weight.shape.rank(); ++i) {
      if (weight.shape.back(i) != (i < slice ? x.shape.back(i) : 1)) return {};
    }
    return other;
  }

  void Try(int n) {
    const Node& quotient = edit_.at(n);
    const auto deviation = DeviationAt(quotient.inputs[0]);
    if (!deviation) return;
    const auto epsilon = EpsilonOf(quotient.inputs[1], *deviation);
    const ValueType& x = edit_.TypeOf(deviation->x);
    if (!epsilon || x.dtype != DType::kF32) return;
    int last = n;
    const Port gamma = WeightBehind(last, "Mul", *deviation);
    if (gamma.present()) last = edit_.OnlyUser({last, 0});
    const Port beta = WeightBehind(last, "Add", *deviation);
    if (beta.present()) last = edit_.OnlyUser({last, 0});
    edit_.Rewrite(last, "LayerNormV3", {deviation->x, gamma, beta},
                  {{"begin_norm_axis", int64_t{deviation->axis}}, {"epsilon", *epsilon}});
  }

  Editor edit_;
};

}  // namespace

void FindLayerNorms(Graph& graph) {
  LayerNormFinder(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
