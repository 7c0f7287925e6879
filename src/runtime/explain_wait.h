// Why a stream does not get on, in words.
#pragma once

#include <string>

#include "runtime/stream.h"

namespace belay::rt {

// "stream 3 waits for stream 1, which waits for event 5, which nobody has recorded". As of this moment: the
// streams go on while they are looked at.
std::string ExplainWait(Stream& stream);

// What follows "stream 3 "; where another stream is waited for its name follows.
std::string WaitWords(const ParkPlace& place);

}  // namespace belay::rt
