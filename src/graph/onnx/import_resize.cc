// Resizing of images.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

std::span<const ImportRow> ResizeImports() { return {}; }

}  // namespace belay::graph::onnx
