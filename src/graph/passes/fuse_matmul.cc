// Products with constant matrices, as in fully connected layers, take over what follows them.
#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

bool IsFloat32(const ValueType& type) { return type.concrete() && type.dtype == DType::kF32; }

class ProductFuser {
 public:
  explicit ProductFuser(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      int node = static_cast<int>(n);
      TakeFactors(node);
      if (!TakeGemm(node)) {
        if (!IsProduct(node) || !edit_.Rewrite(node, "FusedMatMul", edit_.at(node).inputs, {})) continue;
        TakeBias(node);
      }
      TakeResidual(node);
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

  // What a matrix or a bias that never changes is multiplied by becomes a part of it.
  void TakeFactors(int n) {
    const Node node = edit_.at(n);
    if (node.type != "Gemm" || !IsFloat32(node.types[0])) return;
    std::vector<Port> inputs = node.inputs;
    Attributes attributes = node.attributes;
    const std::pair<const char*, size_t> factors[] = {{"alpha", 1}, {"beta", 2}};
    for (const auto& [name, input] : factors) {
      const auto* factor = FindAttribute<double>(node, name);
      if (factor == nullptr || *factor == 1) continue;
      const bool there = input < inputs.size() && inputs[input].present();
      const Constant value = there ? edit_.ConstantAt(inputs[input]) : nullptr;
      if (input == 2 && (!there || *factor == 0)) {
        inputs.resize(2);
      } else if (value != nullptr && value->dtype() == DType::kF32) {
        inputs[input] = edit_.AddConstant(node.name + "_" + name, Times(*value, *factor));
      } else {
        continue;
      }
      attributes.erase(name);
    }
    if (attributes != node.attributes)
      static_cast<void>(edit_.Rewrite(n, "Gemm", std::move(inputs), std::move(attributes)));
  }

  static Constant Times(const HostTensor& value, double factor) {
    const auto* from = value.as<float>();
    const auto values = std::make_shared<std::vector<float>>(from, from + value.count());
    for (float& v : *values) v = static_cast<float>(v * factor);
    return std::make_shared<HostTensor>(DType::kF32, value.shape(), values->data(), values);
  }

  // ONNX's form of the product of rows with a matrix and a bias.
  bool TakeGemm(int n) {
    const Node node = edit_.at(n);
    if (node.type != "Gemm" || !IsFloat32(node.types[0]) || !IsFloat32(edit_.TypeOf(node.inputs[0])))
      return false;
    for (const char* name : {"alpha", "beta"}) {
      const auto* factor = FindAttribute<double>(node, name);
      if (node.attributes.count(name) != 0 && (factor == nullptr || *factor != 1)) return false;
    }
    const auto* turned = FindAttribute<bool>(node, "transpose_a");
    Constant matrix = edit_.ConstantAt(node.inputs[1]);
    if ((turned != nullptr && *turned) || matrix == nullptr || matrix->dtype() != DType::kF32 ||
        matrix->shape().rank() != 2)
      return false;
    bool biased = node.inputs.size() > 2 && node.inputs[2].present();
    if (biased) {
      const ValueType& bias = edit_.TypeOf(node.inputs[2]);
      if (!IsFloat32(bias) || bias.shape.rank() != 1 || bias.shape[0] != node.types[0].shape.back(0))
        return false;
    }
    const auto* turned_b = FindAttribute<bool>(node, "transpose_b");
    return edit_.Rewrite(n, "FusedMatMul", node.inputs, {{"transpose_x2", turned_b != nullptr && *turned_b}});
  }

  void Take(int n, int user, std::vector<Port> inputs, Attributes attributes) {
    static_cast<void>(edit_.TakeOver(n, user, "FusedMatMul", std::move(inputs), std::move(attributes)));
  }

  void TakeBias(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).type != "Add") return;
    const Node add = edit_.at(user);
    Port other = add.inputs[0] == Port{n, 0} ? add.inputs[1] : add.inputs[0];
    Constant bias = edit_.ConstantAt(other);
    const Shape& shape = edit_.at(n).types[0].shape;
    bool fits = bias != nullptr && bias->dtype() == DType::kF32 && bias->shape().rank() >= 1 &&
                bias->count() == shape.back(0) && bias->shape().back(0) == bias->count() &&
                add.types[0].shape == shape;
    if (!fits) return;
    Shape flat{bias->count()};
    Port vector = edit_.AddConstant(add.name + "_bias",
                                    std::make_shared<HostTensor>(DType::kF32, flat, bias->data(), bias));
    const Node node = edit_.at(n);
    Take(n, user, {node.inputs[0], node.inputs[1], vector}, {});
  }

  // What is added as a whole: it has an element for each of the product's.
  void TakeResidual(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).type != "Add" || edit_.at(user).inputs.size() != 2) return;
    const auto& added = edit_.at(user).inputs;
    const Port other = added[0] == Port{n, 0} ? added[1] : added[0];
    const ValueType &type = edit_.TypeOf(other), &product = edit_.at(n).types[0];
    if (!IsFloat32(type) || type.shape != product.shape) return;
    std::vector<Port> inputs = edit_.at(n).inputs;
    inputs.resize(3);
    inputs.push_back(other);
    Take(n, user, std::move(inputs), edit_.at(n).attributes);
  }

  void TakeActivation(int n) {
    int user = edit_.OnlyUser({n, 0});
    if (user < 0 || edit_.at(user).inputs[0] != Port{n, 0}) return;
    const Node& node = edit_.at(user);
    // Not tanh, nor the Gelu that is made of it: they cost oneDNN more than a pass of their own over the
    // result.
    const char* name = node.type == "Relu"      ? "relu"
                       : node.type == "Gelu"    ? "gelu"
                       : node.type == "Sigmoid" ? "sigmoid"
                       : node.type == "Swish"   ? "swish"
                                                : nullptr;
    if (name == nullptr) return;
    Attributes attributes = edit_.at(n).attributes;
    attributes["activation"] = std::string(name);
    if (node.type == "Swish") {
      const auto* scale = FindAttribute<double>(node, "scale");
      attributes["alpha"] = scale == nullptr ? 1.0 : *scale;
    }
    Take(n, user, edit_.at(n).inputs, std::move(attributes));
  }

  Editor edit_;
};

}  // namespace

void FuseProducts(Graph& graph) {
  ProductFuser(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
