// Running single operators, for whichever function asks.
#pragma once

#include <memory>
#include <vector>

#include "acl/acl_op.h"
#include "graph/single_op_model.h"
#include "runtime/stream.h"

namespace belay::api {

// Queues the operator. Outputs may lie where inputs lie. `result` gets the outputs whose shapes only the data
// decides, once the operator has run.
std::shared_ptr<graph::Instance> RunOp(const graph::SingleOp& op, const std::vector<graph::Buffer>& inputs,
                                       const std::vector<graph::Buffer>& outputs, rt::Stream& stream,
                                       std::shared_ptr<graph::DynamicResult> result = nullptr);

// A handle for aclopExecWithHandle.
aclopHandle* NewOpHandle(graph::SingleOp op);

}  // namespace belay::api
