// Layer normalisation, and that by the root of the mean square, which exporters write as means,
// differences and a root, becomes one operator.
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
      Try(static_cast<int>(n));
    }
  }

 private:
  // Values less their mean over the dimensions from `axis` on.
  struct Deviation {
    Port x;
    int axis;
    bool operator==(const Deviation&) const = default;
  };

  // The first of the dimensions of a mean that keeps its rank, when they are the last ones; -1: it
  // is another node.
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

  // Epsilon, when the port is the mean of squares of what `is_squared` takes, over the dimensions
  // from `axis` on, and a number.
  template <class IsSquared>
  std::optional<double> EpsilonOf(const Port& port, int axis, IsSquared is_squared) {
    const Node& sum = edit_.at(port.node);
    if (sum.type != "Add" || sum.inputs.size() != 2) return {};
    for (size_t side : {0, 1}) {
      std::optional<double> epsilon = edit_.NumberAt(sum.inputs[1 - side]);
      if (!epsilon || MeanAxis(sum.inputs[side]) != axis) continue;
      const Port root = Root(edit_.at(sum.inputs[side].node).inputs[0]);
      if (root.present() && is_squared(root)) return epsilon;
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

  Port UnderRoot(const Port& port) {
    const Node& node = edit_.at(port.node);
    return node.type == "Sqrt" ? node.inputs[0] : Port{};
  }

  // What stands under the root when the port is one over a root.
  Port UnderInverseRoot(const Port& port) {
    const Node& node = edit_.at(port.node);
    if (node.type == "Rsqrt") return node.inputs[0];
    if (node.type == "Reciprocal") return UnderRoot(node.inputs[0]);
    const bool quotient = IsDivision(node) && edit_.NumberAt(node.inputs[0]) == 1;
    return quotient ? UnderRoot(node.inputs[1]) : Port{};
  }

  void Try(int n) {
    const Node& node = edit_.at(n);
    if (node.inputs.size() != 2) return;
    if (IsDivision(node)) {
      TryQuotient(n, node.inputs[0], UnderRoot(node.inputs[1]));
    } else if (node.type == "Mul") {
      const std::vector<Port> factors = node.inputs;
      for (size_t side : {0, 1}) {
        if (TryQuotient(n, factors[side], UnderInverseRoot(factors[1 - side]))) return;
      }
    }
  }

  // Whether node `n`, the dividend over a root, was a normalisation.
  bool TryQuotient(int n, const Port& dividend, const Port& under_root) {
    if (!under_root.present() || edit_.TypeOf(dividend).dtype != DType::kF32) return false;
    if (const auto deviation = DeviationAt(dividend)) return TryLayerNorm(n, *deviation, under_root);
    return TryRmsNorm(n, dividend, under_root);
  }

  bool TryLayerNorm(int n, const Deviation& deviation, const Port& under_root) {
    const auto epsilon = EpsilonOf(under_root, deviation.axis,
                                   [&](const Port& root) { return DeviationAt(root) == deviation; });
    if (!epsilon) return false;
    int last = n;
    const Port gamma = WeightBehind(last, "Mul", deviation);
    if (gamma.present()) last = edit_.OnlyUser({last, 0});
    const Port beta = WeightBehind(last, "Add", deviation);
    if (beta.present()) last = edit_.OnlyUser({last, 0});
    return edit_.Rewrite(last, "LayerNormV3", {deviation.x, gamma, beta},
                         {{"begin_norm_axis", int64_t{deviation.axis}}, {"epsilon", *epsilon}});
  }

  // Its operator has a weight for each element of the last dimension.
  bool TryRmsNorm(int n, const Port& x, const Port& under_root) {
    const ValueType& type = edit_.TypeOf(x);
    if (!type.concrete() || type.shape.rank() == 0) return false;
    const Deviation last_dimension{x, type.shape.rank() - 1};
    const auto epsilon =
        EpsilonOf(under_root, last_dimension.axis, [&](const Port& root) { return root == x; });
    if (!epsilon) return false;
    const Port gamma = WeightBehind(n, "Mul", last_dimension);
    if (!gamma.present() || edit_.TypeOf(gamma).shape.rank() != 1) return false;
    return edit_.Rewrite(edit_.OnlyUser({n, 0}), "RmsNorm", {x, gamma}, {{"epsilon", *epsilon}});
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
