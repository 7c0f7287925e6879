// Convolutions.
#include "graph/onnx/importer.h"
#include "graph/onnx/window_attributes.h"

namespace belay::graph::onnx {
namespace {

void Conv(OnnxNode& node) {
  CheckKernelShape(node, 1);
  Attributes attributes = PaddedWindowAttributes(node);
  attributes["data_format"] = std::string("NCHW");
  attributes["groups"] = node.Int("group", 1);
  size_t spatial = std::get<std::vector<int64_t>>(attributes["strides"]).size();
  std::vector<Port> inputs{node.in(0), node.in(1)};
  if (node.has(2)) inputs.push_back(node.in(2));
  node.Become(spatial == 3 ? "Conv3D" : "Conv2D", inputs, attributes);
}

void ConvTranspose(OnnxNode& node) {
  CheckKernelShape(node, 1);
  Attributes attributes = PaddedWindowAttributes(node);
  attributes["data_format"] = std::string("NCHW");
  attributes["groups"] = node.Int("group", 1);
  for (const char* name : {"output_padding", "output_shape"}) {
    if (node.HasAttribute(name)) attributes[name] = node.Ints(name);
  }
  std::vector<Port> inputs{node.in(0), node.in(1)};
  if (node.has(2)) inputs.push_back(node.in(2));
  node.Become("ConvTranspose", inputs, attributes);
}

constexpr ImportRow kConvRows[] = {{"Conv", Conv}, {"ConvTranspose", ConvTranspose}};

}  // namespace

std::span<const ImportRow> ConvImports() { return kConvRows; }

}  // namespace belay::graph::onnx
