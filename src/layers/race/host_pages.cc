#include "layers/race/host_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"

namespace belay::race {
namespace {

constexpr int64_t kPageByDoorNs = 600;  // that a copy takes longer to bring by /proc/self/mem

uintptr_t PageBytes() {
  static const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

bool Set(uintptr_t begin, uintptr_t end, int protection) {
  return mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
}

}  // namespace

// Counts the time of a scope, under the lock.
class HostPages::Spending {
 public:
  explicit Spending(HostPages& pages) : pages_(pages), began_(NowNs()) {}
  ~Spending() { pages_.Spend(NowNs() - began_); }
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;

 private:
  HostPages& pages_;
  const int64_t began_;
};

// As what is closed in these bytes wants it, by tasks that write or by those that read.
void HostPages::CloseFor(bool writes, uintptr_t begin, uintptr_t end) const {
  for (const Closed& closed : closed_) {
    const uintptr_t from = std::max(begin, closed.begin), to = std::min(end, closed.end);
    if (closed.writes == writes && from < to) Set(from, to, writes ? PROT_NONE : PROT_READ);
  }
}

// As what is closed wants it.
void HostPages::Protect(uintptr_t begin, uintptr_t end) const {
  Set(begin, end, PROT_READ | PROT_WRITE);
  for (bool writes : {false, true}) CloseFor(writes, begin, end);
}

void HostPages::Count() {
  using enum rt::PinnedClosed;
  count_.store(closed_.size(), std::memory_order_release);
  const bool to_loads =
      std::any_of(closed_.begin(), closed_.end(), [](const Closed& closed) { return closed.writes; });
  const rt::PinnedClosed now = closed_.empty() ? kToNothing : to_loads ? kToAll : kToStores;
  if (now != told_) tell_(now);
  told_ = now;
}

bool HostPages::HasPage(uintptr_t begin, uintptr_t end) {
  const uintptr_t page = PageBytes();
  return (begin + page - 1) / page < end / page;
}

void HostPages::Close(uintptr_t begin, uintptr_t end, bool writes, const Mark& by) {
  const uintptr_t page = PageBytes();
  if (!HasPage(begin, end)) return;
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  std::lock_guard guard(lock_);
  if (closed_.size() >= kMost) return;
  const Spending spending(*this);
  closed_.push_back({begin, end, writes, by});
  Count();
  Set(begin, end, writes ? PROT_NONE : PROT_READ);
  if (writes) {
    Spend(static_cast<int64_t>((end - begin) / page) * kPageByDoorNs);
  } else {
    CloseFor(true, begin, end);
  }
}

void HostPages::Open(const std::function<bool(const Closed&)>& over) {
  std::lock_guard guard(lock_);
  const Spending spending(*this);
  const auto gone = std::stable_partition(closed_.begin(), closed_.end(),
                                          [&](const Closed& closed) { return !over(closed); });
  const std::vector<Closed> opened(gone, closed_.end());
  closed_.erase(gone, closed_.end());
  for (const Closed& range : opened) Protect(range.begin, range.end);
  Count();
}

// Of what is closed around the page; the page's own if nothing is.
uintptr_t HostPages::EndOfClosed(uintptr_t page) const {
  uintptr_t end = page + PageBytes();
  for (const Closed& closed : closed_) {
    if (closed.begin <= page && page < closed.end) end = std::max(end, closed.end);
  }
  return end;
}

bool HostPages::Pass(uintptr_t address, size_t pages) {
  constexpr size_t kMostPassed = 1024;  // more stay open
  const uintptr_t begin = address / PageBytes() * PageBytes();
  std::lock_guard guard(lock_);
  const Spending spending(*this);
  const uintptr_t end = std::min(begin + pages * PageBytes(), EndOfClosed(begin));
  for (uintptr_t page = begin; page < end && passed_.size() < kMostPassed; page += PageBytes()) {
    if (std::find(passed_.begin(), passed_.end(), page) == passed_.end()) passed_.push_back(page);
  }
  return Set(begin, end, PROT_READ | PROT_WRITE);
}

void HostPages::CloseAgain() {
  std::lock_guard guard(lock_);
  if (passed_.empty()) return;
  const Spending spending(*this);
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
  Count();
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
  if (child) {
    closed_.clear();
    Count();
  }
  lock_.unlock();
}

}  // namespace belay::race
