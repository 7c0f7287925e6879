// Attention for training: for each block of rows the softmax of the scores goes along the columns with what
// is largest so far and the sum so far, so that the scores are never there as a whole.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/flash.h"
#include "ops/attention/flash_loops.h"
#include "ops/kernels.h"
#include "ops/norm/softmax_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

// What the largest score of a row is said to be that sees nothing. Finite, so that who merges parts of rows
// can subtract it.
constexpr float kLowest = std::numeric_limits<float>::lowest();

struct ForwardBody {
  Flash flash;
  PackedFloats out;
  FlashRowNumbers most, sum, levels;
  PieceScratch<float> parts;
  const SoftmaxLoops<float>* loops;

  // A block's own memory.
  struct Room {
    float *scores, *added, *sums, *most, *sum, *factor;
  };
  static int64_t RoomFor(const Flash& f) { return f.block_rows * (f.block_columns + 2 * f.value_size + 3); }
  Room Divide(float* at) const {
    const int64_t r = flash.block_rows, wide = r * flash.value_size;
    float* added = at + r * flash.block_columns;
    return {at, added, added + wide, added + 2 * wide, added + 2 * wide + r, added + 2 * wide + 2 * r};
  }

  void operator()(const Frame& frame) const {
    const FlashInputs in = flash.Load(frame);
    float* to = out.Begin(frame);
    parts.For(frame, [&](int64_t begin, int64_t end, float* memory) {
      const Room room = Divide(memory);
      for (int64_t part = begin; part < end; ++part) {
        const int64_t head = part / flash.row_blocks(), row = part % flash.row_blocks() * flash.block_rows;
        const FlashTile rows{
            head / flash.heads, head % flash.heads, row, std::min(flash.block_rows, flash.rows - row), 0,
            flash.columns};
        Rows(in, rows, room);
        Finish(frame, rows, room, to);
      }
    });
    out.Finish(frame);
  }

  // The sums of what the rows see, over all columns.
  void Rows(const FlashInputs& in, const FlashTile& rows, const Room& room) const {
    const float first = in.sink == nullptr ? kNothing : in.sink[rows.head];
    std::fill_n(room.most, rows.rows, first);
    std::fill_n(room.sum, rows.rows, first == kNothing ? 0.0f : 1.0f);
    std::fill_n(room.sums, rows.rows * flash.value_size, 0.0f);
    for (int64_t column = 0; column < flash.columns; column += flash.block_columns) {
      FlashTile tile = rows;
      tile.column = column, tile.columns = std::min(flash.block_columns, flash.columns - column);
      if (!flash.band.Cut(tile) || !flash.Sees(in, tile)) continue;
      flash.Scores(in, tile, room.scores);
      for (int64_t r = 0; r < tile.rows; ++r) Softmax(in, tile, r, room);
      const int64_t wide = flash.value_size;
      Flash::Multiply({tile.rows,
                       wide,
                       tile.columns,
                       {room.scores, tile.columns, false},
                       {in.value + flash.value.At(tile.batch, tile.head / flash.members, tile.column),
                        flash.value.row, false},
                       room.added,
                       wide,
                       GemmType::kF32,
                       GemmType::kF32});
      for (int64_t r = 0; r < tile.rows; ++r)
        ScaleAdd(room.sums + r * wide, room.factor[r], room.added + r * wide, wide);
    }
  }

  // One row of a block: scores become powers relative to the largest so far.
  void Softmax(const FlashInputs& in, const FlashTile& tile, int64_t r, const Room& room) const {
    float* row = room.scores + r * tile.columns;
    const float before = room.most[r];
    const float largest = LargestOf(row, tile.columns);
    const float now = largest <= before ? before : largest;  // NaN stays
    room.most[r] = now;
    room.factor[r] = before == kNothing ? 0 : std::exp(before - now);
    if (now == kNothing) {
      std::fill_n(row, tile.columns, 0.0f);
      return;
    }
    room.sum[r] = room.sum[r] * room.factor[r] + loops->exp_sum(row, row, now, tile.columns);
    if (flash.drops()) flash.Drop(in, tile, r, row);
  }

  // NaN rather than nothing.
  float LargestOf(const float* row, int64_t n) const {
    float largest = loops->max(row, n);
    for (int64_t i = 0; largest == kNothing && i < n; ++i) largest = row[i] == row[i] ? largest : row[i];
    return largest;
  }

  void Finish(const Frame& frame, const FlashTile& rows, const Room& room, float* to) const {
    for (int64_t r = 0; r < rows.rows; ++r) {
      const bool blind = room.most[r] == kNothing;
      float* row = to + flash.out.At(rows.batch, rows.head, rows.row + r);
      const float factor = blind ? 0 : 1 / room.sum[r];
      for (int64_t i = 0; i < flash.value_size; ++i) row[i] = room.sums[r * flash.value_size + i] * factor;
      const auto set = [&](const FlashRowNumbers& numbers, float number) {
        if (numbers.present()) numbers.Set(numbers.Of(frame, rows.batch, rows.head, rows.row + r), number);
      };
      set(most, blind ? kLowest : room.most[r]);
      set(sum, room.sum[r]);
      set(levels, blind ? kNothing : room.most[r] + std::log(room.sum[r]));
    }
  }
};

// The parts that all versions have; false: there is nothing to do.
bool TakeForward(Plan& plan, const FlashArgs& args, const Operand& out, ForwardBody* body) {
  body->flash = Flash(args, plan);
  const Flash& flash = body->flash;
  CheckFlashOperand(args, out, args.query.dtype(), flash.OutShape(args.query));
  const int64_t blocks = flash.batches * flash.heads * flash.row_blocks();
  if (blocks == 0) return false;
  body->out = PackedFloats(out, Flow::kOut, plan);
  body->loops = &BestSoftmaxLoopsF32();
  const int64_t each = flash.block_rows * flash.columns * (flash.size + flash.value_size);
  constexpr int64_t kWorthSplitting = 2'000'000;  // multiplications
  body->parts = {plan, blocks, std::max<int64_t>(1, kWorthSplitting / std::max<int64_t>(each, 1)),
                 ForwardBody::RoomFor(flash)};
  plan.SetCost(1000 + static_cast<uint64_t>(blocks * each) / 64);
  return true;
}

}  // namespace

void PlanFlash(Plan& plan, const FlashArgs& args, const Operand& most, const Operand& sum,
               const Operand& out) {
  ForwardBody body;
  const bool any = TakeForward(plan, args, out, &body);
  for (const Operand* o : {&most, &sum}) CheckFlashOperand(args, *o, DType::kF32, body.flash.RowShape());
  if (!any) return;
  body.most = FlashRowNumbers(most), body.sum = FlashRowNumbers(sum);
  plan.SetBody(body);
}

void PlanFlashWithLevels(Plan& plan, const FlashArgs& args, const Operand& levels, const Operand& out) {
  ForwardBody body;
  if (!TakeForward(plan, args, out, &body)) return;
  if (levels.present()) body.levels = FlashRowNumbers(levels);
  plan.SetBody(body);
}

namespace kernels {

void FlashAttentionScore(Plan& plan, DType, const FlashAttentionScoreArguments& a) {
  PlanFlash(plan, TakeFlash(plan, a, a.key, a.real_shift), a.softmax_max_out, a.softmax_sum_out,
            a.attention_out_out);
}

void FlashAttentionScoreV3(Plan& plan, DType, const FlashAttentionScoreV3Arguments& a) {
  PlanFlash(plan, TakeFlash(plan, a, a.key, a.real_shift), a.softmax_max_out, a.softmax_sum_out,
            a.attention_out_out);
}

void FlashAttentionScoreV2(Plan& plan, DType, const FlashAttentionScoreV2Arguments& a) {
  PlanFlash(plan, TakeFlash(plan, a, a.key, a.real_shift), a.softmax_max_out, a.softmax_sum_out,
            a.attention_out_out);
}

}  // namespace kernels
}  // namespace belay::ops
