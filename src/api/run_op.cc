#include "api/run_op.h"

#include <algorithm>

#include "api/convert.h"
#include "runtime/context.h"

namespace belay::api {
using graph::Buffer;

std::shared_ptr<graph::Instance> RunOp(const graph::SingleOp& op, const std::vector<Buffer>& inputs,
                                       const std::vector<Buffer>& outputs, rt::Stream& stream,
                                       std::shared_ptr<graph::DynamicResult> result) {
  auto instance = graph::InstanceOf(stream.context().device(), op);
  instance->Execute(stream, inputs, outputs, std::move(result));
  return instance;
}

aclopHandle* NewOpHandle(graph::SingleOp op) {
  rt::Device& device = rt::CurrentContext().device();
  graph::NeedLoaded(device, op);
  bool open = std::any_of(op.inputs.begin(), op.inputs.end(), [](const graph::OpArgument& input) {
    return input.present && !input.type.concrete();
  });
  if (!open) graph::InstanceOf(device, op);  // what cannot run has no handle, and the first run is fast
  return AsHandle<aclopHandle*>(graph::g_op_handles.Create(graph::OpHandle{std::move(op)}));
}

}  // namespace belay::api
