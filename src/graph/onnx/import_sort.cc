// Sorting and selecting.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> SortImports() { return {}; }

}  // namespace belay::graph::onnx
