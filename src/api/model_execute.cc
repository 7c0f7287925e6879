// Datasets, and running models with them.
#include <algorithm>
#include <utility>

#include "acl/acl_mdl.h"
#include "api/convert.h"
#include "api/handlers.h"
#include "api/wait.h"
#include "base/codes.h"
#include "base/error.h"
#include "graph/model.h"
#include "graph/specialise.h"
#include "runtime/context.h"
#include "runtime/observer.h"

namespace belay::api {
namespace {

using graph::Buffer;
using graph::Dataset;
using graph::Gears;
using graph::Instance;
using graph::Model;
using graph::ModelPort;
using graph::ValueType;

tensor::DataBuffer& BufferAt(const Dataset& dataset, size_t index) {
  return Need<tensor::DataBuffer>(AsHandle<aclDataBuffer*>(dataset.items[index].buffer),
                                  "a buffer of the dataset");
}

Dataset::Item& ItemAt(Dataset& dataset, size_t index) {
  if (index < dataset.items.size()) return dataset.items[index];
  Fail(codes::kInvalidParam, "dataset-index", "there is no buffer {}; the dataset has {}", index,
       dataset.items.size());
}

// `beside`: how many more the dataset may have that are not passed on.
std::vector<Buffer> BuffersOf(const Dataset& dataset, size_t count, size_t beside, const char* what) {
  if (dataset.items.size() < count || dataset.items.size() > count + beside) {
    Fail(codes::kInvalidParam, "model-buffer-count", "the model has {} {}s, but {} buffers were given", count,
         what, dataset.items.size());
  }
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    const tensor::DataBuffer& buffer = BufferAt(dataset, i);
    buffers.push_back({buffer.data, buffer.bytes});
    if (buffer.data != nullptr && buffer.bytes != 0) rt::CheckDeviceRange(buffer.data, buffer.bytes, what);
  }
  return buffers;
}

// The one size that is open follows from the bytes of the buffer.
void SizeFromBytes(ValueType& type, size_t bytes, size_t index) {
  int open = -1;
  int64_t known = static_cast<int64_t>(BytesOf(type.dtype));
  for (int i = 0; i < type.shape.rank(); ++i) {
    if (type.shape[i] >= 0) {
      known *= type.shape[i];
    } else if (open >= 0) {
      return;
    } else {
      open = i;
    }
  }
  if (open < 0 || known <= 0) return;
  if (static_cast<int64_t>(bytes) % known != 0) {
    Fail(
        codes::kGeShapeInvalid, "model-input-shape",
        "input {} is {}, and its buffer has {} bytes, which is no multiple of {}; pass the bytes of whole ones, or "
        "describe it with aclmdlSetDatasetTensorDesc",
        index, type.ToString(), bytes, known);
  }
  type.shape[open] = static_cast<int64_t>(bytes) / known;
}

void ApplyDescription(ValueType& type, HandleBits handle, size_t index) {
  auto& description =
      Need<tensor::TensorDesc>(AsHandle<aclTensorDesc*>(handle), "a description of the dataset");
  const bool has_room = description.dims.size() <= tensor::kMaxRank;
  tensor::Shape shape;
  if (has_room) shape = tensor::Shape::Of(description.dims.data(), static_cast<int>(description.dims.size()));
  if (!has_room || !graph::Admits(type, shape)) {
    Fail(codes::kGeShapeInvalid, "model-input-shape", "input {} is passed as {}, but the model declares {}",
         index, shape.ToString(), type.ToString());
  }
  type.rank_known = true;
  type.shape = shape;
}

// Elements in the tiles of a card would be read in another order.
void RefuseTiles(const Dataset& input) {
  for (size_t i = 0; i < input.items.size(); ++i) {
    const tensor::TensorDesc* description = tensor::g_tensor_descs.Find(input.items[i].description);
    if (description == nullptr || !description->tiled()) continue;
    Fail(codes::kInvalidParam, "op-format",
         "input {} is described as ACL_FORMAT_FRACTAL_NZ, which models do not take; pass the matrix as it is",
         i);
  }
}

std::vector<ValueType> TypesFor(const Model& model, const Dataset& input) {
  RefuseTiles(input);
  if (model.file().gears.kind != Gears::kNone) {
    if (!input.gear.empty()) return model.TypesOfGear(input.gear);
    Fail(
        codes::kInvalidParam, "model-gear-none",
        "the model was built for several sizes and none was chosen; call aclmdlSetDynamicBatchSize, aclmdlSetDynamicHWSize or aclmdlSetInputDynamicDims first");
  }
  std::vector<ValueType> types = model.DeclaredTypes();
  for (size_t i = 0; i < types.size() && i < input.items.size(); ++i) {
    if (types[i].concrete()) continue;
    if (input.items[i].description != 0) {
      ApplyDescription(types[i], input.items[i].description, i);
    } else if (types[i].rank_known) {
      SizeFromBytes(types[i], BufferAt(input, i).bytes, i);
    }
  }
  return types;
}

void DescribeOutput(Dataset::Item& item, tensor::DType dtype, const tensor::Shape& shape) {
  tensor::TensorDesc* description = tensor::g_tensor_descs.Find(item.description);
  if (description == nullptr) {
    item.description = tensor::g_tensor_descs.Create(tensor::TensorDesc{});
    item.owns_description = true;
    description = tensor::g_tensor_descs.Find(item.description);
  }
  if (description == nullptr) return;
  description->dtype = dtype;
  description->format = description->storage_format = description->origin_format = tensor::Format::kND;
  description->dims = description->storage_dims = description->origin_dims = {shape.begin(), shape.end()};
}

void DescribeOutputs(const Instance& instance, Dataset& output) {
  for (size_t i = 0; i < instance.outputs().size(); ++i) {
    const ValueType& type = instance.outputs()[i].type;
    if (type.concrete()) DescribeOutput(output.items[i], type.dtype, type.shape);
  }
}

// The input that says which sizes are meant: a card reads it when the model runs, and the call that chooses
// fills it at once. Here nothing looks at what it holds. Without memory it is left alone.
Buffer ChoiceOf(const Dataset& dataset, size_t index) {
  if (index >= dataset.items.size()) return {};
  const tensor::DataBuffer& buffer = BufferAt(dataset, index);
  if (buffer.data == nullptr || buffer.bytes == 0) return {};
  rt::CheckDeviceRange(buffer.data, buffer.bytes, graph::kGearInputName);
  return {buffer.data, buffer.bytes};
}

// What only the execution could tell: shapes, and memory where the caller gave none.
void DeliverDynamic(Model& model, const graph::DynamicResult& result, Dataset& output) {
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const graph::HostTensor& value = *result.outputs[i];
    DescribeOutput(output.items[i], value.dtype(), value.shape());
    tensor::DataBuffer& buffer = BufferAt(output, i);
    if (buffer.data == nullptr) buffer = {model.Keep(value), value.bytes()};
  }
}

struct Enqueued {
  std::shared_ptr<Model> model;
  std::shared_ptr<Instance> instance;
  std::shared_ptr<graph::DynamicResult> result;
};

Enqueued Enqueue(uint32_t id, const Dataset& input, Dataset& output, rt::Stream& stream, bool waits) {
  Enqueued run{graph::FindModel(id), nullptr, nullptr};
  run.instance = run.model->InstanceFor(TypesFor(*run.model, input));
  const size_t gear_inputs = run.model->file().gears.kind == Gears::kNone ? 0 : 1;
  std::vector<Buffer> inputs = BuffersOf(input, run.instance->inputs().size(), gear_inputs, "input");
  std::vector<Buffer> outputs = BuffersOf(output, run.instance->outputs().size(), 0, "output");
  if (run.instance->dynamic() && waits) run.result = std::make_shared<graph::DynamicResult>();
  graph::Loan loan = run.model->BorrowMemory();
  loan.model = id;
  if (gear_inputs != 0) loan.choice = ChoiceOf(input, run.instance->inputs().size());
  run.instance->Execute(stream, inputs, outputs, run.result, loan);
  DescribeOutputs(*run.instance, output);
  return run;
}

// Observers are told that the thread is in a call that waits for the model.
class ExecutionScope {
 public:
  explicit ExecutionScope(uint32_t model) : model_(model) {
    rt::Observers::Tell([&](rt::Observer& o) { o.ExecutionBegan(model_); });
  }
  ~ExecutionScope() {
    rt::Observers::Tell([&](rt::Observer& o) { o.ExecutionEnded(model_); });
  }
  ExecutionScope(const ExecutionScope&) = delete;
  ExecutionScope& operator=(const ExecutionScope&) = delete;

 private:
  const uint32_t model_;
};

void RunAndWait(uint32_t id, const Dataset& input, Dataset& output, rt::Stream& stream, int32_t limit_ms) {
  RefuseInCallback("aclmdlExecute");
  const ExecutionScope scope(id);
  Enqueued run = Enqueue(id, input, output, stream, true);
  WaitForStream(stream, DeadlineOf(limit_ms), codes::kRtTaskTimeout);
  if (run.result != nullptr) DeliverDynamic(*run.model, *run.result, output);
}

void Choose(uint32_t id, Dataset& dataset, size_t index, Gears::Kind kind, std::vector<int64_t> gear) {
  std::shared_ptr<Model> model = graph::FindModel(id);
  ItemAt(dataset, index);
  if (model->file().gears.kind != kind) {
    Fail(codes::kGeDynamicBatchSizeInvalid, "model-gear-kind",
         "model {} was not built for sizes of this kind", id);
  }
  if (const size_t wanted = model->file().graph.inputs.size(); index != wanted) {
    Fail(codes::kInvalidParam, "model-gear-input",
         "index is {}; sizes are chosen by input {} ('{}', aclmdlGetInputIndexByName finds it)", index,
         wanted, graph::kGearInputName);
  }
  model->TypesOfGear(gear);  // throws for one that it was not built for
  const Buffer choice = ChoiceOf(dataset, index);
  if (choice.bytes != 0 && rt::Observers::any()) rt::TellHostWrites(choice.data, choice.bytes);
  dataset.gear = gear;
  model->Choose(std::move(gear));
}

}  // namespace

aclmdlDataset* aclmdlCreateDataset() { return AsNewHandle<aclmdlDataset*>(graph::g_datasets.Create()); }
void aclmdlDestroyDataset(const Dataset& dataset) {
  const HandleBits handle = graph::g_datasets.HandleOf(&dataset);
  graph::g_datasets.Destroy(handle);
  if (rt::Observers::any()) rt::TellDestroyed(handle);
}
void aclmdlAddDatasetBuffer(Dataset& dataset, aclDataBuffer* dataBuffer) {
  Need<tensor::DataBuffer>(dataBuffer, "dataBuffer");
  dataset.items.push_back({BitsOf(dataBuffer), 0, false});
}
size_t aclmdlGetDatasetNumBuffers(const Dataset& dataset) { return dataset.items.size(); }
aclDataBuffer* aclmdlGetDatasetBuffer(const Dataset& dataset, size_t index) {
  return index < dataset.items.size() ? AsHandle<aclDataBuffer*>(dataset.items[index].buffer) : nullptr;
}
void aclmdlSetDatasetTensorDesc(Dataset& dataset, aclTensorDesc* tensorDesc, size_t index) {
  Need<tensor::TensorDesc>(tensorDesc, "tensorDesc");
  Dataset::Item& item = ItemAt(dataset, index);
  if (item.owns_description) tensor::g_tensor_descs.Destroy(item.description);
  item.description = BitsOf(tensorDesc);
  item.owns_description = false;
}
aclTensorDesc* aclmdlGetDatasetTensorDesc(const Dataset& dataset, size_t index) {
  return index < dataset.items.size() ? AsHandle<aclTensorDesc*>(dataset.items[index].description) : nullptr;
}

void aclmdlExecute(uint32_t modelId, const Dataset& input, Dataset& output) {
  rt::Stream& stream = graph::FindModel(modelId)->OwnStream(rt::CurrentContext());
  RunAndWait(modelId, input, output, stream, -1);
}
void aclmdlExecuteAsync(uint32_t modelId, const Dataset& input, Dataset& output, rt::Stream& stream) {
  Enqueue(modelId, input, output, stream, false);
}
void aclmdlExecuteV2(uint32_t modelId, const Dataset& input, Dataset& output, rt::Stream& stream,
                     const graph::ExecConfig& handle) {
  RunAndWait(modelId, input, output, stream, handle.stream_timeout_ms);
}
void aclmdlExecuteAsyncV2(uint32_t modelId, const Dataset& input, Dataset& output, rt::Stream& stream,
                          const graph::ExecConfig&) {
  Enqueue(modelId, input, output, stream, false);
}

aclmdlExecConfigHandle* aclmdlCreateExecConfigHandle() {
  return AsNewHandle<aclmdlExecConfigHandle*>(graph::g_exec_configs.Create());
}
void aclmdlDestroyExecConfigHandle(const graph::ExecConfig& handle) {
  const HandleBits bits = graph::g_exec_configs.HandleOf(&handle);
  graph::g_exec_configs.Destroy(bits);
  if (rt::Observers::any()) rt::TellDestroyed(bits);
}
void aclmdlSetExecConfigOpt(graph::ExecConfig& handle, aclmdlExecConfigAttr attr, const void* attrValue,
                            size_t valueSize) {
  if (attr < ACL_MDL_STREAM_SYNC_TIMEOUT || attr > ACL_MDL_MEC_TIMETHR_SIZET) {
    Fail(codes::kInvalidParam, "config-attribute", "there is no attribute {}", static_cast<int>(attr));
  }
  bool limit = attr == ACL_MDL_STREAM_SYNC_TIMEOUT || attr == ACL_MDL_EVENT_SYNC_TIMEOUT;
  size_t wanted = limit ? sizeof(int32_t) : sizeof(size_t);
  if (valueSize != wanted)
    Fail(codes::kInvalidParam, "config-size", "the value has {} bytes; this attribute has {}", valueSize,
         wanted);
  if (!limit) return;
  int32_t milliseconds = *static_cast<const int32_t*>(attrValue);
  if (milliseconds < -1)
    Fail(codes::kInvalidParam, "config-time", "a time limit of {} ms; -1 means none", milliseconds);
  if (attr == ACL_MDL_STREAM_SYNC_TIMEOUT) handle.stream_timeout_ms = milliseconds;
}

void aclmdlSetDynamicBatchSize(uint32_t modelId, Dataset& dataset, size_t index, uint64_t batchSize) {
  Choose(modelId, dataset, index, Gears::kBatch, {static_cast<int64_t>(batchSize)});
}
void aclmdlSetDynamicHWSize(uint32_t modelId, Dataset& dataset, size_t index, uint64_t height,
                            uint64_t width) {
  Choose(modelId, dataset, index, Gears::kImage, {static_cast<int64_t>(height), static_cast<int64_t>(width)});
}
// The numbers of all inputs; those that were open make the gear.
void aclmdlSetInputDynamicDims(uint32_t modelId, Dataset& dataset, size_t index, const aclmdlIODims* dims) {
  std::vector<int64_t> gear;
  size_t next = 0;
  for (const ValueType& type : graph::FindModel(modelId)->DeclaredTypes()) {
    for (int64_t size : type.shape) {
      if (next == dims->dimCount || next == ACL_MAX_DIM_CNT)
        Fail(codes::kInvalidParam, "model-gear-sizes", "dims has {} sizes; the inputs have more",
             dims->dimCount);
      int64_t given = dims->dims[next++];
      if (size < 0) gear.push_back(given);
    }
  }
  if (next != dims->dimCount)
    Fail(codes::kInvalidParam, "model-gear-sizes", "dims has {} sizes; the inputs have {}", dims->dimCount,
         next);
  Choose(modelId, dataset, index, Gears::kDims, std::move(gear));
}

}  // namespace belay::api
