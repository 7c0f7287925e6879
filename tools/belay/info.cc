#include "belay/info.h"

#include <acl/acl.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "belay/cpu_features.h"
#include "belay/running_groups.h"
#include "belay/toolkit.h"

namespace belay::tool {
namespace {

void CheckCall(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  throw std::runtime_error(std::string(call) + " gave " + std::to_string(code) + ": " +
                           (text == nullptr ? "no message" : text));
}

nlohmann::ordered_json Devices() {
  auto devices = nlohmann::ordered_json::array();
  uint32_t count = 0;
  CheckCall(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
  for (uint32_t id = 0; id < count; ++id) {
    size_t free = 0;
    size_t total = 0;
    CheckCall(aclrtSetDevice(static_cast<int32_t>(id)), "aclrtSetDevice");
    CheckCall(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), "aclrtGetMemInfo");
    CheckCall(aclrtResetDevice(static_cast<int32_t>(id)), "aclrtResetDevice");
    devices.push_back({{"id", id}, {"memory_bytes", total}, {"free_bytes", free}});
  }
  return devices;
}

nlohmann::ordered_json Groups() {
  auto groups = nlohmann::ordered_json::array();
  for (const RunningGroup& group : RunningGroups()) {
    groups.push_back({{"id", group.id},
                      {"process", group.process},
                      {"program", group.program},
                      {"connections", group.connections}});
  }
  return groups;
}

nlohmann::ordered_json Collect() {
  CheckCall(aclInit(nullptr), "aclInit");
  int32_t major = 0;
  int32_t minor = 0;
  int32_t patch = 0;
  CheckCall(aclrtGetVersion(&major, &minor, &patch), "aclrtGetVersion");
  aclrtRunMode mode = ACL_HOST;
  CheckCall(aclrtGetRunMode(&mode), "aclrtGetRunMode");
  const char* soc = aclrtGetSocName();

  nlohmann::ordered_json info;
  info["belay_version"] = BELAY_VERSION;
  info["interface_version"] =
      std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  info["toolkit"] = ToolkitHome();
  info["soc"] = soc == nullptr ? "" : soc;
  info["run_mode"] = mode == ACL_HOST ? "host" : "device";
  info["cpu"] = {{"model", CpuModel()}, {"cores", UsableCores()}, {"features", CpuFeatures()}};
  info["devices"] = Devices();
  info["groups"] = Groups();
  CheckCall(aclFinalize(), "aclFinalize");
  return info;
}

double GiB(const nlohmann::ordered_json& bytes) { return bytes.get<double>() / (1 << 30); }

void PrintText(const nlohmann::ordered_json& info) {
  auto text = [&](const char* key) { return info[key].get<std::string>(); };
  std::printf("Belay      %s (interface %s)\n", text("belay_version").c_str(),
              text("interface_version").c_str());
  std::printf("toolkit    %s\n", text("toolkit").c_str());
  std::printf("SoC name   %s, run mode %s\n", text("soc").c_str(), text("run_mode").c_str());
  std::string features;
  for (const auto& feature : info["cpu"]["features"]) features += " " + feature.get<std::string>();
  std::printf("processor  %s, %d cores:%s\n", info["cpu"]["model"].get<std::string>().c_str(),
              info["cpu"]["cores"].get<int>(), features.c_str());
  for (const auto& device : info["devices"]) {
    std::printf("device %-3d %.1f GiB of memory, %.1f GiB free\n", device["id"].get<int>(),
                GiB(device["memory_bytes"]), GiB(device["free_bytes"]));
  }
  for (const auto& group : info["groups"]) {
    std::printf("group      %s: met in process %d (%s), %u connections of ranks on this machine\n",
                group["id"].get<std::string>().substr(0, 8).c_str(), group["process"].get<int>(),
                group["program"].get<std::string>().c_str(), group["connections"].get<unsigned>());
  }
}

}  // namespace

int Info(bool json) {
  nlohmann::ordered_json info = Collect();
  if (json) {
    std::printf("%s\n", info.dump(2).c_str());
  } else {
    PrintText(info);
  }
  return 0;
}

}  // namespace belay::tool
