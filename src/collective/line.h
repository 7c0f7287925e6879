// The line of a communicator to its meeting point, for life: by it a rank takes its leave, and learns that
// another has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "collective/watch.h"
#include "collective/wire.h"

namespace belay::coll {

class Communicator;

class Line final : public Watched {
 public:
  // The communicator outlives it, or calls Leave first.
  Line(Communicator& communicator, Descriptor socket, int32_t root_process);

  void Ask(Files* to) override;
  bool Look(std::span<const pollfd> came) override;
  int64_t deadline_ns() const override { return over_ ? 0 : INT64_MAX; }

  // Says goodbye. Afterwards the communicator hears nothing any more.
  void Leave() noexcept;
  // At exit: the same, where no thread is in the middle of it.
  void LeaveAtExit() noexcept;

 private:
  bool Hear();

  bool over_ = false;  // nothing comes any more; the communicator may not have been told for want of memory

  Communicator& communicator_;
  Descriptor root_end_;
  const int32_t owner_;  // the process; a forked child says nothing for it
  std::mutex lock_;
  bool said_ = false;  // under lock_: goodbye
  Descriptor socket_;
  Inbox inbox_{sizeof(Event)};
};

}  // namespace belay::coll
