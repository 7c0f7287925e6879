// Memory that a command shares with the processes of the program which it starts; they learn of it by an
// environment variable. It is of System V's kind: neither a disk nor `ulimit -f` counts for it, its pages are
// promised when it is made, and it goes with the last process that uses it, however that ends.
#pragma once

#include <cstddef>

namespace belay::layers {

// Zeros, and the variable for the processes that are started from now on. Null with the reason in errno.
void* MakeSharedBlock(const char* variable, size_t bytes);

// The block that the variable tells of; null: there is none of so many bytes.
void* FindSharedBlock(const char* variable, size_t bytes);

}  // namespace belay::layers
