// Operators that only arrange what others computed.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void Identity(OnnxNode& node) { node.Out(0, node.in(0)); }

void Reshape(OnnxNode& node) {
  Port shape = node.opset() < 5 ? node.Const(IntsConstant(node.Ints("shape"))) : node.in(1);
  node.Become("Reshape", {node.in(0), shape}, {{"allowzero", node.Int("allowzero", 0)}});
}

void Transpose(OnnxNode& node) {
  if (node.HasAttribute("perm")) return node.Become("TransposeD", {{"perm", node.Ints("perm")}});
  node.Become("TransposeD", {{"perm", std::vector<int64_t>{}}});
}

constexpr ImportRow kRows[] = {{"Identity", Identity}, {"Reshape", Reshape}, {"Transpose", Transpose}};

}  // namespace

std::span<const ImportRow> StructureImports() { return kRows; }

}  // namespace belay::graph::onnx
