// Activations that exporters write as several operators become one each, so that what comes before can take
// them over.
#include <cmath>

#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

// The constant is a single element of about this value.
bool IsAbout(const Editor& edit, const Port& port, double value) {
  auto number = edit.NumberAt(port);
  return number && IsFloat(edit.ConstantAt(port)->dtype()) &&
         std::abs(*number - value) < 1e-5 * std::abs(value);
}

class GeluFinder {
 public:
  explicit GeluFinder(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      if (edit_.at(static_cast<int>(n)).type == "Erf") Try(static_cast<int>(n));
    }
  }

 private:
  static constexpr double kRoot = 0.70710678118;

  // x, when the port is x / sqrt(2).
  Port Unscaled(const Port& port) {
    const Node& node = edit_.at(port.node);
    if (node.inputs.size() != 2) return {};
    if (node.type == "Mul" && IsAbout(edit_, node.inputs[1], kRoot)) return node.inputs[0];
    if (node.type == "Mul" && IsAbout(edit_, node.inputs[0], kRoot)) return node.inputs[1];
    if (IsDivision(node) && IsAbout(edit_, node.inputs[1], 1 / kRoot)) return node.inputs[0];
    return {};
  }

  // The only user, when it has this type and two inputs; the other input in `other`.
  int UserWith(int node, const char* type, Port* other) {
    int user = edit_.OnlyUser({node, 0});
    if (user < 0 || edit_.at(user).type != type || edit_.at(user).inputs.size() != 2) return -1;
    const auto& inputs = edit_.at(user).inputs;
    *other = inputs[0] == Port{node, 0} ? inputs[1] : inputs[0];
    return user;
  }

  bool IsHalf(const Port& port, const Port& x) {
    const Node& node = edit_.at(port.node);
    if (node.type != "Mul" || node.inputs.size() != 2) return false;
    return (node.inputs[0] == x && IsAbout(edit_, node.inputs[1], 0.5)) ||
           (node.inputs[1] == x && IsAbout(edit_, node.inputs[0], 0.5));
  }

  void Try(int erf) {
    Port x = Unscaled(edit_.at(erf).inputs[0]), other;
    if (!x.present()) return;
    int sum = UserWith(erf, "Add", &other);
    if (sum < 0 || !IsAbout(edit_, other, 1)) return;
    int product = UserWith(sum, "Mul", &other);
    if (product < 0) return;
    int last = product;
    if (!IsHalf(other, x)) {
      bool half_first = IsAbout(edit_, other, 0.5);
      if (!half_first && other != x) return;
      last = UserWith(product, "Mul", &other);
      if (last < 0 || !(half_first ? other == x : IsAbout(edit_, other, 0.5))) return;
    }
    static_cast<void>(edit_.Rewrite(last, "Gelu", {x}, {}));
  }

  Editor edit_;
};

// x * clip(x + 3, 0, 6) / 6, in any order of its factors, and x times what HardSigmoid makes of it.
class HardSwishFinder {
 public:
  explicit HardSwishFinder(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      int node = static_cast<int>(n);
      if (edit_.at(node).type == "HardSigmoid") TryHardSigmoid(node);
      if (Port x = Ramp(node); x.present()) TryRamp(node, x);
    }
  }

 private:
  // x, when the node is clip(x + 3, 0, 6).
  Port Ramp(int n) {
    const Node& clip = edit_.at(n);
    bool plain = clip.type == "Relu6";
    bool bounded = clip.type == "ClipByValueV2" && clip.inputs.size() == 3 &&
                   edit_.NumberAt(clip.inputs[1]) == 0 && IsAbout(edit_, clip.inputs[2], 6);
    if (!plain && !bounded) return {};
    const Node& sum = edit_.at(clip.inputs[0].node);
    if (sum.type != "Add" || edit_.OnlyUser(clip.inputs[0]) != n) return {};
    if (IsAbout(edit_, sum.inputs[1], 3)) return sum.inputs[0];
    return IsAbout(edit_, sum.inputs[0], 3) ? sum.inputs[1] : Port{};
  }

  // The user that divides by six.
  int Sixth(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).inputs.size() != 2) return -1;
    const Node& node = edit_.at(user);
    bool divides = IsDivision(node) && node.inputs[0] == Port{n, 0} && IsAbout(edit_, node.inputs[1], 6);
    bool multiplies = node.type == "Mul" &&
                      (IsAbout(edit_, node.inputs[0], 1.0 / 6) || IsAbout(edit_, node.inputs[1], 1.0 / 6));
    return divides || multiplies ? user : -1;
  }

  // The user that multiplies by x.
  int Product(int n, const Port& x) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).type != "Mul" || edit_.at(user).inputs.size() != 2) return -1;
    const Node& node = edit_.at(user);
    return node.inputs[0] == x || node.inputs[1] == x ? user : -1;
  }

  void TryRamp(int ramp, const Port& x) {
    int product = Product(ramp, x);
    int last = product >= 0 ? Sixth(product) : Sixth(ramp);
    if (last >= 0 && product < 0) last = Product(last, x);
    if (last >= 0) Become(last, x);
  }

  void TryHardSigmoid(int n) {
    const Node& node = edit_.at(n);
    const auto* alpha = FindAttribute<double>(node, "alpha");
    const auto* beta = FindAttribute<double>(node, "beta");
    if (alpha == nullptr || std::abs(*alpha - 1.0 / 6) > 1e-6 || (beta != nullptr && *beta != 0.5)) return;
    if (int product = Product(n, node.inputs[0]); product >= 0) Become(product, node.inputs[0]);
  }

  void Become(int n, const Port& x) { static_cast<void>(edit_.Rewrite(n, "HardSwish", {x}, {})); }

  Editor edit_;
};

}  // namespace

void FindActivations(Graph& graph) {
  GeluFinder(graph).Run();
  HardSwishFinder(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
