// npu-smi: tells scripts about the devices in the words of the card's own command. Only looking is
// possible.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "npu_smi/devices.h"
#include "npu_smi/processes.h"
#include "npu_smi/report.h"

namespace belay::npu_smi {
namespace {

struct Options {
  bool list = false;
  bool mapping = false;
  std::string type;
  int id = -1;
  int chip = 0;
};

std::string Report(const Options& options, const std::vector<Device>& devices,
                   const std::vector<Process>& processes) {
  if (options.list) return List(devices);
  if (options.mapping) return ChipMapping(devices);
  if (options.id >= static_cast<int>(devices.size())) {
    throw std::invalid_argument("there is no NPU " + std::to_string(options.id) +
                                "; npu-smi info -l lists them");
  }
  if (options.chip != 0) throw std::invalid_argument("each NPU has one chip, 0");
  std::vector<Device> chosen = devices;
  if (options.id >= 0) chosen = {devices[static_cast<size_t>(options.id)]};
  if (options.type.empty()) return Table(chosen, processes);
  if (options.type == "topo") return Topology(devices);
  std::string text;
  for (const Device& device : chosen) text += (text.empty() ? "" : "\n") + Details(options.type, device);
  return text;
}

int Main(int argc, char** argv) {
  CLI::App app("Shows the devices that Belay gives to programs, as npu-smi shows cards.", "npu-smi");
  app.set_version_flag("-v,--version", "npu-smi version: " BELAY_VERSION " (Belay)");
  Options options;
  CLI::App* info = app.add_subcommand("info", "The table of devices, or what an option asks for");
  info->add_flag("-l", options.list, "How many devices there are, and their numbers");
  info->add_flag("-m", options.mapping, "Which chips they have");
  info->add_option("-t", options.type, "Details: topo, " + DetailTypes());
  info->add_option("-i", options.id, "Only this NPU")->check(CLI::NonNegativeNumber);
  info->add_option("-c", options.chip, "Only this chip (each NPU has chip 0)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (!info->parsed()) {
    std::fputs(app.help().c_str(), stderr);
    return 1;
  }
  std::vector<Device> devices;
  try {
    devices = ReadDevices();
  } catch (const std::exception& error) {
    std::printf("dcmi module initialize failed. ret is -8005\n");
    std::fprintf(stderr, "npu-smi: %s\n", error.what());
    return 1;
  }
  std::vector<Process> processes = ReadProcesses(devices.size());
  AddUse(processes, devices);
  std::fputs(Report(options, devices, processes).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace belay::npu_smi

int main(int argc, char** argv) {
  try {
    return belay::npu_smi::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "npu-smi: %s\n", error.what());
    return 1;
  }
}
