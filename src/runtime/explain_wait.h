// Why a stream does not get on, in words.
#pragma once

#include <string>

#include "runtime/stream.h"

namespace belay::rt {

// "stream 3 waits for stream 1, which waits for event 5, which nobody has recorded". As of this moment: the
// streams go on while they are looked at.
std::string ExplainWait(Stream& stream);

}  // namespace belay::rt
