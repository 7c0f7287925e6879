#include "npu_smi/report.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>

namespace belay::npu_smi {
namespace {

const std::string kThin =
    "+---------------------------+---------------+-------------------------------------------------"
    "---+\n";
const std::string kThick =
    "+===========================+===============+================================================="
    "===+\n";
const std::string kWhole = "+" + std::string(96, '-') + "+\n";

std::string Wide(const std::string& text) { return fmt::format("| {:<94} |\n", text); }

std::string Row(const std::string& left, const std::string& middle, const std::string& right) {
  return fmt::format("| {:<25} | {:<13} | {:<51}|\n", left, middle, right);
}

std::string Usage(uint64_t used, uint64_t total) { return fmt::format("{:<5}/ {}", used, total); }

std::string Line(const std::string& name, const std::string& value) {
  return fmt::format("\t{:<30} : {}\n", name, value);
}

// "0-3,8": the cores that this process may use, which are those of every device.
std::string UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return "NA";
  std::string text;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &cores)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cores)) ++last;
    text +=
        (text.empty() ? "" : ",") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    first = last;
  }
  return text;
}

// A processor has none of these sensors and counters: 0 and NA are what the command shows for what
// is not there.
struct Fact {
  const char* type;
  const char* name;
  std::string (*value)(const Device&);
};

std::string Id(const Device& device) { return std::to_string(device.id); }
std::string Zero(const Device&) { return "0"; }
std::string One(const Device&) { return "1"; }
std::string Missing(const Device&) { return "NA"; }
std::string Fine(const Device&) { return "OK"; }
std::string Version(const Device&) { return BELAY_VERSION; }
std::string Chip(const Device& device) { return device.chip; }
std::string Capacity(const Device& device) { return std::to_string(device.total_mb); }
std::string UsedRate(const Device& device) {
  return std::to_string(device.total_mb == 0 ? 0 : device.used_mb * 100 / device.total_mb);
}

constexpr Fact kFacts[] = {
    {"board", "NPU ID", Id},
    {"board", "Product Name", [](const Device&) -> std::string { return "Belay"; }},
    {"board", "Model", Missing},
    {"board", "Manufacturer", Missing},
    {"board", "Serial Number", Missing},
    {"board", "Software Version", Version},
    {"board", "Firmware Version", Missing},
    {"board", "Compatibility", Fine},
    {"board", "Board ID", Missing},
    {"board", "PCIe Bus Info", Missing},
    {"board", "Chip ID", Zero},
    {"board", "Chip Type", [](const Device&) -> std::string { return "Ascend"; }},
    {"board", "Chip Name", Chip},
    {"board", "Chip Count", One},
    {"memory", "NPU ID", Id},
    {"memory", "Chip Count", One},
    {"memory", "DDR Capacity(MB)", Zero},
    {"memory", "HBM Capacity(MB)", Capacity},
    {"memory", "HBM Clock Speed(MHz)", Zero},
    {"memory", "Chip ID", Zero},
    {"usages", "NPU ID", Id},
    {"usages", "Chip Count", One},
    {"usages", "DDR Capacity(MB)", Zero},
    {"usages", "DDR Usage Rate(%)", Zero},
    {"usages", "HBM Capacity(MB)", Capacity},
    {"usages", "HBM Usage Rate(%)", UsedRate},
    {"usages", "Aicore Usage Rate(%)", Zero},
    {"usages", "Aivector Usage Rate(%)", Zero},
    {"usages", "Aicpu Usage Rate(%)", Zero},
    {"usages", "Ctrlcpu Usage Rate(%)", Zero},
    {"usages", "HBM Bandwidth Usage Rate(%)", Zero},
    {"usages", "Chip ID", Zero},
    {"common", "NPU ID", Id},
    {"common", "Chip Count", One},
    {"common", "Chip ID", Zero},
    {"common", "Memory Usage Rate(%)", Zero},
    {"common", "HBM Usage Rate(%)", UsedRate},
    {"common", "Aicore Usage Rate(%)", Zero},
    {"common", "Aicore Freq(MHZ)", Zero},
    {"common", "Temperature(C)", Zero},
    {"common", "NPU Real-time Power(W)", Zero},
    {"health", "NPU ID", Id},
    {"health", "Chip ID", Zero},
    {"health", "Health Status", Fine},
    {"temp", "NPU ID", Id},
    {"temp", "Chip ID", Zero},
    {"temp", "NPU Temperature (C)", Zero},
    {"power", "NPU ID", Id},
    {"power", "Chip ID", Zero},
    {"power", "NPU Real-time Power(W)", Zero},
    {"product", "NPU ID", Id},
    {"product", "Product Type", [](const Device&) -> std::string { return "Belay"; }},
};

std::string ProcessRows(const Device& device, const std::vector<Process>& processes) {
  std::string rows;
  for (const Process& process : processes) {
    if (std::find(process.devices.begin(), process.devices.end(), device.id) == process.devices.end())
      continue;
    rows += fmt::format("| {:<7} {:<17} | {:<13} | {:<24.24} | {:<23} |\n", device.id, 0, process.pid,
                        process.name, process.memory_mb);
  }
  return rows;
}

}  // namespace

std::string Table(const std::vector<Device>& devices, const std::vector<Process>& processes) {
  std::string text = kWhole;
  text += Wide(
      fmt::format("{:<32} Version: {} (Belay: no card, a CPU)", "npu-smi " BELAY_VERSION, BELAY_VERSION));
  text += kThin;
  text += Row("NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)");
  text += Row("Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)");
  text += kThick;
  for (const Device& device : devices) {
    text += Row(fmt::format("{:<5} {}", device.id, device.chip), "OK",
                fmt::format("{:<11} {:<17} {}", "0.0", 0, Usage(0, 0)));
    text += Row("0", "NA",
                fmt::format("{:<11} {:<17} {}", 0, Usage(0, 0), Usage(device.used_mb, device.total_mb)));
    text += kThick;
  }
  text += kThin;
  text +=
      "| NPU     Chip              | Process id    | Process name             | Process memory(MB) "
      "     |\n" +
      kThick;
  for (const Device& device : devices) {
    std::string rows = ProcessRows(device, processes);
    text +=
        (rows.empty() ? Wide(fmt::format("No running processes found in NPU {}", device.id)) : rows) + kThick;
  }
  return text;
}

std::string List(const std::vector<Device>& devices) {
  std::string text = Line("Total Count", std::to_string(devices.size()));
  for (const Device& device : devices) text += "\n" + Line("NPU ID", Id(device)) + Line("Chip Count", "1");
  return text;
}

std::string ChipMapping(const std::vector<Device>& devices) {
  constexpr const char* kRow = "\t{:<30} {:<30} {:<30} {}\n";
  std::string text = fmt::format(kRow, "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
  for (const Device& device : devices)
    text += fmt::format(kRow, device.id, 0, device.id, "Ascend " + device.chip);
  return text;
}

std::string Topology(const std::vector<Device>& devices) {
  constexpr const char* kCell = "{:<11}";
  std::string text = fmt::format(kCell, "");
  for (const Device& device : devices) text += fmt::format(kCell, "NPU" + Id(device));
  text += "CPU Affinity\n";
  for (const Device& row : devices) {
    text += fmt::format(kCell, "NPU" + Id(row));
    for (const Device& column : devices) text += fmt::format(kCell, row.id == column.id ? "X" : "SYS");
    text += UsableCores() + "\n";
  }
  return text +
         "\nLegend:\n\n"
         "  X    = the device itself\n"
         "  SYS  = by way of the memory of the host\n";
}

std::string Details(const std::string& type, const Device& device) {
  std::string text;
  for (const Fact& fact : kFacts) {
    if (type == fact.type) text += Line(fact.name, fact.value(device));
  }
  if (text.empty())
    throw std::invalid_argument("there is no type " + type + " here; topo, " + DetailTypes() + " are there");
  return text;
}

std::string DetailTypes() {
  std::string types;
  const char* last = "";
  for (const Fact& fact : kFacts) {
    if (std::string(last) != fact.type) types += (types.empty() ? "" : ", ") + std::string(fact.type);
    last = fact.type;
  }
  return types;
}

}  // namespace belay::npu_smi
