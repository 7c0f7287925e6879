// The interface of libbelay_onnx.so, which is built with the same compiler and headers as its caller.
#pragma once

#include <cstddef>
#include <memory>

#include "graph/onnx/model.h"

extern "C" {

// False: the bytes are no model.
[[gnu::visibility("default")]] bool belay_read_onnx(const char* bytes, size_t size,
                                                    belay::graph::onnx::ModelData* model);
// A file that holds one TensorProto, as test data does.
[[gnu::visibility("default")]] bool belay_read_onnx_tensor(const char* bytes, size_t size,
                                                           belay::graph::onnx::TensorData* tensor,
                                                           std::shared_ptr<const void>* owner);
}
