// Rotary position embedding: each row is turned by angles whose cosines and sines are given.
#include "ops/elementwise/rotary.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ops/experts/experts.h"
#include "ops/experts/row_loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/scratch.h"
#include "ops/steps.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

enum Mode : int64_t { kHalf, kInterleave, kQuarter, kInterleaveHalf, kModes };

using Turn = RotaryTurn;

Turn TurnOf(Mode mode, int64_t i, int64_t size) {
  const int64_t half = size / 2, quarter = size / 4;
  switch (mode) {
    case kInterleave:
      return i % 2 == 0 ? Turn{i, i + 1, -1} : Turn{i, i - 1, 1};
    case kQuarter:
      return i % half < quarter ? Turn{i, i + quarter, -1} : Turn{i, i - quarter, 1};
    case kInterleaveHalf:
      return i < half ? Turn{2 * i, 2 * i + 1, -1} : Turn{2 * (i - half) + 1, 2 * (i - half), 1};
    default:
      return i < half ? Turn{i, i + half, -1} : Turn{i, i - half, 1};
  }
}

struct RotaryBody {
  enum { kOut, kX, kCos, kSin, kOperands };

  LoopNest rows;
  int bindings[kOperands];
  Lane lanes[kOperands];  // along a row
  int64_t size;
  PieceScratch<float> row;  // of each operand
  Mode mode;
  std::vector<Turn> turns;

  void operator()(const Frame& frame) const {
    char* base[kOperands];
    for (int k = 0; k < kOperands; ++k) base[k] = frame.at[bindings[k]] + rows.offset(k);
    row.For(frame, [&](int64_t begin, int64_t end, float* buffer) {
      Angles angles;
      rows.Walk(base, begin, end, [&](char** at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          Row({at[0] + i * rows.step(0), at[1] + i * rows.step(1), at[2] + i * rows.step(2),
               at[3] + i * rows.step(3)},
              buffer, &angles);
        }
      });
    });
  }

  // Those of the row before, which heads share.
  struct Angles {
    const char *cos_at = nullptr, *sin_at = nullptr;
    const float *cos = nullptr, *sin = nullptr;
  };

  struct RowAt {
    char *out, *x, *cos, *sin;
  };

  void Row(const RowAt& at, float* buffer, Angles* angles) const {
    float *y = buffer, *x = y + size;
    if (angles->cos_at != at.cos || angles->sin_at != at.sin) {
      angles->cos_at = at.cos, angles->cos = Load(lanes[kCos], x + size, at.cos);
      angles->sin_at = at.sin, angles->sin = Load(lanes[kSin], x + 2 * size, at.sin);
    }
    TurnRow(Load(lanes[kX], x, at.x), angles->cos, angles->sin, y);
    for (int64_t i = 0; i < size; i += kBlock) {
      lanes[kOut].Store(at.out + i * lanes[kOut].step(), y + i, std::min(kBlock, size - i), false);
    }
  }

  void TurnRow(const float* x, const float* cos, const float* sin, float* y) const {
    const RowLoops& loops = BestRowLoops();
    const int64_t half = size / 2;
    switch (mode) {
      case kHalf:
        return loops.turn_halves(y, x, cos, sin, half);
      case kInterleave:
        return loops.turn_neighbours(y, x, cos, sin, size);
      case kQuarter:
        loops.turn_halves(y, x, cos, sin, half / 2);
        return loops.turn_halves(y + half, x + half, cos + half, sin + half, half / 2);
      default:
        for (int64_t i = 0; i < size; ++i) {
          const Turn& turn = turns[static_cast<size_t>(i)];
          y[i] = x[turn.base] * cos[i] + turn.sign * x[turn.from] * sin[i];
        }
    }
  }

  // Where they lie, or brought to `to`.
  const float* Load(const Lane& lane, float* to, const char* from) const {
    if (lane.direct()) return reinterpret_cast<const float*>(from);
    for (int64_t i = 0; i < size; i += kBlock)
      lane.Load(to + i, from + i * lane.step(), std::min(kBlock, size - i));
    return to;
  }
};

void CheckAngles(const Operand& x, const Operand& angles) {
  const Shape &a = angles.shape(), &b = x.shape();
  if (a.rank() == b.rank() && a.back(0) == b.back(0) && BroadcastsTo(a, b) && angles.dtype() == x.dtype())
    return;
  Fail(
      tensor::kInvalidArgument, "rotary-angles",
      "{} is {} and {} is {}; it needs x's type and number of dimensions, its last size, and must broadcast to it",
      angles.name, angles.tensor->ToString(), x.name, x.tensor->ToString());
}

}  // namespace

std::vector<RotaryTurn> CheckedTurns(const Operand& x, const Operand& cos, const Operand& sin, int64_t mode) {
  if (mode < 0 || mode >= kModes) {
    Fail(tensor::kInvalidArgument, "rotary-mode", "mode is {}; it is 0, 1, 2 or 3", mode);
  }
  const int64_t parts = mode == kQuarter ? 4 : 2;
  if (x.shape().rank() < 1 || x.shape().back(0) % parts != 0) {
    Fail(tensor::kInvalidArgument, "rotary-size", "{} has shape {}; its last size must be a multiple of {}",
         x.name, x.shape().ToString(), parts);
  }
  CheckAngles(x, cos);
  CheckAngles(x, sin);
  const int64_t size = x.shape().back(0);
  std::vector<RotaryTurn> turns;
  for (int64_t i = 0; i < size; ++i) turns.push_back(TurnOf(static_cast<Mode>(mode), i, size));
  return turns;
}

namespace kernels {

void RotaryPositionEmbedding(Plan& plan, DType, const Operand& x, const Operand& cos, const Operand& sin,
                             int64_t mode, const Operand& out) {
  const std::vector<Turn> turns = CheckedTurns(x, cos, sin, mode);
  const int rank = x.shape().rank();
  if (out.tensor->empty()) return;
  RotaryBody body;
  const Operand* operands[] = {&out, &x, &cos, &sin};
  Tensor heads[RotaryBody::kOperands];
  for (int k = 0; k < RotaryBody::kOperands; ++k) {
    heads[k] = tensor::WithoutDim(*operands[k]->tensor, rank - 1);
    body.bindings[k] = operands[k]->binding;
    body.lanes[k] = Lane(operands[k]->dtype(), DType::kF32, tensor::StepOf(*operands[k]->tensor, rank - 1));
  }
  body.size = x.shape().back(0);
  body.rows = LoopNest(heads[0].shape,
                       {Operand{&heads[0]}, Operand{&heads[1]}, Operand{&heads[2]}, Operand{&heads[3]}});
  body.row = {plan, body.rows.count(), LoopNest::kGrain, body.size * RotaryBody::kOperands};
  body.turns = turns, body.mode = static_cast<Mode>(mode);
  if (IsSameView(x, out)) plan.MayLieOn(x.binding);  // a row is read before it is written
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * 2);
  plan.SetBody(body);
}

void RotaryPositionEmbeddingV2(Plan& plan, DType type, const Operand& x, const Operand& cos,
                               const Operand& sin, int64_t mode, const Operand& rotate, const Operand& out) {
  if (!rotate.present()) return RotaryPositionEmbedding(plan, type, x, cos, sin, mode, out);
  (void)CheckedTurns(x, cos, sin, mode);
  const int64_t size = x.shape().back(0), one = 1;
  CheckSameType(x, rotate);
  CheckExpertShape(plan, rotate, {size, size});
  if (out.tensor->empty()) return;
  Steps steps(plan);
  const Operand kept = steps.Between("x * cos", DType::kF32, x.shape());
  const Operand turned = steps.Between("x x rotate", DType::kF32, x.shape());
  steps.Add([&](Plan& step) { Mul(step, DType::kF32, x, cos, kept); });
  steps.Add([&](Plan& step) { Matmul(step, type, x, rotate, 0, turned); });
  steps.Add(
      [&](Plan& step) { Addcmul(step, DType::kF32, kept, turned, sin, Scalar(&one, DType::kI64), out); });
  steps.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
