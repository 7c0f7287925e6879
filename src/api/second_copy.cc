#include "api/second_copy.h"

#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace belay::api {
namespace {

// The core, and the libraries that bind to it. The loader takes a second file of the same name for the
// first one only when it is asked for by its bare name, so parts of two toolkits can meet.
constexpr std::array<std::string_view, 4> kLibraries = {"libbelay_core.so", "libascendcl.so",
                                                        "libnnopbase.so", "libopapi.so"};

std::string_view FolderOf(std::string_view path) { return path.substr(0, path.rfind('/')); }

int NoteLibrary(dl_phdr_info* info, size_t, void* found) {
  std::string_view path = info->dlpi_name;
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (std::find(kLibraries.begin(), kLibraries.end(), name) == kLibraries.end()) return 0;
  std::unique_ptr<char, decltype(&free)> real(realpath(info->dlpi_name, nullptr), &free);
  static_cast<std::vector<std::string>*>(found)->push_back(real ? real.get() : std::string(path));
  return 0;
}

}  // namespace

void RefuseSecondCopy() {
  std::vector<std::string> found;
  dl_iterate_phdr(&NoteLibrary, &found);
  for (const std::string& path : found) {
    if (FolderOf(path) == FolderOf(found.front())) continue;
    Fail(500001, "second-copy",
         "parts of two toolkits are loaded, {} and {}; let LD_LIBRARY_PATH name only one", found.front(),
         path);
  }
}

}  // namespace belay::api
