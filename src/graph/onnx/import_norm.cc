// Normalisations and softmax.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void Softmax(OnnxNode& node) {
  if (node.opset() < 13) node.Refuse("softmax of opsets before 13 is not supported yet");
  node.Become("SoftmaxV2", {{"axes", std::vector<int64_t>{node.Int("axis", -1)}}});
}

constexpr ImportRow kRows[] = {{"Softmax", Softmax}};

}  // namespace

std::span<const ImportRow> NormImports() { return kRows; }

}  // namespace belay::graph::onnx
