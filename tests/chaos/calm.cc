#include "calm.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "weather.h"

namespace chaos {
namespace {

constexpr size_t kFillBytes = 64 * 1024;  // of the task that is timed: another thread runs it
constexpr long kMoreKib = 64 * 1024;      // than this no program may grow
constexpr double kMinute = 60;

size_t EntriesOf(const char* path) {
  size_t count = 0;
  DIR* folder = opendir(path);
  while (folder != nullptr && readdir(folder) != nullptr) ++count;
  if (folder != nullptr) closedir(folder);
  return count;
}

// From the submission of a task to the end of the wait for it, in microseconds.
struct Latency {
  double median, tail;
};
Latency Measure(aclrtStream stream, void* block) {
  std::vector<double> us;
  for (int i = 0; i < 2000; ++i) {
    const auto begin = Clock::now();
    CHECK(aclrtMemsetAsync(block, kFillBytes, 1, kFillBytes, stream));
    CHECK(aclrtSynchronizeStream(stream));
    us.push_back(Since(begin) * 1e6);
    if (i % 8 == 0) usleep(1000);
  }
  std::sort(us.begin(), us.end());
  return {us[us.size() / 2], us[us.size() * 99 / 100]};
}

}  // namespace

void Check(int code, const char* call) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  Die(std::string(call) + " gave " + std::to_string(code) + ": " + (text == nullptr ? "" : text));
}

Size SizeNow() {
  long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return {resident * (sysconf(_SC_PAGESIZE) / 1024), EntriesOf("/proc/self/fd"),
          EntriesOf("/proc/self/task")};
}

Size SizeWithin(size_t descriptors, size_t threads) {
  const auto begin = Clock::now();
  Size now = SizeNow();
  while ((now.descriptors > descriptors || now.threads > threads) && Since(begin) < 10) {
    usleep(1000);
    now = SizeNow();
  }
  return now;
}

std::string NamesOfThreads() {
  std::string names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

Reporter::Reporter(const Stage& stage, double seconds)
    : stage_(stage), seconds_(seconds), thread_([this] { Report(); }) {}

Reporter::~Reporter() {
  end_ = true;
  thread_.join();
}

void Reporter::Report() {
  MarkAsOurs();
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream_));
  CHECK(aclrtMalloc(&block_, kFillBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  for (double next = 0; !end_.load();) {
    if (Since(begin_) >= next) {
      TellAndCompare();
      next += std::min(kMinute, seconds_ / 8);
    }
    usleep(10'000);
  }
  CHECK(aclrtFree(block_));
  CHECK(aclrtDestroyStream(stream_));
}

void Reporter::TellAndCompare() {
  const Latency latency = Measure(stream_, block_);
  const Size now = SizeNow();
  std::printf(
      "chaos: %5.0f s: %8llu pieces, resident %7ld KiB, %3zu descriptors, %2zu threads, a task %.1f us, "
      "99 of 100 within %.1f\n",
      Since(begin_), static_cast<unsigned long long>(stage_.pieces), now.resident_kib, now.descriptors,
      now.threads, latency.median, latency.tail);
  std::fflush(stdout);
  if (!has_early_ && Since(begin_) > seconds_ / 4) {
    early_ = now;
    has_early_ = true;
  }
  if (has_early_ && now.resident_kib > early_.resident_kib + kMoreKib)
    Die("resident memory grew from " + std::to_string(early_.resident_kib) + " to " +
        std::to_string(now.resident_kib) + " KiB");
}

}  // namespace chaos
