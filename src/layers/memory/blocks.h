// The blocks of memory that a program had and has: where each was allocated, and where it was freed.
#pragma once

#include <cstdint>
#include <map>

#include "layers/support/stack.h"
#include "runtime/observer.h"

namespace belay::misuse {

struct Life {
  rt::Block block;  // its call is the one that allocated it
  layers::Stack allocated;
  bool live = true;
  layers::Stack freed;
  uint32_t freed_by = 0;  // the call
};

// By address. What is freed is kept until its addresses are used again.
class Blocks {
 public:
  void Begin(const rt::Block& block, const layers::Stack& stack);
  void End(const rt::Block& block, const layers::Stack& stack);
  // What begins in these bytes is known no more.
  void Forget(uintptr_t begin, size_t bytes);
  // The block that holds the address, live or the last one that did.
  const Life* Find(uintptr_t address) const;

 private:
  std::map<uintptr_t, Life> lives_;  // by the first byte; they do not overlap
};

}  // namespace belay::misuse
