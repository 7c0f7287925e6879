// Seeing calls although libbelay_calls.so was not loaded before the program: the libraries that it links call
// the core by way of tables of addresses, and for a while those lead to libbelay_calls.so.
#pragma once

namespace belay::trace {

// From now on calls are seen, also those of libraries that were loaded since the last time, or no longer.
// Nothing happens where the library was loaded before the program. False: they cannot be.
bool SeeCalls(bool on);

}  // namespace belay::trace
