// The functions of ge_api.h.
#include "base/error.h"
#include "ge/codes.h"
#include "ge/ge_api.h"
#include "ge/guard.h"
#include "ge/kept_names.h"
#include "ge/run.h"
#include "ge/session_state.h"
#include "ge/summary.h"
#include "ge/tensor_impl.h"
#include "graph/om/om.h"
#include "runtime/context.h"
#include "runtime/observer.h"

namespace ge {

using belay::Fail;
using namespace belay::graph_interface;  // NOLINT

namespace {

Status Refused(const Function& function, const char* why) {
  return Guarded(function, [&] {
    Fail(kNotSupported, "ge-not-supported", "{} is not supported: {}", function.name, why);
  });
}

}  // namespace

Status GEInitialize(const std::map<AscendString, AscendString>& options) {
  return Guarded("GEInitialize", [&] { StartEngine(OptionsOf(options)); });
}
Status GEFinalize() {
  return Guarded("GEFinalize", [] { StopEngine(); });
}
AscendString GEGetErrorMsgV2() { return AscendString(LastErrorText().c_str()); }
AscendString GEGetWarningMsgV2() { return AscendString(LastWarningText().c_str()); }

// A constructor has no status: what is wrong is told by the calls that follow.
Session::Session(const std::map<AscendString, AscendString>& options) : sessionId_(0) {
  Guarded("Session", [&] { OpenSession(OptionsOf(options), &sessionId_); });
}
Session::~Session() {
  Guarded("~Session", [&] { CloseSession(sessionId_); });
}
uint64_t Session::GetSessionId() const { return sessionId_; }

// --- graphs

Status Session::AddGraph(uint32_t graph_id, const Graph& graph) {
  return AddGraph(graph_id, graph, std::map<AscendString, AscendString>());
}
Status Session::AddGraph(uint32_t graph_id, const Graph& graph,
                         const std::map<AscendString, AscendString>& options) {
  return Guarded("Session::AddGraph", [&] {
    auto session = FindSession(sessionId_);
    if (!graph.IsValid())
      Fail(kBadArgument, "ge-graph-empty",
           "the graph is empty; fill it with SetInputs and SetOutputs, or a parser");
    session->Add(graph_id, std::make_shared<SessionGraph>(graph, session->With(OptionsOf(options))));
  });
}
Status Session::AddGraphWithCopy(uint32_t graph_id, const Graph& graph) {
  return AddGraphWithCopy(graph_id, graph, std::map<AscendString, AscendString>());
}
Status Session::AddGraphWithCopy(uint32_t graph_id, const Graph& graph,
                                 const std::map<AscendString, AscendString>& options) {
  Graph copy;
  Status status = copy.CopyFrom(graph);
  return status == SUCCESS ? AddGraph(graph_id, copy, options) : FAILED;
}
Status Session::RemoveGraph(uint32_t graph_id) {
  return Guarded("Session::RemoveGraph", [&] { FindSession(sessionId_)->Remove(graph_id); });
}

// What the std::string form of Session::LoadGraph calls.
Status LoadSessionGraph(uint64_t session_id, uint32_t graph_id,
                        const std::map<AscendString, AscendString>& options, const char_t* path) {
  return Guarded("Session::LoadGraph", [&] {
    auto session = FindSession(session_id);
    session->Add(graph_id, std::make_shared<SessionGraph>(belay::graph::ReadModelFile(path),
                                                          session->With(OptionsOf(options))));
  });
}

Status Session::CompileGraph(uint32_t graph_id) {
  return Guarded("Session::CompileGraph", [&] {
    auto session = FindSession(sessionId_);
    session->Graph(graph_id)->Compile(session->Device(), {});
  });
}

namespace {

void BuildFor(uint64_t session_id, uint32_t graph_id, const std::vector<TensorDesc>& inputs) {
  auto session = FindSession(session_id);
  std::vector<belay::graph::ValueType> types;
  for (const TensorDesc& input : inputs) types.push_back(ValueTypeOf(input));
  session->Graph(graph_id)->Compile(session->Device(), types);
}

}  // namespace

Status Session::BuildGraph(uint32_t graph_id, const std::vector<InputTensorInfo>& inputs) {
  return Guarded("Session::BuildGraph", [&] {
    std::vector<TensorDesc> descs;
    for (const InputTensorInfo& input : inputs)
      descs.emplace_back(Shape(input.dims), FORMAT_ND, static_cast<DataType>(input.data_type));
    BuildFor(sessionId_, graph_id, descs);
  });
}
Status Session::BuildGraph(uint32_t graph_id, const std::vector<Tensor>& inputs) {
  return Guarded("Session::BuildGraph", [&] {
    std::vector<TensorDesc> descs;
    for (const Tensor& input : inputs) descs.push_back(input.GetTensorDesc());
    BuildFor(sessionId_, graph_id, descs);
  });
}

bool Session::IsGraphNeedRebuild(uint32_t graph_id) {
  return GuardedValue("Session::IsGraphNeedRebuild", true,
                      [&] { return !FindSession(sessionId_)->Graph(graph_id)->compiled(); });
}

CompiledGraphSummaryPtr Session::GetCompiledGraphSummary(uint32_t graph_id) {
  return GuardedValue("Session::GetCompiledGraphSummary", CompiledGraphSummaryPtr(), [&] {
    auto session = FindSession(sessionId_);
    auto graph = session->Graph(graph_id);
    graph->NeedCompiled();
    return SummaryData::Of(*graph->Ready(session->Device()));
  });
}

// --- running

Status Session::RunGraph(uint32_t graph_id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  return Guarded("Session::RunGraph", [&] {
    auto session = FindSession(sessionId_);
    outputs = RunOnHost(*session->Graph(graph_id)->Ready(session->Device()), inputs);
  });
}

Status Session::RunGraphAsync(uint32_t graph_id, const std::vector<Tensor>& inputs,
                              RunAsyncCallback callback) {
  return Guarded("Session::RunGraphAsync", [&] {
    auto session = FindSession(sessionId_);
    auto graph = session->Graph(graph_id);
    std::vector<Tensor> copies;
    for (const Tensor& input : inputs) {
      belay::rt::HostReads(input.GetData(), input.GetSize());
      copies.push_back(input.Clone());
    }
    session->later().Add(
        [session = session.get(), graph, copies = std::move(copies), callback = std::move(callback)] {
          std::vector<Tensor> outputs;
          Status status = Guarded("Session::RunGraphAsync",
                                  [&] { outputs = RunOnHost(*graph->Ready(session->Device()), copies); });
          if (callback) callback(status, outputs);
        });
  });
}

Status Session::RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<Tensor>& inputs,
                                        std::vector<Tensor>& outputs) {
  return Guarded("Session::RunGraphWithStreamAsync", [&] {
    auto session = FindSession(sessionId_);
    auto model = session->Graph(graph_id)->Ready(session->Device());
    belay::rt::Stream& to = belay::rt::ResolveStream(reinterpret_cast<belay::HandleBits>(stream), "stream");
    RunOnStream(*model, to, inputs, outputs, session->AllocatorOf(stream));
  });
}

// --- memory

Status Session::SetGraphConstMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return Guarded("Session::SetGraphConstMemoryBase", [&] {
    auto session = FindSession(sessionId_);
    session->Graph(graph_id)->UseConstants(session->Device(), {const_cast<void*>(memory), size});
  });
}
Status Session::UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return Guarded("Session::UpdateGraphFeatureMemoryBase", [&] {
    auto session = FindSession(sessionId_);
    session->Graph(graph_id)->UseWork(session->Device(), {const_cast<void*>(memory), size},
                                      WorkGivenAs::kWhole);
  });
}
Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* const memory,
                                                        size_t size) {
  return Guarded("Session::UpdateGraphRefreshableFeatureMemoryBase", [&] {
    auto session = FindSession(sessionId_);
    session->Graph(graph_id)->UseWork(session->Device(), {const_cast<void*>(memory), size},
                                      WorkGivenAs::kRefreshable);
  });
}

namespace {

// Nothing of a graph's memory is fixed here: there is nothing to put there, which the pages have as a
// warning.
Status NothingFixed(const Function& function, uint64_t session_id, uint32_t graph_id) {
  return Guarded(function, [&] {
    auto session = FindSession(session_id);
    session->Graph(graph_id)->NeedCompiled();
    Warn(function.name,
         "graph " + std::to_string(graph_id) + " has no fixed memory; what was given is not used");
  });
}

}  // namespace

Status Session::SetGraphFixedFeatureMemoryBase(uint32_t graph_id, const void* const, size_t) {
  return NothingFixed("Session::SetGraphFixedFeatureMemoryBase", sessionId_, graph_id);
}
Status Session::SetGraphFixedFeatureMemoryBaseWithType(uint32_t graph_id, MemoryType, const void* const,
                                                       size_t) {
  return NothingFixed("Session::SetGraphFixedFeatureMemoryBaseWithType", sessionId_, graph_id);
}
Status Session::RegisterExternalAllocator(const void* const stream, AllocatorPtr allocator) const {
  return Guarded("Session::RegisterExternalAllocator", [&] {
    if (allocator == nullptr) Fail(kBadArgument, "ge-null", "allocator is null");
    FindSession(sessionId_)->SetAllocator(stream, std::move(allocator));
  });
}
Status Session::UnregisterExternalAllocator(const void* const stream) const {
  return Guarded("Session::UnregisterExternalAllocator",
                 [&] { FindSession(sessionId_)->SetAllocator(stream, nullptr); });
}

// --- what a session of Belay does not do

Status Session::GetVariables(const std::vector<AscendString>&, std::vector<Tensor>&) {
  return Refused("Session::GetVariables", "graphs have no variables");
}
Status Session::RegisterCallBackFunc(const char*, const session::pCallBackFunc&) {
  return Refused("Session::RegisterCallBackFunc",
                 "graphs have no variables, so that there is nothing to save or to summarise");
}
Status Session::RunGraphDistribute(uint32_t, const std::map<int32_t, std::vector<Tensor>>&,
                                   std::map<int32_t, std::vector<Tensor>>&) {
  return Refused("Session::RunGraphDistribute", "a graph runs on one device; add it to a session for each");
}
Status Session::ShardGraphsToFile(const char_t*) const {
  return Refused("Session::ShardGraphsToFile", "graphs are not cut into parts");
}
Status Session::SaveGraphsToPb(const char_t*) const {
  return Refused("Session::SaveGraphsToPb",
                 "the vendor's format of graphs is not written; Graph::SaveToFile writes Belay's");
}

}  // namespace ge
