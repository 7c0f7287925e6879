// The parts of attention, softmax(scale * query x key + mask) x value, become one node, and so do
// transpositions around them, because the node reads and writes its operands in any order of their
// dimensions.
#include <numeric>
#include <optional>

#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

using DimOrder = std::vector<int64_t>;

class AttentionFuser {
 public:
  explicit AttentionFuser(Graph& graph) : edit_(graph) {}

  void Run() {
    for (int rank : {3, 4}) {
      rank_ = rank;
      for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
        if (IsProduct(static_cast<int>(n))) Try(static_cast<int>(n));
      }
    }
  }

 private:
  // An operand of a product: what it is made of by transposing and scaling.
  struct Operand {
    Port port;
    DimOrder order;
    double scale = 1;
  };
  struct Scores {
    int product = -1;
    double scale = 1;
    Port mask = {};  // added to them
    // ... or put in their place, so low that nothing is left of them, where the condition says so:
    Port condition = {};
    bool where_true = false;
    double lowest = 0;
  };

  DimOrder InOrder() const {
    DimOrder order(static_cast<size_t>(rank_));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  bool IsMatrices(const Port& port) {
    const ValueType& type = edit_.TypeOf(port);
    return type.concrete() && type.dtype == DType::kF32 && type.shape.rank() == rank_;
  }

  bool IsProduct(int n) {
    const Node& node = edit_.at(n);
    return node.type == "BatchMatMul" && node.inputs.size() == 2 && IsMatrices({n, 0}) &&
           IsMatrices(node.inputs[0]) && IsMatrices(node.inputs[1]) && !Flag(node, "adj_x1");
  }

  std::optional<double> Number(const Port& port) {
    auto number = edit_.NumberAt(port);
    return number && edit_.ConstantAt(port)->shape().rank() <= rank_ ? number : std::nullopt;
  }

  // Steps over a multiplication or division by a number: the port is `scale` times what is
  // returned.
  Port Unscaled(const Port& port, double* scale) {
    const Node& node = edit_.at(port.node);
    if (const auto* factor = FindAttribute<double>(node, "value"); node.type == "Muls" && factor != nullptr) {
      return *scale *= *factor, node.inputs[0];
    }
    if (node.inputs.size() != 2) return port;
    if (node.type == "Mul") {
      for (size_t side : {0, 1}) {
        if (auto factor = Number(node.inputs[1 - side])) return *scale *= *factor, node.inputs[side];
      }
    }
    if (!IsDivision(node)) return port;
    auto divisor = Number(node.inputs[1]);
    return divisor && *divisor != 0 ? (*scale /= *divisor, node.inputs[0]) : port;
  }

  Operand OperandAt(const Port& port, bool swapped, bool may_scale) {
    Operand operand{port, InOrder()};
    if (swapped) std::swap(operand.order.end()[-2], operand.order.end()[-1]);
    for (;;) {
      const Node& node = edit_.at(operand.port.node);
      Port before = may_scale ? Unscaled(operand.port, &operand.scale) : operand.port;
      const auto* perm = FindAttribute<DimOrder>(node, "perm");
      if (node.type == "TransposeD" && perm != nullptr && perm->size() == operand.order.size()) {
        for (int64_t& axis : operand.order) axis = (*perm)[static_cast<size_t>(axis)];
        before = node.inputs[0];
      }
      if (before == operand.port || !IsMatrices(before)) return operand;
      operand.port = before;
    }
  }

  // The product that the port is `scale` times; nothing between is read by others.
  std::optional<Scores> Scaled(Port port) {
    Scores scores;
    for (;;) {
      if (edit_.OnlyUser(port) < 0) return {};
      if (IsProduct(port.node)) break;
      Port before = Unscaled(port, &scores.scale);
      if (before == port) return {};
      port = before;
    }
    scores.product = port.node;
    return scores;
  }

  // The same, perhaps masked.
  std::optional<Scores> ScoresAt(const Port& port) {
    const Node& node = edit_.at(port.node);
    if (edit_.OnlyUser(port) < 0) return {};
    if (node.type == "SelectV2" && node.inputs.size() == 3) return SelectedScores(node);
    if (node.type != "Add" || node.inputs.size() != 2) return Scaled(port);
    for (size_t side : {0, 1}) {
      auto scores = Scaled(node.inputs[side]);
      const ValueType& mask = edit_.TypeOf(node.inputs[1 - side]);
      if (!scores || !mask.concrete() || mask.dtype != DType::kF32) continue;
      if (edit_.TypeOf({scores->product, 0}).shape != node.types[0].shape) continue;
      scores->mask = node.inputs[1 - side];
      return scores;
    }
    return {};
  }

  std::optional<Scores> SelectedScores(const Node& select) {
    constexpr double kLow = -1e30;  // added to a score it is itself
    for (size_t side : {1, 2}) {
      const auto number = edit_.NumberAt(select.inputs[3 - side]);
      if (!number || *number > kLow) continue;
      auto scores = Scaled(select.inputs[side]);
      if (!scores || edit_.TypeOf({scores->product, 0}).shape != select.types[0].shape) return {};
      if (!edit_.TypeOf(select.inputs[0]).concrete()) return {};
      scores->condition = select.inputs[0], scores->lowest = *number, scores->where_true = side == 2;
      return scores;
    }
    return {};
  }

  // The condition as a mask: the number where it puts that, zero elsewhere.
  Port MaskOf(const Scores& scores) {
    if (!scores.condition.present()) return scores.mask;
    ValueType type = edit_.TypeOf(scores.condition);
    type.dtype = DType::kF32;
    const std::string name = edit_.at(scores.product).name;
    const Port zero = edit_.AddConstant(name + "_zero", RealConstant(0));
    const Port lowest = edit_.AddConstant(name + "_lowest", RealConstant(scores.lowest));
    const Port then = scores.where_true ? lowest : zero, otherwise = scores.where_true ? zero : lowest;
    return edit_.AddNode(name + "_mask", "SelectV2", {scores.condition, then, otherwise}, type);
  }

  bool IsSoftmaxOfRows(const Node& node) {
    const auto* axes = FindAttribute<std::vector<int64_t>>(node, "axes");
    return node.type == "SoftmaxV2" && axes != nullptr && axes->size() == 1 &&
           ((*axes)[0] == -1 || (*axes)[0] == rank_ - 1);
  }

  bool SameBatches(int product) {
    const Node& node = edit_.at(product);
    const Shape &a = edit_.TypeOf(node.inputs[0]).shape, &b = edit_.TypeOf(node.inputs[1]).shape;
    for (int d = 0; d < rank_ - 2; ++d) {
      if (a[d] != b[d]) return false;
    }
    return true;
  }

  // The transposition behind the node that leaves rows whole, and its order.
  int TransposedBehind(int n, DimOrder* order) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).type != "TransposeD") return n;
    const auto* perm = FindAttribute<DimOrder>(edit_.at(user), "perm");
    if (perm == nullptr || perm->size() != order->size() || perm->back() != rank_ - 1) return n;
    *order = *perm;
    return user;
  }

  void Try(int n) {
    const Port weights = edit_.at(n).inputs[0];
    if (!IsSoftmaxOfRows(edit_.at(weights.node)) || edit_.OnlyUser(weights) != n || !SameBatches(n)) return;
    const auto scores = ScoresAt(edit_.at(weights.node).inputs[0]);
    if (!scores || !SameBatches(scores->product) || edit_.TypeOf({scores->product, 0}).shape.back(0) == 0)
      return;
    const Node& product = edit_.at(scores->product);
    if (edit_.TypeOf(product.inputs[0]).shape.back(0) == 0) return;
    const Operand query = OperandAt(product.inputs[0], false, true);
    const Operand key = OperandAt(product.inputs[1], Flag(product, "adj_x2"), true);
    const Operand value = OperandAt(edit_.at(n).inputs[1], Flag(edit_.at(n), "adj_x2"), false);
    DimOrder out = InOrder();
    const int last = TransposedBehind(n, &out);
    std::vector<Port> inputs{query.port, key.port, value.port};
    if (const Port mask = MaskOf(*scores); mask.present()) inputs.push_back(mask);
    static_cast<void>(edit_.Rewrite(last, "FusedAttention", std::move(inputs),
                                    {{"scale", scores->scale * query.scale * key.scale},
                                     {"perm_x1", query.order},
                                     {"perm_x2", key.order},
                                     {"perm_x3", value.order},
                                     {"perm_y", out}}));
  }

  Editor edit_;
  int rank_ = 0;  // of the matrices, dimensions of batches included
};

}  // namespace

void FuseAttention(Graph& graph) {
  AttentionFuser(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
