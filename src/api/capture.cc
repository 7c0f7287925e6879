// Capture and model instances (aclmdlRI*).
#include <algorithm>
#include <cstring>

#include "api/convert.h"
#include "api/graph_print.h"
#include "api/handlers.h"
#include "api/wait.h"
#include "runtime/capture.h"
#include "runtime/engine.h"

namespace belay::api {
namespace {

rt::CaptureMode ModeOf(aclmdlRICaptureMode mode) {
  if (mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
    Fail(107000, "capture-mode", "mode = {}; use GLOBAL (0), THREAD_LOCAL (1) or RELAXED (2)",
         static_cast<int>(mode));
  }
  return static_cast<rt::CaptureMode>(mode);
}

aclmdlRI HandleOf(rt::ModelRI& model) { return AsHandle<aclmdlRI>(rt::Models().HandleOf(&model)); }

const rt::TaskGraph& GraphOf(rt::ModelRI& model) {
  if (model.building()) {
    Fail(107000, "model-building", "model {} is still being captured; call aclmdlRICaptureEnd first", model.id());
  }
  return model.graph();
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

void aclmdlRIExecuteAsync(rt::ModelRI& modelRI, rt::Stream& stream) { modelRI.Execute(stream); }

void aclmdlRIExecute(rt::ModelRI& modelRI, int32_t timeout) {
  RefuseInCallback("aclmdlRIExecute");
  int64_t deadline = DeadlineOf(timeout);
  rt::Stream& stream = rt::CurrentContext().default_stream();
  modelRI.Execute(stream);
  WaitForStream(stream, deadline, 107019);
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
    Fail(107000, "callback-unknown", "this callback is not registered with model {}", modelRI.id());
  }
}

void aclmdlRIGetId(rt::ModelRI& modelRI, uint32_t* modelRIId) { *modelRIId = modelRI.id(); }

void aclmdlRISetName(rt::ModelRI& modelRI, const char* name) { modelRI.SetName(name); }

void aclmdlRIGetName(rt::ModelRI& modelRI, uint32_t maxLen, char* name) {
  if (maxLen == 0) Fail(107000, "name-length", "maxLen is 0; the name needs room for its end at least");
  constexpr size_t kLongest = 512;
  std::string full = modelRI.name();
  size_t length = std::min({full.size(), size_t{maxLen} - 1, kLongest - 1});
  std::memcpy(name, full.data(), length);
  name[length] = '\0';
}

void aclmdlRIDebugPrint(rt::ModelRI& modelRI) { PrintGraph(GraphOf(modelRI), modelRI.id()); }

void aclmdlRIDebugJsonPrint(rt::ModelRI& modelRI, const char* path, uint32_t flags) {
  if (flags > 1) Fail(107000, "json-flags", "flags = {}; use 0 (summary) or 1 (verbose)", flags);
  WriteGraphJson(GraphOf(modelRI), modelRI.id(), path, flags == 1);
}

}  // namespace belay::api
