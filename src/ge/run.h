// Running a session's graph: with tensors on the host, or with device memory on a stream.
#pragma once

#include <vector>

#include "ge/ge_allocator.h"
#include "graph/model.h"
#include "graph/tensor.h"

namespace belay::graph_interface {

// The types of the inputs, as the model needs them. Throws Error when the tensors do not fit the model.
std::vector<graph::ValueType> TypesFor(const graph::Model& model, const std::vector<ge::Tensor>& inputs);

// Copies the inputs to the device, runs, waits, and copies the outputs back.
std::vector<ge::Tensor> RunOnHost(graph::Model& model, const std::vector<ge::Tensor>& inputs);

// Queues an execution. Outputs without data get memory of the allocator (null: of the device).
void RunOnStream(graph::Model& model, rt::Stream& stream, const std::vector<ge::Tensor>& inputs,
                 std::vector<ge::Tensor>& outputs, const ge::AllocatorPtr& allocator);

}  // namespace belay::graph_interface
