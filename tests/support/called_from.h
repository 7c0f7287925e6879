// Who asks, for what is taken over from the C library.
#pragma once

#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>

#include <initializer_list>

// Whether the calling function was called, however indirectly, from a library whose path has one of these
// words. Whoever watches allocations calls backtrace once before: its first call makes some.
inline bool IsCalledFrom(std::initializer_list<const char*> words) {
  void* frames[16];
  const int count = backtrace(frames, 16);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
    for (const char* word : words) {
      if (strstr(info.dli_fname, word) != nullptr) return true;
    }
  }
  return false;
}
