// What `belay check` reads when the program has ended, however it did: memory that both share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::layers {

struct Tally {
  static constexpr const char* kVariable = "BELAY_CHECK_TALLY";
  std::atomic<uint32_t> processes{0};
  std::atomic<uint32_t> reports{0};
  std::atomic<uint32_t> notes{0};
  std::atomic<uint32_t> suppressed{0};
  std::atomic<uint64_t> tasks{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> host_accesses{0};
  std::atomic<uint64_t> not_judged{0};  // tasks whose order or bytes nobody knows at the call
  std::atomic<uint32_t> streams{0};
  std::atomic<uint32_t> graphs{0};
  std::atomic<uint32_t> not_recorded{0};  // reports, for want of room
  std::atomic<uint32_t> host_not_seen{
      0};  // processes whose plain loads and stores were to be seen and are not
  std::atomic<uint64_t> host_not_watched{0};  // tasks for whose pages there was no time
  std::atomic<uint32_t> failed{0};            // layers that have thrown, each in a process

  // What `belay check` loads; the last one where it is asked for.
  static constexpr std::string_view kNumbers = "numbers";
  static constexpr std::array<std::string_view, 4> kLayers{"race", "memory", "hang", kNumbers};
  // The process and the layer that a thread is inside of; 0: none, or none of those.
  static uint64_t Who(int process, std::string_view layer) {
    for (size_t i = 0; i < kLayers.size(); ++i) {
      if (kLayers[i] == layer) return static_cast<uint64_t>(process) << 8 | (i + 1);
    }
    return 0;
  }
  // Each thread has one; should two have the same, what is said there may be wrong.
  static constexpr size_t kPlaces = 64;
  struct alignas(64) Place {
    std::atomic<uint64_t> who{0};
  };
  Place inside[kPlaces];
};

// What the processes of the program share with `belay check`, or one of this process alone.
Tally& TheTally();
// Keeps a report for `belay check`, as report_file.h has it.
void AddRecord(std::string_view record);

// For the command: the layers that threads of the process were inside of when it ended, such as "race".
std::string LayersInside(const Tally& tally, int process);
// For the command: what its program will share with it. Null with the reason in errno.
Tally* MakeTally();
// All that was added there; where a process was killed meanwhile there is an empty line, or half a report.
std::string RecordsOf(const Tally& made);

}  // namespace belay::layers
