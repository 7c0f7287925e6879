// Attention for training, a block of the scores at a time: the rows of a query against the columns of a key.
// What the forward direction and the gradient share: how heads lie, what each row may see, the scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ops/matmul/gemm.h"
#include "ops/packed_floats.h"
#include "ops/schema.h"

namespace belay::ops {

constexpr float kNothing = -std::numeric_limits<float>::infinity();  // the largest of no scores

// Heads in a packed tensor, in elements from one to the next; the numbers of a row follow each other.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
  int64_t At(int64_t b, int64_t h, int64_t r) const { return b * batch + h * head + r * row; }
};

// A block of the scores of one head.
struct FlashTile {
  int64_t batch, head, row, rows, column, columns;
};

// Which columns a row may see, by its place: [row + left, row + right], and the first ones of its batch.
struct FlashBand {
  int64_t left = 0, right = 0, columns = 0;
  std::vector<int64_t> prefix;  // for each batch, or empty

  int64_t Begin(int64_t row) const { return std::clamp<int64_t>(row + left, 0, columns); }
  int64_t End(int64_t batch, int64_t row) const {
    const int64_t first = prefix.empty() ? 0 : prefix[static_cast<size_t>(batch)];
    return std::clamp<int64_t>(std::max(row + right + 1, first), 0, columns);
  }
  // Cuts a block to the columns that some row of it sees, as far as the band says; false: none does.
  bool Cut(FlashTile& tile) const {
    const int64_t begin = std::max(tile.column, Begin(tile.row)),
                  end = std::min(tile.column + tile.columns, End(tile.batch, tile.row + tile.rows - 1));
    tile.column = begin, tile.columns = end - begin;
    return begin < end;
  }
};

// A tensor [B, N, Sq, 8] of f32, whose last dimension repeats a row's number.
struct FlashRowNumbers {
  int binding = -1;
  int64_t at = 0, step[4] = {};

  FlashRowNumbers() = default;
  explicit FlashRowNumbers(const Operand& operand) : binding(operand.binding), at(operand.tensor->offset) {
    for (int d = 0; d < 4; ++d) step[d] = operand.tensor->strides[d];
  }
  float* Of(const Frame& frame, int64_t b, int64_t h, int64_t r) const {
    return reinterpret_cast<float*>(frame.at[binding]) + at + b * step[0] + h * step[1] + r * step[2];
  }
  void Set(float* to, float number) const {
    for (int64_t i = 0; i < 8; ++i) to[i * step[3]] = number;
  }
};

// The arguments that both functions have, as the caller gave them.
struct FlashArgs {
  const char* function;
  const Operand &query, &key, &value, &shift, &drop, &padding, &forbidden;
  std::span<const int64_t> prefix;
  double scale, keep;
  int64_t before, after, heads;
  const char* layout;
  int64_t sparse;
};

// Addresses of what the scores are made of, while a task runs.
struct FlashInputs {
  const float *query, *key, *value, *shift;
  const uint8_t *drop, *forbidden;
};

class Flash {
 public:
  Flash() = default;
  // Checks the arguments. What has to be copied takes its place in the workspace of the plan.
  Flash(const FlashArgs& args, Plan& plan);

  FlashInputs Load(const Frame& frame) const;

  // The tile's scores, forbidden ones -inf; `scores` has room for its rows * columns.
  void Scores(const FlashInputs& in, const FlashTile& tile, float* scores) const;
  // Drops from a packed row of the tile what the mask of dropout says, and divides the rest by what is kept.
  void Drop(const FlashInputs& in, const FlashTile& tile, int64_t row, float* values) const;
  bool drops() const { return drops_; }

  static void Multiply(const Gemm& gemm);

  Shape OutShape(const Operand& query_operand) const;  // of what attention gives
  Shape RowShape() const { return {batches, heads, rows, 8}; }

  int64_t batches = 0, heads = 0, members = 1;  // members: heads that share one of the key
  int64_t rows = 0, columns = 0, size = 0, value_size = 0;
  HeadStrides query, key, value, out;
  HeadStrides shift;  // whose row is 0 where all rows share one
  FlashBand band;
  float scale = 1;
  // A block has at most so many.
  int64_t block_rows = 1, block_columns = 1;

  int64_t key_heads() const { return heads / members; }
  int64_t row_blocks() const { return (rows + block_rows - 1) / block_rows; }
  int64_t column_blocks() const { return (columns + block_columns - 1) / block_columns; }

 private:
  void TakeHeads(const FlashArgs& args);
  void TakeShift(const FlashArgs& args);
  void TakeDrop(const FlashArgs& args, Plan& plan);
  void TakeBand(const FlashArgs& args);
  void TakeForbidden(const FlashArgs& args);

  PackedFloats query_, key_, value_, shift_;
  PackedBytes drop_;
  bool drops_ = false;
  float kept_factor_ = 1;
  int forbidden_ = -1;                                 // the binding of the mask that forbids what is not 0
  int64_t forbidden_at_ = 0, forbidden_step_[4] = {};  // bytes: batch, head, row, column
};

// Throws Error 161002 with the function's name and a sentence.
[[noreturn]] void RefuseFlash(const char* function, const char* sentence);

// Throws Error 161002 unless the operand has the type and the shape.
void CheckFlashOperand(const FlashArgs& args, const Operand& operand, DType type, const Shape& shape);

// An optional tensor that was given and has elements.
inline bool IsGiven(const Operand& operand) { return operand.present() && !operand.tensor->empty(); }

}  // namespace belay::ops
