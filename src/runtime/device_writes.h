// Who writes to device memory, and a moment in which nobody does. Exporting a block moves its pages to a
// memory file (memory_sharing.h): what a task wrote between the copy and the change of the mapping would be
// lost, to the block or to others on its pages.
//
// A stream that is run says so, and so do calls that copy at once. Small tasks that the thread runs which
// submits them do not, they would pay for it: they hold their stream's lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace belay::rt {

// While in scope, the thread may write to device memory. It begins by waiting for the end of a
// NoDeviceWrites.
class DeviceWrites {
 public:
  DeviceWrites() noexcept {
    if (t_depth_++ == 0) [[likely]]
      Enter();
  }
  ~DeviceWrites() {
    if (--t_depth_ == 0) [[likely]]
      Leave();
  }
  DeviceWrites(const DeviceWrites&) = delete;
  DeviceWrites& operator=(const DeviceWrites&) = delete;

  // Between two tasks: lets a NoDeviceWrites come first.
  static void GiveWay() noexcept {
    if (g_refused_.load(std::memory_order_relaxed) && t_depth_ == 1) [[unlikely]]
      StepAside();
  }

  // By who makes a stream, when it is in the table: either a NoDeviceWrites finds it there, or its tasks find
  // the NoDeviceWrites.
  static void MeetNewStreams() noexcept { g_meetings_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  friend class NoDeviceWrites;
  // Threads share a few counters, so that they seldom share a cache line.
  struct alignas(64) Counter {
    std::atomic<uint32_t> writers{0};
  };
  static constexpr uint32_t kCounters = 32;

  static void Enter() noexcept {
    if (t_counter_ == nullptr) [[unlikely]]
      TakeCounter();
    t_counter_->writers.fetch_add(1, std::memory_order_seq_cst);
    if (g_refused_.load(std::memory_order_seq_cst)) [[unlikely]]
      StepAside();
  }
  static void Leave() noexcept { t_counter_->writers.fetch_sub(1, std::memory_order_release); }
  static void TakeCounter() noexcept;
  static void StepAside() noexcept;
  static void ForgetInChild();

  static Counter g_counters_[kCounters];
  static std::atomic<bool> g_refused_;
  static std::atomic<uint32_t> g_meetings_;
  static const bool g_at_fork_;
  static constinit thread_local Counter* t_counter_;
  static constinit thread_local uint32_t t_depth_;
};

// While in scope no thread writes to device memory, by tasks or calls; those that want to wait. The
// constructor waits for the tasks that run. It lets others go on from time to time, for such a task may wait
// for them. The caller holds no lock that a task may ask for.
class NoDeviceWrites {
 public:
  NoDeviceWrites();
  // Waits for so long at most, without letting others go on: see held().
  explicit NoDeviceWrites(int64_t patience_ns);
  ~NoDeviceWrites();
  NoDeviceWrites(const NoDeviceWrites&) = delete;
  NoDeviceWrites& operator=(const NoDeviceWrites&) = delete;
  // False: some task did not end in time, and tasks go on.
  bool held() const { return held_; }

 private:
  void Refuse();
  void Allow();
  static bool AllHaveLeft(int64_t deadline_ns);

  bool ran_at_once_ = false;
  bool held_ = true;
};

}  // namespace belay::rt
