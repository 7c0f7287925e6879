// Attention of a few heads over keys that come some at a time: what they have by now.
#pragma once

#include <cstdint>

#include "ops/experts/rows.h"

namespace belay::ops {

struct OnlineHeads {
  static constexpr int64_t kColumnsAtOnce = 256;

  int64_t heads, deep, size;  // numbers of a head of query and key, and of one of value
  float scale;
  float *q, *k, *v;  // [heads, deep], [columns, deep], [columns, size]
  float* sums;       // [heads, size]
  float *most, *total;

  // Floats that it needs.
  static int64_t Room(int64_t heads, int64_t deep, int64_t size);
  OnlineHeads(int64_t heads, int64_t deep, int64_t size, float scale, float* room);

  // No column yet.
  void Begin() const;
  // The first `n` columns of k and v, at most kColumnsAtOnce.
  void Add(int64_t n) const;
  // sums are the results from here on; zeros where there was no column.
  void Divide() const;

 private:
  float *scores_, *added_;
};

// The row, copied to where it is wanted.
void BringRow(const Frame& frame, const Rows& rows, int64_t row, float* to);

}  // namespace belay::ops
