// Profiling that a program steers: from when to when, of which devices.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/log.h"
#include "api/prof.h"
#include "api/registry.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/number.h"
#include "runtime/profiler.h"

namespace belay::api {
namespace {

constexpr size_t kLongestPath = 4096;
constexpr size_t kLongestSetting = 256;
constexpr uint64_t kAllTasks = ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_TIME_L2;
constexpr uint64_t kKnownData = kAllTasks | ACL_PROF_ACL_API | ACL_PROF_AICORE_METRICS | ACL_PROF_AICPU |
                                ACL_PROF_L2CACHE | ACL_PROF_HCCL_TRACE | ACL_PROF_TRAINING_TRACE |
                                ACL_PROF_MSPROFTX | ACL_PROF_RUNTIME_API | ACL_PROF_FWK_SCHEDULE_L0 |
                                ACL_PROF_FWK_SCHEDULE_L1 | ACL_PROF_TASK_MEMORY | ACL_PROF_OP_ATTR;

struct Configuration {
  std::vector<int> devices;
  uint64_t data = 0;
};

struct Profiling {
  Registry<Configuration, RegistryKind::kProfConfig> configurations;
  std::mutex lock;  // of the rest
  bool on = false;  // from aclprofInit to aclprofFinalize
  std::string folder;
  rt::Profiler* profiler = nullptr;
  std::map<HandleBits, std::vector<int>> started;  // by configuration
  std::map<int, uint32_t> collected;               // by device

  void NeedOn() const;
  void EndAll();
};

Profiling& TheProfiling() { return PerProcess<Profiling>::Get(); }

void Profiling::NeedOn() const {
  if (!on) Fail(codes::kProfNotRun, "prof-not-on", "profiling is not on; call aclprofInit first");
}

void Profiling::EndAll() {
  started.clear();
  if (!collected.empty()) {
    collected.clear();
    profiler->Collect(collected);
    profiler->End();
  }
  on = false;
}

uint32_t CollectedOf(uint64_t data) {
  uint32_t what = 0;
  if ((data & kAllTasks) != 0) what |= rt::kCollectTasks;
  if ((data & (kAllTasks & ~ACL_PROF_TASK_TIME_L0)) != 0) what |= rt::kCollectOperands;
  if ((data & ACL_PROF_ACL_API) != 0) what |= rt::kCollectCalls;
  if ((data & ACL_PROF_MSPROFTX) != 0) what |= rt::kCollectMarks;
  if ((data & ACL_PROF_TRAINING_TRACE) != 0) what |= rt::kCollectSteps;
  return what;
}

std::shared_ptr<Configuration> NeedConfiguration(const aclprofConfig* config) {
  auto found = TheProfiling().configurations.Find(BitsOf(config));
  if (found == nullptr)
    RefuseHandle("a configuration of aclprofCreateConfig", "profilerConfig", BitsOf(config),
                 codes::kRtInvalidHandle);
  return found;
}

// A text of `length` bytes, which may but need not end there.
std::string TextOf(const char* text, size_t length, size_t most, const char* name) {
  if (length == 0 || length > most || strnlen(text, length) != length) {
    Fail(codes::kInvalidParam, "prof-length",
         "the length of {} is given as {}; give that of the text, at most {} bytes", name, length, most);
  }
  return {text, length};
}

// Makes the folder, and sees whether something can be written there.
void PrepareFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0) error.assign(errno, std::generic_category());
  if (error) {
    Fail(codes::kWriteFile, "prof-folder",
         "nothing can be written to {}: {}; name a folder that can be written", folder, error.message());
  }
}

bool InRange(const std::string& text, int64_t least, int64_t most) {
  return NumberIn(text, least, most).has_value();
}

// The values that the page of aclprofSetConfig tells.
bool IsValueOf(aclprofConfigType type, const std::string& text) {
  static const std::set<std::string> kSystem = {"cpu", "mem", "disk", "network", "osrt"};
  switch (type) {
    case ACL_PROF_STORAGE_LIMIT: {
      const bool unit = text.size() > 2 && text.ends_with("MB");
      return InRange(unit ? text.substr(0, text.size() - 2) : text, 200, 4294967295);
    }
    case ACL_PROF_SYS_HARDWARE_MEM_FREQ:
    case ACL_PROF_SYS_IO_FREQ:
    case ACL_PROF_DVPP_FREQ:
    case ACL_PROF_LOW_POWER_FREQ:
      return InRange(text, 1, 100);
    case ACL_PROF_SYS_INTERCONNECTION_FREQ:
    case ACL_PROF_HOST_SYS_USAGE_FREQ:
    case ACL_PROF_SYS_CPU_FREQ:
      return InRange(text, 1, 50);
    case ACL_PROF_LLC_MODE:
      return text == "read" || text == "write" || text == "capacity" || text == "bandwidth";
    case ACL_PROF_HOST_SYS:
    case ACL_PROF_HOST_SYS_USAGE: {
      std::string_view rest = text;
      while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find(','));
        if (!kSystem.contains(std::string(item))) return false;
        rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      }
      return true;
    }
    default:
      return true;  // a list of streams, or of operators
  }
}

}  // namespace

void EndProfiling() {
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  if (profiling.on) profiling.EndAll();
}

bool IsProfiling() {
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  return profiling.on;
}

void aclprofInit(const char* profilerResultPath, size_t length) {
  const std::string path = TextOf(profilerResultPath, length, kLongestPath, "profilerResultPath");
  if (AnySubscriptions()) {
    Fail(codes::kProfApiConflict, "prof-mixed",
         "the operators of a model are being sent; call aclprofModelUnSubscribe before aclprofInit");
  }
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  if (profiling.on) {
    Fail(codes::kRepeatInitialize, "prof-twice",
         "profiling is on, for {}; call aclprofFinalize before aclprofInit again", profiling.folder);
  }
  const std::string folder = std::filesystem::absolute(path);
  PrepareFolder(folder);
  std::string why;
  if (profiling.profiler == nullptr) profiling.profiler = rt::LoadProfiler(&why);
  if (profiling.profiler == nullptr) {
    Fail(codes::kProfilingFailure, "prof-layer",
         "libbelay_layer_trace.so, which writes the tables, cannot be loaded: {}; it lies beside the core",
         why);
  }
  profiling.folder = folder;
  profiling.on = true;
}

void aclprofFinalize() {
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  profiling.NeedOn();
  profiling.EndAll();
}

void aclprofSetConfig(aclprofConfigType configType, const char* config, size_t configLength) {
  if (configType <= ACL_PROF_ARGS_MIN || configType >= ACL_PROF_ARGS_MAX || configType == 2) {
    Fail(codes::kInvalidParam, "prof-setting", "configType = {}; take one of aclprofConfigType",
         static_cast<int>(configType));
  }
  const std::string text = TextOf(config, configLength, kLongestSetting, "config");
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  if (!profiling.started.empty()) {
    Fail(codes::kProfAlreadyRun, "prof-runs", "profiling runs; call aclprofSetConfig before aclprofStart");
  }
  if (!IsValueOf(configType, text)) {
    Fail(codes::kInvalidProfilingConfig, "prof-setting",
         "'{}' is no value of the setting {}; the page of aclprofSetConfig lists them", text,
         static_cast<int>(configType));
  }
  LogWarning(LogPlace::Here(), "aclprofSetConfig: setting {} has no effect: there are no such counters here",
             static_cast<int>(configType));
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig) {
  const auto refuse = [](const std::string& what) {
    Fail(codes::kInvalidProfilingConfig, "prof-config", "{}", what);
  };
  if (aicoreEvents != nullptr) refuse("aicoreEvents is reserved; give NULL");
  const bool known = aicoreMetrics >= ACL_AICORE_ARITHMETIC_UTILIZATION &&
                     aicoreMetrics <= ACL_AICORE_PIPE_EXECUTE_UTILIZATION;
  if (!known && aicoreMetrics != ACL_AICORE_NONE)
    refuse("aicoreMetrics = " + std::to_string(aicoreMetrics) + "; take one of aclprofAicoreMetrics");
  if ((dataTypeConfig & ~kKnownData) != 0 || dataTypeConfig == 0)
    refuse("dataTypeConfig = " + std::to_string(dataTypeConfig) + "; give an or of ACL_PROF_*");
  if (deviceNums == 0 || deviceNums > static_cast<uint32_t>(rt::DeviceCount()))
    refuse("deviceNums = " + std::to_string(deviceNums) + "; there are " + std::to_string(rt::DeviceCount()) +
           " devices");
  Configuration made;
  made.data = dataTypeConfig;
  std::set<int> seen;
  for (uint32_t i = 0; i < deviceNums; ++i) {
    const auto device = static_cast<int>(deviceIdList[i]);
    rt::DeviceAt(device);
    if (!seen.insert(device).second) refuse("device " + std::to_string(device) + " is in the list twice");
    made.devices.push_back(device);
  }
  if (const uint64_t counters =
          dataTypeConfig & (ACL_PROF_AICORE_METRICS | ACL_PROF_AICPU | ACL_PROF_L2CACHE);
      counters != 0) {
    LogWarning(LogPlace::Here(),
               "aclprofCreateConfig: {:#x} of dataTypeConfig asks for counters of a card: none", counters);
  }
  return AsHandle<aclprofConfig*>(TheProfiling().configurations.Add(std::move(made)));
}

void aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  NeedConfiguration(profilerConfig);
  TheProfiling().configurations.Remove(BitsOf(profilerConfig));
}

void aclprofWarmup(const aclprofConfig* profilerConfig) {
  NeedConfiguration(profilerConfig);
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  profiling.NeedOn();
}

void aclprofStart(const aclprofConfig* profilerConfig) {
  const std::shared_ptr<Configuration> configuration = NeedConfiguration(profilerConfig);
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  profiling.NeedOn();
  for (const int device : configuration->devices) {
    if (profiling.collected.contains(device)) {
      Fail(codes::kProfAlreadyRun, "prof-runs",
           "device {} is being profiled; call aclprofStop with the configuration that started it", device);
    }
  }
  if (profiling.collected.empty()) {
    const std::string why = profiling.profiler->Begin(profiling.folder);
    if (!why.empty())
      Fail(codes::kWriteFile, "prof-folder", "the tables cannot be written to {}: {}", profiling.folder, why);
  }
  for (const int device : configuration->devices) {
    profiling.collected[device] = CollectedOf(configuration->data);
  }
  profiling.started[BitsOf(profilerConfig)] = configuration->devices;
  profiling.profiler->Collect(profiling.collected);
}

void aclprofStop(const aclprofConfig* profilerConfig) {
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  profiling.NeedOn();
  const auto found = profiling.started.find(BitsOf(profilerConfig));
  if (found == profiling.started.end()) {
    NeedConfiguration(profilerConfig);
    Fail(
        codes::kProfNotRun, "prof-not-started",
        "nothing was started with this configuration, or it was stopped; give aclprofStop what aclprofStart had");
  }
  for (const int device : found->second) profiling.collected.erase(device);
  profiling.started.erase(found);
  profiling.profiler->Collect(profiling.collected);
  if (profiling.collected.empty()) profiling.profiler->End();
}

void aclprofRegisterDeviceCallback() {
  Profiling& profiling = TheProfiling();
  std::lock_guard guard(profiling.lock);
  profiling.NeedOn();
}

}  // namespace belay::api
