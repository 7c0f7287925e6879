// Code of others that ends the process, or reads what it has not got, when it is refused memory: its caller
// sees before that there is some.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace belay {

// Throws std::bad_alloc where the system has not so many bytes left for this process.
inline void RequireMemory(size_t bytes) {
  void* spare = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (spare == MAP_FAILED) throw std::bad_alloc();
  munmap(spare, bytes);
}

}  // namespace belay
