// The largest and the least of bytes, as bytes.
#pragma once

#include <cstdint>

namespace belay::ops {

struct ByteFold {
  // Of n > 0 bytes
  uint8_t (*row)(const void* x, int64_t n);
  // acc[i] with x[i]
  void (*into)(void* acc, const void* x, int64_t n);
};

const ByteFold& BestByteFold(bool is_signed, bool largest);

}  // namespace belay::ops
