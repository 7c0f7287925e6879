// Recurrent networks.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> RnnImports() { return {}; }

}  // namespace belay::graph::onnx
