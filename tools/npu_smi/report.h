// What npu-smi prints. Programs cut it apart by line, column and name, so all of it is as
// documented.
#pragma once

#include <string>
#include <vector>

#include "npu_smi/devices.h"
#include "npu_smi/processes.h"

namespace belay::npu_smi {

// npu-smi info: each device, and the processes that see it.
std::string Table(const std::vector<Device>& devices, const std::vector<Process>& processes);
std::string List(const std::vector<Device>& devices);         // npu-smi info -l
std::string ChipMapping(const std::vector<Device>& devices);  // npu-smi info -m

std::string Topology(const std::vector<Device>& devices);  // npu-smi info -t topo

// npu-smi info -t type, for one device. Throws std::invalid_argument for a type that there is not.
std::string Details(const std::string& type, const Device& device);
std::string DetailTypes();

}  // namespace belay::npu_smi
