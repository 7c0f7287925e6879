// Eight host threads give a million tasks to 64 streams: copies, fills, host functions, captures, replays,
// events, contexts and destroys, at random. Every byte must be that of a single-threaded model fed the
// same seed; memory must not grow; a watchdog ends the run when nothing moves for a minute.
//
//   stress [launches [seed [threads]]]     default: 1000000 launches, seed 1, 8 threads
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "worker.h"

namespace stress {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Resident memory in KiB.
long Resident() {
  std::ifstream file("/proc/self/statm");
  long total = 0, resident = 0;
  file >> total >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

class Watchdog {
 public:
  Watchdog(Shared& shared, int64_t launches)
      : thread_([&shared, launches, this] { Watch(shared, launches); }) {}
  ~Watchdog() {
    {
      std::lock_guard guard(lock_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
    long last = Resident();
    std::printf("stress: resident %ld KiB after a quarter, %ld KiB at the end\n", early_, last);
    // Pools fill up to the deepest backlog; a leak of 16 bytes a launch would show. The sanitizers' own
    // memory grows.
    if (!kSanitized && early_ != 0 && last - early_ > 16 * 1024) {
      std::fprintf(stderr, "stress: memory grew by %ld KiB\n", last - early_);
      std::abort();
    }
  }

 private:
  void Watch(Shared& shared, int64_t launches) {
    uint64_t before = 0;
    int still = 0;
    std::unique_lock guard(lock_);
    while (!wake_.wait_for(guard, std::chrono::milliseconds(100), [&] { return done_; })) {
      uint64_t now = shared.progress.load();
      still = now == before ? still + 1 : 0;
      before = now;
      if (early_ == 0 && now * 4 > static_cast<uint64_t>(launches)) early_ = Resident();
      if (still < 600) continue;
      std::fprintf(stderr, "stress: nothing has moved for a minute, after %llu launches\n",
                   static_cast<unsigned long long>(now));
      std::abort();
    }
  }

  std::mutex lock_;
  std::condition_variable wake_;
  bool done_ = false;
  long early_ = 0;
  std::thread thread_;
};

int Main(int64_t launches, uint64_t seed, int threads) {
  std::printf("stress: %lld launches, seed %llu, %d threads\n", static_cast<long long>(launches),
              static_cast<unsigned long long>(seed), threads);
  CHECK_ACL(aclInit(nullptr));
  CHECK_ACL(aclrtSetDevice(0));
  Shared shared;
  shared.left = launches;
  for (aclrtStream& stream : shared.streams) CHECK_ACL(aclrtCreateStream(&stream));
  auto begin = std::chrono::steady_clock::now();
  int64_t added = 0;
  {
    Watchdog watchdog(shared, launches);
    std::vector<std::thread> all;
    std::mutex lock;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        Worker worker(t, seed, shared);
        worker.Run();
        std::lock_guard guard(lock);
        added += worker.added();
      });
    }
    for (std::thread& thread : all) thread.join();
    CHECK_ACL(aclrtSynchronizeDevice());
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("stress: %.1f s, every byte as the model has it\n", seconds.count());
  if (shared.counter.load() != added) {
    std::fprintf(stderr, "stress: host functions added %lld, not %lld\n",
                 static_cast<long long>(shared.counter.load()), static_cast<long long>(added));
    return 1;
  }
  CHECK_ACL(aclrtResetDevice(0));
  CHECK_ACL(aclFinalize());
  return 0;
}

}  // namespace
}  // namespace stress

int main(int argc, char** argv) {
  int64_t launches = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  int threads = argc > 3 ? std::atoi(argv[3]) : 8;
  return stress::Main(launches, seed, threads);
}
