// Pages of pinned memory that are closed to the program, because a task that touches them was submitted and
// the host does not know it to be over. A task that reads closes them to stores, one that writes to loads,
// too.
//
// Only pages of which the task touches each byte: whoever comes there touches what the task does, and a
// program without a race never comes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "layers/race/shadow.h"
#include "runtime/pinned_door.h"

namespace belay::race {

class HostPages {
 public:
  // One at most for each task and range.
  struct Closed {
    uintptr_t begin, end;  // whole pages
    bool writes;           // the task
    Mark by;
  };

  // Who is told when pages are closed to more, or to less.
  using Tell = void (*)(rt::PinnedClosed closed) noexcept;
  void SetTell(Tell tell) { tell_ = tell; }

  // Whether there is a page of which all these bytes are.
  static bool HasPage(uintptr_t begin, uintptr_t end);
  void Close(uintptr_t begin, uintptr_t end, bool writes, const Mark& by);
  // What those tasks alone have closed can be touched again.
  void Open(const std::function<bool(const Closed&)>& over);
  // The page, and closed ones behind it up to so many in all, can be touched until CloseAgain. False: the
  // system refuses.
  bool Pass(uintptr_t address, size_t pages = 1);
  void CloseAgain();
  // The pages around these bytes can be touched from now on: a system call may be at them for long.
  void Leave(uintptr_t begin, uintptr_t end);
  // What an access to these bytes meets: one that writes before others, and the latest of those.
  std::optional<Closed> Find(uintptr_t begin, uintptr_t end, bool writes) const;

  // Around fork, whose child is watched no more.
  void BeforeFork() { lock_.lock(); }
  void AfterFork(bool child);

  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  // What closing and opening has taken, and what a copy to closed pages takes longer.
  int64_t spent_ns() const { return spent_ns_.load(std::memory_order_relaxed); }

 private:
  class Spending;
  void Spend(int64_t ns) { spent_ns_.store(spent_ns() + ns, std::memory_order_relaxed); }
  void CloseFor(bool writes, uintptr_t begin, uintptr_t end) const;
  void Protect(uintptr_t begin, uintptr_t end) const;
  uintptr_t EndOfClosed(uintptr_t page) const;
  void Count();
  static constexpr size_t kMost = 4096;  // more are not closed: each may split a mapping of the system's

  mutable std::mutex lock_;  // whoever has it takes no other
  std::vector<Closed> closed_;
  std::vector<uintptr_t> passed_;  // pages, each once
  std::atomic<size_t> count_{0};
  std::atomic<int64_t> spent_ns_{0};
  Tell tell_ = [](rt::PinnedClosed) noexcept {};
  rt::PinnedClosed told_ = rt::PinnedClosed::kToNothing;
};

}  // namespace belay::race
