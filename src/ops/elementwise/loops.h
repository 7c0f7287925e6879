// How loops of pointwise operators are written: one line each, the value of one element from a, b, c
// (of the operands) and p, q, r (the attributes), with T their type. ivdep promises that the result
// overlaps an operand only element for element.
#pragma once

#include "ops/elementwise/pointwise.h"

#define BELAY_LOOP_HEAD(Name)                                                                           \
  template <class T>                                                                                    \
  void Name##Loop(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n) {      \
    auto* o = static_cast<T*>(out);                                                                     \
    [[maybe_unused]] const T p = attributes.As<T>(0), q = attributes.As<T>(1), r = attributes.As<T>(2); \
    const auto* x = static_cast<const T*>(in[0]);

#define BELAY_UNARY_LOOP(Name, value)                    \
  BELAY_LOOP_HEAD(Name)                                  \
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
    const T a = x[i];                                    \
    o[i] = static_cast<T>(value);                        \
  }                                                      \
  }

#define BELAY_BINARY_LOOP(Name, value)                   \
  BELAY_LOOP_HEAD(Name)                                  \
  const auto* y = static_cast<const T*>(in[1]);          \
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
    const T a = x[i], b = y[i];                          \
    o[i] = static_cast<T>(value);                        \
  }                                                      \
  }

// The result is a byte.
#define BELAY_TRUTH_LOOP_OF_ONE(Name, value)                                            \
  template <class T>                                                                    \
  void Name##Loop(void* out, const void* const* in, const LoopAttributes&, int64_t n) { \
    auto* o = static_cast<uint8_t*>(out);                                               \
    const auto* x = static_cast<const T*>(in[0]);                                       \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                              \
      const T a = x[i];                                                                 \
      o[i] = static_cast<uint8_t>(value);                                               \
    }                                                                                   \
  }
#define BELAY_TRUTH_LOOP(Name, value)                                                   \
  template <class T>                                                                    \
  void Name##Loop(void* out, const void* const* in, const LoopAttributes&, int64_t n) { \
    auto* o = static_cast<uint8_t*>(out);                                               \
    const auto* x = static_cast<const T*>(in[0]);                                       \
    const auto* y = static_cast<const T*>(in[1]);                                       \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                              \
      const T a = x[i], b = y[i];                                                       \
      o[i] = static_cast<uint8_t>(value);                                               \
    }                                                                                   \
  }

// The same as BELAY_BINARY_LOOP for f32, where operand k, named `fixed`, is one value for all.
#define BELAY_LOOP_OF_ONE(Name, k, fixed, moving, value)                                            \
  inline void Name(void* out, const void* const* in, const LoopAttributes& attributes, int64_t n) { \
    using T = float;                                                                                \
    auto* o = static_cast<T*>(out);                                                                 \
    [[maybe_unused]] const T p = attributes.As<T>(0);                                               \
    const auto* x = static_cast<const T*>(in[1 - k]);                                               \
    const T fixed = *static_cast<const T*>(in[k]);                                                  \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                                          \
      const T moving = x[i];                                                                        \
      o[i] = static_cast<T>(value);                                                                 \
    }                                                                                               \
  }
#define BELAY_LOOPS_OF_ONE(Name, value)            \
  BELAY_LOOP_OF_ONE(Name##OfFirst, 0, a, b, value) \
  BELAY_LOOP_OF_ONE(Name##OfSecond, 1, b, a, value)

#define BELAY_TERNARY_LOOP(Name, value)                  \
  BELAY_LOOP_HEAD(Name)                                  \
  const auto* y = static_cast<const T*>(in[1]);          \
  const auto* z = static_cast<const T*>(in[2]);          \
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
    const T a = x[i], b = y[i], c = z[i];                \
    o[i] = static_cast<T>(value);                        \
  }                                                      \
  }

#define BELAY_LOOPS_OF_ALL(Name)                                                                 \
  PointwiseLoops Name##Loops() {                                                                 \
    return {&Name##Loop<float>, &Name##Loop<double>, &Name##Loop<int32_t>, &Name##Loop<int64_t>, \
            &Name##Loop<uint64_t>};                                                              \
  }
// SignedByte is uint8_t where the result is that modulo 2^8.
#define BELAY_EACH_LOOP_AND_BYTES(Name, SignedByte)                                      \
  .f32 = &Name##Loop<float>, .f64 = &Name##Loop<double>, .i32 = &Name##Loop<int32_t>,    \
  .i64 = &Name##Loop<int64_t>, .u64 = &Name##Loop<uint64_t>, .u8 = &Name##Loop<uint8_t>, \
  .i8 = &Name##Loop<SignedByte>
#define BELAY_LOOPS_OF_ALL_AND_BYTES(Name, SignedByte) \
  PointwiseLoops Name##Loops() { return {BELAY_EACH_LOOP_AND_BYTES(Name, SignedByte)}; }
#define BELAY_LOOPS_OF_ALL_AND_ONE(Name, SignedByte)                                     \
  PointwiseLoops Name##Loops() {                                                         \
    return {BELAY_EACH_LOOP_AND_BYTES(Name, SignedByte), .f32_of_first = &Name##OfFirst, \
            .f32_of_rest = &Name##OfSecond};                                             \
  }
#define BELAY_LOOPS_OF_TRUTHS(Name, on_truths)                                                  \
  PointwiseLoops Name##Loops() {                                                                \
    return {BELAY_EACH_LOOP_AND_BYTES(Name, int8_t), .truth = on_truths, .gives_truths = true}; \
  }
#define BELAY_LOOPS_OF_FLOATS(Name) \
  PointwiseLoops Name##Loops() { return {.f32 = &Name##Loop<float>, .f64 = &Name##Loop<double>}; }
#define BELAY_LOOPS_OF_INTS(Name)                                                                    \
  PointwiseLoops Name##Loops() {                                                                     \
    return {.i32 = &Name##Loop<int32_t>, .i64 = &Name##Loop<int64_t>, .u64 = &Name##Loop<uint64_t>}; \
  }
