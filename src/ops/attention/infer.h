// Attention for inference: sequences of their own lengths, whose keys and values lie in one piece or in
// pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/pipeline.h"
#include "ops/schema.h"

namespace belay::ops {

// Rows of one head in a tensor: steps in bytes. In pages, `batch` is the step from page to page. Rows may be
// cut into tiles, which lie apart.
struct InferPlace {
  int binding = -1;
  DType type = DType::kUndefined;
  int64_t at = 0, batch = 0, head = 0, row = 0, step = 0, size = 0;
  int64_t tile = 0, tile_step = 0;  // numbers of a tile; 0: a row is whole

  bool present() const { return binding >= 0; }
  char* Of(const Frame& frame, int64_t b, int64_t h, int64_t r) const {
    return frame.at[binding] + at + b * batch + h * head + r * row;
  }
  void Load(const char* from, float* to) const;
  // Has the row brought to the cache while something else is done.
  void Fetch(const char* from) const;

  // part(from, first, n): the row in parts of at most kBlock numbers that lie `step` apart.
  template <class Part>
  void EachPart(const char* from, const Part& part) const {
    const int64_t width = tile == 0 ? size : tile;
    for (int64_t begin = 0; begin < size; begin += width, from += tile_step) {
      for (int64_t i = 0; i < width; i += kBlock)
        part(from + i * step, begin + i, std::min(kBlock, width - i));
    }
  }
};

// Numbers by batch, head, row and column: a mask, what is added to scores, factors. Steps in bytes.
struct InferField {
  int binding = -1;
  int64_t at = 0, step[4] = {};
  DType type = DType::kUndefined;

  bool present() const { return binding >= 0; }
  const char* Of(const Frame& frame, int64_t b, int64_t h, int64_t r, int64_t c) const {
    return frame.at[binding] + at + b * step[0] + h * step[1] + r * step[2] + c * step[3];
  }
  float One(const char* at) const;
};

// One sequence: its place in the tensors, and which rows and columns of it there are.
struct InferSequence {
  int64_t batch, first, rows;             // of the query
  int64_t key_batch, key_first, columns;  // of key and value
};

// Which columns a row sees, by its place.
struct InferBand {
  bool limited = false, from_end = false;  // from_end: counted from the last row and the last column
  int64_t before = 0, after = 0;

  int64_t Begin(const InferSequence& s, int64_t row) const;
  int64_t End(const InferSequence& s, int64_t row) const;
};

// What keys or values of INT8 become floats by, and how it lies: one of the six modes of the interface.
struct InferScaling {
  const Operand *scale = nullptr, *offset = nullptr;
  int64_t mode = 0;
};

// What a function has not got is not there, and 0.
struct InferArgs {
  static inline const Operand kAbsent;
  const Operand &query, &key, &value, &shift, &forbidden;
  const Operand &pages = kAbsent, &query_rope = kAbsent, &key_rope = kAbsent, &sink = kAbsent;
  InferScaling of_both = {}, of_key = {}, of_value = {};  // of_both: those of key, then of value
  std::span<const int64_t> lengths = {}, key_lengths;
  int64_t heads, key_heads;
  double scale;
  int64_t before = 0, after = 0;
  const char* layout;
  int64_t sparse = 0, page_rows = 0;
  bool with_sums = false;
  const Operand& out;
  const Operand& sums = kAbsent;
};

// Throws Error 161002 for what does not fit.
void PlanInferAttention(Plan& plan, const InferArgs& args);

}  // namespace belay::ops
