// What the profiling interface (aclprof*) asks of the layer that writes tables. It is loaded when a program
// wants a profile, and until then costs nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/layer.h"
#include "runtime/observer.h"

namespace belay::rt {

// What is collected, as an or.
enum Collected : uint32_t {
  kCollectTasks = 1,
  kCollectOperands = 2,  // of the tasks
  kCollectCalls = 4,
  kCollectMarks = 8,
  kCollectSteps = 16,
};

// Of the process. Calls come one at a time.
class Profiler {
 public:
  virtual ~Profiler() = default;
  // Begins tables in a folder of their own below this one. Empty, or why that cannot be.
  virtual std::string Begin(const std::string& folder) = 0;
  // What is collected of each device from now on; of those that are not named nothing.
  virtual void Collect(const std::map<int, uint32_t>& devices) = 0;
  // Writes the tables to their ends.
  virtual void End() = 0;
};

// The profiler and whom it wants told; null: who is told already.
struct MadeProfiler {
  Profiler* profiler = nullptr;
  Observer* observer = nullptr;
};
// What libbelay_layer_trace.so exports as belay_make_profiler. Both stay for the life of the process.
using MakeProfiler = MadeProfiler (*)(const CoreFacts& core);

// Loads it, and lets it see the streams that there are. Null with the reason.
Profiler* LoadProfiler(std::string* why);

}  // namespace belay::rt
