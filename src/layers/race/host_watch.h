// Sees what the program does to pinned memory without a call: the pages are closed (host_pages.h), and the
// faults come here.
#pragma once

#include "layers/race/race.h"

namespace belay::race {

// False where that cannot be: libbelay_host.so was not loaded before the program, or the system does not let
// a process reach its own closed pages. `says`: why, on the standard error.
bool BeginHostWatch(Race& race, const rt::CoreFacts& core, bool says);

}  // namespace belay::race
