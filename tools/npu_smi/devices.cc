#include "npu_smi/devices.h"

#include <acl/acl.h>

#include <cstdlib>
#include <stdexcept>

namespace belay::npu_smi {
namespace {

void Check(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  throw std::runtime_error(std::string(call) + " gave " + std::to_string(code) +
                           (text == nullptr ? "" : std::string(": ") + text));
}

std::string ChipName() {
  const char* name = aclrtGetSocName();
  std::string soc = name == nullptr ? "" : name;
  return soc.starts_with("Ascend") ? soc.substr(6) : soc;
}

}  // namespace

std::vector<Device> ReadDevices() {
  unsetenv("ASCEND_RT_VISIBLE_DEVICES");  // is about what one program sees; this command shows the
                                          // machine
  Check(aclInit(nullptr), "aclInit");
  uint32_t count = 0;
  Check(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
  if (count == 0) throw std::runtime_error("there is no device");
  std::vector<Device> devices;
  for (uint32_t id = 0; id < count; ++id) {
    size_t free = 0;
    size_t total = 0;
    Check(aclrtSetDevice(static_cast<int32_t>(id)), "aclrtSetDevice");
    Check(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), "aclrtGetMemInfo");
    Check(aclrtResetDevice(static_cast<int32_t>(id)), "aclrtResetDevice");
    devices.push_back({id, ChipName(), (total - free) >> 20, total >> 20});
  }
  Check(aclFinalize(), "aclFinalize");
  return devices;
}

}  // namespace belay::npu_smi
