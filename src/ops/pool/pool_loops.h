// The arithmetic of pooling on the channels of one pixel, which lie side by side.
#pragma once

#include <cstdint>

namespace belay::ops {

// Pixels in rows, steps in elements.
struct PoolWindow {
  int64_t rows, row_step, columns, column_step;
};

template <class T>
struct PoolLoops {
  // All pixels of a window, row after row: what they leave to the n channels stays in registers meanwhile.
  void (*max_window)(T* most, const T* x, const PoolWindow& window, int64_t n);
  void (*add_window)(T* sum, const T* x, const PoolWindow& window, int64_t n);
  void (*max)(T* most, const T* x, int64_t n);
  // Also notes `place` where x wins.
  void (*max_place)(T* most, int64_t* places, const T* x, int64_t place, int64_t n);
  void (*add)(T* sum, const T* x, int64_t n);
  void (*add_square)(T* sum, const T* x, int64_t n);
  void (*add_size)(T* sum, const T* x, int64_t n);  // |x|
  void (*scale)(T* x, T factor, int64_t n);
};

const PoolLoops<float>& BestPoolLoopsF32();
const PoolLoops<double>& BestPoolLoopsF64();
// Only the largest is found, without its place.
const PoolLoops<int8_t>& BestPoolLoopsI8();
const PoolLoops<uint8_t>& BestPoolLoopsU8();

}  // namespace belay::ops
