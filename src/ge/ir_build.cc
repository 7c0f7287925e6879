#include "ge/ge_ir_build.h"

#include <mutex>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"
#include "ge/guard.h"
#include "ge/options.h"
#include "graph/build_model.h"

namespace ge {
namespace {

using belay::Fail;
using namespace belay::graph_interface;  // NOLINT

// What aclgrphBuildInitialize was given.
struct Globals {
  std::mutex lock;
  Options options;
};

Globals& TheGlobals() {
  static auto* globals = new Globals;
  return *globals;
}

Options WithGlobals(Options options) {
  Globals& globals = TheGlobals();
  std::lock_guard hold(globals.lock);
  options.insert(globals.options.begin(), globals.options.end());
  return options;
}

void Build(const Graph& graph, const Options& options, ModelBufferData& model) {
  belay::graph::ModelFile file = belay::graph::BuildModel(GraphImpl::Of(graph).Lower(), WithGlobals(options));
  belay::graph::ModelBytes bytes = belay::graph::WriteModel(file);
  model.data = std::shared_ptr<uint8_t>(bytes.data, reinterpret_cast<uint8_t*>(bytes.data.get()));
  model.length = bytes.size;
}

}  // namespace

graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>& global_options) {
  return Guarded("aclgrphBuildInitialize", [&] {
    Options options = OptionsOf(global_options);
    belay::graph::CheckBuildOptions(options);
    Globals& globals = TheGlobals();
    std::lock_guard hold(globals.lock);
    globals.options = std::move(options);
  });
}

void aclgrphBuildFinalize() {
  Globals& globals = TheGlobals();
  std::lock_guard hold(globals.lock);
  globals.options.clear();
}

graphStatus aclgrphBuildModel(const Graph& graph, const std::map<AscendString, AscendString>& build_options,
                              ModelBufferData& model) {
  return Guarded("aclgrphBuildModel", [&] { Build(graph, OptionsOf(build_options), model); });
}

graphStatus aclgrphBuildModel(const std::vector<Graph>& graphs, const std::map<AscendString, AscendString>& build_options,
                              ModelBufferData& model) {
  return Guarded("aclgrphBuildModel", [&] {
    if (graphs.size() != 1) {
      Fail(kNotSupported, "build-graph-count", "{} graphs were given; a model is built from exactly one", graphs.size());
    }
    Build(graphs[0], OptionsOf(build_options), model);
  });
}

graphStatus aclgrphSaveModel(const char_t* output_file, const ModelBufferData& model) {
  return Guarded("aclgrphSaveModel", [&] {
    if (output_file == nullptr || model.data == nullptr) {
      Fail(kBadArgument, "ge-null", "{} is null", output_file == nullptr ? "output_file" : "the model's data");
    }
    belay::graph::SaveModel(std::string(output_file) + ".om", model.data.get(), model.length);
  });
}

graphStatus aclgrphGetIRVersion(int32_t* major_version, int32_t* minor_version, int32_t* patch_version) {
  return Guarded("aclgrphGetIRVersion", [&] {
    if (major_version == nullptr || minor_version == nullptr || patch_version == nullptr) {
      Fail(kBadArgument, "ge-null", "a pointer to the version is null");
    }
    *major_version = 1;
    *minor_version = 0;
    *patch_version = 0;
  });
}

}  // namespace ge
