// What a thread calls between HcclGroupStart and HcclGroupEnd: it is checked at the call, and happens when
// the outermost group ends. Sends and receives of a stream then get on together, and one thread can make the
// communicators of several ranks, none of which is there before the others have come.
#pragma once

#include <functional>

#include "collective/bootstrap.h"
#include "collective/communicator.h"
#include "collective/operations.h"

namespace belay::rt {
class Stream;
}

namespace belay::coll {

// Gives a program its communicator.
using Made = std::function<void(Communicator&)>;

// Groups nest. EndGroup throws where none is open, and what the first thing that fails throws; what comes
// after that does not happen.
void BeginGroup();
void EndGroup();

// Whether one is open in this thread.
bool InGroup();

// False when no group is open in this thread. Throws HCCL_E_PARA where a group has kinds that do not go
// together.
bool KeepForGroup(Communicator& communicator, rt::Stream& stream, const Operation& operation);
bool KeepForGroup(const Meeting& meeting, const CommunicatorConfig& config, const Made& made);

}  // namespace belay::coll
