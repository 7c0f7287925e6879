// Products of matrices.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void MatMul(OnnxNode& node) { node.Become("BatchMatMul"); }

constexpr ImportRow kRows[] = {{"MatMul", MatMul}};

}  // namespace

std::span<const ImportRow> MatmulImports() { return kRows; }

}  // namespace belay::graph::onnx
