// What pending copies read of the host's memory, by digests: who writes there before the host knows a copy to
// be over is found out, whenever the copy runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "layers/race/shadow.h"

namespace belay::race {

class Sources {
 public:
  struct Source {
    Mark by;  // the task that reads
    Bytes bytes;
    bool registered;  // the program's own memory, which may be gone
    uint64_t digest;
  };

  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  // The bytes stay as they are until the task is over.
  void Begin(const Mark& by, const Bytes& bytes, bool registered);
  // Somebody may write there, and is judged otherwise.
  void Forget(const Bytes& bytes);
  void Forget(const std::function<bool(const Source&)>& which);
  // These are over, and nobody has gone on since: tells those whose bytes are not what they were.
  void End(const std::function<bool(const Mark&)>& over, const std::function<void(const Source&)>& tell);

 private:
  static constexpr size_t kMost = 1024;  // more are not followed

  std::vector<Source> sources_;
  std::atomic<size_t> count_{0};
};

}  // namespace belay::race
