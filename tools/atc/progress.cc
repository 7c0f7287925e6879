#include "atc/progress.h"

#include <fmt/format.h>

namespace atc {

Progress::Progress(std::chrono::milliseconds interval, Say say)
    : interval_(interval), say_(std::move(say)), thread_([this] { Run(); }) {}

Progress::~Progress() {
  {
    std::lock_guard guard(lock_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::Step(std::string what) {
  std::lock_guard guard(lock_);
  step_ = std::move(what);
}

void Progress::Run() {
  std::unique_lock guard(lock_);
  while (!changed_.wait_for(guard, interval_, [this] { return done_; })) {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_);
    say_(fmt::format("ATC is still working, {} s: {}", seconds.count(), step_));
  }
}

}  // namespace atc
