// Pixels of a few channels, and planes of them.
#pragma once

#include <cstdint>

namespace belay::ops {

// n pixels; planes lie `step` elements apart. Elements of 1 or 2 bytes.
using ChannelLoop = void (*)(const void* from, void* to, int64_t n, int64_t step);
struct ChannelLoops {
  ChannelLoop separate = nullptr, join = nullptr;
};

// Null for other sizes and for other than 2 to 4 channels.
ChannelLoops BestChannelLoops(int64_t bytes, int64_t channels);

}  // namespace belay::ops
