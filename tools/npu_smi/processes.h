// Processes in which Belay's runtime runs, told from what the system says of them: nobody keeps a
// list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npu_smi/devices.h"

namespace belay::npu_smi {

struct Process {
  int pid = 0;
  std::string name;
  std::vector<uint32_t> devices;  // that it sees
  uint64_t memory_mb =
      0;  // of the device, where it sees only one; else 0: which device it is in is not known
};

// Those that this user may look into, except this one. `proc` is /proc, or looks like it.
std::vector<Process> ReadProcesses(size_t device_count, const std::string& proc = "/proc");

// Adds what the processes use to the devices.
void AddUse(const std::vector<Process>& processes, std::vector<Device>& devices);

}  // namespace belay::npu_smi
