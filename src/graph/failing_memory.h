// For tests: operator new of the test program, which fails when it is told to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace belay::graph {

struct FailingMemory {
  // Counts from 0, without failing.
  static void Count();
  static int64_t counted();
  static size_t largest();  // of the requests that were counted
  // The allocation with this number fails, once, on whichever thread; negative: none.
  static void FailAt(int64_t number);
  // Every allocation of a thread fails but of the one that calls this.
  static void FailOnOtherThreads();
  // Nothing fails any more. Whether something did.
  static bool Disarm();
};

}  // namespace belay::graph
