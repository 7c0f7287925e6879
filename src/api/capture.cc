// Capture and model instances (aclmdlRI*).
#include <algorithm>
#include <cstring>

#include "api/convert.h"
#include "api/graph_print.h"
#include "api/handlers.h"
#include "api/wait.h"
#include "base/codes.h"
#include "runtime/capture.h"
#include "runtime/engine.h"
#include "runtime/task_group.h"

namespace belay::api {
namespace {

rt::CaptureMode ModeOf(aclmdlRICaptureMode mode) {
  if (mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
    Fail(codes::kRtParamInvalid, "capture-mode", "mode = {}; use GLOBAL (0), THREAD_LOCAL (1) or RELAXED (2)",
         static_cast<int>(mode));
  }
  return static_cast<rt::CaptureMode>(mode);
}

aclmdlRI HandleOf(rt::ModelRI& model) { return AsHandle<aclmdlRI>(rt::Models().HandleOf(&model)); }

const rt::TaskGraph& GraphOf(rt::ModelRI& model) {
  if (model.building()) {
    Fail(codes::kRtParamInvalid, "model-building",
         "model {} is still being captured; call aclmdlRICaptureEnd first", model.id());
  }
  return model.graph();
}

// The two calls of the interface that fill an array: null asks how long it has to be.
template <class Handle>
void FillArray(const std::vector<HandleBits>& from, Handle* to, uint32_t* count, const char* what) {
  auto total = static_cast<uint32_t>(from.size());
  if (to != nullptr) {
    if (*count < total) {
      Fail(codes::kRtParamInvalid, "array-short",
           "the array has room for {} {}, there are {}; ask for the number with a null array", *count, what,
           total);
    }
    for (uint32_t i = 0; i < total; ++i) to[i] = AsHandle<Handle>(from[i]);
  }
  *count = total;
}

aclmdlRITaskType TypeOfTask(const rt::ModelTask& task) {
  if (task.node == rt::CaptureNode::Kind::kRecord) return ACL_MODEL_RI_TASK_EVENT_RECORD;
  if (task.node == rt::CaptureNode::Kind::kWait) return ACL_MODEL_RI_TASK_EVENT_WAIT;
  switch (task.kind) {
    case rt::TaskKind::kOperator:
      return ACL_MODEL_RI_TASK_KERNEL;
    case rt::TaskKind::kEventRecord:
      return ACL_MODEL_RI_TASK_EVENT_RECORD;
    case rt::TaskKind::kValueWrite:
      return ACL_MODEL_RI_TASK_VALUE_WRITE;
    case rt::TaskKind::kValueWait:
      return ACL_MODEL_RI_TASK_VALUE_WAIT;
    case rt::TaskKind::kMark:
    case rt::TaskKind::kOther:
      break;
  }
  return ACL_MODEL_RI_TASK_DEFAULT;
}

}  // namespace

void aclmdlRICaptureBegin(rt::Stream& stream, aclmdlRICaptureMode mode) {
  rt::Capture::Begin(stream, ModeOf(mode));
}

void aclmdlRICaptureEnd(rt::Stream& stream, aclmdlRI* modelRI) {
  *modelRI = nullptr;
  *modelRI = HandleOf(rt::Capture::End(stream));
}

void aclmdlRICaptureGetInfo(rt::Stream& stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI) {
  rt::Capture::Info info = rt::Capture::InfoOf(stream);
  *status = static_cast<aclmdlRICaptureStatus>(info.state);
  if (modelRI != nullptr && info.model != nullptr) *modelRI = HandleOf(*info.model);
}

void aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  *mode = static_cast<aclmdlRICaptureMode>(rt::ExchangeThreadMode(ModeOf(*mode)));
}

void aclmdlRICaptureTaskGrpBegin(rt::Stream& stream) { rt::Capture::BeginGroup(stream); }
void aclmdlRICaptureTaskGrpEnd(rt::Stream& stream, aclrtTaskGrp* handle) {
  *handle = nullptr;
  *handle = AsHandle<aclrtTaskGrp>(rt::TaskGroups().HandleOf(&rt::Capture::EndGroup(stream)));
}
void aclmdlRICaptureTaskUpdateBegin(rt::Stream& stream, rt::TaskGroup& handle) {
  rt::TaskUpdate::Begin(stream, handle);
}
void aclmdlRICaptureTaskUpdateEnd(rt::Stream& stream) { rt::TaskUpdate::End(stream); }

void aclmdlRIExecuteAsync(rt::ModelRI& modelRI, rt::Stream& stream) { modelRI.Execute(stream); }

void aclmdlRIExecute(rt::ModelRI& modelRI, int32_t timeout) {
  RefuseInCallback("aclmdlRIExecute");
  int64_t deadline = DeadlineOf(timeout);
  rt::Stream& stream = rt::CurrentContext().default_stream();
  modelRI.Execute(stream);
  WaitForStream(stream, deadline, codes::kRtWaitTimeout);
}

void aclmdlRIDestroy(rt::ModelRI& modelRI) {
  GraphOf(modelRI);  // one that is being captured belongs to its capture
  rt::ModelRI::Destroy(modelRI);
}

void aclmdlRIDestroyRegisterCallback(rt::ModelRI& modelRI, aclrtCallback func, void* userData) {
  modelRI.AddDestroyCallback(func, userData);
}
void aclmdlRIDestroyUnregisterCallback(rt::ModelRI& modelRI, aclrtCallback func) {
  if (!modelRI.RemoveDestroyCallback(func)) {
    Fail(codes::kRtParamInvalid, "callback-unknown", "this callback is not registered with model {}",
         modelRI.id());
  }
}

void aclmdlRIGetId(rt::ModelRI& modelRI, uint32_t* modelRIId) { *modelRIId = modelRI.id(); }

void aclmdlRIGetStreams(rt::ModelRI& modelRI, aclrtStream* streams, uint32_t* numStreams) {
  GraphOf(modelRI);
  FillArray(modelRI.Streams(), streams, numStreams, "streams");
}

void aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask* tasks, uint32_t* numTasks) {
  rt::ModelStream* place = rt::ModelStreams().Find(BitsOf(stream));
  if (place == nullptr) {
    Fail(
        codes::kRtInvalidHandle, "model-stream",
        "stream = {:#x} is not a stream of a model, as aclmdlRIGetStreams gives them, or the model was destroyed",
        BitsOf(stream));
  }
  FillArray(place->tasks, tasks, numTasks, "tasks");
}

void aclmdlRITaskGetType(rt::ModelTask& task, aclmdlRITaskType* type) { *type = TypeOfTask(task); }
void aclmdlRITaskGetSeqId(rt::ModelTask& task, uint32_t* id) { *id = task.sequence; }

void aclmdlRISetName(rt::ModelRI& modelRI, const char* name) { modelRI.SetName(name); }

void aclmdlRIGetName(rt::ModelRI& modelRI, uint32_t maxLen, char* name) {
  if (maxLen == 0)
    Fail(codes::kRtParamInvalid, "name-length", "maxLen is 0; the name needs room for its end at least");
  constexpr size_t kLongest = 512;
  std::string full = modelRI.name();
  size_t length = std::min({full.size(), size_t{maxLen} - 1, kLongest - 1});
  std::memcpy(name, full.data(), length);
  name[length] = '\0';
}

void aclmdlRIDebugPrint(rt::ModelRI& modelRI) { PrintGraph(GraphOf(modelRI), modelRI.id()); }

void aclmdlRIDebugJsonPrint(rt::ModelRI& modelRI, const char* path, uint32_t flags) {
  if (flags > 1)
    Fail(codes::kRtParamInvalid, "json-flags", "flags = {}; use 0 (summary) or 1 (verbose)", flags);
  WriteGraphJson(GraphOf(modelRI), modelRI.id(), path, flags == 1);
}

}  // namespace belay::api
