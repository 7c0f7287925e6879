// Random numbers in f32, many at a time, by vectors.
#pragma once

#include <cstdint>
#include <limits>

#include "ops/random/philox.h"

namespace belay::ops {

// Blocks of a generator that are drawn at a time. Word w of block i stands at w * kBlocksTogether + i.
inline constexpr int64_t kBlocksTogether = 128;
inline constexpr int64_t kWordsTogether = 4 * kBlocksTogether;

// What is made of a number v: v * scale + shift, but no more than `most`.
template <class T>
struct Stretch {
  T scale = 1, shift = 0, most = std::numeric_limits<T>::infinity();
  T operator()(T v) const {
    const T value = v * scale + shift;
    return value > most ? most : value;
  }
};

struct DeviateLoops {
  void (*words)(const Philox& philox, uint64_t first, int64_t blocks, uint32_t* words);
  // Numbers, four of each block from the first on: fractions in [0, 1) of so many bits (at most 24), or
  // normal ones with deviation 1, of pairs of fractions (Box and Muller).
  void (*fractions)(const Philox& philox, uint64_t first, int64_t count, int bits, Stretch<float> spread,
                    float* out);
  void (*normals)(const Philox& philox, uint64_t first, int64_t count, Stretch<float> spread, float* out);
  // 1 for each word, in the order of such numbers, that is below the limit, which is at most 2^32, and 0 for
  // others.
  void (*below)(const uint32_t* words, int64_t blocks, uint64_t limit, uint8_t* out);
};

DeviateLoops BestDeviateLoops();

}  // namespace belay::ops
