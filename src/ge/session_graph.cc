// Compiling and loading the graphs of sessions.
#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"
#include "ge/session_state.h"
#include "graph/build_model.h"
#include "runtime/memory.h"

namespace belay::graph_interface {
namespace {

void ApplyTypes(graph::Graph& graph, const std::vector<graph::ValueType>& inputs) {
  if (inputs.empty()) return;
  if (inputs.size() != graph.inputs.size()) {
    Fail(kBadArgument, "ge-input-count", "the graph has {} inputs, but {} were given", graph.inputs.size(),
         inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph::ValueType& declared = graph.nodes[static_cast<size_t>(graph.inputs[i])].types[0];
    if (!declared.concrete()) declared = inputs[i];
  }
}

void NeedBytes(graph::Buffer memory, uint64_t need) {
  const size_t given = memory.data == nullptr ? 0 : memory.bytes;
  if (memory.data != nullptr && given >= need) return;
  Fail(kBadArgument, "ge-memory-short",
       "the memory has {} bytes; the graph needs {} (GetCompiledGraphSummary says how much)", given, need);
}

}  // namespace

void SessionGraph::Compile(rt::Device& device, const std::vector<graph::ValueType>& inputs) {
  std::lock_guard hold(lock_);
  if (file_ == nullptr) {
    graph::Graph lowered = ge::GraphImpl::Of(static_cast<const ge::Graph&>(graph_)).Lower();
    ApplyTypes(lowered, inputs);
    file_ = std::make_shared<const graph::ModelFile>(graph::BuildModel(lowered, options_));
  }
  Load(device);
}

bool SessionGraph::compiled() {
  std::lock_guard hold(lock_);
  return file_ != nullptr;
}

void SessionGraph::NeedCompiled() {
  if (!compiled())
    Fail(kBadArgument, "ge-not-compiled", "the graph is not compiled; call CompileGraph first");
}

std::shared_ptr<graph::Model> SessionGraph::Static(rt::Device& device) {
  NeedCompiled();
  std::shared_ptr<graph::Model> model = Ready(device);
  auto instance = model->MainInstance();
  if (instance != nullptr && !instance->dynamic()) return model;
  Fail(
      kBadArgument, "ge-not-static",
      "sizes in the graph are open, so that its memory cannot be given (CompiledGraphSummary::IsStatic is false)");
}

std::shared_ptr<graph::Model> SessionGraph::Ready(rt::Device& device) {
  Compile(device, {});
  std::lock_guard hold(lock_);
  return graph::FindModel(model_);
}

// The engine's table of models is where those of a device end that is reset.
void SessionGraph::Load(rt::Device& device) {
  if (model_ != 0) {
    try {
      graph::FindModel(model_);
      return;
    } catch (const Error&) {
      work_ = {};
    }
  }
  model_ = graph::AddModel(std::make_shared<graph::Model>(device, *file_, work_));
}

void SessionGraph::UseWork(rt::Device& device, graph::Buffer work, WorkGivenAs how) {
  uint64_t need = Static(device)->work_bytes();
  {
    std::lock_guard hold(lock_);
    if (work_given_ != WorkGivenAs::kNothing && work_given_ != how) {
      Fail(
          kBadArgument, "ge-memory-two-ways",
          "UpdateGraphFeatureMemoryBase and UpdateGraphRefreshableFeatureMemoryBase exclude one another; the other "
          "one was called for this graph");
    }
  }
  if (need == 0 && work.data == nullptr) return;
  NeedBytes(work, need);
  rt::CheckDeviceRange(work.data, work.bytes, "memory");
  std::lock_guard hold(lock_);
  work_given_ = how;
  work_ = work;
  uint32_t old = std::exchange(model_, 0);
  Load(device);
  graph::RemoveModel(old);
}

void SessionGraph::UseConstants(rt::Device& device, graph::Buffer memory) {
  uint64_t need = Static(device)->weight_bytes();
  if (need == 0 && memory.data == nullptr) return;
  NeedBytes(memory, need);
  std::lock_guard hold(lock_);
  if (std::exchange(has_constants_, true)) {
    Fail(kBadArgument, "ge-memory-twice", "memory for constants may be given once, and it was given before");
  }
}

}  // namespace belay::graph_interface
