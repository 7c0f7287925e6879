// What `belay check` reads when the program has ended, however it did: a file that both map.
#pragma once

#include <atomic>
#include <cstdint>

namespace belay::layers {

struct Tally {
  static constexpr const char* kVariable = "BELAY_CHECK_TALLY";  // the path of the file
  std::atomic<uint32_t> processes{0};
  std::atomic<uint32_t> reports{0};
  std::atomic<uint32_t> suppressed{0};
  std::atomic<uint64_t> tasks{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> host_accesses{0};
  std::atomic<uint64_t> not_judged{0};  // tasks whose order or bytes nobody knows at the call
  std::atomic<uint32_t> streams{0};
  std::atomic<uint32_t> graphs{0};
};

// The file's, or one of this process alone.
Tally& TheTally();

}  // namespace belay::layers
