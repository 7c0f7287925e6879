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

// A tensor [B, N, Sq, 8] or [B, N, Sq, 1] of f32, whose last dimension repeats a row's number.
struct FlashRowNumbers {
  int binding = -1;
  int64_t at = 0, step[4] = {}, repeats = 0;

  FlashRowNumbers() = default;
  explicit FlashRowNumbers(const Operand& operand)
      : binding(operand.binding), at(operand.tensor->offset), repeats(operand.shape()[3]) {
    for (int d = 0; d < 4; ++d) step[d] = operand.tensor->strides[d];
  }
  bool present() const { return binding >= 0; }
  float* Of(const Frame& frame, int64_t b, int64_t h, int64_t r) const {
    return reinterpret_cast<float*>(frame.at[binding]) + at + b * step[0] + h * step[1] + r * step[2];
  }
  void Set(float* to, float number) const {
    for (int64_t i = 0; i < repeats; ++i) to[i * step[3]] = number;
  }
};

// Which blocks of the scores count: [B, N, blocks of rows, blocks of columns], not 0 where they do.
struct FlashBlocks {
  int binding = -1;
  int64_t at = 0, step[4] = {}, height = 1, width = 1;  // steps in bytes

  bool present() const { return binding >= 0; }
};

// How the bias meets the scores.
enum class FlashShift : int64_t {
  kAfterScale,   // query x key * scale + bias
  kBeforeScale,  // (query x key + bias) * scale
  kDistance,     // the bias holds slopes of heads: query x key * scale - slope * |distance|
  kDistanceRoot  // the same with the root of the distance
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
  FlashShift shift_kind = FlashShift::kBeforeScale;
  int64_t query_start = 0, key_start = 0;  // the places of the first rows, for distances
  int64_t first_bit = 0;                   // of the mask of dropout
  FlashBlocks blocks = {};
  Operand sink = {};  // [heads]: a score without a value that each row sees, where there is one

  bool sloped() const { return shift_kind >= FlashShift::kDistance; }
};

// The last arguments of the second versions. Throws Error 161002 where they say nothing.
void TakeShiftKind(int64_t kind, std::span<const int64_t> query_start, std::span<const int64_t> key_start,
                   FlashArgs* args);

// What the gradient is made of and gives beside.
struct FlashGradients {
  const Operand &dy, &y, &most, &sum, &dq, &dk, &dv, &dshift;
  const Operand* dsink = nullptr;
};

// What any of the functions was given. The gradients call the key, the bias and the sink something else, and
// not each version has all of them.
template <class Arguments>
FlashArgs TakeFlash(const Plan& plan, const Arguments& a, const Operand& key, const Operand& shift) {
  FlashArgs args{.function = plan.function(),
                 .query = a.query,
                 .key = key,
                 .value = a.value,
                 .shift = shift,
                 .drop = a.drop_mask,
                 .padding = a.padding_mask,
                 .forbidden = a.atten_mask,
                 .prefix = a.prefix,
                 .scale = a.scale_value,
                 .keep = a.keep_prob,
                 .before = a.pre_tokens,
                 .after = a.next_tokens,
                 .heads = a.head_num,
                 .layout = a.input_layout,
                 .sparse = a.sparse_mode};
  if constexpr (requires { a.pse_type; }) TakeShiftKind(a.pse_type, a.q_start_idx, a.kv_start_idx, &args);
  if constexpr (requires { a.sink; }) args.sink = a.sink;
  if constexpr (requires { a.sink_in; }) args.sink = a.sink_in;
  return args;
}

// The same of a gradient.
template <class Arguments>
FlashGradients TakeFlashGradients(const Arguments& a) {
  FlashGradients o{.dy = a.dy,
                   .y = a.attention_in,
                   .most = a.softmax_max,
                   .sum = a.softmax_sum,
                   .dq = a.dq_out,
                   .dk = a.dk_out,
                   .dv = a.dv_out,
                   .dshift = a.dpse_out};
  if constexpr (requires { a.dsink_out; }) o.dsink = &a.dsink_out;
  return o;
}

// The work of the functions, for plans of their own or for parts of one.
void PlanFlash(Plan& plan, const FlashArgs& args, const Operand& most, const Operand& sum,
               const Operand& out);
void PlanFlashGradient(Plan& plan, const FlashArgs& args, const FlashGradients& o);

// The same with the logarithm of the sum of powers [B, N, Sq, 1] in place of the largest score and the sum;
// it need not be there. The gradient takes it as `most`, and nothing as `sum`.
void PlanFlashWithLevels(Plan& plan, const FlashArgs& args, const Operand& levels, const Operand& out);

// Addresses of what the scores are made of, while a task runs.
struct FlashInputs {
  const float *query, *key, *value, *shift, *sink;
  const uint8_t *drop, *forbidden, *blocks;
};

class Flash {
 public:
  Flash() = default;
  // Checks the arguments. What has to be copied takes its place in the workspace of the plan.
  Flash(const FlashArgs& args, Plan& plan);

  FlashInputs Load(const Frame& frame) const;

  // Some of the tile's blocks count.
  bool Sees(const FlashInputs& in, const FlashTile& tile) const;
  // The tile's scores, forbidden ones -inf; `scores` has room for its rows * columns.
  void Scores(const FlashInputs& in, const FlashTile& tile, float* scores) const;
  // Drops from a packed row of the tile what the mask of dropout says, and divides the rest by what is kept.
  void Drop(const FlashInputs& in, const FlashTile& tile, int64_t row, float* values) const;
  bool drops() const { return drops_; }
  // The bias comes after the scale, which its gradient therefore does not have.
  bool scales_late() const { return shift_kind_ == FlashShift::kAfterScale; }

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
  void TakeSink(const FlashArgs& args, Plan& plan);
  void TakeDrop(const FlashArgs& args, Plan& plan);
  void TakeSlopes(const FlashArgs& args);
  void TakeBand(const FlashArgs& args);
  void TakeForbidden(const FlashArgs& args);
  void Shift(const FlashInputs& in, const FlashTile& tile, int64_t row, float* scores) const;
  void HideBlocks(const FlashInputs& in, const FlashTile& tile, int64_t row, float* scores) const;
  bool Counts(const FlashInputs& in, const FlashTile& tile, int64_t i, int64_t j) const {
    const int64_t* step = blocks_.step;
    return in.blocks[tile.batch * step[0] + tile.head * step[1] + i * step[2] + j * step[3]] != 0;
  }

  PackedFloats query_, key_, value_, shift_, sink_;
  PackedBytes drop_;
  bool drops_ = false;
  float kept_factor_ = 1;
  int64_t first_bit_ = 0;
  FlashShift shift_kind_ = FlashShift::kBeforeScale;
  int64_t first_distance_ = 0;  // from the first row to the first column
  FlashBlocks blocks_;
  int forbidden_ = -1;                                 // the binding of the mask that forbids what is not 0
  int64_t forbidden_at_ = 0, forbidden_step_[4] = {};  // bytes: batch, head, row, column
};

// Throws Error 161002 with the function's name and a sentence.
[[noreturn]] void RefuseFlash(const char* function, const char* sentence);

// Throws Error 161002 unless the operand has the type and the shape.
void CheckFlashOperand(const FlashArgs& args, const Operand& operand, DType type, const Shape& shape);

// An operand over other elements of the same memory.
inline Operand OverPart(const Operand& operand, const Tensor& part) {
  return {operand.present() ? &part : nullptr, nullptr, operand.binding, operand.name};
}

// An optional tensor that was given and has elements.
inline bool IsGiven(const Operand& operand) { return operand.present() && !operand.tensor->empty(); }

}  // namespace belay::ops
