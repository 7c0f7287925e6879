// Who waits for whom, and whether that can end: streams with work that is not over, each waiting for another
// stream, for a word in memory, or for what no stream of them will do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belay::hang {

// A stream with work that is not over.
struct Standing {
  enum class Waits : uint8_t {
    kNot,       // it runs, or is about to
    kPosition,  // for another stream
    kWord,      // for a notify or a value in memory
    kRanks,     // for other ranks to do their part of a collective operation
    kRecord,    // for an event that nobody has recorded
    kCallback,  // for a function of the program to return
    kInside,    // for what a node of its model waits for
  };
  Waits waits = Waits::kNot;
  const void* source = nullptr;  // kPosition: the stream
  uint64_t position = 0;         // there
  uintptr_t word = 0;            // kWord
  const void* self = nullptr;    // what others call it
  uint64_t completed = 0;
};

// A task that is queued and will write a word that others may wait for.
struct Signal {
  const void* stream;
  uint64_t position;
  uintptr_t word;
};

struct Knot {
  static constexpr size_t kNone = ~size_t{0};
  // From a stream to the one that it waits for, as places in the list; of a cycle each stream once, else the
  // last one is that at which the others' waits end.
  std::vector<size_t> chain;
  bool cycle = false;
  // Nothing but the abort of a stream can end it: what each waits for is queued behind the next one's wait.
  bool for_good = false;
  // The position of the next stream that the stream at this place of the chain waits for; 0: none.
  std::vector<uint64_t> awaited;
};

// What keeps streams from getting on: cycles, and the places where waits end at a stream that waits for what
// comes from elsewhere. Streams whose waits end at one that runs are in none. Of several streams that wait
// for the same knot the first that leads there is told.
std::vector<Knot> FindKnots(const std::vector<Standing>& standings, const std::vector<Signal>& signals);

}  // namespace belay::hang
