// Start and end of use, versions, error texts.
#include <cstring>

#include "api/config.h"
#include "api/error_trail.h"
#include "api/handlers.h"
#include "api/log.h"
#include "api/process_options.h"
#include "api/prof.h"
#include "api/second_copy.h"
#include "api/start.h"
#include "api/wait.h"
#include "base/error.h"
#include "base/thread.h"
#include "collective/communicator.h"
#include "graph/model.h"
#include "graph/single_op_model.h"
#include "runtime/context.h"
#include "runtime/process.h"
#include "runtime/settings.h"

namespace belay::api {
namespace {

void ForgetModels() {
  graph::RemoveModelsOf(-1);
  graph::ForgetPreparedOps();
  graph::ForgetLoadedOps();
}

}  // namespace

// A thread that is cancelled half way through one of these would leave the runtime half started or half
// ended: they are no cancellation points.
void aclInit(const char* configPath) {
  NoCancellation no_cancellation;
  ReadLogSettings();
  RefuseSecondCopy();
  InitConfig config = ReadInitConfig(configPath);
  if (!rt::Running()) {
    Options().Reset();
    KeepErrorsPerProcess(false);
  }
  StartRuntime(config.default_device, config.faults);
  if (config.errors_per_process) KeepErrorsPerProcess(*config.errors_per_process);
  if (!config.without_effect.empty()) {
    LogWarning(LogPlace::Here(), "aclInit: {} has no effect for these keys: {}", configPath,
               config.without_effect);
  }
  LogInfo(LogPlace::Here(), "aclInit: {} devices", rt::DeviceCount());
}

void aclFinalize() {
  NoCancellation no_cancellation;
  RefuseInCallback("aclFinalize");
  EndProfiling();
  EndSubscriptions();
  rt::Stop();
  coll::Communicator::DestroyAll();
  ForgetModels();
  LogInfo(LogPlace::Here(), "aclFinalize");
}

void aclFinalizeReference(uint64_t* refCount) {
  NoCancellation no_cancellation;
  RefuseInCallback("aclFinalizeReference");
  uint64_t left = rt::StopOne();
  if (left == 0) {
    EndProfiling();
    EndSubscriptions();
    coll::Communicator::DestroyAll();
    ForgetModels();
  }
  LogInfo(LogPlace::Here(), "aclFinalizeReference: {} left", left);
  if (refCount != nullptr) *refCount = left;
}

const char* aclGetRecentErrMsg() { return TakeErrors(); }

aclError aclrtGetLastError(aclrtLastErrLevel) { return TakeLastError(); }
aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return LastError(); }

// The version of the interface, as its header of 2025 counts it.
void aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  *majorVersion = 1;
  *minorVersion = 10;
  *patchVersion = 0;
}

const char* aclrtGetSocName() {
  if (rt::Running()) return rt::CurrentSettings().soc.c_str();
  const char* soc = getenv("BELAY_SOC");
  return soc != nullptr && *soc != '\0' ? soc : "Ascend910B3";
}

}  // namespace belay::api
