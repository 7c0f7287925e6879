#include "belay/trace.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/quiet_write.h"
#include "belay/toolkit.h"

namespace belay::tool {

namespace {

void TellWithout(const std::string& path, const std::string& why) {
  std::fprintf(stderr, "belay trace: cannot write to %s: %s; the program runs without it\n", path.c_str(),
               why.c_str());
}

// An empty file, by a path that stays right in other folders: the program may go to some before it starts to
// use devices. Empty, with a word for the user, where it cannot be.
std::string Begin(const std::string& file) {
  const std::string path = std::filesystem::absolute(file);
  const int opened = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (opened < 0) {
    TellWithout(path, std::strerror(errno));
    return "";
  }
  close(opened);
  return path;
}

void MakeFolder(const std::string& folder) {
  const std::string path = std::filesystem::absolute(folder);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && access(path.c_str(), W_OK) != 0) error.assign(errno, std::generic_category());
  if (error) {
    TellWithout(path, error.message());
  } else {
    setenv("BELAY_PROFILE_FOLDER", path.c_str(), 1);
  }
}

uint64_t Now() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace

int Trace(const TraceOptions& options) {
  const std::string path = Begin(options.file);
  const std::string calls = options.calls.empty() ? "" : Begin(options.calls);
  if (!options.msprof.empty()) MakeFolder(options.msprof);
  AddToList("BELAY_LAYERS", "trace", ',');
  AddToList("LD_PRELOAD", ToolkitHome() + "/lib64/libbelay_calls.so", ':');
  setenv("BELAY_TRACE_FILE", path.c_str(), 1);
  if (!calls.empty()) {
    setenv("BELAY_CALLS_FILE", calls.c_str(), 1);
    setenv("BELAY_CALLS_START", std::to_string(Now()).c_str(), 1);
  }
  {
    QuietWrites quiet;
    if (!path.empty())
      std::fprintf(stderr, "belay trace: writes %s; open it at https://ui.perfetto.dev\n", path.c_str());
    if (!calls.empty()) std::fprintf(stderr, "belay trace: writes %s, a line for each call\n", calls.c_str());
  }
  return Run(options.run);
}

}  // namespace belay::tool
