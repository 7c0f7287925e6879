// Quantised operators.
#include "graph/onnx/importer.h"
#include "graph/onnx/window_attributes.h"

namespace belay::graph::onnx {
namespace {

void Quantize(OnnxNode& node) {
  node.Become(node.type(), {{"axis", node.Int("axis", 1)},
                            {"block_size", node.Int("block_size", 0)},
                            {"output_dtype", node.Int("output_dtype", 0)}});
}

void Convolve(OnnxNode& node) {
  Attributes attributes = WindowAttributes(node);
  attributes["groups"] = node.Int("group", 1);
  node.Become(node.type(), attributes);
}

constexpr ImportRow kRows[] = {{"QuantizeLinear", Quantize},   {"DequantizeLinear", Quantize},
                               {"DynamicQuantizeLinear", ImportSame}, {"QLinearMatMul", ImportSame},
                               {"ConvInteger", Convolve},      {"QLinearConv", Convolve}};

}  // namespace

std::span<const ImportRow> QuantImports() { return kRows; }

}  // namespace belay::graph::onnx
