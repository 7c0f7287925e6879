// How large this process is and how quick, while a program runs from which nothing is taken away: neither may
// change.
#pragma once

#include <acl/acl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include "scene.h"

namespace chaos {

using Clock = std::chrono::steady_clock;
inline double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Ends the program unless the call gave success.
void Check(int code, const char* call);
#define CHECK(call) ::chaos::Check(static_cast<int>(call), #call)

struct Size {
  long resident_kib;
  size_t descriptors, threads;
};
Size SizeNow();
// The same once there are not more descriptors and threads than these, or ten seconds later: a thread that
// has been joined stays in the kernel's list for as long as it takes it to die.
Size SizeWithin(size_t descriptors, size_t threads);
std::string NamesOfThreads();

// For as long as it lives: tells every minute how large and how quick the process is, and ends the program
// when it has grown since a quarter of the time was over.
class Reporter {
 public:
  Reporter(const Stage& stage, double seconds);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

 private:
  void Report();
  void TellAndCompare();

  const Stage& stage_;
  const double seconds_;
  const Clock::time_point begin_ = Clock::now();
  Size early_{};
  bool has_early_ = false;
  aclrtStream stream_ = nullptr;
  void* block_ = nullptr;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace chaos
