// The gradient of attention: the weights are computed again from the scores by what is largest in each row
// and the sum, a block at a time. With weights P, their gradient dP and delta = sum(dy * y) of a row, that of
// the scores is P * (dP - delta).
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/attention/flash.h"
#include "ops/attention/flash_loops.h"
#include "ops/kernels.h"
#include "ops/norm/softmax_loops.h"
#include "ops/scratch.h"
#include "ops/sequence.h"

namespace belay::ops {
namespace {

// A block's own memory: the weights, the gradient of the scores, a product.
struct GradientRoom {
  float *weights, *scores, *product;
};

// Addresses while a task runs.
struct Gradients {
  FlashInputs in;
  const float *dy, *y;
  float *query, *key, *value, *shift, *sink, *delta;
};

// Adds a product of two matrices, by way of `room`, to rows that lie `to_row` apart.
void AddProduct(float* to, int64_t to_row, const GemmMatrix& a, const GemmMatrix& b, int64_t rows,
                int64_t inner, int64_t size, float* room) {
  Flash::Multiply({rows, size, inner, a, b, room, size, GemmType::kF32, GemmType::kF32});
  for (int64_t r = 0; r < rows; ++r) ScaleAdd(to + r * to_row, 1, room + r * size, size);
}

struct BackwardBody {
  Flash flash;
  PackedFloats dy, y, query, key, value, shift, sink;
  FlashRowNumbers most, sum;
  Scratch<float> delta;
  PieceScratch<float> units, queries;
  // The gradient of the query has a pass of its own, so that blocks of the key can be computed at the same
  // time.
  bool apart = false;
  int64_t unit_batches = 1;  // that a unit goes through: those whose bias is one
  const SoftmaxLoops<float>* loops = nullptr;

  static int64_t RoomFor(const Flash& f) {
    return 2 * f.block_rows * f.block_columns +
           std::max(f.block_rows, f.block_columns) * std::max(f.size, f.value_size);
  }
  GradientRoom Divide(float* at) const {
    const int64_t block = flash.block_rows * flash.block_columns;
    return {at, at + block, at + 2 * block};
  }

  void operator()(const Frame& frame) const {
    const Gradients g{flash.Load(frame),  dy.Load(frame),    y.Load(frame),
                      query.Begin(frame), key.Begin(frame),  value.Begin(frame),
                      shift.Begin(frame), sink.Begin(frame), delta.At(frame)};
    if (g.shift != nullptr) {
      const int64_t shifts = flash.heads * (flash.shift.row == 0 ? 1 : flash.rows) * flash.columns;
      std::fill_n(g.shift, (flash.shift.batch == 0 ? 1 : flash.batches) * shifts, 0.0f);
    }
    Deltas(g);
    if (g.sink != nullptr) Sinks(frame, g);
    if (apart) {
      queries.For(frame, [&](int64_t begin, int64_t end, float* memory) {
        for (int64_t part = begin; part < end; ++part) QueryRows(frame, g, part, Divide(memory));
      });
    }
    units.For(frame, [&](int64_t begin, int64_t end, float* memory) {
      for (int64_t unit = begin; unit < end; ++unit) Unit(frame, g, unit, Divide(memory));
    });
    for (const PackedFloats* result : {&query, &key, &value, &shift, &sink}) result->Finish(frame);
  }

  void Deltas(const Gradients& g) const {
    constexpr int64_t kGrain = 64 * 1024;
    const int64_t wide = flash.value_size;
    ParallelFor(flash.batches * flash.heads * flash.rows, std::max<int64_t>(1, kGrain / wide),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t head = i / flash.rows;
                    const int64_t at = flash.out.At(head / flash.heads, head % flash.heads, i % flash.rows);
                    double total = 0;
                    for (int64_t k = 0; k < wide; ++k)
                      total += static_cast<double>(g.dy[at + k]) * static_cast<double>(g.y[at + k]);
                    g.delta[i] = static_cast<float>(total);
                  }
                });
  }

  // A sink has weights as other scores have, and no value: the gradient of its weights is 0.
  void Sinks(const Frame& frame, const Gradients& g) const {
    for (int64_t h = 0; h < flash.heads; ++h) {
      double total = 0;
      for (int64_t i = 0; i < flash.batches * flash.rows; ++i) {
        const int64_t b = i / flash.rows, r = i % flash.rows;
        const double all = *sum.Of(frame, b, h, r);
        const double weight = all == 0 ? 0 : std::exp(g.in.sink[h] - *most.Of(frame, b, h, r)) / all;
        total -= weight * static_cast<double>(g.delta[(b * flash.heads + h) * flash.rows + r]);
      }
      g.sink[h] = static_cast<float>(total);
    }
  }

  // The gradient of a block of the query's rows.
  void QueryRows(const Frame& frame, const Gradients& g, int64_t part, const GradientRoom& room) const {
    const int64_t head = part / flash.row_blocks();
    FlashTile tile = RowsOf(head / flash.heads, head % flash.heads, part % flash.row_blocks());
    for (int64_t r = 0; r < tile.rows; ++r) {
      std::fill_n(g.query + flash.query.At(tile.batch, tile.head, tile.row + r), flash.size, 0.0f);
    }
    for (int64_t block = 0; block < flash.column_blocks(); ++block) {
      SetColumns(tile, block);
      if (!flash.band.Cut(tile) || !flash.Sees(g.in, tile)) continue;
      ScoreGradients(frame, g, tile, room);
      ScaleLate(tile, room);
      AddToQuery(g, tile, room);
    }
  }

  // Those of one head of the key, or of a block of its rows.
  void Unit(const Frame& frame, const Gradients& g, int64_t unit, const GradientRoom& room) const {
    const int64_t blocks = apart ? flash.column_blocks() : 1;
    const int64_t head = unit / blocks % flash.key_heads(),
                  first = unit / blocks / flash.key_heads() * unit_batches;
    for (int64_t b = first; b < first + unit_batches; ++b) {
      if (!apart) ClearQuery(g, b, head);
      const int64_t from = apart ? unit % blocks : 0, end = apart ? from + 1 : flash.column_blocks();
      for (int64_t block = from; block < end; ++block) KeyRows(frame, g, b, head, block, room);
    }
  }

  void ClearQuery(const Gradients& g, int64_t b, int64_t key_head) const {
    for (int64_t h = key_head * flash.members; h < (key_head + 1) * flash.members; ++h) {
      for (int64_t r = 0; r < flash.rows; ++r)
        std::fill_n(g.query + flash.query.At(b, h, r), flash.size, 0.0f);
    }
  }

  // A block of rows of the key and the value, which all heads of a group see.
  void KeyRows(const Frame& frame, const Gradients& g, int64_t b, int64_t key_head, int64_t block,
               const GradientRoom& room) const {
    const int64_t first = block * flash.block_columns,
                  last = std::min(first + flash.block_columns, flash.columns);
    for (int64_t c = first; c < last; ++c) {
      std::fill_n(g.key + flash.key.At(b, key_head, c), flash.size, 0.0f);
      std::fill_n(g.value + flash.value.At(b, key_head, c), flash.value_size, 0.0f);
    }
    for (int64_t h = key_head * flash.members; h < (key_head + 1) * flash.members; ++h) {
      for (int64_t rows = 0; rows < flash.row_blocks(); ++rows) {
        FlashTile tile = RowsOf(b, h, rows);
        SetColumns(tile, block);
        if (!flash.band.Cut(tile) || !flash.Sees(g.in, tile)) continue;
        ScoreGradients(frame, g, tile, room);
        if (g.shift != nullptr) AddToShift(g, tile, room);
        ScaleLate(tile, room);
        if (!apart) AddToQuery(g, tile, room);
        AddToKey(g, tile, room);
      }
    }
  }

  FlashTile RowsOf(int64_t b, int64_t h, int64_t block) const {
    const int64_t row = block * flash.block_rows;
    return {b, h, row, std::min(flash.block_rows, flash.rows - row), 0, flash.columns};
  }
  void SetColumns(FlashTile& tile, int64_t block) const {
    tile.column = block * flash.block_columns;
    tile.columns = std::min(flash.block_columns, flash.columns - tile.column);
  }

  // The bias that comes after the scale has had its gradient.
  void ScaleLate(const FlashTile& tile, const GradientRoom& room) const {
    if (flash.scales_late()) loops->scale(room.scores, flash.scale, tile.rows * tile.columns);
  }

  // Leaves the weights as they meet the value, and the gradient of the products of query and key: of these
  // times the scale where ScaleLate follows.
  void ScoreGradients(const Frame& frame, const Gradients& g, const FlashTile& tile,
                      const GradientRoom& room) const {
    const int64_t n = tile.columns;
    flash.Scores(g.in, tile, room.weights);
    Flash::Multiply({tile.rows,
                     n,
                     flash.value_size,
                     {g.dy + flash.out.At(tile.batch, tile.head, tile.row), flash.out.row, false},
                     {g.in.value + flash.value.At(tile.batch, tile.head / flash.members, tile.column),
                      flash.value.row, true},
                     room.scores,
                     n,
                     GemmType::kF32,
                     GemmType::kF32});
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t row = tile.row + r;
      float *p = room.weights + r * n, *d = room.scores + r * n;
      const float largest = *most.Of(frame, tile.batch, tile.head, row);
      const float total = sum.present()         ? *sum.Of(frame, tile.batch, tile.head, row)
                          : largest == kNothing ? 0
                                                : 1;
      if (total == 0) {  // the row sees nothing
        std::fill_n(p, n, 0.0f), std::fill_n(d, n, 0.0f);
        continue;
      }
      loops->exp_sum(p, p, largest, n);
      loops->scale(p, 1 / total, n);
      if (flash.drops()) flash.Drop(g.in, tile, r, d);
      ScoreGradient(d, p, g.delta[(tile.batch * flash.heads + tile.head) * flash.rows + row],
                    flash.scales_late() ? 1 : flash.scale, n);
      if (flash.drops()) flash.Drop(g.in, tile, r, p);
    }
  }

  void AddToQuery(const Gradients& g, const FlashTile& tile, const GradientRoom& room) const {
    const float* keys = g.in.key + flash.key.At(tile.batch, tile.head / flash.members, tile.column);
    AddProduct(g.query + flash.query.At(tile.batch, tile.head, tile.row), flash.query.row,
               {room.scores, tile.columns, false}, {keys, flash.key.row, false}, tile.rows, tile.columns,
               flash.size, room.product);
  }

  void AddToKey(const Gradients& g, const FlashTile& tile, const GradientRoom& room) const {
    const int64_t key_head = tile.head / flash.members;
    const float* queries = g.in.query + flash.query.At(tile.batch, tile.head, tile.row);
    AddProduct(g.key + flash.key.At(tile.batch, key_head, tile.column), flash.key.row,
               {room.scores, tile.columns, true}, {queries, flash.query.row, false}, tile.columns, tile.rows,
               flash.size, room.product);
    const float* dy_rows = g.dy + flash.out.At(tile.batch, tile.head, tile.row);
    AddProduct(g.value + flash.value.At(tile.batch, key_head, tile.column), flash.value.row,
               {room.weights, tile.columns, true}, {dy_rows, flash.out.row, false}, tile.columns, tile.rows,
               flash.value_size, room.product);
  }

  void AddToShift(const Gradients& g, const FlashTile& tile, const GradientRoom& room) const {
    for (int64_t r = 0; r < tile.rows; ++r) {
      float* to = g.shift + flash.shift.At(tile.batch, tile.head, tile.row + r) + tile.column;
      ScaleAdd(to, 1, room.scores + r * tile.columns, tile.columns);
    }
  }
};

void CheckBackward(const FlashArgs& args, const FlashGradients& o, const Flash& flash) {
  const DType type = args.query.dtype();
  const Shape out = flash.OutShape(args.query);
  CheckFlashOperand(args, o.dy, type, out);
  CheckFlashOperand(args, o.y, type, out);
  if (o.sum.present()) {
    CheckFlashOperand(args, o.most, DType::kF32, flash.RowShape());
    CheckFlashOperand(args, o.sum, DType::kF32, flash.RowShape());
  }
  CheckFlashOperand(args, o.dq, type, args.query.shape());
  CheckFlashOperand(args, o.dk, type, args.key.shape());
  CheckFlashOperand(args, o.dv, type, args.value.shape());
  if (o.dsink != nullptr && IsGiven(*o.dsink)) {
    if (!IsGiven(args.sink)) RefuseFlash(args.function, "dsinkOut is given without a sinkIn");
    CheckFlashOperand(args, *o.dsink, DType::kF32, {flash.heads});
  }
  if (!IsGiven(o.dshift)) return;
  if (!IsGiven(args.shift)) RefuseFlash(args.function, "dpseOut is given without a pseShift");
  CheckFlashOperand(args, o.dshift, args.shift.dtype(), args.shift.shape());
}

// How the work is split over the cores.
void DivideWork(Plan& plan, BackwardBody& body) {
  const Flash& f = body.flash;
  body.unit_batches = body.shift.present() && f.shift.batch == 0 ? std::max<int64_t>(f.batches, 1) : 1;
  int64_t units = f.batches / body.unit_batches * f.key_heads();
  const int64_t products = f.batches * f.heads * f.rows * f.columns * (3 * f.size + 2 * f.value_size);
  constexpr int64_t kWorthSplitting = 2'000'000;  // multiplications
  body.apart = units < ParallelWidth() && products > kWorthSplitting;
  if (body.apart) units *= f.column_blocks();
  auto grain = [&](int64_t n) {
    return std::max<int64_t>(1, kWorthSplitting / std::max<int64_t>(products / std::max<int64_t>(n, 1), 1));
  };
  const int64_t queries = f.batches * f.heads * f.row_blocks();
  body.units = {plan, units, grain(units), BackwardBody::RoomFor(f)};
  if (body.apart) body.queries = {plan, queries, grain(queries), BackwardBody::RoomFor(f)};
  plan.SetCost(1000 + static_cast<uint64_t>(products) / 64);
}

// What has no dimension of batches has a gradient without them, too.
void PlanNoBatches(Plan& plan, const FlashArgs& args, const FlashGradients& o) {
  std::vector<const Operand*> shared;
  if (IsGiven(o.dshift) && !args.sloped()) shared.push_back(&o.dshift);
  if (o.dsink != nullptr && IsGiven(*o.dsink)) shared.push_back(o.dsink);
  if (shared.empty()) return;
  Sequence parts(plan);
  for (const Operand* to : shared) parts.Add([&](Plan& part) { kernels::Zero(part, to->dtype(), *to); });
  parts.FinishApart();
}

}  // namespace

void PlanFlashGradient(Plan& plan, const FlashArgs& args, const FlashGradients& o) {
  BackwardBody body;
  body.flash = Flash(args, plan);
  CheckBackward(args, o, body.flash);
  if (body.flash.batches == 0) return PlanNoBatches(plan, args, o);
  body.dy = PackedFloats(o.dy, Flow::kIn, plan), body.y = PackedFloats(o.y, Flow::kIn, plan);
  body.query = PackedFloats(o.dq, Flow::kOut, plan), body.key = PackedFloats(o.dk, Flow::kOut, plan);
  body.value = PackedFloats(o.dv, Flow::kOut, plan);
  if (IsGiven(o.dshift) && !args.sloped()) body.shift = PackedFloats(o.dshift, Flow::kOut, plan);
  if (o.dsink != nullptr && IsGiven(*o.dsink)) body.sink = PackedFloats(*o.dsink, Flow::kOut, plan);
  body.most = FlashRowNumbers(o.most);
  if (o.sum.present()) body.sum = FlashRowNumbers(o.sum);
  body.loops = &BestSoftmaxLoopsF32();
  body.delta = {plan, body.flash.batches * body.flash.heads * body.flash.rows};
  DivideWork(plan, body);
  plan.SetBody(body);
}

namespace kernels {

void FlashAttentionScoreGrad(Plan& plan, DType, const FlashAttentionScoreGradArguments& a) {
  PlanFlashGradient(plan, TakeFlash(plan, a, a.key_in, a.pse_shift), TakeFlashGradients(a));
}

void FlashAttentionScoreGradV3(Plan& plan, DType, const FlashAttentionScoreGradV3Arguments& a) {
  PlanFlashGradient(plan, TakeFlash(plan, a, a.key_in, a.pse_shift), TakeFlashGradients(a));
}

void FlashAttentionScoreGradV2(Plan& plan, DType, const FlashAttentionScoreGradV2Arguments& a) {
  PlanFlashGradient(plan, TakeFlash(plan, a, a.key_in, a.pse_shift), TakeFlashGradients(a));
}

}  // namespace kernels
}  // namespace belay::ops
