// The one thread of a process that looks after its connections: meeting points, and the lines by which ranks
// learn of each other's end. It sleeps in poll(2).
#pragma once

#include <poll.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>
#include <vector>

#include "base/descriptor.h"

namespace belay::coll {

using Files = std::pmr::vector<pollfd>;

// Everything but the making happens on that thread.
class Watched {
 public:
  virtual ~Watched() = default;
  // Adds what it waits for.
  virtual void Ask(Files* to) = 0;
  // The same with what came; also called when nothing did. False: it has come to its end.
  virtual bool Look(std::span<const pollfd> came) = 0;
  // When to look at the latest (NowNs), or INT64_MAX.
  virtual int64_t deadline_ns() const { return INT64_MAX; }
};

class Watch {
 public:
  static Watch& Get();

  // Starts the thread if need be. Throws HCCL_E_SYSCALL.
  void Add(std::shared_ptr<Watched> watched);
  // Afterwards it is not being looked at, unless by the caller itself.
  void Remove(const Watched* watched) noexcept;
  // Ends the thread and forgets all. Add begins anew.
  void End() noexcept;

 private:
  static void* Main(void* self);
  bool Round();
  void Wake() noexcept;

  std::mutex lock_;
  std::vector<std::shared_ptr<Watched>> all_;
  // The thread's, for what it waits for: few connections are looked after without memory, too.
  alignas(std::max_align_t) std::byte room_[16 << 10];
  std::mutex turn_;  // held while anything is looked at; taken before lock_
  Descriptor bell_;
  pthread_t thread_{};
  bool started_ = false;
  bool stop_ = false;
};

}  // namespace belay::coll
