// Quantised operators.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> QuantImports() { return {}; }

}  // namespace belay::graph::onnx
