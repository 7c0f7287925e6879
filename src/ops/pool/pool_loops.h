// The arithmetic of pooling on the channels of one pixel, which lie side by side.
#pragma once

#include <cstdint>

namespace belay::ops {

template <class T>
struct PoolLoops {
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

}  // namespace belay::ops
