#include "base/system_limit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace belay {
namespace {

// Without a stream: at the limit of mappings there may be no memory for its buffer.
size_t CountLines(const char* path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[4096];
  size_t lines = 0;
  for (ssize_t n = 0; (n = read(file, text, sizeof text)) > 0;) lines += std::count(text, text + n, '\n');
  close(file);
  return lines;
}

size_t ReadNumber(const char* path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[32] = {};
  bool some = read(file, text, sizeof text - 1) > 0;
  close(file);
  return some ? std::strtoull(text, nullptr, 10) : 0;
}

std::string OfMappings() {
  // Others may have gone since; the system keeps a few for itself.
  constexpr size_t kNear = 64;
  size_t most = ReadNumber("/proc/sys/vm/max_map_count");
  size_t now = most == 0 ? 0 : CountLines("/proc/self/maps");
  if (now + kNear >= most && most != 0) {
    return fmt::format(
        "; the process has {} mappings, and may have {}: unmap some, or raise vm.max_map_count", now, most);
  }
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    return fmt::format("; the addresses of the process are limited to {} bytes (ulimit -v)",
                       addresses.rlim_cur);
  }
  return "";
}

}  // namespace

std::string ExplainRefusal(int error) {
  std::string text = fmt::format("errno {}: {}", error, std::strerror(error));
  if (error == ENOMEM) return text + OfMappings();
  rlimit files{};
  if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    text += fmt::format("; the process may have {} files open (ulimit -n)", files.rlim_cur);
  }
  return text;
}

}  // namespace belay
