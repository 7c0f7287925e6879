// What the benchmarks share: set-up through the public interface, the peers, and the three graphs.
//
// A small task is a 32-byte copy from device to device. Peers run the same 32-byte memcpy.
#pragma once

#include <acl/acl.h>
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

inline void Check(int code, const char* what) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: %d\n%s", what, code, text == nullptr ? "" : text);
  std::exit(1);
}
#define CHECK_ACL(call) ::bench::Check((call), #call)

// Two device buffers of 4 KiB for small tasks, made with the device on first use.
struct Device {
  char* from = nullptr;
  char* to = nullptr;
  Device() {
    CHECK_ACL(aclInit(nullptr));
    CHECK_ACL(aclrtSetDevice(0));
    CHECK_ACL(aclrtMalloc(reinterpret_cast<void**>(&from), 1 << 22, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_ACL(aclrtMalloc(reinterpret_cast<void**>(&to), 1 << 22, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_ACL(aclrtMemset(from, 1 << 22, 1, 1 << 22));
    CHECK_ACL(aclrtMemset(to, 1 << 22, 1, 1 << 22));
  }
  static Device& Get() {
    static Device device;
    return device;
  }
};

inline constexpr size_t kSmall = 32;
inline void SmallTask(aclrtStream stream) {
  Device& d = Device::Get();
  aclrtMemcpyAsync(d.to, kSmall, d.from, kSmall, ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}

// The same body for the peers.
inline void SmallBody() {
  Device& d = Device::Get();
  std::memcpy(d.to, d.from, kSmall);
  benchmark::ClobberMemory();
}

inline aclrtStream NewStream() {
  Device::Get();
  aclrtStream stream;
  CHECK_ACL(aclrtCreateStream(&stream));
  return stream;
}
inline aclrtEvent NewEvent() {
  aclrtEvent event;
  CHECK_ACL(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  return event;
}

// The plain design: one thread, mutex, condition variable and deque of functions a stream.
class ThreadStream {
 public:
  ThreadStream() : thread_([this] { Run(); }) {}
  ~ThreadStream() {
    {
      std::lock_guard guard(lock_);
      stop_ = true;
    }
    more_.notify_one();
    thread_.join();
  }
  void Push(std::function<void()> task) {
    {
      std::lock_guard guard(lock_);
      tasks_.push_back(std::move(task));
    }
    more_.notify_one();
  }
  void Synchronize() {
    std::unique_lock guard(lock_);
    idle_.wait(guard, [&] { return tasks_.empty() && !busy_; });
  }

 private:
  void Run() {
    std::unique_lock guard(lock_);
    for (;;) {
      more_.wait(guard, [&] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      guard.unlock();
      task();
      guard.lock();
      busy_ = false;
      if (tasks_.empty()) idle_.notify_all();
    }
  }
  std::mutex lock_;
  std::condition_variable more_, idle_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false, busy_ = false;
  std::thread thread_;
};

class ThreadEvent {
 public:
  void Set() {
    {
      std::lock_guard guard(lock_);
      done_ = true;
    }
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return done_; });
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool done_ = false;
};

// The graphs, as edges between nodes in topological order.
struct Dag {
  int nodes;
  std::vector<std::pair<int, int>> edges;
};
inline Dag Chain() {
  Dag d{1000, {}};
  for (int i = 1; i < d.nodes; ++i) d.edges.push_back({i - 1, i});
  return d;
}
inline Dag Layered() {
  Dag d{1024, {}};
  for (int y = 1; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      for (int s = -1; s <= 1; ++s) d.edges.push_back({(y - 1) * 32 + (x + s + 32) % 32, y * 32 + x});
    }
  }
  return d;
}
inline Dag ForkJoin() {
  Dag d{1024, {}};
  for (int k = 0; k < 16; ++k) {
    int b = k * 64;
    if (k > 0) d.edges.push_back({b - 1, b});
    for (int i = 1; i <= 62; ++i) {
      d.edges.push_back({b, b + i});
      d.edges.push_back({b + i, b + 63});
    }
  }
  return d;
}

}  // namespace bench
