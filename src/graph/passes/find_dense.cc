// A convolution whose kernel covers the whole image has one pixel for a result: it is a fully connected
// layer, whose weights are read once, as they lie.
#include <algorithm>

#include "graph/passes/editor.h"
#include "graph/passes/passes.h"

namespace belay::graph {
namespace {

template <class T>
T AttributeOr(const Node& node, const char* name, T missing) {
  const auto* value = FindAttribute<T>(node, name);
  return value == nullptr ? missing : *value;
}

bool HasNoPads(const Node& node) {
  const auto pads = AttributeOr<std::vector<int64_t>>(node, "pads", {});
  const auto automatic = AttributeOr<std::string>(node, "auto_pad", "NOTSET");
  return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; }) &&
         (automatic == "NOTSET" || automatic == "VALID");
}

// What a product takes over, too.
bool FitsAProduct(const Node& node) {
  const auto filter = AttributeOr<std::string>(node, "filter_format", "");
  return AttributeOr<std::string>(node, "data_format", "NCHW") == "NCHW" &&
         (filter.empty() || filter == "NCHW") && AttributeOr<double>(node, "scale", 1) == 1 &&
         AttributeOr<double>(node, "shift", 0) == 0 &&
         (node.inputs.size() < 4 || !node.inputs[3].present()) && HasNoPads(node);
}

// The kernel is the image, in all channels, and more than a pixel.
bool CoversAll(const ValueType& image, const Shape& kernel, const ValueType& result) {
  if (!image.concrete() || !result.concrete() || image.dtype != DType::kF32 ||
      image.shape.rank() != kernel.rank() || kernel.rank() < 3 || image.shape[0] == 0 || kernel[0] == 0)
    return false;
  int64_t pixels = 1;
  for (int d = 1; d < kernel.rank(); ++d) {
    if (kernel[d] != image.shape[d] || (d > 1 && result.shape[d] != 1)) return false;
    pixels *= d > 1 ? kernel[d] : 1;
  }
  return pixels > 1;
}

void MakeDense(Editor& edit, int n, const Constant& weights) {
  const Node node = edit.at(n);
  const int64_t batch = node.types[0].shape[0], channels = weights->shape()[0],
                terms = weights->count() / channels;
  const auto sizes = [&](const char* name, const Shape& shape) {
    return edit.AddConstant(node.name + name, IntsConstant(std::vector<int64_t>(shape.begin(), shape.end())));
  };
  const Shape flat{batch, terms};
  const Port row = edit.AddNode(node.name + "_row", "Reshape", {node.inputs[0], sizes("_row_sizes", flat)},
                                {DType::kF32, Format::kND, true, flat});
  const Port matrix = edit.AddConstant(
      node.name + "_matrix",
      std::make_shared<HostTensor>(DType::kF32, Shape{channels, terms}, weights->data(), weights));
  std::vector<Port> inputs{row, matrix};
  if (node.inputs.size() > 2) inputs.push_back(node.inputs[2]);
  const Port dense = edit.AddNode(node.name + "_dense", "FusedMatMul", inputs,
                                  {DType::kF32, Format::kND, true, {batch, channels}});
  Attributes& attributes = edit.at(dense.node).attributes;
  attributes["transpose_x2"] = true;
  for (const char* name : {"activation", "alpha", "beta"}) {
    if (const auto found = node.attributes.find(name); found != node.attributes.end())
      attributes[name] = found->second;
  }
  static_cast<void>(edit.Rewrite(n, "Reshape", {dense, sizes("_sizes", node.types[0].shape)}, {}));
}

}  // namespace

void FindDense(Graph& graph) {
  Editor edit(graph);
  for (int n = 0, count = static_cast<int>(graph.nodes.size()); n < count; ++n) {
    const Node& node = edit.at(n);
    if (node.type != "FusedConv2D" || !FitsAProduct(node)) continue;
    const Constant weights = edit.ConstantAt(node.inputs[1]);
    if (weights != nullptr && weights->dtype() == DType::kF32 &&
        CoversAll(edit.TypeOf(node.inputs[0]), weights->shape(), node.types[0]))
      MakeDense(edit, n, weights);
  }
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
