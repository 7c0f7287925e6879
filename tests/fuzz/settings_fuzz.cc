// The environment: the input's lines are NAME=value. Whatever they say, the settings are usable or an error
// names a variable.
// With: base src/runtime/settings.cc
#include "runtime/settings.h"

#include <array>
#include <sstream>

#include "base/error.h"
#include "fuzz.h"

namespace {

constexpr std::array kNames = {"BELAY_DEVICES",       "ASCEND_RT_VISIBLE_DEVICES",
                               "BELAY_DEVICE_MEMORY", "BELAY_ALIAS_OFFSET",
                               "BELAY_WORKERS",       "BELAY_STREAM_DEPTH",
                               "BELAY_STREAM_LIMIT",  "BELAY_HELP",
                               "BELAY_RUN_MODE",      "BELAY_SOC"};

void SetEnvironment(const std::string& input) {
  for (const char* name : kNames) unsetenv(name);
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) {
    size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    std::string wanted = line.substr(0, equals);
    for (const char* name : kNames) {
      if (wanted == name) setenv(name, line.c_str() + equals + 1, 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SetEnvironment(std::string(reinterpret_cast<const char*>(data), size));
  try {
    belay::rt::Settings s = belay::rt::ReadSettings();
    FUZZ_REQUIRE(s.devices >= 0 && static_cast<size_t>(s.devices) == s.visible.size());
    for (int device : s.visible) FUZZ_REQUIRE(device >= 0 && device < 64);
    FUZZ_REQUIRE(s.device_bytes > 0 && s.device_bytes <= uint64_t{1} << 46);
    FUZZ_REQUIRE(s.workers >= 1 && s.stream_depth >= 1 && s.stream_limit >= 1);
    FUZZ_REQUIRE(s.alias_offset >= 0 && !s.soc.empty());
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() == 100000 && error.sentence().find("BELAY_") != std::string::npos);
  }
  return 0;
}
