// The arithmetic of quantisation on packed elements.
#pragma once

#include <cstdint>

namespace belay::ops {

struct QuantRange {
  float least, most;
};

// What stands on the side of the integers.
enum class QuantType : int { kF32, kU8, kI8 };

// A sum of two bytes in steps of its own scale.
struct QuantSum {
  float a, b, rest;
};

// One scale and zero for all n elements, or one for each (step 1). By the type of the integers.
struct QuantLoops {
  using Loop = void (*)(void* out, const void* x, const float* scale, const float* zero, int64_t step,
                        int64_t n, QuantRange range);
  Loop quantize[3], requantize[3], dequantize[3];
  // The integers of `rows` rows of n elements, which follow each other, as floats: row i by scale[i] and
  // zero[i].
  using Rows = void (*)(float* out, const void* x, const float* scale, const float* zero, int64_t rows,
                        int64_t n);
  Rows dequantize_rows[3];
  using Sum = void (*)(void* out, const void* a, const void* b, int64_t n, QuantSum sum);
  Sum add_u8, add_i8;
  // The least and the greatest of n elements and 0; of n elements, of which there is one.
  QuantRange (*range)(const float* x, int64_t n);
  QuantRange (*ends)(const float* x, int64_t n);
  // A row in place: divided by a step, or 0 where that is; the whole numbers nearest to x + zero.
  void (*divide)(float* x, float step, int64_t n);
  void (*round)(float* x, float zero, int64_t n, QuantRange range);
  // Sums of products of integers as floats, times a scale, or each its own (step 1), times that of the row.
  void (*scale_sums)(float* out, const int32_t* sums, const float* scale, int64_t step, float row_scale,
                     int64_t n);
  // x += all * a * b; and the sum of n elements.
  void (*add_products)(float* x, float all, const float* a, const float* b, int64_t n);
  float (*sum)(const float* x, int64_t n);
};

const QuantLoops& BestQuantLoops();

// Elements as bytes that cover the range of them all, 0 included: x = (byte - zero) * scale, as nearly as may
// be.
struct ByteScale {
  float scale;  // 0 where every element is 0
  uint8_t zero;
};
ByteScale QuantizeToBytes(const float* x, int64_t n, uint8_t* out);

}  // namespace belay::ops
