// How long a thread stands still so that another one may come: for a moment, and longer while the machine has
// not given the others their turn.
#pragma once

#include <cstdint>

namespace belay::race {

class Patience {
 public:
  Patience();
  // Sleeps for a fraction of it. False: it is over.
  bool Wait() const;

 private:
  const int64_t since_ns_;
};

// Threads of the program besides the calling one, without those of the runtime; of these, who want to run.
bool HasOtherThreads();
bool OtherThreadsWantToRun();

}  // namespace belay::race
