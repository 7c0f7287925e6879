// Sorting and selecting.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void TopK(OnnxNode& node) {
  Attributes attributes{{"dim", node.Int("axis", -1)},
                        {"largest", node.Int("largest", 1) != 0},
                        {"sorted", node.Int("sorted", 1) != 0},
                        {"indices_dtype", DType::kI64}};
  if (node.opset() >= 10) return node.Become("TopKV2", attributes);
  attributes["k"] = node.Int("k", 0);
  node.Become("TopKD", attributes);
}

void NonMaxSuppression(OnnxNode& node) {
  node.Become("NonMaxSuppressionV7", {{"center_point_box", node.Int("center_point_box", 0)}});
}

constexpr ImportRow kSortRows[] = {{"TopK", TopK}, {"NonMaxSuppression", NonMaxSuppression}};

}  // namespace

std::span<const ImportRow> SortImports() { return kSortRows; }

}  // namespace belay::graph::onnx
