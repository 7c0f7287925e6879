#include "graph/onnx/window_attributes.h"

namespace belay::graph::onnx {

Attributes WindowAttributes(const OnnxNode& node) {
  std::vector<int64_t> begins_then_ends = node.Ints("pads"), pairs;
  size_t spatial = begins_then_ends.size() / 2;
  for (size_t i = 0; i < spatial; ++i) {
    pairs.push_back(begins_then_ends[i]);
    pairs.push_back(begins_then_ends[spatial + i]);
  }
  return {{"strides", node.Ints("strides")},
          {"dilations", node.Ints("dilations")},
          {"pads", pairs},
          {"auto_pad", node.String("auto_pad", "NOTSET")}};
}

}  // namespace belay::graph::onnx
