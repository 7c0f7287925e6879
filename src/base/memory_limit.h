// Models and programs may ask for any size in a few bytes. What is made on the host for one of them asks here
// first.
#pragma once

#include <cstddef>

namespace belay {

// The most bytes that one object may take: half of this machine's memory, unless set.
size_t MemoryLimit();
void SetMemoryLimit(size_t bytes);

}  // namespace belay
