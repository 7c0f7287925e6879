#include "api/second_copy.h"

#include <link.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace belay::api {
namespace {

constexpr std::string_view kCore = "/libbelay_core.so";

int NoteCore(dl_phdr_info* info, size_t, void* found) {
  std::string_view name = info->dlpi_name;
  if (!name.ends_with(kCore)) return 0;
  std::unique_ptr<char, decltype(&free)> real(realpath(info->dlpi_name, nullptr), &free);
  static_cast<std::vector<std::string>*>(found)->push_back(real ? real.get() : std::string(name));
  return 0;
}

}  // namespace

void RefuseSecondCopy() {
  std::vector<std::string> found;
  dl_iterate_phdr(&NoteCore, &found);
  if (found.size() < 2) return;
  Fail(500001, "second-copy",
       "two copies of Belay are loaded, {} and {}; let LD_LIBRARY_PATH name only one toolkit", found[0], found[1]);
}

}  // namespace belay::api
