// Says from time to time what a long compilation is at.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace atc {

class Progress {
 public:
  using Say = std::function<void(const std::string&)>;

  // `say` is called with a line every `interval`, from a thread of its own.
  Progress(std::chrono::milliseconds interval, Say say);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What is done from now on: "reading the model".
  void Step(std::string what);

 private:
  void Run();

  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds interval_;
  const Say say_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex lock_;
  std::condition_variable changed_;
  std::string step_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace atc
