// Bytes put together from several vectors of sixteen.
#pragma once

#include <cstdint>

namespace belay::ops {

inline constexpr int64_t kShuffled = 16;  // bytes that are put together at a time

// What a block is made of: the v-th vector of the result of `steps` vectors of the source, each with the
// bytes that it gives, in their places (0x80 where it gives none), and what stands where none gives any.
struct ShuffleSteps {
  int64_t bytes;           // of the block; the last vector ends there, wherever the one before it does
  int64_t steps;           // of each vector
  const int32_t* offsets;  // of the source's vectors, in bytes
  const uint8_t* places;   // kShuffled for each step
  const uint8_t* others;   // kShuffled for each vector; null: every byte comes from the source
};

using ShuffleLoop = void (*)(char* to, const char* from, const ShuffleSteps& steps);

// Null: this processor does not pick bytes.
ShuffleLoop BestShuffleLoop();

}  // namespace belay::ops
