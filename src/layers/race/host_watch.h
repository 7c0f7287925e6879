// Sees what the program does to pinned memory without a call: the pages are closed (host_pages.h), and the
// faults come here.
#pragma once

#include "layers/race/race.h"

namespace belay::race {

// False, with a word on the standard error, where that cannot be: libbelay_host.so was not loaded before the
// program, or the system does not let a process reach its own closed pages.
bool BeginHostWatch(Race& race, const rt::CoreFacts& core);

}  // namespace belay::race
