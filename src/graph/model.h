// A loaded model: what a file holds, made ready on a device for the shapes it is run with; and what
// programs describe models and pass their buffers with.
#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/handle_table.h"
#include "graph/instance.h"
#include "graph/om/om.h"
#include "graph/size_range.h"
#include "tensor/description.h"

namespace belay::graph {

inline constexpr const char* kGearInputName = "ascend_mbatch_shape_data";

// aclmdlDesc: filled once, then read.
struct ModelDescription {
  std::vector<ModelPort> inputs;  // with gears: the largest; the input that chooses a gear comes last
  std::vector<ModelPort> outputs;
  Gears gears;
  std::vector<Shape> declared;     // of the inputs, with -1 where a gear decides; of images as pixels
  std::vector<Shape> passed;       // the same; of images as bytes
  std::vector<SizeRanges> ranges;  // of `declared`
  std::map<std::string, std::string> origins;  // of fused operators: "[4]conv[4]relu"
  uint32_t model_id = 0;                       // 0: of a model that is not loaded
};

// aclmdlDataset: buffers in order, and what is said about single ones.
struct Dataset {
  struct Item {
    HandleBits buffer = 0;       // an aclDataBuffer of the program
    HandleBits description = 0;  // an aclTensorDesc; 0: none
    bool owns_description = false;
  };
  std::vector<Item> items;
  std::vector<int64_t> gear;  // empty: not chosen
  ~Dataset();
};

struct ModelConfig {
  size_t load_type = 0;
  std::string path;
  const void* model = nullptr;
  size_t model_bytes = 0;
  void* work = nullptr;
  size_t work_bytes = 0;
  void* weights = nullptr;
  size_t weight_bytes = 0;
  int32_t priority = 0;
};

struct ExecConfig {
  int32_t stream_timeout_ms = -1;
};

extern HandleTable<ModelDescription, HandleKind::kModelDescription> g_model_descriptions;
extern HandleTable<Dataset, HandleKind::kDataset> g_datasets;
extern HandleTable<ModelConfig, HandleKind::kModelConfig> g_model_configs;
extern HandleTable<ExecConfig, HandleKind::kExecConfig> g_exec_configs;

class Model {
 public:
  // Memory of the caller, or none; the engine keeps weights in its own all the same.
  Model(rt::Device& device, ModelFile file, Buffer work = {}, Buffer weights = {});
  ~Model();

  rt::Device& device() const { return device_; }
  const ModelFile& file() const { return file_; }
  // The types of the inputs as the file declares them; sizes may be open.
  std::vector<ValueType> DeclaredTypes() const;
  // ... for a gear.
  std::vector<ValueType> TypesOfGear(const std::vector<int64_t>& gear) const;
  // The gear that was chosen last, for whichever dataset; none: empty.
  void Choose(std::vector<int64_t> gear);
  std::vector<int64_t> chosen_gear();
  // Made when first asked for; the latest are kept.
  std::shared_ptr<Instance> InstanceFor(const std::vector<ValueType>& inputs);
  // Null when it can only be made for given shapes.
  std::shared_ptr<Instance> MainInstance();
  const ModelDescription& description();
  uint64_t work_bytes();
  uint64_t weight_bytes();

  // What of the caller's memory an execution may touch; throws where it was freed.
  Loan BorrowMemory() const;

  // Is told of each operator that runs from now on, whatever the sizes; null: nobody.
  void Listen(std::shared_ptr<OpListener> listener);

  // A stream of the model's own for synchronous executions.
  rt::Stream& OwnStream(rt::Context& context);
  // Device memory for an output whose size only the data decided. It lives until the model has been run a
  // few more times, since copies from it may still be queued when the caller has forgotten it.
  void* Keep(const HostTensor& value);

 private:
  struct Entry {
    std::vector<ValueType> inputs;
    std::shared_ptr<Instance> instance;
  };
  struct KeptMemory {
    void* data;
    uint64_t serial;
  };
  void FreeOldest();

  rt::Device& device_;
  ModelFile file_;
  Buffer work_;
  Loan loan_;
  std::mutex lock_;
  std::list<Entry> instances_;  // the latest first
  std::optional<ModelDescription> description_;
  std::vector<int64_t> chosen_gear_;
  std::shared_ptr<OpListener> listener_;
  HandleBits stream_ = 0;
  std::deque<KeptMemory> kept_;
};

// Programs allocate as much as aclmdlQuerySize says, and zero bytes cannot be allocated.
constexpr uint64_t BytesAskedFor(uint64_t need) { return std::max<uint64_t>(need, 64); }

// What a model takes once it is loaded. Where the shapes come with the data it takes nothing ahead.
Needs NeedsOf(const ModelFile& file);
// What the file says, without loading it on a device.
ModelDescription Describe(const ModelFile& file);

// Loaded models by number.
uint32_t AddModel(std::shared_ptr<Model> model);
std::shared_ptr<Model> FindModel(uint32_t id);   // throws 145003
std::shared_ptr<Model> FindLoaded(uint32_t id);  // null when there is none
void RemoveModel(uint32_t id);                   // throws 145003
// Models that were loaded together.
uint32_t AddBundle(std::vector<std::shared_ptr<Model>> models);  // all of them, or none
std::vector<uint32_t> ModelsOfBundle(uint32_t id);               // throws 145003
// Removes its models too, as far as they are still loaded.
void RemoveBundle(uint32_t id);  // throws 145003
// All of a device, or of all devices (-1).
void RemoveModelsOf(int device);

}  // namespace belay::graph
