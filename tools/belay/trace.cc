#include "belay/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/quiet_write.h"

namespace belay::tool {

int Trace(const TraceOptions& options) {
  // The program may go to other folders before it starts to use devices.
  const std::string path = std::filesystem::absolute(options.file);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    std::fprintf(stderr, "belay trace: cannot write to %s: %s\n", path.c_str(), std::strerror(errno));
    return 126;
  }
  close(file);
  const char* layers = std::getenv("BELAY_LAYERS");
  const std::string list = layers == nullptr || *layers == '\0' ? "trace" : std::string(layers) + ",trace";
  setenv("BELAY_LAYERS", list.c_str(), 1);
  setenv("BELAY_TRACE_FILE", path.c_str(), 1);
  {
    QuietWrites quiet;
    std::fprintf(stderr, "belay trace: writes %s; open it at https://ui.perfetto.dev\n", path.c_str());
  }
  return Run(options.run);
}

}  // namespace belay::tool
