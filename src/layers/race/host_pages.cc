#include "layers/race/host_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace belay::race {
namespace {

uintptr_t PageBytes() {
  static const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

bool Set(uintptr_t begin, uintptr_t end, int protection) {
  return mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
}

}  // namespace

// As what is closed wants it.
void HostPages::Protect(uintptr_t begin, uintptr_t end) const {
  Set(begin, end, PROT_READ | PROT_WRITE);
  for (bool writes : {false, true}) {
    for (const Closed& closed : closed_) {
      const uintptr_t from = std::max(begin, closed.begin), to = std::min(end, closed.end);
      if (closed.writes == writes && from < to) Set(from, to, writes ? PROT_NONE : PROT_READ);
    }
  }
}

void HostPages::Close(uintptr_t begin, uintptr_t end, bool writes, const Mark& by) {
  const uintptr_t page = PageBytes();
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  std::lock_guard guard(lock_);
  if (begin >= end || closed_.size() >= kMost) return;
  closed_.push_back({begin, end, writes, by});
  count_.store(closed_.size(), std::memory_order_release);
  Protect(begin, end);
}

void HostPages::Open(const std::function<bool(const Closed&)>& over) {
  std::lock_guard guard(lock_);
  const auto gone = std::stable_partition(closed_.begin(), closed_.end(),
                                          [&](const Closed& closed) { return !over(closed); });
  const std::vector<Closed> opened(gone, closed_.end());
  closed_.erase(gone, closed_.end());
  count_.store(closed_.size(), std::memory_order_release);
  for (const Closed& range : opened) Protect(range.begin, range.end);
}

bool HostPages::Pass(uintptr_t address) {
  constexpr size_t kMostPassed = 1024;  // more stay open
  const uintptr_t page = address / PageBytes() * PageBytes();
  std::lock_guard guard(lock_);
  if (std::find(passed_.begin(), passed_.end(), page) == passed_.end() && passed_.size() < kMostPassed)
    passed_.push_back(page);
  return Set(page, page + PageBytes(), PROT_READ | PROT_WRITE);
}

void HostPages::CloseAgain() {
  std::lock_guard guard(lock_);
  for (uintptr_t page : passed_) {
    const auto on_it = [&](const Closed& closed) { return closed.begin <= page && page < closed.end; };
    if (std::any_of(closed_.begin(), closed_.end(), on_it)) Protect(page, page + PageBytes());
  }
  passed_.clear();
}

void HostPages::Leave(uintptr_t begin, uintptr_t end) {
  const uintptr_t page = PageBytes();
  begin = begin / page * page;
  end = (end + page - 1) / page * page;
  std::lock_guard guard(lock_);
  std::vector<Closed> left;
  for (const Closed& closed : closed_) {
    Closed before = closed, after = closed;
    before.end = std::min(closed.end, std::max(closed.begin, begin));
    after.begin = std::max(closed.begin, std::min(closed.end, end));
    if (before.begin < before.end) left.push_back(before);
    if (after.begin < after.end) left.push_back(after);
    const uintptr_t from = std::max(begin, closed.begin), to = std::min(end, closed.end);
    if (from < to) Set(from, to, PROT_READ | PROT_WRITE);
  }
  closed_ = std::move(left);
  count_.store(closed_.size(), std::memory_order_release);
}

std::optional<HostPages::Closed> HostPages::Find(uintptr_t begin, uintptr_t end, bool writes) const {
  std::lock_guard guard(lock_);
  std::optional<Closed> found;
  for (const Closed& closed : closed_) {
    if (closed.end <= begin || closed.begin >= end || (!closed.writes && !writes)) continue;
    if (!found || closed.writes >= found->writes) found = closed;
  }
  return found;
}

void HostPages::AfterFork(bool child) {
  for (const Closed& closed : closed_) {
    if (child) Set(closed.begin, closed.end, PROT_READ | PROT_WRITE);
  }
  if (child) count_.store(0, std::memory_order_release);
  lock_.unlock();
}

}  // namespace belay::race
