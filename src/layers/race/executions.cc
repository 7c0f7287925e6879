#include "layers/race/executions.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/clock.h"

namespace belay::race {
namespace {

constexpr int kWatched = 3;  // executions of a model by a thread
constexpr int64_t kPatienceNs = 20'000'000;

// Besides the calling one, and those of the runtime.
bool HasOtherThreads() {
  int found = 0;
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (!name.empty() && !name.starts_with("belay-") && ++found > 1) return true;
  }
  return false;
}

}  // namespace

std::optional<Execution> Executions::Other(const Execution& execution) const {
  const auto other = std::ranges::find_if(running_, [&](const Execution& running) {
    return running.model == execution.model && running.thread != execution.thread;
  });
  return other == running_.end() ? std::nullopt : std::optional(*other);
}

std::optional<Execution> Executions::Begin(const Execution& execution) {
  std::optional<Execution> other;
  bool watched = false;
  {
    std::lock_guard guard(lock_);
    other = Other(execution);
    running_.push_back(execution);
    watched = counts_[{execution.model, execution.thread}]++ < kWatched;
  }
  if (watched && !other && HasOtherThreads()) StandStill(execution);
  return other;
}

void Executions::StandStill(const Execution& execution) {
  for (const int64_t since = NowNs(); NowNs() - since < kPatienceNs; usleep(200)) {
    std::lock_guard guard(lock_);
    if (Other(execution)) return;
  }
}

void Executions::End(uint32_t model, int thread) {
  std::lock_guard guard(lock_);
  std::erase_if(running_,
                [&](const Execution& running) { return running.model == model && running.thread == thread; });
}

}  // namespace belay::race
