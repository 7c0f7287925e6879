// What ONNX says about windows (kernels, strides, pads), as GE nodes have it.
#pragma once

#include "graph/onnx/importer.h"

namespace belay::graph::onnx {

// strides and dilations with one number for each spatial dimension (none where the model leaves them out),
// pads in pairs.
Attributes WindowAttributes(const OnnxNode& node);
// And auto_pad, for operators that have it.
Attributes PaddedWindowAttributes(const OnnxNode& node);
// A convolution takes the kernel from its weights; one that is described must be the same.
void CheckKernelShape(OnnxNode& node, int weights);
// Of AvgPoolV2.
Attributes AveragePoolAttributes(const OnnxNode& node);

}  // namespace belay::graph::onnx
