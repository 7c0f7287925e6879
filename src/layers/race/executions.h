// Which threads of the program are in a call that executes a loaded model and waits (aclmdlExecute). A model
// has one memory to work in, so that two threads need a lock around such calls.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "layers/support/stack.h"

namespace belay::race {

struct Execution {
  uint32_t model;
  int thread;
  uint32_t call;
  layers::Stack stack;
};

class Executions {
 public:
  // Another thread that executes this model now. Whether two meet is a matter of time; so the first
  // executions of each thread stand still for a moment where the program has other threads, and one without a
  // lock comes.
  std::optional<Execution> Begin(const Execution& execution);
  void End(uint32_t model, int thread);

 private:
  std::optional<Execution> Other(const Execution& execution) const;
  void StandStill(const Execution& execution);

  std::mutex lock_;
  std::vector<Execution> running_;
  std::map<std::pair<uint32_t, int>, int> counts_;  // of executions, by model and thread
};

}  // namespace belay::race
