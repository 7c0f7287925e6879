// The JSON file of aclInit.
#pragma once

#include <optional>
#include <string>

namespace belay::api {

struct InitConfig {
  int default_device = -1;
  std::optional<bool> errors_per_process;  // none: as the start before, else each thread its own
  std::string faults;                      // to be injected (faults.h); empty: none
  std::string without_effect;  // keys that are understood elsewhere but have no effect here, "dump, profiler"
};

// Null gives the defaults. Throws 100003 (file), 100006 (syntax, with line and column) or 100008 (value,
// with its key).
InitConfig ReadInitConfig(const char* path);

}  // namespace belay::api
