// Which engine goes between hosts, and how one that is a library of its own is loaded.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/library.h"
#include "collective/transport.h"

namespace belay::coll {
namespace {

constexpr const char* kSetting = "BELAY_COLLECTIVE_ENGINE";

// What UCX reads as soon as it is loaded, and what it would do to the program otherwise: take over the
// signals of a crash, write other beginnings into mmap, munmap and so on, and report on standard output.
constexpr const char* kQuiet[] = {"UCX_HANDLE_ERRORS=none", "UCX_MEM_EVENTS=n", "UCX_MEMTYPE_CACHE=n",
                                  "UCX_LOG_LEVEL=fatal"};

// For as long as this lives the environment has these, where the program has not set them itself. Another
// array takes the place of the program's, so that threads that read it meanwhile find one or the other.
class QuietEnvironment {
 public:
  QuietEnvironment() {
    std::vector<char*> all;
    for (char** each = before_; each != nullptr && *each != nullptr; ++each) all.push_back(*each);
    for (const char* each : kQuiet) {
      const std::string_view text = each;
      if (std::getenv(std::string(text.substr(0, text.find('='))).c_str()) == nullptr)
        all.push_back(const_cast<char*>(each));
    }
    all.push_back(nullptr);
    auto* stays = new std::vector<char*>(std::move(all));  // who reads it may do so for longer
    environ = stays->data();
  }
  ~QuietEnvironment() { environ = before_; }
  QuietEnvironment(const QuietEnvironment&) = delete;
  QuietEnvironment& operator=(const QuietEnvironment&) = delete;

 private:
  char** const before_ = environ;
};

struct Loaded {
  const Engine* engine = nullptr;
  std::string why_not;
};

Loaded LoadUcx() {
  constexpr size_t kRoom = size_t{32} << 20;
  Loaded loaded;
  const QuietEnvironment quiet;
  void* library = LoadBeside("libbelay_link_ucx.so", SymbolsOf::kProgramFirst, kRoom, &loaded.why_not);
  if (library == nullptr) return loaded;
  auto* entry = reinterpret_cast<EngineEntry*>(dlsym(library, kEngineEntry));
  if (entry != nullptr) loaded.engine = entry();
  return loaded;
}

}  // namespace

const Engine& EngineOfEnvironment() {
  const char* text = std::getenv(kSetting);
  const std::string_view name = text == nullptr ? "" : text;
  if (name.empty() || name == "tcp") return TcpEngine();
  if (name != "ucx") {
    Fail(codes::kHcclEPara, "collective-setting",
         "{} = '{}' cannot be used; set it to tcp or ucx, or unset it", kSetting, name);
  }
  static const Loaded ucx = LoadUcx();
  if (ucx.engine != nullptr) return *ucx.engine;
  Fail(
      codes::kHcclENotSupport, "collective-engine",
      "{} = ucx, but that engine is not installed ({}); Belay has it where it was built with libucx-dev, and "
      "it needs libucx0",
      kSetting, ucx.why_not);
}

}  // namespace belay::coll
