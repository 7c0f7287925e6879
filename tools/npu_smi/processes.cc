#include "npu_smi/processes.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <optional>
#include <sstream>

#include "base/whole_file.h"

namespace belay::npu_smi {
namespace {

namespace fs = std::filesystem;

// Empty where it cannot be read: a process may end between any two lines.
std::string ReadAll(const fs::path& path) { return ReadWholeFile(path.string()).value_or(""); }

std::optional<uint32_t> NumberOf(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

// Nothing where the variable is not set.
std::optional<std::string> Variable(const std::string& environment, const std::string& name) {
  std::istringstream entries(environment);
  for (std::string entry; std::getline(entries, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::vector<uint32_t> DevicesSeen(const std::string& environment, size_t device_count) {
  std::vector<uint32_t> devices;
  if (auto visible = Variable(environment, "ASCEND_RT_VISIBLE_DEVICES")) {
    std::istringstream list(*visible);
    for (std::string entry; std::getline(list, entry, ',');) {
      auto device = NumberOf(entry);
      if (device && *device < device_count) devices.push_back(*device);
    }
    return devices;
  }
  auto count = NumberOf(Variable(environment, "BELAY_DEVICES").value_or(""));
  devices.resize(std::min<size_t>(count.value_or(static_cast<uint32_t>(device_count)), device_count));
  std::iota(devices.begin(), devices.end(), 0u);
  return devices;
}

// Device memory is the only kind that a child does not inherit ("dc") and that nothing is reserved
// for ("nr"). Nothing where there is none: the library is loaded, but its runtime was not started.
std::optional<uint64_t> DeviceKilobytes(const fs::path& smaps) {
  std::istringstream file(ReadAll(smaps));
  std::optional<uint64_t> total;
  uint64_t resident = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "Rss:") words >> resident;
    if (key != "VmFlags:") continue;
    line += ' ';
    if (line.find(" dc ") == std::string::npos || line.find(" nr ") == std::string::npos) continue;
    total = total.value_or(0) + resident;
  }
  return total;
}

std::string NameOf(const fs::path& folder) {
  std::string name = ReadAll(folder / "comm");
  name.erase(name.find_last_not_of('\n') + 1);
  return name;
}

}  // namespace

std::vector<Process> ReadProcesses(size_t device_count, const std::string& proc) {
  std::vector<Process> processes;
  std::error_code error;
  for (fs::directory_iterator entry(proc, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& folder = entry->path();
    auto pid = NumberOf(folder.filename().string());
    if (!pid || static_cast<pid_t>(*pid) == getpid()) continue;
    if (ReadAll(folder / "maps").find("/libbelay_core.so") == std::string::npos) continue;
    std::optional<uint64_t> kilobytes = DeviceKilobytes(folder / "smaps");
    if (!kilobytes) continue;
    Process process{static_cast<int>(*pid), NameOf(folder),
                    DevicesSeen(ReadAll(folder / "environ"), device_count), 0};
    if (process.devices.size() == 1) process.memory_mb = *kilobytes >> 10;
    processes.push_back(std::move(process));
  }
  std::sort(processes.begin(), processes.end(),
            [](const Process& a, const Process& b) { return a.pid < b.pid; });
  return processes;
}

void AddUse(const std::vector<Process>& processes, std::vector<Device>& devices) {
  for (const Process& process : processes) {
    for (uint32_t id : process.devices) devices[id].used_mb += process.memory_mb;
  }
}

}  // namespace belay::npu_smi
