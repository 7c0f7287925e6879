// The calls of a process, as libbelay_calls.so tells of those of C, and the core of others: slices on the
// tracks of its threads, and lines of a log.
#pragma once

#include <string_view>

#include "layers/calls/calls.h"
#include "layers/trace/timeline.h"
#include "runtime/layer.h"

namespace belay::trace {

// At the end of a call of which the layer is told by the core: one of C++, whose arguments are not known.
void EndNamedCall(Writer& writer, const char* name, std::string_view result);

// From now on objects can be looked at, and calls of C++ come.
void KnowCore(const rt::CoreFacts& core);

}  // namespace belay::trace
