// Single operators by name.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"
#include "api/convert.h"
#include "api/handlers.h"
#include "api/refuse.h"
#include "api/run_op.h"
#include "api/wait.h"
#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "graph/option_table.h"
#include "graph/single_op_model.h"
#include "graph/tiled_ports.h"
#include "runtime/callback_pool.h"
#include "runtime/context.h"
#include "runtime/memory.h"

namespace belay::api {
namespace {

using graph::Buffer;
using graph::OpArgument;
using graph::OpAttributes;
using graph::OpHandle;
using graph::SingleOp;
using graph::ValueType;
using tensor::DType;
using tensor::TensorDesc;

using DescList = const aclTensorDesc* const*;
using BufferList = const aclDataBuffer* const*;

void CheckList(int count, const void* list, const char* what) {
  if (count < 0 || (count > 0 && list == nullptr)) {
    Fail(codes::kInvalidParam, "op-arguments", "there are {} {}, but the array of them is {}", count, what,
         list);
  }
}

ValueType TypeOfDesc(const TensorDesc& desc) {
  if (desc.dims.size() > tensor::kMaxRank) {
    Fail(codes::kGeShapeInvalid, "op-rank", "a tensor has {} dimensions; eight are supported",
         desc.dims.size());
  }
  return {desc.dtype, desc.format, desc.rank_is_known(),
          tensor::Shape::Of(desc.dims.data(), static_cast<int>(desc.dims.size()))};
}

// A description in the tiles of a card has the matrix as its shape, and the tiles as that of its storage.
std::vector<int64_t> TilesOf(const TensorDesc& desc) {
  if (!desc.tiled()) return {};
  const ValueType type = TypeOfDesc(desc);
  if (desc.format == tensor::Format::kFractalNZ || desc.is_constant || !type.concrete() ||
      !graph::TilesFit(desc.storage_dims, type.shape)) {
    Fail(
        codes::kInvalidParam, "op-format",
        "a tensor of shape {} is of ACL_FORMAT_FRACTAL_NZ, and its storage is not that of a matrix in tiles; describe the "
        "matrix with a plain format, then its tiles [.., n / width, m / 16, 16, width] with aclSetTensorFormat and "
        "aclSetTensorShape",
        type.shape.ToString());
  }
  return desc.storage_dims;
}

// A member of an array of handles.
template <class T, class Handle>
T& Member(Handle handle, const char* what) {
  if (handle == nullptr) RefuseNull(what, codes::kInvalidParam);
  return Need<T>(const_cast<std::remove_const_t<std::remove_pointer_t<Handle>>*>(handle), what);
}

bool IsOnHost(const TensorDesc& desc) { return desc.placement != ACL_MEMTYPE_DEVICE; }

// A missing optional argument is described as having no type.
OpArgument ArgumentOf(const TensorDesc& desc) {
  OpArgument argument;
  argument.present = desc.dtype != DType::kUndefined;
  if (!argument.present) return argument;
  argument.type = TypeOfDesc(desc);
  argument.on_host = IsOnHost(desc);
  argument.tiles = TilesOf(desc);
  if (desc.is_constant) {
    auto value = std::make_shared<graph::HostTensor>(desc.dtype, argument.type.shape);
    if (desc.constant.size() < value->bytes()) {
      Fail(codes::kInvalidParam, "op-constant-short",
           "aclSetTensorConst gave {} bytes of a constant of shape {}, which has {}; give all of them",
           desc.constant.size(), argument.type.shape.ToString(), value->bytes());
    }
    std::copy_n(desc.constant.begin(), value->bytes(), value->mutable_data());
    argument.value = std::move(value);
  }
  return argument;
}

SingleOp OpOf(const char* type, int inputs, DescList inputDesc, int outputs, DescList outputDesc,
              const OpAttributes* attributes) {
  CheckList(inputs, inputDesc, "inputs");
  CheckList(outputs, outputDesc, "outputs");
  SingleOp op{type, {}, outputs, {}};
  for (int i = 0; i < inputs; ++i)
    op.inputs.push_back(ArgumentOf(Member<TensorDesc>(inputDesc[i], "inputDesc[]")));
  for (int i = 0; i < outputs; ++i) {
    const auto& desc = Member<TensorDesc>(outputDesc[i], "outputDesc[]");
    op.results.push_back(TypeOfDesc(desc));
    op.result_tiles.push_back(TilesOf(desc));
  }
  if (attributes != nullptr) op.attributes = attributes->values;
  graph::FitPads(op);
  return op;
}

Buffer CheckedBuffer(const tensor::DataBuffer& buffer, bool on_host, const char* what) {
  if (buffer.data != nullptr && buffer.bytes != 0) {
    if (on_host) {
      rt::CheckRange(buffer.data, buffer.bytes, what);
    } else {
      rt::CheckDeviceRange(buffer.data, buffer.bytes, what);
    }
  }
  return {buffer.data, buffer.bytes, on_host};
}

Buffer BufferOf(const aclDataBuffer* handle, bool on_host, const char* what) {
  return CheckedBuffer(Member<tensor::DataBuffer>(handle, what), on_host, what);
}

std::shared_ptr<graph::Instance> Execute(const SingleOp& op, BufferList inputs, BufferList outputs,
                                         rt::Stream& stream,
                                         std::shared_ptr<graph::DynamicResult> result = nullptr) {
  std::vector<Buffer> in, out;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const OpArgument& input = op.inputs[i];
    if (input.present && input.value == nullptr) in.push_back(BufferOf(inputs[i], input.on_host, "inputs[]"));
  }
  for (int i = 0; i < op.outputs; ++i) out.push_back(BufferOf(outputs[i], false, "outputs[]"));
  return RunOp(op, in, out, stream, std::move(result));
}

// Programs that compile and run an operator in one call copy its result with aclrtMemcpy, which waits for no
// stream: onnxruntime does. A card is done by then; so are we, unless the stream waits for something.
void LetRun(rt::Stream& stream, bool alone) {
  constexpr int64_t kSlice = 1'000'000;
  if (stream.capture() != nullptr || rt::InCallback()) return;
  const uint64_t position = stream.tail();
  while (!stream.HostSees(position)) {
    rt::ParkReason reason = stream.parked_at().reason;
    bool own_launch = alone && reason == rt::ParkReason::kLaunch;
    if (reason != rt::ParkReason::kNone && !own_launch) return;
    WaitUntil(stream, position, NowNs() + kSlice);
  }
}

void WriteShape(aclTensorDesc* handle, const ValueType& type) {
  auto& desc = Need<TensorDesc>(handle, "outputDesc[]");
  desc.dtype = type.dtype;
  desc.dims = desc.storage_dims = desc.origin_dims = {type.shape.begin(), type.shape.end()};
}

constexpr int64_t kForever = -1;

// Compiled by this call, or something that was loaded or compiled before.
enum class Made { kNow, kBefore };

void RunMade(Made made, const char* type, int inputs, DescList inputDesc, BufferList in, int outputs,
             DescList outputDesc, aclDataBuffer* const* out, const OpAttributes* attributes,
             rt::Stream& stream) {
  SingleOp op = OpOf(type, inputs, inputDesc, outputs, outputDesc, attributes);
  if (made == Made::kBefore) graph::NeedLoaded(stream.context().device(), op);
  CheckList(inputs, in, "inputs");
  CheckList(outputs, out, "outputs");
  Execute(op, in, out, stream);
}

template <class Submit>
void AtOnce(rt::Stream& stream, const Submit& submit) {
  const bool alone = stream.Idle();
  submit();
  LetRun(stream, alone);
}

void RunAndDescribe(Made made, const char* type, int inputs, aclTensorDesc** inputDesc, aclDataBuffer** in,
                    int outputs, aclTensorDesc** outputDesc, aclDataBuffer** out,
                    const OpAttributes* attributes, rt::Stream& stream) {
  SingleOp op = OpOf(type, inputs, inputDesc, outputs, outputDesc, attributes);
  if (made == Made::kBefore) graph::NeedLoaded(stream.context().device(), op);
  const auto is_tiled = [](const std::vector<int64_t>& tiles) { return !tiles.empty(); };
  if (std::any_of(op.result_tiles.begin(), op.result_tiles.end(), is_tiled)) {
    Fail(codes::kInvalidParam, "op-format",
         "a result whose shape this call tells is of ACL_FORMAT_FRACTAL_NZ; describe it with a plain format");
  }
  for (ValueType& described : op.results)
    described = {described.dtype, described.format, false, {}};  // the shape is written, not read
  CheckList(inputs, in, "inputs");
  CheckList(outputs, out, "outputs");
  auto result = std::make_shared<graph::DynamicResult>();
  auto instance = Execute(op, in, out, stream, result);
  for (size_t i = 0; i < instance->outputs().size(); ++i) {
    if (instance->outputs()[i].type.concrete()) WriteShape(outputDesc[i], instance->outputs()[i].type);
  }
  if (!instance->dynamic() || stream.capture() != nullptr || rt::InCallback()) return;
  WaitUntil(stream, stream.tail(), kForever);
  for (size_t i = 0; i < result->outputs.size(); ++i) {
    const graph::HostTensor& output = *result->outputs[i];
    WriteShape(outputDesc[i], {output.dtype(), graph::Format::kND, true, output.shape()});
  }
}

template <class T, class From>
std::vector<T> ListOf(int count, const From* values) {
  CheckList(count, values, "values");
  return {values, values + count};
}

SingleOp CastOp(const TensorDesc& from, const TensorDesc& to) {
  SingleOp op{"Cast", {ArgumentOf(from)}, 1, {}, {TypeOfDesc(to)}, {TilesOf(to)}};
  op.attributes["dst_type"] = to.dtype;
  return op;
}

struct CompileOptions {
  std::mutex lock;
  std::map<int, std::string> values;
};
CompileOptions& TheCompileOptions() { return PerProcess<CompileOptions>::Get(); }

// As it was set, or the default; empty where no page names one.
std::string ValueOf(aclCompileOpt opt) {
  {
    std::lock_guard guard(TheCompileOptions().lock);
    auto it = TheCompileOptions().values.find(opt);
    if (it != TheCompileOptions().values.end() && !it->second.empty()) return it->second;
  }
  // Operators are not compiled when they are called; torch_npu asks for this, and calls aclnn functions when
  // it is so.
  if (opt == ACL_OP_JIT_COMPILE) return "disable";
  return opt == ACL_PRECISION_MODE ? "allow_fp32_to_fp16" : "";
}

const graph::OptionRow& CheckedOption(aclCompileOpt opt) {
  if (const graph::OptionRow* row = graph::FindCompileOption(opt)) return *row;
  Fail(codes::kInvalidParam, "op-compile-option", "there is no option {}; they are {} to {} (aclCompileOpt)",
       static_cast<int>(opt), static_cast<int>(ACL_PRECISION_MODE), static_cast<int>(ACL_OP_DEBUG_OPTION));
}

}  // namespace

aclopAttr* aclopCreateAttr() { return AsHandle<aclopAttr*>(graph::g_op_attributes.Create()); }
void aclopDestroyAttr(const OpAttributes& attr) {
  graph::g_op_attributes.Destroy(graph::g_op_attributes.HandleOf(&attr));
}
void aclopSetAttrBool(OpAttributes& attr, const char* attrName, uint8_t attrValue) {
  attr.values[attrName] = attrValue != 0;
}
void aclopSetAttrInt(OpAttributes& attr, const char* attrName, int64_t attrValue) {
  attr.values[attrName] = attrValue;
}
void aclopSetAttrFloat(OpAttributes& attr, const char* attrName, float attrValue) {
  attr.values[attrName] = static_cast<double>(attrValue);
}
void aclopSetAttrString(OpAttributes& attr, const char* attrName, const char* attrValue) {
  attr.values[attrName] = std::string(attrValue);
}
void aclopSetAttrDataType(OpAttributes& attr, const char* attrName, aclDataType attrValue) {
  attr.values[attrName] = static_cast<DType>(attrValue);
}
void aclopSetAttrListBool(OpAttributes& attr, const char* attrName, int numValues, const uint8_t* values) {
  attr.values[attrName] = ListOf<int64_t>(numValues, values);
}
void aclopSetAttrListInt(OpAttributes& attr, const char* attrName, int numValues, const int64_t* values) {
  attr.values[attrName] = ListOf<int64_t>(numValues, values);
}
void aclopSetAttrListFloat(OpAttributes& attr, const char* attrName, int numValues, const float* values) {
  attr.values[attrName] = ListOf<double>(numValues, values);
}
void aclopSetAttrListDataType(OpAttributes& attr, const char* attrName, int numValues,
                              const aclDataType values[]) {
  attr.values[attrName] = ListOf<int64_t>(numValues, values);
}
void aclopSetAttrListString(OpAttributes& attr, const char* attrName, int numValues, const char** values) {
  CheckList(numValues, values, "values");
  for (int i = 0; i < numValues; ++i) {
    if (values[i] == nullptr) RefuseNull("values[]", codes::kInvalidParam);
  }
  attr.values[attrName] = ListOf<std::string>(numValues, values);
}
void aclopSetAttrListListInt(OpAttributes& attr, const char* attrName, int numLists, const int* numValues,
                             const int64_t* const values[]) {
  auto lengths = ListOf<int64_t>(numLists, numValues);
  CheckList(numLists, values, "lists");
  std::vector<int64_t> all;
  for (int i = 0; i < numLists; ++i) {
    auto list = ListOf<int64_t>(numValues[i], values[i]);
    all.insert(all.end(), list.begin(), list.end());
  }
  attr.values[attrName] = std::move(all);
  attr.values[std::string(attrName) + ".lengths"] = std::move(lengths);
}

void aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                            const aclDataBuffer* const inputs[], int numOutputs,
                            const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                            const OpAttributes* attr, aclopEngineType, aclopCompileType, const char*,
                            rt::Stream& stream) {
  AtOnce(stream, [&] {
    RunMade(Made::kNow, opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr, stream);
  });
}
void aclopExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                  const aclDataBuffer* const inputs[], int numOutputs,
                  const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                  const OpAttributes* attr, rt::Stream& stream) {
  RunMade(Made::kBefore, opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr, stream);
}
void aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                              aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                              aclDataBuffer* outputs[], OpAttributes* attr, aclopEngineType, aclopCompileType,
                              const char*, rt::Stream& stream) {
  AtOnce(stream, [&] {
    RunAndDescribe(Made::kNow, opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr,
                   stream);
  });
}
void aclopExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[], aclDataBuffer* inputs[],
                    int numOutputs, aclTensorDesc* outputDesc[], aclDataBuffer* outputs[], OpAttributes* attr,
                    rt::Stream& stream) {
  RunAndDescribe(Made::kBefore, opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr,
                 stream);
}
void aclopCompile(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], int numOutputs,
                  const aclTensorDesc* const outputDesc[], const OpAttributes* attr, aclopEngineType,
                  aclopCompileType, const char*) {
  graph::InstanceOf(rt::CurrentContext().device(),
                    OpOf(opType, numInputs, inputDesc, numOutputs, outputDesc, attr));
}

void aclopInferShape(const char* opType, int numInputs, aclTensorDesc* inputDesc[], aclDataBuffer* inputs[],
                     int numOutputs, aclTensorDesc* outputDesc[], OpAttributes* attr) {
  SingleOp op = OpOf(opType, numInputs, inputDesc, numOutputs, outputDesc, attr);
  for (size_t i = 0; i < op.inputs.size() && inputs != nullptr; ++i) {
    OpArgument& input = op.inputs[i];
    if (!input.present || input.value != nullptr || !input.type.concrete()) continue;
    Buffer buffer = BufferOf(inputs[i], true, "inputs[]");  // they are read here
    size_t bytes = graph::PackedBytes(input.type.dtype, CountOf(input.type.shape));
    if (buffer.data == nullptr || buffer.bytes < bytes) continue;
    input.value = std::make_shared<graph::HostTensor>(input.type.dtype, input.type.shape,
                                                      rt::View(buffer.data, bytes), nullptr);
  }
  std::vector<ValueType> types = graph::InferOutputs(op);
  for (size_t i = 0; i < types.size(); ++i) WriteShape(outputDesc[i], types[i]);
}

void aclopCreateHandle(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                       int numOutputs, const aclTensorDesc* const outputDesc[], const OpAttributes* opAttr,
                       aclopHandle** handle) {
  *handle = NewOpHandle(OpOf(opType, numInputs, inputDesc, numOutputs, outputDesc, opAttr));
}
void aclopCreateHandleForCast(TensorDesc& srcDesc, TensorDesc& dstDesc, uint8_t, aclopHandle** handle) {
  *handle = NewOpHandle(CastOp(srcDesc, dstDesc));
}
void aclopDestroyHandle(OpHandle& handle) {
  graph::g_op_handles.Destroy(graph::g_op_handles.HandleOf(&handle));
}
void aclopExecWithHandle(OpHandle& handle, int numInputs, const aclDataBuffer* const inputs[], int numOutputs,
                         aclDataBuffer* const outputs[], rt::Stream& stream) {
  if (static_cast<size_t>(numInputs) != handle.op.inputs.size() || numOutputs != handle.op.outputs) {
    Fail(codes::kInvalidParam, "op-arguments",
         "the handle has {} inputs and {} outputs; {} and {} were passed", handle.op.inputs.size(),
         handle.op.outputs, numInputs, numOutputs);
  }
  CheckList(numInputs, inputs, "inputs");
  CheckList(numOutputs, outputs, "outputs");
  Execute(handle.op, inputs, outputs, stream);
}

void aclopCast(const TensorDesc& srcDesc, const tensor::DataBuffer& srcBuffer, const TensorDesc& dstDesc,
               tensor::DataBuffer& dstBuffer, uint8_t, rt::Stream& stream) {
  SingleOp op = CastOp(srcDesc, dstDesc);
  graph::NeedLoaded(stream.context().device(), op);
  RunOp(op, {CheckedBuffer(srcBuffer, IsOnHost(srcDesc), "srcBuffer")},
        {CheckedBuffer(dstBuffer, false, "dstBuffer")}, stream);
}

void aclopSetModelDir(const char* modelDir) { graph::LoadSingleOps(modelDir); }
void aclopLoad(const void* model, size_t modelSize) {
  graph::LoadSingleOp(graph::SingleOpOf(graph::ReadModelCopy(model, modelSize)));
}
void aclopSetMaxOpQueueNum(uint64_t maxOpNum) {
  if (maxOpNum == 0) Fail(codes::kInvalidParam, "op-queue", "maxOpNum must be at least 1");
  graph::SetMostKept(maxOpNum);
}
void aclopSetCompileFlag(aclOpCompileFlag flag) {
  if (flag != ACL_OP_COMPILE_DEFAULT && flag != ACL_OP_COMPILE_FUZZ) {
    Fail(codes::kInvalidParam, "op-compile-flag", "there is no flag {}", static_cast<int>(flag));
  }
}

void aclSetCompileopt(aclCompileOpt opt, const char* value) {
  const graph::OptionRow& row = CheckedOption(opt);
  const std::string wanted = *value == '\0' ? "" : graph::Wanted(row, value);  // empty: as if it were not set
  if (!wanted.empty()) {
    Fail(codes::kInvalidParam, "op-compile-option-value",
         "option {} of aclCompileOpt{} is '{}'; it must be {}", static_cast<int>(opt),
         *row.flag == '\0' ? "" : fmt::format(" ({})", row.flag), value, wanted);
  }
  std::lock_guard guard(TheCompileOptions().lock);
  TheCompileOptions().values[opt] = value;
}
size_t aclGetCompileoptSize(aclCompileOpt opt) {
  return graph::FindCompileOption(opt) == nullptr ? 0 : ValueOf(opt).size() + 1;
}
void aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  CheckedOption(opt);
  const std::string text = ValueOf(opt);
  if (length < text.size() + 1)
    Fail(codes::kInvalidParam, "op-compile-option-size", "length is {}; the value needs {}", length,
         text.size() + 1);
  std::copy_n(text.c_str(), text.size() + 1, value);
}

}  // namespace belay::api
