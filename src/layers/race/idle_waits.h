// Synchronisations that order nothing: the calling thread has waited for all that is on the stream before, or
// there was nothing. Time must not decide, so only streams are judged to which no other thread than the
// waiting one submits, and only what it has itself waited for counts, not answers to its questions.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "layers/support/stack.h"

namespace belay::race {

class IdleWaits {
 public:
  struct Place {
    layers::Stack stack;
    uint32_t call;  // the API function
  };
  void Submitted(uint32_t stream, int thread) { (void)UsedBy(stream, thread); }
  // The thread has waited for this position of the stream.
  void Waited(uint32_t stream, uint64_t position, int thread, uint32_t call, layers::Stack stack);
  // The places that have never ordered anything, each once.
  std::vector<Place> Take();

 private:
  struct Line {
    int thread = 0;  // the only one that uses the stream
    bool shared = false;
    uint64_t waited = 0;
  };
  struct Calls {
    uint32_t call = 0;
    bool ordered = false;
    bool told = false;
    std::set<uint32_t> streams;
  };
  Line& UsedBy(uint32_t stream, int thread);

  std::unordered_map<uint32_t, Line> lines_;
  std::unordered_map<layers::Stack, Calls, layers::StackHash> places_;
};

}  // namespace belay::race
