// Pooling.
#include "graph/onnx/importer.h"
#include "graph/onnx/window_attributes.h"

namespace belay::graph::onnx {
namespace {

Attributes PoolAttributes(const OnnxNode& node) {
  Attributes attributes = PaddedWindowAttributes(node);
  std::string mode = std::get<std::string>(attributes["auto_pad"]);
  attributes.erase("auto_pad");
  attributes["padding_mode"] = mode == "NOTSET" ? std::string("CALCULATED") : mode;
  attributes["ksize"] = node.Ints("kernel_shape");
  attributes["ceil_mode"] = node.Int("ceil_mode", 0) != 0;
  attributes["data_format"] = std::string("NCHW");
  return attributes;
}

void MaxPool(OnnxNode& node) {
  Attributes attributes = PoolAttributes(node);
  const int64_t order = node.Int("storage_order", 0);  // of the indices
  if (!node.wants(1)) return node.Become("MaxPoolV3", {node.in(0)}, attributes);
  attributes["storage_order"] = order;
  node.Become("MaxPoolWithIndices", {node.in(0)}, attributes);
}

void AveragePool(OnnxNode& node) { node.Become("AvgPoolV2", {node.in(0)}, AveragePoolAttributes(node)); }

void LpPool(OnnxNode& node) {
  Attributes attributes = PoolAttributes(node);
  attributes["p"] = node.Int("p", 2);
  node.Become("LpPool", {node.in(0)}, attributes);
}

void GlobalMaxPool(OnnxNode& node) { node.Become("MaxPoolV3", {node.in(0)}, {{"global_pooling", true}}); }
void GlobalAveragePool(OnnxNode& node) { node.Become("AvgPoolV2", {node.in(0)}, {{"global_pooling", true}}); }
void GlobalLpPool(OnnxNode& node) {
  node.Become("LpPool", {node.in(0)}, {{"global_pooling", true}, {"p", node.Int("p", 2)}});
}

void MaxUnpool(OnnxNode& node) {
  Attributes attributes = WindowAttributes(node);
  attributes["ksize"] = node.Ints("kernel_shape");
  std::vector<Port> inputs{node.in(0), node.in(1)};
  if (node.has(2)) inputs.push_back(node.in(2));
  node.Become("MaxUnpool", inputs, attributes);
}

constexpr ImportRow kPoolRows[] = {{"MaxPool", MaxPool},
                                   {"AveragePool", AveragePool},
                                   {"LpPool", LpPool},
                                   {"GlobalMaxPool", GlobalMaxPool},
                                   {"GlobalAveragePool", GlobalAveragePool},
                                   {"GlobalLpPool", GlobalLpPool},
                                   {"MaxUnpool", MaxUnpool}};

}  // namespace

Attributes AveragePoolAttributes(const OnnxNode& node) {
  Attributes attributes = PoolAttributes(node);
  attributes["exclusive"] = node.Int("count_include_pad", 0) == 0;
  return attributes;
}

std::span<const ImportRow> PoolImports() { return kPoolRows; }

}  // namespace belay::graph::onnx
