// Operators of detection networks.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> DetectImports() { return {}; }

}  // namespace belay::graph::onnx
