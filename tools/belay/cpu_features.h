// What belay info says about the processor.
#pragma once

#include <string>
#include <vector>

namespace belay::tool {

std::string CpuModel();                  // "unknown" where the system does not say
std::vector<std::string> CpuFeatures();  // those that make a difference to Belay's kernels
int UsableCores();                       // what the process may run on

}  // namespace belay::tool
