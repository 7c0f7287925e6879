// What ONNX says about windows (kernels, strides, pads), as GE nodes have it.
#pragma once

#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

// strides and dilations with one number for each spatial dimension (none where the model leaves them out),
// pads in pairs, auto_pad.
Attributes WindowAttributes(const OnnxNode& node);
// Of AvgPoolV2.
Attributes AveragePoolAttributes(const OnnxNode& node);

}  // namespace belay::graph::onnx
