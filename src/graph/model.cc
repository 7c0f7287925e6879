#include "graph/model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/codes.h"
#include "base/error.h"
#include "base/error_about.h"
#include "base/fork.h"
#include "base/room.h"
#include "graph/aipp/insert.h"
#include "graph/codes.h"
#include "graph/passes/editor.h"
#include "graph/size_range.h"
#include "graph/specialise.h"
#include "runtime/context.h"
#include "runtime/device_writes.h"
#include "runtime/memory.h"
#include "runtime/observer.h"

namespace belay::graph {

constinit HandleTable<ModelDescription, HandleKind::kModelDescription> g_model_descriptions;
constinit HandleTable<Dataset, HandleKind::kDataset> g_datasets;
constinit HandleTable<ModelConfig, HandleKind::kModelConfig> g_model_configs;
constinit HandleTable<ExecConfig, HandleKind::kExecConfig> g_exec_configs;

namespace {

constexpr size_t kMostInstances = 64;
constexpr size_t kMostKept = 64;

[[maybe_unused]] const bool g_model_at_fork =
    UnlockInChild<g_model_descriptions, g_datasets, g_model_configs, g_exec_configs>();

bool SameTypes(const std::vector<ValueType>& a, const std::vector<ValueType>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ValueType& x, const ValueType& y) {
    return x.dtype == y.dtype && x.rank_known == y.rank_known && x.shape == y.shape;
  });
}

// The gear puts its numbers where sizes are open, in the order of the inputs; a batch size everywhere.
void ApplyGear(std::vector<ValueType>& types, Gears::Kind kind, const std::vector<int64_t>& gear) {
  size_t next = 0;
  for (ValueType& type : types) {
    for (int64_t& size :
         std::span(const_cast<int64_t*>(type.shape.begin()), static_cast<size_t>(type.shape.rank()))) {
      if (size >= 0) continue;
      if (kind == Gears::kBatch) {
        size = gear[0];
      } else {
        if (next == gear.size())
          Fail(kShapeInvalid, "model-gear", "the gear has {} sizes, but more are open", gear.size());
        size = gear[next++];
      }
    }
    if (kind == Gears::kImage) next = 0;
  }
}

int64_t Product(const std::vector<int64_t>& gear) {
  int64_t product = 1;
  for (int64_t size : gear) product *= size;
  return product;
}

const std::vector<int64_t>& LargestGear(const Gears& gears) {
  return *std::max_element(gears.values.begin(), gears.values.end(),
                           [](const auto& a, const auto& b) { return Product(a) < Product(b); });
}

std::vector<ValueType> TypesOfGear(const ModelFile& file, const std::vector<int64_t>& gear) {
  if (std::find(file.gears.values.begin(), file.gears.values.end(), gear) == file.gears.values.end()) {
    Fail(
        codes::kGeDynamicBatchSizeInvalid, "model-gear-unknown",
        "the model was not built for {}; see aclmdlGetDynamicBatch and kin",
        Shape::Of(gear.data(), static_cast<int>(std::min<size_t>(gear.size(), tensor::kMaxRank))).ToString());
  }
  std::vector<ValueType> types = InputTypes(file.graph);
  ApplyGear(types, file.gears.kind, gear);
  return types;
}

// A session's inputs choose their gear by their sizes.
void NeedGear(const ModelFile& file, const std::vector<ValueType>& inputs) {
  const auto& gears = file.gears.values;
  const auto is_this = [&](const std::vector<int64_t>& gear) {
    return SameTypes(TypesOfGear(file, gear), inputs);
  };
  if (gears.empty() || std::any_of(gears.begin(), gears.end(), is_this)) return;
  std::vector<std::string> sizes;
  for (const ValueType& type : inputs) sizes.push_back(type.ToString());
  Fail(kGraphInvalid, "ge-input-gear",
       "the inputs are {}, which is none of the gears that ge.dynamicDims and kin name",
       fmt::join(sizes, ", "));
}

// Those that a model is loaded for; none where they come with the data.
std::optional<std::vector<ValueType>> MainTypes(const ModelFile& file) {
  if (file.gears.kind != Gears::kNone) return TypesOfGear(file, LargestGear(file.gears));
  std::vector<ValueType> types = InputTypes(file.graph);
  if (!AllConcrete(types)) return std::nullopt;
  return types;
}

// Optimised when shapes are known, where they were open in the file.
const BuildOptions* LateOptions(const ModelFile& file) {
  return AllConcrete(InputTypes(file.graph)) ? nullptr : &file.options;
}

// [n, h, w, c] of images whose bytes have another shape.
void AsPixels(const AippInput& aipp, Shape& images) {
  if (aipp.config.dynamic) return;
  if (aipp.config.source.format == ops::ImageFormat::kYuv420sp) images[1] = aipp.config.source.h;
  images[3] = ops::MostChannels(aipp.config.source.format);
}

ModelDescription DescribePorts(const ModelFile& file, std::vector<ModelPort> inputs,
                               std::vector<ModelPort> outputs) {
  ModelDescription description;
  description.inputs = std::move(inputs);
  description.outputs = std::move(outputs);
  description.gears = file.gears;
  for (int input : file.graph.inputs) {
    description.passed.push_back(file.graph.nodes[static_cast<size_t>(input)].types[0].shape);
  }
  description.declared = description.passed;
  for (size_t i = 0; i < description.declared.size(); ++i) {
    if (auto aipp = AippAt(file.graph, i)) AsPixels(*aipp, description.declared[i]);
    const Node& input = file.graph.nodes[static_cast<size_t>(file.graph.inputs[i])];
    description.ranges.push_back(SizeRangesOf(input, description.declared[i]));
  }
  for (const Node& node : file.graph.nodes) {
    if (auto* names = FindAttribute<std::vector<std::string>>(node, kOriginsAttribute)) {
      std::string& text = description.origins[node.name];
      for (const std::string& name : *names) text += "[" + std::to_string(name.size()) + "]" + name;
    }
  }
  if (file.gears.kind != Gears::kNone) {
    int64_t numbers =
        file.gears.kind == Gears::kBatch ? 1 : static_cast<int64_t>(file.gears.values[0].size());
    description.inputs.push_back(PortOf(kGearInputName, {DType::kI32, Format::kND, true, {numbers}}));
    description.declared.push_back({numbers});
    description.ranges.push_back({{numbers, numbers}});
    description.passed.push_back({numbers});
  }
  return description;
}

void NeedMemory(const char* what, Buffer given, uint64_t need) {
  if (given.data == nullptr) return;
  rt::CheckDeviceRange(given.data, given.bytes, what);
  if (given.bytes >= need) return;
  Fail(codes::kInvalidParam, "model-memory-short", "{} has {} bytes; the model needs {} (aclmdlQuerySize)",
       what, given.bytes, need);
}

// As much of it as aclmdlQuerySize asks for: what a program gives beyond may be another model's.
Buffer Lent(Buffer given, uint64_t need) {
  if (given.data == nullptr) return {};
  return {given.data, std::min<size_t>(given.bytes, BytesAskedFor(need))};
}

struct Registry {
  std::mutex lock;
  std::map<uint32_t, std::shared_ptr<Model>> models;
  std::map<uint32_t, std::vector<uint32_t>> bundles;
  uint32_t last = 0, last_bundle = 0;
};
Registry& TheRegistry() { return PerProcess<Registry>::Get(); }

}  // namespace

Dataset::~Dataset() {
  for (const Item& item : items) {
    if (item.owns_description) tensor::g_tensor_descs.Destroy(item.description);
  }
}

Model::Model(rt::Device& device, ModelFile file, Buffer work, Buffer weights)
    : device_(device), file_(std::move(file)), work_(work) {
  BeginSequences(file_.graph);
  MainInstance();  // what cannot run is refused while it is loaded
  NeedMemory("workPtr", work, work_bytes());
  NeedMemory("weightPtr", weights, weight_bytes());
  loan_ = {Lent(work, work_bytes()), Lent(weights, weight_bytes())};
}

Loan Model::BorrowMemory() const {
  if (loan_.work.bytes != 0) rt::CheckDeviceRange(loan_.work.data, loan_.work.bytes, "the model's workPtr");
  if (loan_.weights.bytes != 0)
    rt::CheckDeviceRange(loan_.weights.data, loan_.weights.bytes, "the model's weightPtr");
  return loan_;
}

Model::~Model() {
  while (!kept_.empty()) FreeOldest();
  if (rt::Stream* stream = stream_ == 0 ? nullptr : rt::Streams().Find(stream_)) {
    rt::Context::DestroyStream(*stream, false);
  }
}

std::vector<ValueType> Model::DeclaredTypes() const { return InputTypes(file_.graph); }

std::vector<ValueType> Model::TypesOfGear(const std::vector<int64_t>& gear) const {
  return graph::TypesOfGear(file_, gear);
}

std::shared_ptr<Instance> Model::InstanceFor(const std::vector<ValueType>& inputs) {
  if (file_.mapped != nullptr && file_.mapped->WrittenSince()) {
    Fail(
        kModelLoad, "om-rewritten",
        "the file of the model, whose constants it reads, was written to while it was loaded; put another file in its "
        "place with 'mv' instead of 'cp', or have models copied with BELAY_MODEL_COPY=64T");
  }
  std::lock_guard guard(lock_);
  for (auto it = instances_.begin(); it != instances_.end(); ++it) {
    if (!SameTypes(it->inputs, inputs)) continue;
    instances_.splice(instances_.begin(), instances_, it);
    return instances_.front().instance;
  }
  NeedGear(file_, inputs);
  NeedSizesInRange(file_.graph, inputs);
  InstanceOptions options;
  if (instances_.empty()) options.work = work_;  // one block cannot serve two at once
  options.optimise = LateOptions(file_);
  instances_.push_front({inputs, MakeInstance(device_, file_.graph, inputs, options)});
  instances_.front().instance->Listen(listener_);
  if (instances_.size() > kMostInstances) instances_.pop_back();
  return instances_.front().instance;
}

std::shared_ptr<Instance> Model::MainInstance() {
  std::optional<std::vector<ValueType>> types = MainTypes(file_);
  return types ? InstanceFor(*types) : nullptr;
}

void Model::Listen(std::shared_ptr<OpListener> listener) {
  std::lock_guard guard(lock_);
  listener_ = std::move(listener);
  for (const Entry& entry : instances_) entry.instance->Listen(listener_);
}

void Model::Choose(std::vector<int64_t> gear) {
  std::lock_guard guard(lock_);
  chosen_gear_ = std::move(gear);
}

std::vector<int64_t> Model::chosen_gear() {
  std::lock_guard guard(lock_);
  return chosen_gear_;
}

const ModelDescription& Model::description() {
  std::shared_ptr<Instance> main = MainInstance();
  std::lock_guard guard(lock_);
  if (!description_) {
    description_ = main == nullptr ? DescribePorts(file_, InputPorts(file_.graph), OutputPorts(file_.graph))
                                   : DescribePorts(file_, main->inputs(), main->outputs());
  }
  return *description_;
}

uint64_t Model::work_bytes() {
  std::shared_ptr<Instance> main = MainInstance();
  return main == nullptr ? 0 : main->work_bytes();
}

uint64_t Model::weight_bytes() {
  std::shared_ptr<Instance> main = MainInstance();
  return main == nullptr ? 0 : main->weight_bytes();
}

rt::Stream& Model::OwnStream(rt::Context& context) {
  std::lock_guard guard(lock_);
  rt::Stream* stream = stream_ == 0 ? nullptr : rt::Streams().Find(stream_);
  if (stream == nullptr) {
    stream = &context.CreateStream({});
    stream_ = rt::Streams().HandleOf(stream);
  }
  return *stream;
}

void* Model::Keep(const HostTensor& value) {
  void* data = rt::AllocateDevice(device_.id(), {.bytes = std::max<size_t>(value.bytes(), 1)});
  Rollback free([&] { rt::FreeDevice(data); });
  {
    rt::DeviceWrites writes;
    std::memcpy(rt::View(data, value.bytes()), value.data(), value.bytes());
  }
  std::lock_guard guard(lock_);
  kept_.push_back({data, rt::BlockSerial(data)});
  free.Keep();
  if (kept_.size() > std::max(kMostKept, 2 * file_.graph.outputs.size())) FreeOldest();
  return data;
}

void Model::FreeOldest() {
  auto [data, serial] = kept_.front();
  kept_.pop_front();
  if (rt::BlockSerial(data) == serial) rt::FreeDevice(data);  // a program may have freed it itself
}

Needs NeedsOf(const ModelFile& file) {
  std::optional<std::vector<ValueType>> types = MainTypes(file);
  return types ? NeedsOf(file.graph, *types, LateOptions(file)) : Needs{};
}

ModelDescription Describe(const ModelFile& file) {
  std::optional<std::vector<ValueType>> types = MainTypes(file);
  if (!types) return DescribePorts(file, InputPorts(file.graph), OutputPorts(file.graph));
  Graph graph = Specialise(file.graph, *types, Purpose::kTypes).graph;
  return DescribePorts(file, InputPorts(graph), OutputPorts(graph));
}

uint32_t AddModel(std::shared_ptr<Model> model) {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  registry.models[++registry.last] = std::move(model);
  return registry.last;
}

std::shared_ptr<Model> FindLoaded(uint32_t id) {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  auto it = registry.models.find(id);
  return it == registry.models.end() ? nullptr : it->second;
}

std::shared_ptr<Model> FindModel(uint32_t id) {
  if (auto model = FindLoaded(id)) return model;
  FailAbout(reinterpret_cast<const void*>(uintptr_t{id}), codes::kGeExecModelIdInvalid, "model-id",
            "there is no loaded model {}: it was unloaded, or the number is another thing's", id);
}

void RemoveModel(uint32_t id) {
  std::shared_ptr<Model> model = FindModel(id);
  Registry& registry = TheRegistry();
  {
    std::lock_guard guard(registry.lock);
    registry.models.erase(id);
  }
  if (rt::Observers::any()) rt::TellDestroyed(id);
}

uint32_t AddBundle(std::vector<std::shared_ptr<Model>> models) {
  Registry& registry = TheRegistry();
  std::map<uint32_t, std::shared_ptr<Model>> added;
  std::map<uint32_t, std::vector<uint32_t>> bundle;
  std::lock_guard guard(registry.lock);
  std::vector<uint32_t>& ids = bundle[registry.last_bundle + 1];
  for (std::shared_ptr<Model>& model : models) {
    ids.push_back(registry.last + 1 + static_cast<uint32_t>(ids.size()));
    added[ids.back()] = std::move(model);
  }
  registry.last += static_cast<uint32_t>(ids.size());
  registry.models.merge(added);
  registry.bundles.merge(bundle);
  return ++registry.last_bundle;
}

std::vector<uint32_t> ModelsOfBundle(uint32_t id) {
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  auto it = registry.bundles.find(id);
  if (it != registry.bundles.end()) return it->second;
  Fail(codes::kGeExecModelIdInvalid, "model-bundle",
       "there is no loaded bundle {}: it was unloaded, or the number is another thing's", id);
}

void RemoveBundle(uint32_t id) {
  std::vector<uint32_t> models = ModelsOfBundle(id);
  std::vector<std::shared_ptr<Model>> gone;  // destroyed when the lock is free again
  for (uint32_t model : models) gone.push_back(FindLoaded(model));
  {
    Registry& registry = TheRegistry();
    std::lock_guard guard(registry.lock);
    for (uint32_t model : models) registry.models.erase(model);
    registry.bundles.erase(id);
  }
  if (!rt::Observers::any()) return;
  for (uint32_t model : models) rt::TellDestroyed(model);
}

void RemoveModelsOf(int device) {
  std::map<uint32_t, std::shared_ptr<Model>> gone;  // destroyed when the lock is free again
  Registry& registry = TheRegistry();
  std::lock_guard guard(registry.lock);
  for (auto it = registry.models.begin(); it != registry.models.end();) {
    auto next = std::next(it);
    if (device < 0 || it->second->device().id() == device) gone.insert(registry.models.extract(it));
    it = next;
  }
  if (device < 0) registry.bundles.clear();
}

}  // namespace belay::graph
