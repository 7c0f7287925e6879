// What users set by environment variables. docs/settings.md lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::rt {

struct Settings {
  int devices = 2;                  // BELAY_DEVICES, cut down by ASCEND_RT_VISIBLE_DEVICES
  std::vector<int> visible;         // which of all devices each of them is
  size_t device_bytes = 0;          // BELAY_DEVICE_MEMORY (bytes, or with K, M, G), of each device
  ptrdiff_t alias_offset = 0;       // BELAY_ALIAS_OFFSET
  int workers = 0;                  // BELAY_WORKERS, default: the cores this process may use
  bool one_core = false;            // this process may use
  bool help = true;                 // BELAY_HELP=0: a waiting host only waits
  uint64_t stream_depth = 65536;    // BELAY_STREAM_DEPTH
  int stream_limit = 1984;          // BELAY_STREAM_LIMIT
  bool device_mode = false;         // BELAY_RUN_MODE=device
  size_t model_copy = 32 << 20;     // BELAY_MODEL_COPY: files of models that are larger are mapped
  std::string soc = "Ascend910B3";  // BELAY_SOC
  std::optional<uint64_t> explore;  // BELAY_EXPLORE: the seed of the order in which tasks run
  bool operator==(const Settings&) const = default;
};

// Reads the environment. Throws 100000 naming the variable and the value that cannot be used.
Settings ReadSettings();

// The settings in force (as of the last aclInit).
const Settings& CurrentSettings();
void UseSettings(Settings settings);

}  // namespace belay::rt
