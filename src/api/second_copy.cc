#include "api/second_copy.h"

#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/codes.h"
#include "base/error.h"

namespace belay::api {
namespace {

// The core, and the libraries that bind to it. The loader takes a second file of the same name for the
// first one only when it is asked for by its bare name, so parts of two toolkits can meet.
constexpr std::array<std::string_view, 4> kLibraries = {"libbelay_core.so", "libascendcl.so",
                                                        "libnnopbase.so", "libopapi.so"};

// How the loader calls those it has. What it calls back must not throw.
struct Loaded {
  std::array<const char*, 4 * kLibraries.size()> paths;
  size_t count = 0;
};

std::string_view FolderOf(std::string_view path) { return path.substr(0, path.rfind('/')); }

int NoteLibrary(dl_phdr_info* info, size_t, void* found) noexcept {
  std::string_view path = info->dlpi_name;
  std::string_view name = path.substr(path.rfind('/') + 1);
  auto* loaded = static_cast<Loaded*>(found);
  if (std::find(kLibraries.begin(), kLibraries.end(), name) == kLibraries.end()) return 0;
  if (loaded->count < loaded->paths.size()) loaded->paths[loaded->count++] = info->dlpi_name;
  return 0;
}

std::string RealPath(const char* path) {
  std::unique_ptr<char, decltype(&free)> real(realpath(path, nullptr), &free);
  if (real == nullptr && errno == ENOMEM) throw std::bad_alloc();
  return real ? real.get() : path;
}

}  // namespace

void RefuseSecondCopy() {
  Loaded loaded;
  dl_iterate_phdr(&NoteLibrary, &loaded);
  std::vector<std::string> found;
  for (size_t i = 0; i < loaded.count; ++i) found.push_back(RealPath(loaded.paths[i]));
  for (const std::string& path : found) {
    if (FolderOf(path) == FolderOf(found.front())) continue;
    Fail(codes::kFailure, "second-copy",
         "parts of two toolkits are loaded, {} and {}; let LD_LIBRARY_PATH name only one", found.front(),
         path);
  }
}

}  // namespace belay::api
