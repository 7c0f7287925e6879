#include "runtime/device_writes.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>

#include "base/clock.h"
#include "base/fork.h"
#include "base/thread.h"
#include "runtime/engine.h"
#include "runtime/stream.h"

namespace belay::rt {
namespace {

constexpr int64_t kFirstPatienceNs = 1'000'000;
constexpr int64_t kMostPatienceNs = 1'000'000'000;
constexpr int64_t kBetweenLooksNs = 20'000;

// Held while writes are refused: who wants to write waits for it.
constinit std::mutex g_moving;
constinit std::atomic<uint32_t> g_next_counter{0};

void SleepFor(int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

}  // namespace

constinit DeviceWrites::Counter DeviceWrites::g_counters_[kCounters];
constinit std::atomic<bool> DeviceWrites::g_refused_{false};
constinit std::atomic<uint32_t> DeviceWrites::g_meetings_{0};
constinit thread_local DeviceWrites::Counter* DeviceWrites::t_counter_ = nullptr;
constinit thread_local uint32_t DeviceWrites::t_depth_ = 0;

const bool DeviceWrites::g_at_fork_ = AtForkInChild(&ForgetInChild);

// The parent's threads do not exist in the child.
void DeviceWrites::ForgetInChild() {
  new (&g_moving) std::mutex;
  for (Counter& counter : g_counters_) counter.writers.store(0, std::memory_order_relaxed);
  g_refused_.store(false, std::memory_order_relaxed);
}

void DeviceWrites::TakeCounter() noexcept {
  t_counter_ = &g_counters_[g_next_counter.fetch_add(1, std::memory_order_relaxed) % kCounters];
}

void DeviceWrites::StepAside() noexcept {
  do {
    Leave();
    { std::lock_guard wait(g_moving); }
    t_counter_->writers.fetch_add(1, std::memory_order_seq_cst);
  } while (g_refused_.load(std::memory_order_seq_cst));
}

NoDeviceWrites::NoDeviceWrites() {
  for (int64_t patience = kFirstPatienceNs;; patience = std::min(2 * patience, kMostPatienceNs)) {
    {
      NoCancellation no_cancellation;
      Refuse();
      if (AllHaveLeft(NowNs() + patience)) return;
      Allow();
    }
    SleepFor(patience);
  }
}

NoDeviceWrites::NoDeviceWrites(int64_t patience_ns) {
  NoCancellation no_cancellation;
  Refuse();
  held_ = AllHaveLeft(NowNs() + patience_ns);
  if (!held_) Allow();
}

NoDeviceWrites::~NoDeviceWrites() {
  if (held_) Allow();
}

void NoDeviceWrites::Refuse() {
  g_moving.lock();
  DeviceWrites::g_refused_.store(true, std::memory_order_seq_cst);
  ran_at_once_ = TheEngine().SetRunsAtOnce(false);
  DeviceWrites::MeetNewStreams();
}

void NoDeviceWrites::Allow() {
  TheEngine().SetRunsAtOnce(ran_at_once_);
  DeviceWrites::g_refused_.store(false, std::memory_order_seq_cst);
  g_moving.unlock();
}

// Each counter has been zero once since writes are refused, and each stream's lock free: those who come later
// see that they are.
bool NoDeviceWrites::AllHaveLeft(int64_t deadline_ns) {
  bool in_time = true;
  auto wait_until = [&](auto left) {
    while (in_time && !left()) {
      in_time = NowNs() < deadline_ns;
      if (in_time) SleepFor(kBetweenLooksNs);
    }
  };
  for (const DeviceWrites::Counter& counter : DeviceWrites::g_counters_)
    wait_until([&] { return counter.writers.load(std::memory_order_seq_cst) == 0; });
  Streams().ForEach([&](Stream& stream) { wait_until([&] { return stream.NobodySubmits(); }); });
  return in_time;
}

}  // namespace belay::rt
