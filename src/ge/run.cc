#include "ge/run.h"

#include <algorithm>

#include "api/wait.h"
#include "base/codes.h"
#include "base/error.h"
#include "ge/codes.h"
#include "ge/tensor_impl.h"
#include "graph/host_tensor.h"
#include "graph/specialise.h"
#include "runtime/context.h"
#include "runtime/device_writes.h"
#include "runtime/memory.h"
#include "runtime/observer.h"

namespace belay::graph_interface {
namespace {

using ge::Tensor;
using graph::Buffer;
using graph::Instance;
using graph::Model;
using graph::ModelPort;
using graph::ValueType;

bool DescribesBytes(const ValueType& given, const Tensor& tensor) {
  if (!given.concrete()) return false;
  auto count = tensor::CheckedCount({given.shape.begin(), given.shape.end()});
  return count.has_value() && graph::PackedBytes(given.dtype, *count) == tensor.GetSize();
}

bool HoldsTheSame(const ValueType& one, const ValueType& other) {
  return one.dtype == other.dtype && tensor::CountOf(one.shape) == tensor::CountOf(other.shape);
}

// Memory of the device for one run.
class Scratch {
 public:
  explicit Scratch(int device) : device_(device) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (void* block : blocks_) {
      if (rt::Lookup(block).live) rt::FreeDevice(block);
    }
  }
  Buffer New(size_t bytes) {
    blocks_.push_back(rt::AllocateDevice(device_, {.bytes = std::max<size_t>(bytes, 1)}));
    return {blocks_.back(), bytes};
  }

 private:
  int device_;
  std::vector<void*> blocks_;
};

Buffer OnDevice(const Tensor& tensor, Scratch& scratch) {
  auto* data = const_cast<uint8_t*>(tensor.GetData());
  size_t bytes = tensor.GetSize();
  if (rt::Lookup(data).kind == rt::MemoryKind::kDevice) return {data, bytes};
  Buffer buffer = scratch.New(bytes);
  if (bytes != 0) {
    rt::HostReads(data, bytes);
    rt::DeviceWrites writes;
    rt::CopyBytes(rt::View(buffer.data, bytes), data, bytes);
  }
  return buffer;
}

Tensor HostCopy(const ValueType& type, const void* data, size_t bytes) {
  Tensor tensor(ge::DescOf(type));
  tensor.SetData(static_cast<const uint8_t*>(data), bytes);
  return tensor;
}

ge::TensorDesc DeviceDesc(const ValueType& type) {
  ge::TensorDesc desc = ge::DescOf(type);
  desc.SetPlacement(ge::kPlacementDevice);
  return desc;
}

Tensor NewOnDevice(const ValueType& type, size_t bytes, int device, const ge::AllocatorPtr& allocator) {
  Tensor tensor(DeviceDesc(type));
  bytes = std::max<size_t>(bytes, 1);
  if (allocator == nullptr) {
    auto* data = static_cast<uint8_t*>(rt::AllocateDevice(device, {.bytes = bytes}));
    uint64_t serial = rt::BlockSerial(data);
    tensor.SetData(data, bytes, [serial](uint8_t* at) {
      if (rt::BlockSerial(at) == serial) rt::FreeDevice(at);
    });
    return tensor;
  }
  ge::MemBlock* block = allocator->Malloc(bytes);
  if (block == nullptr)
    Fail(codes::kRtMemoryAllocation, "ge-allocator-empty", "the stream's allocator gave no block of {} bytes",
         bytes);
  tensor.SetData(static_cast<uint8_t*>(block->GetAddr()), bytes,
                 [block, allocator](uint8_t*) { block->Free(); });
  return tensor;
}

void DescribeResult(Tensor& tensor, const ValueType& type) {
  ge::TensorDesc desc = tensor.GetTensorDesc();
  ge::TensorDesc found = DeviceDesc(type);
  desc.SetShape(found.GetShape());
  desc.SetDataType(found.GetDataType());
  desc.SetPlacement(ge::kPlacementDevice);
  tensor.SetTensorDesc(desc);
}

// Only the data decides the sizes of the outputs: somebody has to wait for them.
void RunDynamic(Instance& instance, rt::Stream& stream, const std::vector<Buffer>& inputs,
                std::vector<Tensor>& outputs, int device, const ge::AllocatorPtr& allocator) {
  auto result = std::make_shared<graph::DynamicResult>();
  std::vector<Buffer> buffers(instance.outputs().size());
  instance.Execute(stream, inputs, buffers, result);
  api::WaitForStream(stream, -1, codes::kRtTaskTimeout);
  outputs.resize(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const graph::HostTensor& value = *result->outputs[i];
    ValueType type{value.dtype(), graph::Format::kND, true, value.shape()};
    if (outputs[i].GetData() == nullptr) outputs[i] = NewOnDevice(type, value.bytes(), device, allocator);
    if (outputs[i].GetSize() < value.bytes()) {
      Fail(kBadArgument, "ge-output-short", "output {} became {} bytes ({}), but its tensor has {}", i,
           value.bytes(), value.shape().ToString(), outputs[i].GetSize());
    }
    {
      if (rt::Observers::any()) [[unlikely]]
        rt::TellWrittenUnseen(outputs[i].GetData());
      rt::DeviceWrites writes;
      rt::CopyBytes(rt::View(outputs[i].GetData(), value.bytes()), value.data(), value.bytes());
    }
    DescribeResult(outputs[i], type);
  }
}

// The thread's context for as long as a run needs one.
class ContextFor {
 public:
  explicit ContextFor(rt::Device& device) : before_(rt::t_context) {
    rt::Context* context = device.default_context();
    if (context == nullptr) {
      Fail(codes::kRtContextNull, "ge-device-reset",
           "device {} was reset while the session was about to run a graph on it", device.id());
    }
    rt::SetCurrentContext(*context);
  }
  ContextFor(const ContextFor&) = delete;
  ContextFor& operator=(const ContextFor&) = delete;
  ~ContextFor() { rt::t_context = before_; }

 private:
  HandleBits before_;
};

// Elements in the tiles of a card would be read, or left, in another order.
void RefuseTiles(const Tensor& tensor, const char* what, size_t i) {
  if (tensor.GetTensorDesc().GetFormat() != ge::FORMAT_FRACTAL_NZ) return;
  Fail(kBadArgument, "op-format",
       "{} {} is of FORMAT_FRACTAL_NZ, which graphs do not take; pass the matrix as it is, as FORMAT_ND",
       what, i);
}

}  // namespace

std::vector<ValueType> TypesFor(const Model& model, const std::vector<Tensor>& inputs) {
  std::vector<ValueType> types = model.DeclaredTypes();
  if (types.size() != inputs.size()) {
    Fail(kBadArgument, "ge-input-count", "the graph has {} inputs, but {} were given", types.size(),
         inputs.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    RefuseTiles(inputs[i], "input", i);
    ValueType given = ge::ValueTypeOf(inputs[i].GetTensorDesc());
    // A description that fits its bytes is meant. Otherwise the bytes are what counts; the run checks them.
    if (types[i].concrete() && (!DescribesBytes(given, inputs[i]) || HoldsTheSame(given, types[i]))) continue;
    if (!given.concrete() || !graph::Admits(types[i], given.shape) || given.dtype != types[i].dtype) {
      Fail(kBadArgument, "ge-input-shape", "input {} is given as {}, but the graph declares {}", i,
           given.ToString(), types[i].ToString());
    }
    types[i].rank_known = true;
    types[i].shape = given.shape;
  }
  return types;
}

std::vector<Tensor> RunOnHost(Model& model, const std::vector<Tensor>& inputs) {
  api::RefuseInCallback("Session::RunGraph");
  std::shared_ptr<Instance> instance = model.InstanceFor(TypesFor(model, inputs));
  ContextFor context(model.device());
  rt::Stream& stream = model.OwnStream(rt::CurrentContext());
  Scratch scratch(model.device().id());
  std::vector<Buffer> from, to;
  for (const Tensor& input : inputs) from.push_back(OnDevice(input, scratch));
  std::vector<Tensor> results;
  if (instance->dynamic()) {
    auto result = std::make_shared<graph::DynamicResult>();
    instance->Execute(stream, from, std::vector<Buffer>(instance->outputs().size()), result);
    api::WaitForStream(stream, -1, codes::kRtTaskTimeout);
    for (const auto& value : result->outputs) {
      results.push_back(HostCopy({value->dtype(), graph::Format::kND, true, value->shape()}, value->data(),
                                 value->bytes()));
    }
    return results;
  }
  for (const ModelPort& port : instance->outputs()) to.push_back(scratch.New(port.bytes));
  instance->Execute(stream, from, to, nullptr, model.BorrowMemory());
  api::WaitForStream(stream, -1, codes::kRtTaskTimeout);
  for (size_t i = 0; i < to.size(); ++i) {
    results.push_back(HostCopy(instance->outputs()[i].type, rt::View(to[i].data, to[i].bytes), to[i].bytes));
  }
  return results;
}

void RunOnStream(Model& model, rt::Stream& stream, const std::vector<Tensor>& inputs,
                 std::vector<Tensor>& outputs, const ge::AllocatorPtr& allocator) {
  int device = model.device().id();
  if (&stream.context().device() != &model.device()) {
    Fail(kBadArgument, "ge-stream-device", "the stream is on device {}, but the session uses device {}",
         stream.context().device().id(), device);
  }
  std::shared_ptr<Instance> instance = model.InstanceFor(TypesFor(model, inputs));
  for (size_t i = 0; i < outputs.size(); ++i) RefuseTiles(outputs[i], "output", i);
  std::vector<Buffer> from, to;
  for (const Tensor& input : inputs) {
    from.push_back({const_cast<uint8_t*>(input.GetData()), input.GetSize()});
    if (input.GetSize() != 0) rt::CheckDeviceRange(from.back().data, from.back().bytes, "inputs");
  }
  if (instance->dynamic()) return RunDynamic(*instance, stream, from, outputs, device, allocator);
  const std::vector<ModelPort>& ports = instance->outputs();
  if (!outputs.empty() && outputs.size() != ports.size()) {
    Fail(kBadArgument, "ge-output-count", "the graph has {} outputs, but {} tensors were given", ports.size(),
         outputs.size());
  }
  outputs.resize(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    if (outputs[i].GetData() == nullptr)
      outputs[i] = NewOnDevice(ports[i].type, ports[i].bytes, device, allocator);
    to.push_back({outputs[i].GetData(), outputs[i].GetSize()});
    rt::CheckDeviceRange(to.back().data, to.back().bytes, "outputs");
  }
  instance->Execute(stream, from, to, nullptr, model.BorrowMemory());
  for (size_t i = 0; i < ports.size(); ++i) DescribeResult(outputs[i], ports[i].type);
}

}  // namespace belay::graph_interface
