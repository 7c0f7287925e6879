#include "collective/watch.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/hcclresult_codes.h"
#include "base/system_limit.h"
#include "base/thread.h"

namespace belay::coll {

Watch& Watch::Get() { return PerProcess<Watch>::Get(); }

void Watch::Add(std::shared_ptr<Watched> watched) {
  std::lock_guard guard(lock_);
  if (!bell_) bell_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  all_.push_back(std::move(watched));
  if (bell_ && !started_) {
    stop_ = false;
    started_ = StartThread(&thread_, "belay-hccl", &Watch::Main, this);
  }
  if (!started_) {
    all_.pop_back();
    Fail(codes::kHcclESyscall, "collective-system", "no thread could be started for connections ({})",
         ExplainRefusal(errno));
  }
  Wake();
}

void Watch::Wake() noexcept {
  if (bell_) eventfd_write(bell_.get(), 1);
}

void Watch::Remove(const Watched* watched) noexcept {
  std::shared_ptr<Watched> last;  // goes after the locks
  bool itself = false;
  std::unique_lock turn(turn_, std::defer_lock);
  {
    std::lock_guard guard(lock_);
    itself = started_ && pthread_equal(thread_, pthread_self()) != 0;
    auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& w) { return w.get() == watched; });
    if (found != all_.end()) {
      last = std::move(*found);
      all_.erase(found);
    }
    Wake();
  }
  if (!itself) turn.lock();
}

void Watch::End() noexcept {
  {
    std::lock_guard guard(lock_);
    if (!started_) return;
    stop_ = true;
    Wake();
  }
  pthread_join(thread_, nullptr);
  std::vector<std::shared_ptr<Watched>> rest;
  std::lock_guard guard(lock_);
  started_ = false;
  bell_.Close();
  rest.swap(all_);
}

void* Watch::Main(void* self) {
  for (bool more = true; more;) {
    try {
      more = static_cast<Watch*>(self)->Round();
    } catch (const std::bad_alloc&) {
      sched_yield();  // until there is memory again
    }
  }
  return nullptr;
}

// False when it is to end.
bool Watch::Round() {
  std::pmr::monotonic_buffer_resource room(room_, sizeof room_);
  std::pmr::vector<std::shared_ptr<Watched>> all(&room);
  Files files(&room);
  std::pmr::vector<size_t> begins(&room);
  int64_t deadline = INT64_MAX;
  {
    std::lock_guard turn(turn_);
    {
      std::lock_guard guard(lock_);
      if (stop_) return false;
      all.assign(all_.begin(), all_.end());
    }
    files.push_back({bell_.get(), POLLIN, 0});
    for (const auto& watched : all) {
      begins.push_back(files.size());
      watched->Ask(&files);
      deadline = std::min(deadline, watched->deadline_ns());
    }
    begins.push_back(files.size());
  }
  const int64_t left = deadline == INT64_MAX ? -1 : std::max<int64_t>(0, deadline - NowNs()) / 1'000'000 + 1;
  if (poll(files.data(), files.size(), static_cast<int>(std::min<int64_t>(left, 1 << 30))) < 0) return true;
  eventfd_t rings;
  if (files[0].revents != 0) eventfd_read(bell_.get(), &rings);
  std::lock_guard turn(turn_);
  for (size_t i = 0; i < all.size(); ++i) {
    {
      std::lock_guard guard(lock_);
      if (stop_) return false;
      if (std::find(all_.begin(), all_.end(), all[i]) == all_.end()) continue;  // removed meanwhile
    }
    if (all[i]->Look({files.data() + begins[i], files.data() + begins[i + 1]})) continue;
    std::lock_guard guard(lock_);
    std::erase(all_, all[i]);
  }
  return true;
}

}  // namespace belay::coll
