// Loading and describing models.
#include "graph/model.h"
#include "base/codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "acl/acl_mdl.h"
#include "api/convert.h"
#include "api/handlers.h"
#include "base/error.h"
#include "graph/passes/editor.h"
#include "runtime/context.h"
#include "runtime/observer.h"

namespace belay::api {
namespace {

using graph::Buffer;
using graph::Model;
using graph::ModelConfig;
using graph::ModelDescription;
using graph::ModelFile;
using graph::ModelPort;

void Load(ModelFile file, uint32_t* id, Buffer work = {}, Buffer weights = {}) {
  rt::Device& device = rt::CurrentContext().device();
  *id = graph::AddModel(std::make_shared<Model>(device, std::move(file), work, weights));
  if (rt::Observers::any()) rt::TellCreated(*id);
}

// All of them, or none.
void LoadBundle(std::vector<ModelFile> files, uint32_t* id) {
  rt::Device& device = rt::CurrentContext().device();
  std::vector<std::shared_ptr<Model>> models;
  for (ModelFile& file : files) models.push_back(std::make_shared<Model>(device, std::move(file)));
  *id = graph::AddBundle(std::move(models));
  if (!rt::Observers::any()) return;
  for (uint32_t model : graph::ModelsOfBundle(*id)) rt::TellCreated(model);
}

void QuerySize(const ModelFile& file, size_t* work, size_t* weights) {
  graph::Needs needs = graph::NeedsOf(file);
  *work = graph::BytesAskedFor(needs.work_bytes);
  *weights = graph::BytesAskedFor(needs.weight_bytes);
}

const ModelPort& PortAt(const std::vector<ModelPort>& ports, size_t index, const char* what) {
  if (index < ports.size()) return ports[index];
  Fail(codes::kInvalidParam, "model-index", "there is no {} {}; the model has {}", what, index, ports.size());
}

// A name that does not fit aclmdlIODims is told as another, which aclmdlGetTensorRealName brings back.
constexpr size_t kLongestShownName = ACL_MAX_TENSOR_NAME_LEN - 1;

bool IsNameIn(const ModelDescription& description, const std::string& name) {
  for (const auto* ports : {&description.inputs, &description.outputs}) {
    if (std::any_of(ports->begin(), ports->end(), [&](const ModelPort& p) { return p.name == name; }))
      return true;
  }
  return false;
}

std::string ShownName(const ModelDescription& description, const std::vector<ModelPort>& ports,
                      size_t index) {
  if (ports[index].name.size() <= kLongestShownName) return ports[index].name;
  std::string shown = fmt::format("acl_modelId_{}_{}_{}", description.model_id,
                                  &ports == &description.inputs ? "input" : "output", index);
  while (IsNameIn(description, shown)) shown += "_other";
  return shown;
}

void FillDims(const std::string& name, const tensor::Shape& shape, bool rank_known, aclmdlIODims* dims) {
  std::memset(dims, 0, sizeof *dims);
  std::strncpy(dims->name, name.c_str(), sizeof dims->name - 1);
  dims->dimCount = static_cast<size_t>(shape.rank());
  std::copy(shape.begin(), shape.end(), dims->dims);
  if (rank_known) return;
  dims->dimCount = 1;
  dims->dims[0] = -1;
}

void InputDims(const ModelDescription& description, const std::vector<tensor::Shape>& shapes, size_t index,
               aclmdlIODims* dims) {
  const ModelPort& port = PortAt(description.inputs, index, "input");
  FillDims(ShownName(description, description.inputs, index), shapes[index], port.type.rank_known, dims);
}

void OutputDims(const ModelDescription& description, size_t index, aclmdlIODims* dims) {
  const ModelPort& port = PortAt(description.outputs, index, "output");
  FillDims(ShownName(description, description.outputs, index), port.type.shape, port.type.rank_known, dims);
}

size_t IndexOf(const std::vector<ModelPort>& ports, const char* name, const char* what) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
  }
  Fail(codes::kInvalidParam, "model-name", "the model has no {} called '{}'", what, name);
}

void NeedNoIndex(size_t index) {
  if (index == static_cast<size_t>(-1)) return;
  Fail(codes::kInvalidParam, "model-gear-index",
       "index is {}; gears belong to the whole model, so it must be -1", index);
}

constexpr int32_t kLowestPriority = 7;

template <class T>
void TakeValue(T* to, const void* value, size_t size) {
  if (size != sizeof *to)
    Fail(codes::kInvalidParam, "config-size", "the value has {} bytes; this attribute has {}", size,
         sizeof *to);
  std::memcpy(to, value, size);
}

}  // namespace

void aclmdlQuerySize(const char* fileName, size_t* workSize, size_t* weightSize) {
  QuerySize(graph::ReadModelFile(fileName), workSize, weightSize);
}
void aclmdlQuerySizeFromMem(const void* model, size_t modelSize, size_t* workSize, size_t* weightSize) {
  QuerySize(graph::ReadModelCopy(model, modelSize), workSize, weightSize);
}
void aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId) {
  Load(graph::ReadModelFile(modelPath), modelId);
}
void aclmdlLoadFromMem(const void* model, size_t modelSize, uint32_t* modelId) {
  Load(graph::ReadModelCopy(model, modelSize), modelId);
}
void aclmdlLoadFromFileWithMem(const char* modelPath, uint32_t* modelId, void* workPtr, size_t workSize,
                               void* weightPtr, size_t weightSize) {
  Load(graph::ReadModelFile(modelPath), modelId, {workPtr, workSize}, {weightPtr, weightSize});
}
void aclmdlLoadFromMemWithMem(const void* model, size_t modelSize, uint32_t* modelId, void* workPtr,
                              size_t workSize, void* weightPtr, size_t weightSize) {
  Load(graph::ReadModelCopy(model, modelSize), modelId, {workPtr, workSize}, {weightPtr, weightSize});
}

aclmdlConfigHandle* aclmdlCreateConfigHandle() {
  return AsHandle<aclmdlConfigHandle*>(graph::g_model_configs.Create());
}
void aclmdlDestroyConfigHandle(ModelConfig& handle) {
  graph::g_model_configs.Destroy(graph::g_model_configs.HandleOf(&handle));
}

void aclmdlSetConfigOpt(ModelConfig& config, aclmdlConfigAttr attr, const void* attrValue, size_t valueSize) {
  switch (attr) {
    case ACL_MDL_PRIORITY_INT32: {
      int32_t priority = 0;
      TakeValue(&priority, attrValue, valueSize);
      if (priority < 0 || priority > kLowestPriority) {
        Fail(codes::kInvalidParam, "config-priority", "the priority is {}; it is 0, the highest, to {}",
             priority, kLowestPriority);
      }
      config.priority = priority;
      return;
    }
    case ACL_MDL_LOAD_TYPE_SIZET:
      return TakeValue(&config.load_type, attrValue, valueSize);
    case ACL_MDL_MEM_ADDR_PTR:
      return TakeValue(&config.model, attrValue, valueSize);
    case ACL_MDL_MEM_SIZET:
      return TakeValue(&config.model_bytes, attrValue, valueSize);
    case ACL_MDL_WEIGHT_ADDR_PTR:
      return TakeValue(&config.weights, attrValue, valueSize);
    case ACL_MDL_WEIGHT_SIZET:
      return TakeValue(&config.weight_bytes, attrValue, valueSize);
    case ACL_MDL_WORKSPACE_ADDR_PTR:
      return TakeValue(&config.work, attrValue, valueSize);
    case ACL_MDL_WORKSPACE_SIZET:
      return TakeValue(&config.work_bytes, attrValue, valueSize);
    case ACL_MDL_PATH_PTR: {
      const char* path = nullptr;
      TakeValue(&path, attrValue, valueSize);
      config.path = path == nullptr ? "" : path;
      return;
    }
    case ACL_MDL_WORKSPACE_MEM_OPTIMIZE:
    case ACL_MDL_MEM_MALLOC_POLICY_SIZET:  // one pool serves every policy
      return;
    default:
      Fail(attr > ACL_MDL_PRIORITY_INT32 && attr <= ACL_MDL_WITHOUT_GRAPH_INT32 ? codes::kApiNotSupport
                                                                                : codes::kInvalidParam,
           "config-attribute", "attribute {} is not supported; models are loaded from a file or from memory",
           static_cast<int>(attr));
  }
}

void aclmdlLoadWithConfig(const ModelConfig& config, uint32_t* modelId) {
  bool from_file =
      config.load_type == ACL_MDL_LOAD_FROM_FILE || config.load_type == ACL_MDL_LOAD_FROM_FILE_WITH_MEM;
  bool from_memory =
      config.load_type == ACL_MDL_LOAD_FROM_MEM || config.load_type == ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
  if (!from_file && !from_memory) {
    bool queues =
        config.load_type == ACL_MDL_LOAD_FROM_FILE_WITH_Q || config.load_type == ACL_MDL_LOAD_FROM_MEM_WITH_Q;
    Fail(
        queues ? codes::kApiNotSupport : codes::kInvalidParam, "config-load-type",
        "ACL_MDL_LOAD_TYPE_SIZET is {}; set it to one of ACL_MDL_LOAD_FROM_FILE, _MEM and their _WITH_MEM forms",
        config.load_type);
  }
  if (from_file ? config.path.empty() : config.model == nullptr) {
    Fail(codes::kInvalidParam, "config-missing", "the configuration lacks {}",
         from_file ? "ACL_MDL_PATH_PTR" : "ACL_MDL_MEM_ADDR_PTR");
  }
  ModelFile file =
      from_file ? graph::ReadModelFile(config.path) : graph::ReadModelCopy(config.model, config.model_bytes);
  Load(std::move(file), modelId, {config.work, config.work_bytes},
       {const_cast<void*>(static_cast<const void*>(config.weights)), config.weight_bytes});
}

void aclmdlUnload(uint32_t modelId) { graph::RemoveModel(modelId); }

// --- bundles

void aclmdlBundleLoadFromFile(const char* modelPath, uint32_t* bundleId) {
  LoadBundle(graph::ReadBundleFile(modelPath), bundleId);
}
void aclmdlBundleLoadFromMem(const void* model, size_t modelSize, uint32_t* bundleId) {
  LoadBundle(graph::ReadBundleCopy(model, modelSize), bundleId);
}
void aclmdlBundleUnload(uint32_t bundleId) { graph::RemoveBundle(bundleId); }
void aclmdlBundleGetModelNum(uint32_t bundleId, size_t* modelNum) {
  *modelNum = graph::ModelsOfBundle(bundleId).size();
}
void aclmdlBundleGetModelId(uint32_t bundleId, size_t index, uint32_t* modelId) {
  std::vector<uint32_t> models = graph::ModelsOfBundle(bundleId);
  if (index >= models.size())
    Fail(codes::kInvalidParam, "model-bundle-index", "there is no model {}; the bundle has {}", index,
         models.size());
  *modelId = models[index];
}

// --- description

aclmdlDesc* aclmdlCreateDesc() { return AsNewHandle<aclmdlDesc*>(graph::g_model_descriptions.Create()); }
void aclmdlDestroyDesc(ModelDescription& modelDesc) {
  const HandleBits handle = graph::g_model_descriptions.HandleOf(&modelDesc);
  graph::g_model_descriptions.Destroy(handle);
  if (rt::Observers::any()) rt::TellDestroyed(handle);
}
void aclmdlGetDesc(ModelDescription& modelDesc, uint32_t modelId) {
  modelDesc = graph::FindModel(modelId)->description();
  modelDesc.model_id = modelId;
}
void aclmdlGetDescFromFile(ModelDescription& modelDesc, const char* modelPath) {
  modelDesc = graph::Describe(graph::ReadModelFile(modelPath));
}
void aclmdlGetDescFromMem(ModelDescription& modelDesc, const void* model, size_t modelSize) {
  modelDesc = graph::Describe(graph::ReadModelCopy(model, modelSize));
}

size_t aclmdlGetNumInputs(ModelDescription& modelDesc) { return modelDesc.inputs.size(); }
size_t aclmdlGetNumOutputs(ModelDescription& modelDesc) { return modelDesc.outputs.size(); }
size_t aclmdlGetInputSizeByIndex(ModelDescription& modelDesc, size_t index) {
  return PortAt(modelDesc.inputs, index, "input").bytes;
}
size_t aclmdlGetOutputSizeByIndex(ModelDescription& modelDesc, size_t index) {
  return PortAt(modelDesc.outputs, index, "output").bytes;
}
void aclmdlGetInputDims(const ModelDescription& modelDesc, size_t index, aclmdlIODims* dims) {
  InputDims(modelDesc, modelDesc.declared, index, dims);
}
void aclmdlGetInputDimsV2(const ModelDescription& modelDesc, size_t index, aclmdlIODims* dims) {
  InputDims(modelDesc, modelDesc.passed, index, dims);
}
void aclmdlGetOutputDims(const ModelDescription& modelDesc, size_t index, aclmdlIODims* dims) {
  OutputDims(modelDesc, index, dims);
}
void aclmdlGetCurOutputDims(const ModelDescription& modelDesc, size_t index, aclmdlIODims* dims) {
  std::shared_ptr<Model> model = graph::FindLoaded(modelDesc.model_id);
  std::vector<int64_t> gear = model == nullptr ? std::vector<int64_t>() : model->chosen_gear();
  if (gear.empty()) return OutputDims(modelDesc, index, dims);
  std::vector<ModelPort> outputs = model->InstanceFor(model->TypesOfGear(gear))->outputs();
  const ModelPort& port = PortAt(outputs, index, "output");
  FillDims(ShownName(modelDesc, modelDesc.outputs, index), port.type.shape, port.type.rank_known, dims);
}
void aclmdlGetInputDimsRange(const ModelDescription& modelDesc, size_t index, aclmdlIODimsRange* dimsRange) {
  PortAt(modelDesc.inputs, index, "input");
  const graph::SizeRanges& ranges = modelDesc.ranges[index];
  dimsRange->rangeCount = ranges.size();
  for (size_t i = 0; i < ranges.size(); ++i) {
    dimsRange->range[i][0] = ranges[i].least;
    dimsRange->range[i][1] = ranges[i].most;
  }
}
const char* aclmdlGetInputNameByIndex(const ModelDescription& modelDesc, size_t index) {
  return PortAt(modelDesc.inputs, index, "input").name.c_str();
}
const char* aclmdlGetOutputNameByIndex(const ModelDescription& modelDesc, size_t index) {
  return PortAt(modelDesc.outputs, index, "output").name.c_str();
}
void aclmdlGetInputIndexByName(const ModelDescription& modelDesc, const char* name, size_t* index) {
  *index = IndexOf(modelDesc.inputs, name, "input");
}
void aclmdlGetOutputIndexByName(const ModelDescription& modelDesc, const char* name, size_t* index) {
  *index = IndexOf(modelDesc.outputs, name, "output");
}
const char* aclmdlGetTensorRealName(const ModelDescription& modelDesc, const char* name) {
  for (const auto* ports : {&modelDesc.inputs, &modelDesc.outputs}) {
    for (size_t i = 0; i < ports->size(); ++i) {
      const std::string& real = (*ports)[i].name;
      if (real == name || ShownName(modelDesc, *ports, i) == name) return real.c_str();
    }
  }
  return nullptr;
}
const char* aclmdlGetOpAttr(ModelDescription& modelDesc, const char* opName, const char* attr) {
  auto it = modelDesc.origins.find(opName);
  return it == modelDesc.origins.end() || std::strcmp(attr, graph::kOriginsAttribute) != 0
             ? ""
             : it->second.c_str();
}
aclFormat aclmdlGetInputFormat(const ModelDescription& modelDesc, size_t index) {
  return static_cast<aclFormat>(PortAt(modelDesc.inputs, index, "input").type.format);
}
aclFormat aclmdlGetOutputFormat(const ModelDescription& modelDesc, size_t index) {
  return static_cast<aclFormat>(PortAt(modelDesc.outputs, index, "output").type.format);
}
aclDataType aclmdlGetInputDataType(const ModelDescription& modelDesc, size_t index) {
  return static_cast<aclDataType>(PortAt(modelDesc.inputs, index, "input").type.dtype);
}
aclDataType aclmdlGetOutputDataType(const ModelDescription& modelDesc, size_t index) {
  return static_cast<aclDataType>(PortAt(modelDesc.outputs, index, "output").type.dtype);
}

// --- gears

void aclmdlGetDynamicBatch(const ModelDescription& modelDesc, aclmdlBatch* batch) {
  *batch = {};
  if (modelDesc.gears.kind != graph::Gears::kBatch) return;
  for (const auto& gear : modelDesc.gears.values)
    batch->batch[batch->batchCount++] = static_cast<uint64_t>(gear[0]);
}
void aclmdlGetDynamicHW(const ModelDescription& modelDesc, size_t, aclmdlHW* hw) {
  *hw = {};
  if (modelDesc.gears.kind != graph::Gears::kImage) return;
  for (const auto& gear : modelDesc.gears.values) {
    hw->hw[hw->hwCount][0] = static_cast<uint64_t>(gear[0]);
    hw->hw[hw->hwCount++][1] = static_cast<uint64_t>(gear[1]);
  }
}
void aclmdlGetInputDynamicGearCount(const ModelDescription& modelDesc, size_t index, size_t* gearCount) {
  NeedNoIndex(index);
  *gearCount = modelDesc.gears.kind == graph::Gears::kDims ? modelDesc.gears.values.size() : 0;
}
void aclmdlGetInputDynamicDims(const ModelDescription& modelDesc, size_t index, aclmdlIODims* dims,
                               size_t gearCount) {
  NeedNoIndex(index);
  size_t gears = modelDesc.gears.kind == graph::Gears::kDims ? modelDesc.gears.values.size() : 0;
  if (gearCount != gears)
    Fail(codes::kInvalidParam, "model-gear-count", "gearCount is {}; the model has {} gears", gearCount,
         gears);
  size_t sizes = 0;
  for (const tensor::Shape& shape : modelDesc.declared) sizes += static_cast<size_t>(shape.rank());
  if (sizes > ACL_MAX_DIM_CNT + 1) {  // the input that chooses the gear has one, which is not told
    Fail(codes::kFeatureUnsupported, "model-gear-sizes", "the inputs have {} sizes; aclmdlIODims holds {}",
         sizes - 1, ACL_MAX_DIM_CNT);
  }
  for (size_t g = 0; g < gears; ++g) {
    dims[g] = {};
    size_t next = 0;
    for (size_t i = 0; i + 1 < modelDesc.declared.size(); ++i) {
      for (int64_t size : modelDesc.declared[i]) {
        dims[g].dims[dims[g].dimCount++] = size < 0 ? modelDesc.gears.values[g][next++] : size;
      }
    }
  }
}

}  // namespace belay::api
