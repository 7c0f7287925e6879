// What there is to tell about the devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::npu_smi {

struct Device {
  uint32_t id = 0;
  std::string chip;      // 910B3: the name of the SoC without its first word
  uint64_t used_mb = 0;  // of its memory
  uint64_t total_mb = 0;
};

// Throws std::runtime_error when there is none, or when the runtime does not start.
std::vector<Device> ReadDevices();

}  // namespace belay::npu_smi
