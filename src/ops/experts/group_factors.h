// What grouped products of small integers are multiplied by, and how their weights become floats.
#pragma once

#include <cstdint>
#include <cstring>

#include "ops/experts/matrix_block.h"
#include "ops/experts/rows.h"

namespace belay::ops {

enum class Quantised : uint8_t {
  kNo,
  kBytes,    // INT8 times INT8
  kWeights,  // floats times INT8 or INT4
};

// Numbers side by side that are read as they are.
struct WholeRow {
  int binding = -1;
  int64_t at = 0, step = 0;  // bytes

  WholeRow() = default;
  // [n], or one row of [groups, n].
  WholeRow(const Operand& operand, int64_t row);
  bool present() const { return binding >= 0; }
  template <class T>
  T Get(const Frame& frame, int64_t i) const {
    T value;
    std::memcpy(&value, frame.at[binding] + at + i * step, sizeof(value));
    return value;
  }
};

// Up to kBlock floats, rounded to FLOAT16.
void RoundToHalf(float* values, int64_t n);

// Those of one product. Rows of what holds those of all groups are [groups, n].
struct GroupFactors {
  Rows scale;                       // of columns
  WholeRow packed;                  // instead: scales and offsets as aclnnTransQuantParamV2 packs them
  WholeRow bias;                    // of INT32, added to the sums
  Rows token;                       // one number for each row of x
  Rows weight_scale, weight_shift;  // of columns, or of `depth` rows of each column
  int64_t row = 0;                  // of `scale`; the first one of weight_scale and weight_shift
  int64_t depth = 0;
  bool in_half = false;  // weights are FLOAT16 once the shift is added, and scaled

  // Sums of INT8 as floats, or (to_bytes) as rounded ones within INT8.
  void Scale(const Frame& frame, const int32_t* sums, int64_t token_row, int64_t first, int64_t n,
             bool to_bytes, float* to) const;
  // Adds the bias to sums, which wrap.
  void Add(const Frame& frame, int64_t first, int64_t n, int32_t* sums) const;
  // A block of weights, from row r and column c on, becomes floats: (weight + shift) * scale.
  void Spread(const Frame& frame, int64_t r, int64_t c, int64_t rows, int64_t columns,
              const GemmMatrix& block) const;
};

// A matrix of four bits an element, two in a byte, the first one in the low bits. Steps are elements.
struct NibblePlace {
  int binding = -1;
  int64_t at = 0, rows = 0, columns = 0, row = 0, column = 0;

  NibblePlace() = default;
  // INT4, or INT32 that holds eight of them along the dimension without gaps; at an index of what is before.
  NibblePlace(const Operand& operand, int64_t index);
  GemmMatrix Block(const Frame& frame, int64_t r, int64_t n, int64_t c, int64_t m, float* buffer) const;
};

}  // namespace belay::ops
