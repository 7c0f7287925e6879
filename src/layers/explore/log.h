// What `belay explore` compares between runs: what the program's copies brought to the host, in the order of
// its calls. Memory that both share (layers/support/shared_block.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace belay::explore {

struct Log {
  static constexpr const char* kVariable = "BELAY_EXPLORE_LOG";  // which memory
  // The number of a copy (the first is 1) of which the layer says on the standard error where it was asked
  // for.
  static constexpr const char* kTell = "BELAY_EXPLORE_TELL";
  static constexpr size_t kMost = size_t{1} << 20;  // later copies are counted and not compared

  std::atomic<uint32_t> processes{0};  // that called aclInit; the first of them is the one that is looked at
  std::atomic<uint32_t> silences{0};   // times that work ran because the program made no calls for long
  std::atomic<uint64_t> tasks{0};
  std::atomic<uint64_t> order{0};   // stands for which task, or node of a launch, began after which
  std::atomic<uint64_t> copies{0};  // to the host
  // What the n-th copy brought, 0: nobody waited for it.
  std::atomic<uint64_t> digests[kMost];

  size_t kept() const { return copies < kMost ? static_cast<size_t>(copies) : kMost; }
  // For the next run.
  void Clear() {
    for (size_t i = 0; i < kept(); ++i) digests[i] = 0;
    processes = 0;
    silences = 0;
    tasks = 0;
    order = 0;
    copies = 0;
  }
};

}  // namespace belay::explore
