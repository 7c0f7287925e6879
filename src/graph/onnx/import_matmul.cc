// Products of matrices.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void MatMul(OnnxNode& node) { node.Become("BatchMatMul"); }

void Gemm(OnnxNode& node) {
  if (node.opset() < 7) node.WithoutEffect({"broadcast"});  // without it the shapes are the same
  std::vector<Port> inputs{node.in(0), node.in(1)};
  if (node.has(2)) inputs.push_back(node.in(2));
  node.Become("Gemm", inputs,
              {{"transpose_a", node.Int("transA", 0) != 0},
               {"transpose_b", node.Int("transB", 0) != 0},
               {"alpha", node.Float("alpha", 1)},
               {"beta", node.Float("beta", 1)}});
}

constexpr ImportRow kMatmulRows[] = {
    {"MatMul", MatMul},
    {"Gemm", Gemm},
};

}  // namespace

std::span<const ImportRow> MatmulImports() { return kMatmulRows; }

}  // namespace belay::graph::onnx
