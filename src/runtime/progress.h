// Work that gets on piece by piece as others do their part, in other streams or in other processes: a
// collective operation. A task of it is asked again whenever it may get on, and holds up nobody meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/engine.h"
#include "runtime/poll.h"
#include "runtime/stream.h"
#include "runtime/task.h"

namespace belay::rt {

class Progress {
 public:
  virtual ~Progress() = default;

  // Begins a run, or goes on with it, as far as that is possible; having nothing to do it may look around for
  // so long. True when the run is over; the next call begins another one. Throws to end it.
  virtual bool Advance(int64_t look_ns) = 0;
  // Whether Advance would get any further. From any thread, while Advance is not under way.
  virtual bool CanAdvance() const = 0;
  // There will be no more Advance of the run under way, if there is one.
  virtual void Abandon() noexcept = 0;

  // When Advance wants to be asked in any case (NowNs; 0: never). Constant between two calls of it.
  virtual int64_t until_ns() const = 0;
  // What who lets it get on calls Engine::Wrote with, and whether it has to be looked at all the same.
  virtual const void* key() const = 0;
  virtual const std::atomic<bool>* from_outside() const = 0;

  virtual void Ranges(RangeVisitor& visit) const = 0;
  // Numbers of the lines that it stands in: who stands in one as well comes before it or after it, by the
  // order in which streams get there, and which of the two it is matters.
  virtual void Lines(std::vector<uint64_t>* lines) const = 0;
  virtual void Describe(std::string& out) const = 0;
  // Whether all who have a part in it are of this process.
  virtual bool is_within_process() const { return false; }
};

struct ProgressTask {
  static constexpr const char* kName = "collective";
  static constexpr TaskClass kClass = TaskClass::kProgress;
  static constexpr int64_t kLookNs = 20'000;
  std::unique_ptr<Progress> work;

  bool Proceed(Stream& stream) const {
    stream.TakeTimedOut();  // the work looks at the time itself
    if (work->Advance(kLookNs)) return true;
    const Poll poll{[waits = work.get()] { return waits->CanAdvance(); }, work->key(), work->from_outside()};
    return !ParkUntil(stream, poll, work->until_ns());
  }
  void Ranges(RangeVisitor& visit) const {
    work->Ranges(visit);
    visit.WaitsForUnknown();
  }
  void Describe(std::string& out) const { work->Describe(out); }
};

}  // namespace belay::rt
