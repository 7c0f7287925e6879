#include <cstring>

#include "runtime/memory.h"

namespace belay::rt {

void CopyBytes(void* dst, const void* src, size_t bytes) { std::memmove(dst, src, bytes); }
void FillBytes(void* dst, int value, size_t bytes) { std::memset(dst, value, bytes); }

}  // namespace belay::rt
