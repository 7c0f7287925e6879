// Gathering and scattering.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> IndexImports() { return {}; }

}  // namespace belay::graph::onnx
