// The calls of a process, as libbelay_calls.so tells of them: slices on the tracks of its threads, and lines
// of a log.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/calls/calls.h"
#include "runtime/layer.h"

namespace belay::trace {

// Nobody tells of calls before libbelay_calls.so has asked for the hook: then there are none.
size_t CountOfCalls();
const char* NameOfCall(uint32_t call);

// From now on objects can be looked at.
void KnowCore(const rt::CoreFacts& core);

}  // namespace belay::trace
