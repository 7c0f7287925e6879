// Weights are packed when a model is compiled, so that a loaded file is used as it lies, by all processes
// that map it. A machine whose kernels want another order packs them again.
#include <algorithm>
#include <map>
#include <tuple>

#include "graph/passes/editor.h"
#include "graph/passes/passes.h"
#include "graph/translation.h"

namespace belay::graph {
namespace {

bool HasPackedForm(const std::string& type) { return type == "FusedConv2D" || type == "FusedMatMul"; }

class Packer {
 public:
  explicit Packer(Graph& graph) : edit_(graph) {}

  void Run() {
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      if (HasPackedForm(edit_.at(static_cast<int>(n)).type)) Pack(static_cast<int>(n));
    }
  }

 private:
  void Pack(int n) {
    const Node node = edit_.at(n);
    Constant weight = edit_.ConstantAt(node.inputs[1]);
    if (weight == nullptr || (weight->dtype() != DType::kF32 && !IsHalf(weight->dtype())) || !AllKnown(node))
      return;
    Translated translated = TranslateNode(node, edit_.KnownInputs(node.inputs), Purpose::kPacking);
    if (!translated.packed) return;
    Attributes attributes = node.attributes;
    attributes["packed_layout"] = translated.packed->layout;
    attributes["packed_for"] = translated.packed->machine;
    attributes["packed_shape"] = ShapeOf(node, weight->shape());
    std::vector<Port> inputs = node.inputs;
    inputs[1] = Packed(node, weight, *translated.packed);
    static_cast<void>(edit_.Rewrite(n, node.type, std::move(inputs), std::move(attributes)));
  }

  bool AllKnown(const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const Port& port) { return !port.present() || edit_.TypeOf(port).concrete(); });
  }

  // A filter is [out, in, kernel...] in all fused nodes; a matrix becomes [n, k].
  static std::vector<int64_t> ShapeOf(const Node& node, const Shape& shape) {
    std::vector<int64_t> sizes(shape.begin(), shape.end());
    const auto* turned = FindAttribute<bool>(node, "transpose_x2");
    if (node.type == "FusedMatMul" && (turned == nullptr || !*turned)) std::swap(sizes[0], sizes[1]);
    return sizes;
  }

  // Weights that several nodes share are packed once for each order.
  Port Packed(const Node& node, const Constant& weight, const ops::PackedWeights& packed) {
    auto [it, fresh] = packed_.try_emplace(
        {weight.get(), packed.layout, FindAttribute<bool>(node, "transpose_x2") != nullptr});
    if (fresh) {
      it->second = edit_.AddConstant(
          node.name + "_packed",
          std::make_shared<HostTensor>(DType::kU8, Shape{packed.bytes}, packed.data.get(), packed.data));
    }
    return it->second;
  }

  Editor edit_;
  std::map<std::tuple<const HostTensor*, std::string, bool>, Port> packed_;
};

}  // namespace

void PackWeights(Graph& graph) {
  Packer(graph).Run();
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
