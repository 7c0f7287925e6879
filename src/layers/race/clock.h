// Who is known to come before whom: vector clocks over the streams of a program. Clocks change at calls only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belay::race {

// A task: the position-th of a stream.
struct Epoch {
  uint32_t stream = 0;  // in the order in which streams were first seen
  uint64_t position = 0;

  bool operator==(const Epoch&) const = default;
};

// What is known to be over: all tasks of each stream up to a position.
class Clock {
 public:
  uint64_t at(uint32_t stream) const { return stream < positions_.size() ? positions_[stream] : 0; }
  bool Knows(const Epoch& epoch) const { return at(epoch.stream) >= epoch.position; }
  bool Knows(const Clock& other) const {
    for (uint32_t i = 0; i < other.positions_.size(); ++i) {
      if (at(i) < other.positions_[i]) return false;
    }
    return true;
  }

  void Learn(const Epoch& epoch) {
    if (epoch.stream >= positions_.size()) positions_.resize(epoch.stream + 1);
    positions_[epoch.stream] = std::max(positions_[epoch.stream], epoch.position);
  }
  // Knows of that stream no more than what comes before the task.
  void ForgetFrom(const Epoch& epoch) {
    if (epoch.stream < positions_.size()) positions_[epoch.stream] = epoch.position - 1;
  }
  // What both know.
  void Meet(const Clock& other) {
    for (uint32_t i = 0; i < positions_.size(); ++i) positions_[i] = std::min(positions_[i], other.at(i));
  }
  void Join(const Clock& other) {
    if (other.positions_.size() > positions_.size()) positions_.resize(other.positions_.size());
    for (size_t i = 0; i < other.positions_.size(); ++i) {
      positions_[i] = std::max(positions_[i], other.positions_[i]);
    }
  }

 private:
  std::vector<uint64_t> positions_;
};

// A wait whose other end nobody knows. Only other ranks let one go on that is `of_ranks`.
struct OpenWait : Epoch {
  bool of_ranks = false;
};

// A clock, and the waits on the way to it whose other end nobody knows (values in memory, records to come):
// what they let through may know more than the clock says.
struct Knowledge {
  Clock clock;
  std::vector<OpenWait> open;  // one a stream
  uint64_t host = 0;           // how often the host had learned something

  void Join(const Knowledge& other) {
    clock.Join(other.clock);
    for (const OpenWait& wait : other.open) Open(wait);
  }
  // Of a stream the latest is enough: what knows that one to be over knows it of those before.
  void Open(const OpenWait& wait) {
    for (OpenWait& known : open) {
      if (known.stream != wait.stream) continue;
      known.position = std::max(known.position, wait.position);
      known.of_ranks = known.of_ranks && wait.of_ranks;
      return;
    }
    open.push_back(wait);
  }
};

}  // namespace belay::race
