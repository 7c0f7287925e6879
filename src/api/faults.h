// Failures that a user asks for, to see what a program makes of them: BELAY_FAULTS, or "faults" in the file
// of aclInit. docs/faults.md has the grammar.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/functions.h"
#include "runtime/observer.h"
#include "runtime/task.h"

namespace belay::api {

// When a fault strikes.
struct FaultTime {
  uint64_t first = 1;       // the how manieth
  bool onwards = false;     // and each later one
  double probability = -1;  // each one with it; negative: by number
  int64_t after_ns = -1;    // by time since aclInit; negative: by number
  bool Strikes(uint64_t number, uint64_t random, int64_t since_start_ns) const;
};

struct Fault {
  enum class Kind : uint8_t { kCall, kTask, kDeviceLost };
  Kind kind;
  std::string text;  // as it was written
  int code;
  FaultTime time;
  std::vector<bool> functions = {};  // kCall, kDeviceLost: by Fn
  std::string task = {};             // kTask: a pattern
};

struct FaultPlan {
  std::vector<Fault> faults;
  size_t device_bytes = 0;  // that a device gives; 0: what it has
  std::string memory_text;
  double slowness = 1;
  std::string slow_text;
  uint64_t seed = 0;
  bool seeded = false;  // by the user
  bool any() const { return !faults.empty() || device_bytes != 0 || slowness > 1; }
  bool random() const;
};

// Empty, or what cannot be understood.
std::string ParseFaults(std::string_view text, FaultPlan* plan);

// Puts the faults in force that the environment asks for, else those of the file, else none. Called by
// aclInit before the runtime starts. Throws where they cannot be understood.
void UseFaults(const std::string& of_file);
// Throws where the call shall fail. Asked for each call while there are faults.
void MaybeFailCall(Fn fn);

}  // namespace belay::api
