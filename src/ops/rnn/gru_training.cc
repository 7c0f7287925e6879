#include "ops/rnn/gru_training.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/rnn/products.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct GruSizes {
  int64_t t, n, in, h;
  int64_t reset, update;  // where these gates begin; the new one is the last

  int64_t steps() const { return t * n; }
  int64_t state() const { return n * h; }
  int64_t width() const { return 3 * h; }
};

// What both directions of the computation share: the operands and where they lie.
struct GruBase {
  GruSizes s;
  PackedFloats x, w_input, w_hidden, b_input, b_hidden, h0;
  PackedFloats update, reset, next, hidden, h;
  int64_t sums_at, moved_at;  // of the gates: from the inputs, and from the states

  float* In(const Frame& frame, int64_t at) const { return reinterpret_cast<float*>(frame.workspace + at); }
};

struct GruForward : GruBase {
  PackedFloats y;

  void operator()(const Frame& frame) const {
    const float *wh = w_hidden.Load(frame), *before = h0.Load(frame);
    const float *bi = b_input.Load(frame), *bh = b_hidden.Load(frame);
    float *sums = In(frame, sums_at), *moved = In(frame, moved_at);
    float* const to[5] = {update.Begin(frame), reset.Begin(frame), next.Begin(frame), hidden.Begin(frame),
                          h.Begin(frame)};
    Multiply(x.Load(frame), {w_input.Load(frame), s.width(), false}, sums, s.steps(), s.width(), s.in);
    Add(sums, s.steps(), bi);
    for (int64_t t = 0; t < s.t; ++t) {
      Multiply(before, {wh, s.width(), false}, moved, s.n, s.width(), s.h);
      Add(moved, s.n, bh);
      for (int64_t n = 0; n < s.n; ++n) {
        Cell(sums + (t * s.n + n) * s.width(), moved + n * s.width(), before + n * s.h, to,
             (t * s.n + n) * s.h);
      }
      before = to[4] + t * s.state();
    }
    std::copy_n(to[4], s.t * s.state(), y.Begin(frame));
    for (const PackedFloats* result : {&update, &reset, &next, &hidden, &h, &y}) result->Finish(frame);
  }

  void Add(float* sums, int64_t rows, const float* bias) const {
    for (int64_t r = 0; bias != nullptr && r < rows; ++r) {
      for (int64_t i = 0; i < s.width(); ++i) sums[r * s.width() + i] += bias[i];
    }
  }

  void Cell(const float* a, const float* b, const float* before, float* const* to, int64_t at) const {
    for (int64_t k = 0; k < s.h; ++k) {
      const float z = Sigmoid(a[s.update + k] + b[s.update + k]),
                  r = Sigmoid(a[s.reset + k] + b[s.reset + k]);
      const float hidden_k = b[2 * s.h + k], made = std::tanh(a[2 * s.h + k] + r * hidden_k);
      to[0][at + k] = z, to[1][at + k] = r, to[2][at + k] = made, to[3][at + k] = hidden_k;
      to[4][at + k] = (1 - z) * made + z * before[k];
    }
  }
};

struct GruBackward : GruBase {
  PackedFloats dy, dh, dw_input, dw_hidden, db_input, db_hidden, dx, dh_prev;
  int64_t before_at, totals_at;

  void operator()(const Frame& frame) const {
    float *to_h = dh_prev.Begin(frame), *to_x = dx.Begin(frame);
    std::copy_n(dh.Load(frame), s.state(), to_h);
    Steps(frame, to_h);
    const float *sums = In(frame, sums_at), *moved = In(frame, moved_at);
    Multiply(sums, {w_input.Load(frame), s.width(), true}, to_x, s.steps(), s.in, s.width());
    MultiplyTurned(x.Load(frame), sums, dw_input.Begin(frame), s.in, s.width(), s.steps());
    MultiplyTurned(In(frame, before_at), moved, dw_hidden.Begin(frame), s.h, s.width(), s.steps());
    auto* totals = reinterpret_cast<double*>(frame.workspace + totals_at);
    SumRows(sums, s.steps(), s.width(), totals, db_input.Begin(frame));
    SumRows(moved, s.steps(), s.width(), totals, db_hidden.Begin(frame));
    for (const PackedFloats* result : {&dw_input, &dw_hidden, &db_input, &db_hidden, &dx, &dh_prev})
      result->Finish(frame);
  }

  // Gradients of the gates' sums at all steps and the states before each; `carried` becomes that of the first
  // state.
  void Steps(const Frame& frame, float* carried) const {
    const float *w = w_hidden.Load(frame), *given = dy.Load(frame), *first = h0.Load(frame);
    const float* const at[5] = {update.Load(frame), reset.Load(frame), next.Load(frame), hidden.Load(frame),
                                h.Load(frame)};
    float *sums = In(frame, sums_at), *moved = In(frame, moved_at), *before = In(frame, before_at);
    float* kept_back = before + s.t * s.state();
    for (int64_t t = s.t; t-- > 0;) {
      const float* past = t == 0 ? first : at[4] + (t - 1) * s.state();
      std::copy_n(past, s.state(), before + t * s.state());
      for (int64_t q = 0; q < s.state(); ++q) carried[q] += given[t * s.state() + q];
      for (int64_t n = 0; n < s.n; ++n) {
        const int64_t row = (t * s.n + n) * s.width();
        Cell(at, (t * s.n + n) * s.h, past + n * s.h, carried + n * s.h, sums + row, moved + row);
      }
      Multiply(moved + t * s.n * s.width(), {w, s.width(), true}, kept_back, s.n, s.h, s.width());
      for (int64_t q = 0; q < s.state(); ++q)
        carried[q] = carried[q] * at[0][t * s.state() + q] + kept_back[q];
    }
  }

  void Cell(const float* const* kept, int64_t at, const float* past, const float* up, float* sums,
            float* moved) const {
    for (int64_t k = 0; k < s.h; ++k) {
      const float z = kept[0][at + k], r = kept[1][at + k], made = kept[2][at + k], product = kept[3][at + k];
      const float inner = up[k] * (1 - z) * (1 - made * made);
      sums[2 * s.h + k] = inner, moved[2 * s.h + k] = inner * r;
      sums[s.reset + k] = moved[s.reset + k] = inner * product * r * (1 - r);
      sums[s.update + k] = moved[s.update + k] = up[k] * (past[k] - made) * z * (1 - z);
    }
  }
};

GruSizes GruSizesOf(const GruArgs& args) {
  const Shape &x = args.x.shape(), &h = args.h0.shape();
  if (x.rank() != 3 || h.rank() != 2 || args.x.tensor->empty() || args.h0.tensor->empty()) {
    Fail(
        tensor::kInvalidArgument, "op-gru-shape",
        "x has the shape {} and the first state {}; they are [steps, sequences, features] and [sequences, states], "
        "and none is empty",
        x.ToString(), h.ToString());
  }
  const int64_t states = h[1];
  GruSizes s{x[0], x[1], x[2], states, args.update_first ? states : 0, args.update_first ? 0 : states};
  CheckShape(args.h0, {s.n, s.h});
  CheckShape(args.w_input, {s.in, s.width()});
  CheckShape(args.w_hidden, {s.h, s.width()});
  for (const Operand* bias : {&args.b_input, &args.b_hidden}) {
    if (bias->present()) CheckShape(*bias, {s.width()});
  }
  return s;
}

void FillGruBase(GruBase& base, const GruArgs& args, const GruKept& kept, Flow flow, int64_t moved,
                 Plan& plan) {
  const GruSizes& s = base.s;
  base.x = PackedFloats(args.x, Flow::kIn, plan);
  base.w_input = PackedFloats(args.w_input, Flow::kIn, plan);
  base.w_hidden = PackedFloats(args.w_hidden, Flow::kIn, plan);
  base.b_input = PackedFloats(args.b_input, Flow::kIn, plan);
  base.b_hidden = PackedFloats(args.b_hidden, Flow::kIn, plan);
  base.h0 = PackedFloats(args.h0, Flow::kIn, plan);
  PackedFloats* const to[] = {&base.update, &base.reset, &base.next, &base.hidden, &base.h};
  const Operand* const from[] = {&kept.update, &kept.reset, &kept.next, &kept.hidden, &kept.h};
  for (int i = 0; i < 5; ++i) {
    CheckShape(*from[i], {s.t, s.n, s.h});
    *to[i] = PackedFloats(*from[i], flow, plan);
  }
  base.sums_at = plan.AddWorkspace(s.steps() * s.width() * 4);
  base.moved_at = plan.AddWorkspace(moved * s.width() * 4);
}

template <class Body>
void FinishGru(Plan& plan, const Body& body) {
  const GruSizes& s = body.s;
  plan.SetCost(1000 + static_cast<uint64_t>(s.steps() * s.h) * static_cast<uint64_t>(s.h + s.in) / 5);
  plan.SetBody(body);
}

}  // namespace

void PlanGruTraining(Plan& plan, const GruArgs& args, const GruKept& kept, const Operand& y) {
  GruForward body{};
  const GruSizes s = body.s = GruSizesOf(args);
  CheckShape(y, {s.t, s.n, s.h});
  FillGruBase(body, args, kept, Flow::kOut, s.n, plan);
  body.y = PackedFloats(y, Flow::kOut, plan);
  FinishGru(plan, body);
}

void PlanGruGradient(Plan& plan, const GruArgs& args, const GruKept& kept, const GruGradients& g) {
  GruBackward body{};
  const GruSizes s = body.s = GruSizesOf(args);
  CheckShape(g.dy, {s.t, s.n, s.h});
  CheckShape(g.dh, {s.n, s.h});
  FillGruBase(body, args, kept, Flow::kIn, s.steps(), plan);
  body.dy = PackedFloats(g.dy, Flow::kIn, plan);
  body.dh = PackedFloats(g.dh, Flow::kIn, plan);
  body.dw_input = PackedFloats(g.w_input, Flow::kOut, plan);
  body.dw_hidden = PackedFloats(g.w_hidden, Flow::kOut, plan);
  body.db_input = PackedFloats(g.b_input, Flow::kOut, plan);
  body.db_hidden = PackedFloats(g.b_hidden, Flow::kOut, plan);
  body.dx = PackedFloats(g.x, Flow::kOut, plan);
  body.dh_prev = PackedFloats(g.h0, Flow::kOut, plan);
  body.before_at = plan.AddWorkspace((s.t + 1) * s.state() * 4);
  body.totals_at = plan.AddWorkspace(s.width() * 8);
  FinishGru(plan, body);
}

}  // namespace belay::ops
