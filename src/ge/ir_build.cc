#include "ge/ge_ir_build.h"

#include <cstring>
#include <mutex>
#include <string_view>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"
#include "ge/guard.h"
#include "ge/operator_impl.h"
#include "ge/options.h"
#include "graph/build_model.h"
#include "graph/operator_list.h"

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

belay::graph::ModelFile Compiled(const Graph& graph, const Options& options) {
  return belay::graph::BuildModel(GraphImpl::Of(graph).Lower(), WithGlobals(options));
}

void GiveModel(const belay::graph::ModelBytes& bytes, ModelBufferData& model) {
  model.data = std::shared_ptr<uint8_t>(bytes.data, reinterpret_cast<uint8_t*>(bytes.data.get()));
  model.length = bytes.size;
}

void Build(const Graph& graph, const Options& options, ModelBufferData& model) {
  GiveModel(belay::graph::WriteModel(Compiled(graph, options)), model);
}

void Save(const char_t* output_file, const ModelBufferData& model) {
  if (output_file == nullptr || model.data == nullptr) {
    Fail(kBadArgument, "ge-null", "{} is null", output_file == nullptr ? "output_file" : "the model's data");
  }
  if (std::string_view name = output_file; name.empty() || name.ends_with('/'))
    Fail(kBadArgument, "ge-file-name", "output_file is '{}', which names no file; \".om\" is added to a name",
         name);
  belay::graph::SaveModel(std::string(output_file) + ".om", model.data.get(), model.length);
}

// "relu = Relu(add:0)  -> ACL_FLOAT [3]", a line a node.
std::string TextOfGraph(const belay::graph::Graph& graph) {
  std::string text = "graph " + graph.name + "\n";
  auto port = [&](const belay::graph::Port& from) {
    if (!from.present()) return std::string("-");
    return graph.nodes[static_cast<size_t>(from.node)].name + ":" + std::to_string(from.output);
  };
  for (const belay::graph::Node& node : graph.nodes) {
    text += "  " + node.name + " = " + node.type + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) text += (i == 0 ? "" : ", ") + port(node.inputs[i]);
    text += ")";
    for (const auto& type : node.types) {
      if (type.dtype != belay::graph::DType::kUndefined) text += "  -> " + type.ToString();
    }
    text += "\n";
  }
  for (const auto& output : graph.outputs)
    text += "  output " + output.name + " = " + port(output.port) + "\n";
  return text;
}

// Inputs called x0, x1, ... for those of the operator, and all of its outputs.
Graph GraphOf(const char_t* type, const std::vector<TensorDesc>& inputs,
              const std::vector<TensorDesc>& outputs) {
  NodePtr node = OperatorImpl::Make(type, type);
  if (node->schema == nullptr)
    Fail(kNotSupported, "ge-operator-type", "there is no operator type '{}'", type);
  if (inputs.size() > node->inputs.size() || outputs.size() > node->outputs.size()) {
    Fail(kBadArgument, "ge-input-count", "'{}' has {} inputs and {} outputs, but {} and {} were given", type,
         node->inputs.size(), node->outputs.size(), inputs.size(), outputs.size());
  }
  std::vector<Operator> data;
  Operator op = OperatorImpl::Facade(node);
  for (size_t i = 0; i < inputs.size(); ++i) {
    data.emplace_back(("x" + std::to_string(i)).c_str(), "Data");
    data.back().SetAttr("index", static_cast<int64_t>(i));
    data.back().UpdateOutputDesc("y", inputs[i]);
    op.SetInput(static_cast<uint32_t>(i), data.back(), 0u);
  }
  for (size_t i = 0; i < outputs.size(); ++i) op.UpdateOutputDesc(node->outputs[i].name.c_str(), outputs[i]);
  Graph graph(type);
  graph.SetInputs(data).SetOutputs(std::vector<Operator>{op});
  return graph;
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

graphStatus aclgrphBuildModel(const std::vector<Graph>& graphs,
                              const std::map<AscendString, AscendString>& build_options,
                              ModelBufferData& model) {
  return Guarded("aclgrphBuildModel", [&] {
    if (graphs.size() != 1) {
      Fail(kNotSupported, "build-graph-count", "{} graphs were given; a model is built from exactly one",
           graphs.size());
    }
    Build(graphs[0], OptionsOf(build_options), model);
  });
}

graphStatus aclgrphSaveModel(const char_t* output_file, const ModelBufferData& model) {
  return Guarded("aclgrphSaveModel", [&] { Save(output_file, model); });
}

graphStatus aclgrphBundleBuildModel(const std::vector<GraphWithOptions>& graph_with_options,
                                    ModelBufferData& model) {
  return Guarded("aclgrphBundleBuildModel", [&] {
    if (graph_with_options.empty())
      Fail(kBadArgument, "build-graph-count", "no graphs were given; a bundle has at least one");
    std::vector<belay::graph::ModelFile> models;
    for (const GraphWithOptions& each : graph_with_options)
      models.push_back(Compiled(each.graph, OptionsOf(each.build_options)));
    GiveModel(belay::graph::WriteBundle(models), model);
  });
}

graphStatus aclgrphBundleSaveModel(const char_t* output_file, const ModelBufferData& model) {
  return Guarded("aclgrphBundleSaveModel", [&] { Save(output_file, model); });
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

graphStatus aclgrphDumpGraph(const Graph& graph, const char_t* file, const size_t len) {
  return Guarded("aclgrphDumpGraph", [&] {
    if (file == nullptr) Fail(kBadArgument, "ge-null", "file is null");
    std::string text = TextOfGraph(GraphImpl::Of(graph).Lower());
    belay::graph::SaveModel(std::string(file, strnlen(file, len)), text.data(), text.size());
  });
}

graphStatus aclgrphSetOpAttr(Graph& graph, aclgrphAttrType attr_type, const char_t* cfg_path) {
  return Guarded("aclgrphSetOpAttr", [&] {
    if (cfg_path == nullptr) Fail(kBadArgument, "ge-null", "cfg_path is null");
    if (attr_type != ATTR_TYPE_KEEP_DTYPE && attr_type != ATTR_TYPE_WEIGHT_COMPRESS) {
      Fail(kBadArgument, "ge-attr-type",
           "there is no attr_type {}; it is 0 (keep_dtype) or 1 (weight_compress)",
           static_cast<int>(attr_type));
    }
    belay::graph::OperatorList list(cfg_path);
    std::vector<NodePtr> listed;
    for (const NodePtr& node : GraphImpl::Of(graph).Nodes()) {
      if (list.Holds(node->name, node->type)) listed.push_back(node);
    }
    list.NeedAllFound();
    if (attr_type == ATTR_TYPE_WEIGHT_COMPRESS) return;
    for (const NodePtr& node : listed) node->attributes[belay::graph::kKeepType] = true;
  });
}

graphStatus aclgrphGenerateForOp(const AscendString& op_type, const std::vector<TensorDesc>& inputs,
                                 const std::vector<TensorDesc>& outputs, Graph& graph) {
  return Guarded("aclgrphGenerateForOp", [&] { graph = GraphOf(op_type.GetString(), inputs, outputs); });
}

}  // namespace ge
