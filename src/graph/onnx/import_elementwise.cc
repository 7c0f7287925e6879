// Operators that work element by element.
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"

namespace belay::graph::onnx {
namespace {

// The number is a TensorProto.DataType.
void Cast(OnnxNode& node) { node.Become("Cast", {node.in(0)}, {{"dst_type", TypeOf(static_cast<int32_t>(node.Int("to", 1)))}}); }

constexpr ImportRow kRows[] = {{"Add", ImportSame}, {"Sub", ImportSame}, {"Mul", ImportSame}, {"Cast", Cast}};

}  // namespace

std::span<const ImportRow> ElementwiseImports() { return kRows; }

}  // namespace belay::graph::onnx
