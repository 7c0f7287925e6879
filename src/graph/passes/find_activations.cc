// Activations that exporters write as several operators become one each, so that what comes before can take
// them over.
#include <cmath>
#include <optional>
#include <string>

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

// x / 2 * (1 + f), where f is erf(x / sqrt(2)), or the tanh of a polynomial of x in any form that comes to
// the usual one.
class GeluFinder {
 public:
  explicit GeluFinder(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      const std::string& type = edit_.at(static_cast<int>(n)).type;
      if (type == "Erf" || type == "Tanh") Try(static_cast<int>(n), type == "Erf");
    }
  }

 private:
  static constexpr double kRoot = 0.70710678118, kTanhRoot = 0.79788456080, kCube = 0.044715;

  // What the port is where x is `at`; nothing where more than x and single numbers decides.
  std::optional<double> ValueAt(const Port& port, const Port& x, double at, int depth) {
    if (port == x) return at;
    if (auto number = edit_.NumberAt(port)) return number;
    const Node& node = edit_.at(port.node);
    if (depth == 0 || node.inputs.size() != 2) return std::nullopt;
    const auto a = ValueAt(node.inputs[0], x, at, depth - 1), b = ValueAt(node.inputs[1], x, at, depth - 1);
    if (!a || !b) return std::nullopt;
    if (node.type == "Add") return *a + *b;
    if (node.type == "Sub") return *a - *b;
    if (node.type == "Mul") return *a * *b;
    if (node.type == "Pow") return std::pow(*a, *b);
    return IsDivision(node) ? std::optional(*a / *b) : std::nullopt;
  }

  bool IsInner(const Port& port, const Port& x, bool by_erf) {
    constexpr int kDeepest = 7;
    for (const double at : {-2.5, -0.75, 0.5, 1.25, 3.0}) {
      const double want = by_erf ? kRoot * at : kTanhRoot * (at + kCube * at * at * at);
      const auto value = ValueAt(port, x, at, kDeepest);
      if (!value || std::abs(*value - want) > 1e-5 * std::abs(want)) return false;
    }
    return true;
  }

  // The only user, when it has this type and two inputs; the other input in `other`.
  int UserWith(int node, const char* type, Port* other) {
    int user = edit_.OnlyUser({node, 0});
    if (user < 0 || edit_.at(user).type != type || edit_.at(user).inputs.size() != 2) return -1;
    const auto& inputs = edit_.at(user).inputs;
    *other = inputs[0] == Port{node, 0} ? inputs[1] : inputs[0];
    return user;
  }

  // x, when the port is x / 2.
  Port Doubled(const Port& port) {
    const Node& node = edit_.at(port.node);
    if (node.type != "Mul" || node.inputs.size() != 2) return {};
    if (IsAbout(edit_, node.inputs[1], 0.5)) return node.inputs[0];
    return IsAbout(edit_, node.inputs[0], 0.5) ? node.inputs[1] : Port{};
  }

  void Try(int function, bool by_erf) {
    Port other;
    int sum = UserWith(function, "Add", &other);
    if (sum < 0 || !IsAbout(edit_, other, 1)) return;
    int last = UserWith(sum, "Mul", &other);
    if (last < 0) return;
    Port x = Doubled(other);
    if (!x.present()) {
      Port rest;
      const int product = last;
      last = UserWith(product, "Mul", &rest);
      if (last < 0) return;
      const bool half_first = IsAbout(edit_, other, 0.5);
      if (!half_first && !IsAbout(edit_, rest, 0.5)) return;
      x = half_first ? rest : other;
    }
    const Port inner = edit_.at(function).inputs[0];
    if (!IsInner(inner, x, by_erf)) return;
    if (by_erf) {
      static_cast<void>(edit_.Rewrite(last, "Gelu", {x}, {}));
    } else {
      static_cast<void>(edit_.Rewrite(last, "GeluV2", {x}, {{"approximate", std::string("tanh")}}));
    }
  }

  Editor edit_;
};

// x * sigmoid(factor * x), and x * tanh(softplus(x)).
class SwishFinder {
 public:
  explicit SwishFinder(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      const Node& node = edit_.at(static_cast<int>(n));
      if (node.type != "Mul" || node.inputs.size() != 2) continue;
      if (!Try(static_cast<int>(n), 0)) Try(static_cast<int>(n), 1);
    }
  }

 private:
  // Whether input i of the product is made of the other one.
  bool Try(int n, size_t i) {
    const Port of = edit_.at(n).inputs[i], x = edit_.at(n).inputs[1 - i];
    const Node& node = edit_.at(of.node);
    if (node.type == "Sigmoid") {
      const std::optional<double> factor = FactorOf(node.inputs[0], x);
      return factor && edit_.Rewrite(n, "Swish", {x}, {{"scale", *factor}});
    }
    if (node.type != "Tanh") return false;
    const Node& inner = edit_.at(node.inputs[0].node);
    return inner.type == "Softplus" && inner.inputs[0] == x && edit_.Rewrite(n, "Mish", {x}, {});
  }

  // What the port is times x.
  std::optional<double> FactorOf(const Port& port, const Port& x) {
    if (port == x) return 1;
    const Node& node = edit_.at(port.node);
    if (node.type != "Mul" || node.inputs.size() != 2) return std::nullopt;
    for (size_t i : {0, 1}) {
      if (node.inputs[i] != x) continue;
      const std::optional<double> number = edit_.NumberAt(node.inputs[1 - i]);
      if (number && IsFloat(edit_.ConstantAt(node.inputs[1 - i])->dtype())) return number;
    }
    return std::nullopt;
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
  SwishFinder(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
