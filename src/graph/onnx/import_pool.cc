// Pooling.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> PoolImports() { return {}; }

}  // namespace belay::graph::onnx
