// Model and tensor files of ONNX, by way of libbelay_onnx.so.
#pragma once

#include <span>
#include <string>

#include "graph/host_tensor.h"
#include "graph/onnx/model.h"

namespace belay::graph::onnx {

// Throw Error when it is no model or the reader library is missing.
ModelData ReadModel(std::span<const char> bytes);
ModelData ReadModelFile(const std::string& path);
// Throws Error.
std::string ReadFile(const std::string& path);

// The element type, or kUndefined for what Belay does not compute with.
DType TypeOf(int32_t element_type);

// The elements as a tensor. `owner` keeps raw bytes alive, `folder` is where external data lies (empty:
// there is none, and a tensor that asks for it is an error).
Constant TensorOf(const TensorData& data, const std::shared_ptr<const void>& owner,
                  const std::string& folder);

// A file with one tensor.
Constant ReadTensor(std::span<const char> bytes);

}  // namespace belay::graph::onnx
