#include "api/start.h"

#include "api/faults.h"
#include "api/report_threads.h"
#include "ops/schema.h"
#include "runtime/layer.h"
#include "runtime/observer.h"
#include "runtime/process.h"

namespace belay::api {

void StartRuntime(int default_device, const std::string& faults_of_file) {
  if (!rt::Running()) {
    rt::LoadLayers();
    UseFaults(faults_of_file);
  }
  if (rt::Observers::watch_bytes()) ops::KeepViewsOfAllPlans();
  rt::SetCallReleaser(&CloseReports);
  rt::Start(default_device);
}

}  // namespace belay::api
