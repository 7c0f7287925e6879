// Convolutions.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> ConvImports() { return {}; }

}  // namespace belay::graph::onnx
