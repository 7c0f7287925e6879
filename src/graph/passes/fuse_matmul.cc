// Products with constant matrices, as in fully connected layers, take over what follows them.
#include <cmath>

#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

bool IsFloat32(const ValueType& type) { return type.concrete() && type.dtype == DType::kF32; }

// The constant is a single element of about this value.
bool IsAbout(const Editor& edit, const Port& port, double value) {
  Constant constant = edit.ConstantAt(port);
  if (constant == nullptr || constant->count() != 1 || !IsFloat(constant->dtype())) return false;
  return std::abs(constant->Reals()[0] - value) < 1e-5 * std::abs(value);
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
    if ((node.type == "Div" || node.type == "RealDiv") && IsAbout(edit_, node.inputs[1], 1 / kRoot)) return node.inputs[0];
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
    edit_.Rewrite(last, "Gelu", {x}, {});
  }

  Editor edit_;
};

class ProductFuser {
 public:
  explicit ProductFuser(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      int node = static_cast<int>(n);
      if (!IsProduct(node)) continue;
      if (!TakeBias(node)) continue;
      TakeActivation(node);
    }
  }

 private:
  bool IsProduct(int n) {
    const Node& node = edit_.at(n);
    if (node.type != "BatchMatMul" || node.inputs.size() != 2 || !IsFloat32(node.types[0])) return false;
    for (const char* name : {"adj_x1", "adj_x2"}) {
      const auto* turned = FindAttribute<bool>(node, name);
      if (turned != nullptr && *turned) return false;
    }
    Constant matrix = edit_.ConstantAt(node.inputs[1]);
    const ValueType& left = edit_.TypeOf(node.inputs[0]);
    return matrix != nullptr && matrix->shape().rank() == 2 && IsFloat32(left) && left.shape.rank() >= 2;
  }

  // Also makes it a FusedMatMul.
  bool TakeBias(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).type != "Add") return false;
    const Node add = edit_.at(user);
    Port other = add.inputs[0] == Port{n, 0} ? add.inputs[1] : add.inputs[0];
    Constant bias = edit_.ConstantAt(other);
    const Shape& shape = edit_.at(n).types[0].shape;
    bool fits = bias != nullptr && bias->dtype() == DType::kF32 && bias->shape().rank() >= 1 &&
                bias->count() == shape.back(0) && bias->shape().back(0) == bias->count() && add.types[0].shape == shape;
    if (!fits) return false;
    Shape flat{bias->count()};
    Port vector = edit_.AddConstant(add.name + "_bias", std::make_shared<HostTensor>(DType::kF32, flat, bias->data(), bias));
    const Node node = edit_.at(n);
    edit_.Rewrite(n, "FusedMatMul", {node.inputs[0], node.inputs[1], vector}, {});
    edit_.Replace({user, 0}, {n, 0});
    return true;
  }

  void TakeActivation(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).inputs[0] != Port{n, 0}) return;
    const std::string& type = edit_.at(user).type;
    const char* name = type == "Relu" ? "relu" : type == "Gelu" ? "gelu" : type == "Tanh" ? "tanh" : type == "Sigmoid" ? "sigmoid" : nullptr;
    if (name == nullptr) return;
    edit_.Rewrite(n, "FusedMatMul", edit_.at(n).inputs, {{"activation", std::string(name)}});
    edit_.Replace({user, 0}, {n, 0});
  }

  Editor edit_;
};

void Tidy(Graph& graph) {
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace

void FindGelus(Graph& graph) {
  GeluFinder(graph).Run();
  Tidy(graph);
}

void FuseProducts(Graph& graph) {
  ProductFuser(graph).Run();
  Tidy(graph);
}

}  // namespace belay::graph
