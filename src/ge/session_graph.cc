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

void SessionGraph::UseWork(rt::Device& device, graph::Buffer work) {
  uint64_t need = Ready(device)->work_bytes();
  if (need == 0 && work.data == nullptr) return;
  NeedBytes(work, need);
  rt::CheckDeviceRange(work.data, work.bytes, "memory");
  std::lock_guard hold(lock_);
  work_ = work;
  uint32_t old = std::exchange(model_, 0);
  Load(device);
  graph::RemoveModel(old);
}

void SessionGraph::UseConstants(rt::Device& device, graph::Buffer memory) {
  uint64_t need = Ready(device)->weight_bytes();
  if (need == 0 && memory.data == nullptr) return;
  NeedBytes(memory, need);
  std::lock_guard hold(lock_);
  if (std::exchange(has_constants_, true)) {
    Fail(kBadArgument, "ge-memory-twice", "memory for constants may be given once, and it was given before");
  }
}

}  // namespace belay::graph_interface
