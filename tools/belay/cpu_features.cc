#include "belay/cpu_features.h"

#include <sched.h>

#include <fstream>
#include <set>
#include <sstream>

namespace belay::tool {
namespace {

// The value of the first line of /proc/cpuinfo with one of these keys (x86 and Arm name them apart).
std::string CpuInfo(std::initializer_list<const char*> keys) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    for (const char* key : keys) {
      size_t colon = line.find(':');
      if (line.rfind(key, 0) == 0 && colon != std::string::npos && colon + 2 <= line.size()) {
        return line.substr(colon + 2);
      }
    }
  }
  return "";
}

}  // namespace

std::string CpuModel() {
  std::string model = CpuInfo({"model name", "Hardware", "CPU part"});
  return model.empty() ? "unknown" : model;
}

std::vector<std::string> CpuFeatures() {
  static const char* const kOfInterest[] = {
      "sse4_2",      "f16c",        "fma",         "avx2",     "avx512f",  "avx512bw",
      "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8",
      "asimd",       "asimdhp",     "bf16",        "sve",      "sve2"};
  std::istringstream words(CpuInfo({"flags", "Features"}));
  std::set<std::string> present;
  for (std::string word; words >> word;) present.insert(word);
  std::vector<std::string> features;
  for (const char* name : kOfInterest) {
    if (present.count(name) != 0) features.push_back(name);
  }
  return features;
}

int UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

}  // namespace belay::tool
