#include "layers/race/patience.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/clock.h"

namespace belay::race {
namespace {

constexpr int64_t kMomentNs = 20'000'000;
constexpr int64_t kMostNs = 200'000'000;

// Whether there is one of which this holds, by the folder that the system has for it.
template <class Holds>
bool AnyOtherThread(const Holds& holds) {
  const std::string own = std::to_string(gettid());
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    if (task.path().filename() == own) continue;
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (!name.empty() && !name.starts_with("belay-") && holds(task.path())) return true;
  }
  return false;
}

}  // namespace

Patience::Patience() : since_ns_(NowNs()) {}

bool Patience::Wait() const {
  const int64_t waited = NowNs() - since_ns_;
  if (waited >= kMostNs || (waited >= kMomentNs && !OtherThreadsWantToRun())) return false;
  usleep(200);
  return true;
}

bool HasOtherThreads() {
  return AnyOtherThread([](const std::filesystem::path&) { return true; });
}

bool OtherThreadsWantToRun() {
  return AnyOtherThread([](const std::filesystem::path& task) {
    std::string stat;
    std::getline(std::ifstream(task / "stat"), stat);
    const size_t name_ends = stat.rfind(") ");
    return name_ends != std::string::npos && stat.substr(name_ends + 2, 1) == "R";
  });
}

}  // namespace belay::race
