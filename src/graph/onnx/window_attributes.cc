#include "graph/onnx/window_attributes.h"

namespace belay::graph::onnx {

Attributes WindowAttributes(const OnnxNode& node) {
  std::vector<int64_t> begins_then_ends = node.Ints("pads"), pairs;
  size_t spatial = begins_then_ends.size() / 2;
  for (size_t i = 0; i < spatial; ++i) {
    pairs.push_back(begins_then_ends[i]);
    pairs.push_back(begins_then_ends[spatial + i]);
  }
  return {{"strides", node.Ints("strides")}, {"dilations", node.Ints("dilations")}, {"pads", pairs}};
}

Attributes PaddedWindowAttributes(const OnnxNode& node) {
  Attributes attributes = WindowAttributes(node);
  attributes["auto_pad"] = node.String("auto_pad", "NOTSET");
  return attributes;
}

void CheckKernelShape(OnnxNode& node, int weights) {
  const std::vector<int64_t> kernel = node.Ints("kernel_shape");
  const ValueType type = node.type_of(weights);
  if (kernel.empty() || !type.rank_known) return;
  bool same = static_cast<size_t>(type.shape.rank()) == kernel.size() + 2;
  for (size_t i = 0; same && i < kernel.size(); ++i) {
    const int64_t size = type.shape[static_cast<int>(i) + 2];
    same = size < 0 || size == kernel[i];
  }
  if (!same) node.Refuse("kernel_shape is not that of the weights, which are " + type.ToString());
}

}  // namespace belay::graph::onnx
