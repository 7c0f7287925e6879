// Waiting for a 64-bit value in device memory (aclrtValueWait), and for a notify.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "runtime/engine.h"
#include "runtime/shared_words.h"
#include "runtime/stream.h"
#include "runtime/task.h"

namespace belay::rt {

// Parks the stream until `poll` says so, or `until_ns` (NowNs; 0: no limit) has come. It may be running
// elsewhere then, and the task that asked be gone. False: the stream is being dropped.
bool ParkUntil(Stream& stream, const Poll& poll, int64_t until_ns);

// The comparisons of aclrtValueWait, by their numbers.
enum class PollTest : uint32_t { kGreaterEqual = 0, kEqual = 1, kAnd = 2, kNor = 3 };

struct PollTask {
  static constexpr const char* kName = "value wait";
  static constexpr TaskClass kClass = TaskClass::kPoll;
  static constexpr TaskKind kKind = TaskKind::kValueWait;
  const uint64_t* address;  // CPU address (after View)
  uint64_t value;
  PollTest test;
  bool is_flag = false;                       // of a notify that no other process has
  int64_t limit_ns = 0;                       // 0: none
  std::shared_ptr<PeerWatch> peer = nullptr;  // whom another process's words wait for, if they do

  // The process that was to change the value has ended without it.
  bool GaveUp() const { return peer != nullptr && peer->Ended(NowNs()) && !Ready(); }
  bool Ready() const {
    // In one order with the look of Engine::Wrote whether anybody waits.
    uint64_t now = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    switch (test) {
      case PollTest::kGreaterEqual:
        return static_cast<int64_t>(now - value) >= 0;
      case PollTest::kEqual:
        return now == value;
      case PollTest::kAnd:
        return (now & value) != 0;
      case PollTest::kNor:
        return ~(now | value) != 0;
    }
    return true;
  }

  bool Proceed(Stream& stream) const {
    bool cancelled = stream.TakeTimedOut();
    if (Ready() || (cancelled && limit_ns == 0)) return true;
    if (cancelled) throw Expired();
    if (GaveUp()) throw peer->Failure();
    if (Ready()) return true;  // or it did so, and ended then
    return !ParkUntil(stream,
                      {[copy = *this] { return copy.Ready() || copy.GaveUp(); }, address,
                       peer == nullptr ? nullptr : peer->from_outside()},
                      limit_ns > 0 ? NowNs() + limit_ns : 0);
  }
  Error Expired() const {
    return Error(
        codes::kRtTaskTimeout, "notify-wait-timeout",
        fmt::format("the stream waited longer than its limit of {} s for a notify that nobody set, or for a "
                    "model to reach a record",
                    limit_ns / 1'000'000'000));
  }
  void Ranges(RangeVisitor& visit) const {
    if (is_flag) return visit.WaitsForFlag(address);
    visit.Reads(address, 8);
    const bool counts = test == PollTest::kGreaterEqual && peer == nullptr;
    counts ? visit.WaitsForNumber(address, value) : visit.WaitsForUnknown();
  }
};

}  // namespace belay::rt
