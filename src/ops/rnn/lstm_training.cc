#include "ops/rnn/lstm_training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/rnn/products.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

struct StackSizes {
  int64_t t, n, in, h, layers, directions;
  bool biased, one_bias, reversed;
  int gate[4];  // where i, f, j and o stand

  int64_t steps() const { return t * n; }
  int64_t state() const { return n * h; }
  int64_t width(int64_t layer) const { return layer == 0 ? in : directions * h; }  // of the layer's input
  int64_t each() const { return !biased ? 2 : one_bias ? 3 : 4; }                  // parameters
};

// The parameters of a layer and direction.
struct Weights {
  const float *input, *state, *input_bias, *state_bias;
};

// What is kept of a layer and direction at all steps.
struct Kept {
  float *i, *j, *f, *o, *h, *c, *tanhc;
};

// How many sequences have each step.
struct BatchSizes {
  int binding = -1;  // -1: all have all
  int64_t at = 0, step = 0, all = 0;

  BatchSizes() = default;
  BatchSizes(const Operand& operand, int64_t n) : all(n) {
    if (!operand.present()) return;
    binding = operand.binding;
    at = tensor::OffsetOf(*operand.tensor), step = tensor::StepOf(*operand.tensor, 0);
  }

  int64_t Of(const Frame& frame, int64_t t) const {
    if (binding < 0) return all;
    int64_t count;
    std::memcpy(&count, frame.at[binding] + at + t * step, sizeof(count));
    return count;
  }

  void Check(const Frame& frame, int64_t steps) const {
    int64_t before = all;
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t count = Of(frame, t);
      if (count < 1 || count > before || (t == 0 && count != all)) {
        Fail(
            kIndexFault, "op-lstm-batches",
            "step {} has {} sequences, the one before it {}; all {} have the first step, and none begins later",
            t, count, before, all);
      }
      before = count;
    }
  }
};

// Which sequences have which steps: a byte for each in the workspace.
struct Presence {
  BatchSizes sizes;
  PackedFloats mask;
  int64_t steps = 0, sequences = 0, at = 0;

  Presence() = default;
  Presence(const LstmArgs& args, const StackSizes& s, Plan& plan)
      : sizes(args.batch_sizes, s.n),
        mask(args.mask, Flow::kIn, plan),
        steps(s.t),
        sequences(s.n),
        at(plan.AddWorkspace(s.steps())) {}

  void Find(const Frame& frame) const {
    char* to = frame.workspace + at;
    if (const float* given = mask.Load(frame); given != nullptr) {
      std::transform(given, given + steps * sequences, to, [](float there) { return there != 0; });
      return;
    }
    sizes.Check(frame, steps);
    for (int64_t t = 0; t < steps; ++t, to += sequences) {
      const int64_t count = sizes.Of(frame, t);
      std::fill(std::fill_n(to, count, 1), to + sequences, 0);
    }
  }

  const char* Of(const Frame& frame, int64_t t) const { return frame.workspace + at + t * sequences; }
};

// What both directions of the computation share: the operands and where they lie.
struct LstmBase {
  StackSizes s;
  Presence presence;
  PackedFloats input, h0, c0;
  std::vector<PackedFloats> params;
  std::vector<PackedFloats> kept[7];
  int64_t inputs_at[2];  // of layers beyond the first, in turn

  Weights Load(const Frame& frame, int64_t k) const {
    const PackedFloats* p = &params[static_cast<size_t>(k * s.each())];
    return {p[0].Load(frame), p[1].Load(frame), s.each() > 2 ? p[2].Load(frame) : nullptr,
            s.each() > 3 ? p[3].Load(frame) : nullptr};
  }

  // Step number `i` of a direction, and the one before it.
  int64_t At(int64_t direction, int64_t i) const { return (direction == 0) == s.reversed ? s.t - 1 - i : i; }

  // The results of a layer side by side, [t][n][direction][h].
  void Join(const std::array<const float*, 2>& h, float* to) const {
    ParallelFor(s.steps(), 1 + 32768 / (s.directions * s.h), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t d = 0; d < s.directions; ++d)
          std::copy_n(h[static_cast<size_t>(d)] + r * s.h, s.h, to + (r * s.directions + d) * s.h);
      }
    });
  }
};

struct ForwardBody : LstmBase {
  PackedFloats output, h_out, c_out;
  int64_t gates_at, moved_at, spare_at;  // spare: what is kept where the caller does not want it

  void operator()(const Frame& frame) const {
    presence.Find(frame);
    const float *x = input.Load(frame), *first_h = h0.Load(frame), *first_c = c0.Load(frame);
    float *y = output.Begin(frame), *last_h = h_out.Begin(frame), *last_c = c_out.Begin(frame);
    for (int64_t layer = 0; layer < s.layers; ++layer) {
      std::array<const float*, 2> made{};
      for (int64_t d = 0; d < s.directions; ++d) {
        const int64_t k = layer * s.directions + d;
        const Kept kept_here = Keep(frame, k);
        Direction(frame, layer, d, x, first_h + k * s.state(), first_c + k * s.state(), kept_here);
        const int64_t last = At(d, s.t - 1) * s.state();
        if (last_h != nullptr) std::copy_n(kept_here.h + last, s.state(), last_h + k * s.state());
        if (last_c != nullptr) std::copy_n(kept_here.c + last, s.state(), last_c + k * s.state());
        made[static_cast<size_t>(d)] = kept_here.h;
      }
      float* next =
          layer + 1 == s.layers ? y : reinterpret_cast<float*>(frame.workspace + inputs_at[layer % 2]);
      Join(made, next);
      ClearEnds(frame, next);
      x = next;
      for (const auto& list : kept) {
        for (int64_t d = 0; d < s.directions && !list.empty(); ++d)
          list[static_cast<size_t>(layer * s.directions + d)].Finish(frame);
      }
    }
    for (const PackedFloats* result : {&output, &h_out, &c_out}) result->Finish(frame);
  }

  // What lies behind the end of a sequence is 0.
  void ClearEnds(const Frame& frame, float* y) const {
    const int64_t width = s.directions * s.h;
    for (int64_t r = 0; r < s.steps(); ++r) {
      if (!presence.Of(frame, 0)[r]) std::fill_n(y + r * width, width, 0.0f);
    }
  }

  Kept Keep(const Frame& frame, int64_t k) const {
    float* at[7];
    for (int i = 0; i < 7; ++i) {
      at[i] = kept[i].empty() ? reinterpret_cast<float*>(frame.workspace + spare_at) +
                                    (k % s.directions * 7 + i) * s.t * s.state()
                              : kept[i][static_cast<size_t>(k)].Begin(frame);
    }
    return {at[0], at[1], at[2], at[3], at[4], at[5], at[6]};
  }

  void Direction(const Frame& frame, int64_t layer, int64_t d, const float* x, const float* h, const float* c,
                 const Kept& keep) const {
    const Weights w = Load(frame, layer * s.directions + d);
    auto* gates = reinterpret_cast<float*>(frame.workspace + gates_at);
    auto* moved = reinterpret_cast<float*>(frame.workspace + moved_at);
    const int64_t width = 4 * s.h;
    Multiply(x, {w.input, s.width(layer), true}, gates, s.steps(), width, s.width(layer));
    for (int64_t i = 0; i < s.t; ++i) {
      const int64_t t = At(d, i);
      const char* has = presence.Of(frame, t);
      Multiply(h, {w.state, s.h, true}, moved, s.n, width, s.h);
      for (int64_t n = 0; n < s.n; ++n) {
        const int64_t at = (t * s.n + n) * s.h;
        if (has[n]) {
          Cell(gates + (t * s.n + n) * width, moved + n * width, w, c + n * s.h, keep, at);
        } else {
          PassOn(h + n * s.h, c + n * s.h, keep, at);
        }
      }
      h = keep.h + t * s.state(), c = keep.c + t * s.state();
    }
  }

  // A sequence that does not have the step goes through it as it is.
  void PassOn(const float* h, const float* c, const Kept& keep, int64_t at) const {
    std::copy_n(h, s.h, keep.h + at);
    std::copy_n(c, s.h, keep.c + at);
    for (float* gate : {keep.i, keep.j, keep.f, keep.o, keep.tanhc}) std::fill_n(gate + at, s.h, 0.0f);
  }

  void Cell(const float* a, const float* b, const Weights& w, const float* c, const Kept& keep,
            int64_t at) const {
    const auto sum = [&](int gate, int64_t k) {
      const int64_t g = s.gate[gate] * s.h + k;
      return a[g] + b[g] + (w.input_bias == nullptr ? 0 : w.input_bias[g]) +
             (w.state_bias == nullptr ? 0 : w.state_bias[g]);
    };
    for (int64_t k = 0; k < s.h; ++k) {
      const float i = Sigmoid(sum(0, k)), f = Sigmoid(sum(1, k)), j = std::tanh(sum(2, k)),
                  o = Sigmoid(sum(3, k));
      const float state = f * c[k] + i * j, bent = std::tanh(state);
      keep.i[at + k] = i, keep.f[at + k] = f, keep.j[at + k] = j, keep.o[at + k] = o;
      keep.c[at + k] = state, keep.tanhc[at + k] = bent, keep.h[at + k] = o * bent;
    }
  }
};

struct GradientBody : LstmBase {
  PackedFloats dy, dh, dc, dx, dh_prev, dc_prev;
  std::vector<PackedFloats> dparams;
  int64_t gates_at, part_at, before_at, moved_at, sums_at;
  int64_t outputs_at[2];  // gradients of a layer's result, in turn

  float* In(const Frame& frame, int64_t at) const { return reinterpret_cast<float*>(frame.workspace + at); }

  void operator()(const Frame& frame) const {
    presence.Find(frame);
    const float *x = input.Load(frame), *first_h = h0.Load(frame), *first_c = c0.Load(frame);
    const float *given = dy.Load(frame), *last_h = dh.Load(frame), *last_c = dc.Load(frame);
    float *to_x = dx.Begin(frame), *to_h = dh_prev.Begin(frame), *to_c = dc_prev.Begin(frame);
    for (int64_t layer = s.layers; layer-- > 0;) {
      const float* from = layer == 0 ? x : Input(frame, layer);
      float* below = layer == 0 ? to_x : In(frame, outputs_at[layer % 2]);
      for (int64_t d = 0; d < s.directions; ++d) {
        const int64_t k = layer * s.directions + d, state = k * s.state();
        float *h = to_h + state, *c = to_c + state;
        Start(last_h, state, h);
        Start(last_c, state, c);
        const Weights w = Load(frame, k);
        Steps(frame, k, d, w, given, first_h + state, first_c + state, h, c);
        Inputs(frame, layer, d, w, below);
        Parameters(frame, layer, k, from);
      }
      given = below;
    }
    for (const PackedFloats* result : {&dx, &dh_prev, &dc_prev}) result->Finish(frame);
  }

  void Start(const float* given, int64_t at, float* to) const {
    if (given == nullptr) {
      std::fill_n(to, s.state(), 0.0f);
    } else {
      std::copy_n(given + at, s.state(), to);
    }
  }

  // What the layer has read: the states of the one below.
  const float* Input(const Frame& frame, int64_t layer) const {
    std::array<const float*, 2> h{};
    for (int64_t d = 0; d < s.directions; ++d) {
      h[static_cast<size_t>(d)] = kept[4][static_cast<size_t>((layer - 1) * s.directions + d)].Load(frame);
    }
    Join(h, In(frame, inputs_at[0]));
    return In(frame, inputs_at[0]);
  }

  // Gradients of the gates at all steps, the states before each step, and through them those of the first
  // states.
  void Steps(const Frame& frame, int64_t k, int64_t d, const Weights& w, const float* given,
             const float* first_h, const float* first_c, float* h, float* c) const {
    const float* at[7];
    for (int i = 0; i < 7; ++i) at[i] = kept[i][static_cast<size_t>(k)].Load(frame);
    float *gates = In(frame, gates_at), *before = In(frame, before_at), *moved = In(frame, moved_at);
    for (int64_t i = s.t; i-- > 0;) {
      const int64_t t = At(d, i), past = i == 0 ? 0 : At(d, i - 1) * s.state();
      const float *h_before = i == 0 ? first_h : at[4] + past, *c_before = i == 0 ? first_c : at[5] + past;
      std::copy_n(h_before, s.state(), before + t * s.state());
      const char* has = presence.Of(frame, t);
      for (int64_t n = 0; n < s.n; ++n) {
        const int64_t row = t * s.n + n, q = n * s.h;
        float* gate = gates + row * 4 * s.h;
        if (has[n]) {
          Cell(at, row * s.h, given + (row * s.directions + d) * s.h, h + q, c_before + q, gate, c + q);
        } else {
          std::fill_n(gate, 4 * s.h, 0.0f);
        }
      }
      Multiply(gates + t * s.n * 4 * s.h, {w.state, s.h, false}, moved, s.n, s.h, 4 * s.h);
      for (int64_t n = 0; n < s.n; ++n) {
        if (has[n]) std::copy_n(moved + n * s.h, s.h, h + n * s.h);
      }
    }
  }

  // The gradients of a step's gates, and of the state before it in place of that behind it (c).
  void Cell(const float* const (&kept_at)[7], int64_t at, const float* given, const float* h,
            const float* c_before, float* gate, float* c) const {
    for (int64_t e = 0; e < s.h; ++e) {
      const int64_t p = at + e;
      const float ig = kept_at[0][p], jg = kept_at[1][p], fg = kept_at[2][p], og = kept_at[3][p],
                  bent = kept_at[6][p];
      const float up = h[e] + given[e], state = c[e] + up * og * (1 - bent * bent);
      gate[s.gate[0] * s.h + e] = state * jg * ig * (1 - ig);
      gate[s.gate[1] * s.h + e] = state * c_before[e] * fg * (1 - fg);
      gate[s.gate[2] * s.h + e] = state * ig * (1 - jg * jg);
      gate[s.gate[3] * s.h + e] = up * bent * og * (1 - og);
      c[e] = state * fg;
    }
  }

  // The directions' gradients of what the layer has read add up.
  void Inputs(const Frame& frame, int64_t layer, int64_t d, const Weights& w, float* to) const {
    const int64_t width = s.width(layer), count = s.steps() * width;
    float* result = d == 0 ? to : In(frame, part_at);
    Multiply(In(frame, gates_at), {w.input, width, false}, result, s.steps(), width, 4 * s.h);
    for (int64_t i = 0; d > 0 && i < count; ++i) to[i] += result[i];
  }

  void Parameters(const Frame& frame, int64_t layer, int64_t k, const float* from) const {
    const PackedFloats* p = &dparams[static_cast<size_t>(k * s.each())];
    const float* gates = In(frame, gates_at);
    const int64_t rows = 4 * s.h;
    MultiplyTurned(gates, from, p[0].Begin(frame), rows, s.width(layer), s.steps());
    MultiplyTurned(gates, In(frame, before_at), p[1].Begin(frame), rows, s.h, s.steps());
    if (s.biased) {
      float* first = p[2].Begin(frame);
      SumRows(gates, s.steps(), rows, reinterpret_cast<double*>(frame.workspace + sums_at), first);
      if (s.each() > 3) std::copy_n(first, rows, p[3].Begin(frame));
    }
    for (int64_t i = 0; i < s.each(); ++i) p[i].Finish(frame);
  }
};

[[noreturn]] void FailShape(const Operand& operand, const char* wanted) {
  Fail(kInvalidArgument, "op-lstm-shape", "{} has the shape {}; {}", operand.name, operand.shape().ToString(),
       wanted);
}

// [t * n, in] as [t, n, in].
Tensor StepsOf(const LstmArgs& args) {
  const Tensor& x = *args.input.tensor;
  const Shape& sizes = args.batch_sizes.shape();
  if (sizes.rank() != 1 || sizes[0] < 1) FailShape(args.batch_sizes, "it has a number for each step");
  if (x.shape.rank() != 2 || x.shape[0] % sizes[0] != 0)
    FailShape(args.input, "with batch sizes it has two dimensions: steps times sequences, features");
  if (args.batch_first) FailShape(args.input, "with batch sizes its steps come first");
  Tensor steps = x;
  steps.shape = {sizes[0], x.shape[0] / sizes[0], x.shape[1]};
  steps.strides = {x.strides[0] * steps.shape[1], x.strides[0], x.strides[1]};
  return steps;
}

StackSizes StackSizesOf(const LstmArgs& args) {
  const Shape x = args.batch_sizes.present() ? StepsOf(args).shape : args.input.shape(), h = args.h0.shape();
  if (x.rank() != 3) FailShape(args.input, "it has three dimensions: steps, sequences, features");
  if (h.rank() != 3) FailShape(args.h0, "it has three dimensions: layers and directions, sequences, states");
  StackSizes s{x[args.batch_first ? 1 : 0],
               x[args.batch_first ? 0 : 1],
               x[2],
               h[2],
               args.layers,
               args.bidirectional ? 2 : 1,
               args.biased,
               args.one_bias,
               args.reversed,
               {args.gates[0], args.gates[1], args.gates[2], args.gates[3]}};
  if (args.layers > s.directions * h[0]) FailShape(args.h0, "it has states for each layer");
  if (args.layers < 1 || args.input.tensor->empty() || args.h0.tensor->empty())
    FailShape(args.input, "it needs elements, and there is at least one layer and one state");
  const int64_t all = s.layers * s.directions;
  for (const Operand* o : {&args.h0, &args.c0}) CheckShape(*o, {all, s.n, s.h});
  CheckLength("params", static_cast<int64_t>(args.params.size()), all * s.each());
  for (int64_t k = 0; k < all; ++k) {
    const Operand* p = &args.params[static_cast<size_t>(k * s.each())];
    CheckShape(p[0], {4 * s.h, s.width(k / s.directions)});
    CheckShape(p[1], {4 * s.h, s.h});
    for (int64_t i = 2; i < s.each(); ++i) CheckShape(p[i], {4 * s.h});
  }
  return s;
}

// [n, t, ...] as [t, n, ...].
PackedFloats StepsFirst(const Operand& operand, bool batch_first, Flow flow, Plan& plan) {
  Tensor view = *operand.tensor;
  if (batch_first) {
    std::swap(view.shape[0], view.shape[1]);
    std::swap(view.strides[0], view.strides[1]);
  }
  return PackedFloats({&view, nullptr, operand.binding, operand.name}, flow, plan);
}

std::vector<PackedFloats> All(const OperandList& list, Flow flow, Plan& plan) {
  std::vector<PackedFloats> all;
  for (const Operand& operand : list) all.emplace_back(operand, flow, plan);
  return all;
}

// `optional`: a list may be empty.
void FillLstmBase(LstmBase& base, const LstmArgs& args, const LstmKept& kept, Flow flow, bool optional,
                  Plan& plan) {
  const StackSizes& s = base.s;
  if (args.batch_sizes.present()) {
    const Tensor steps = StepsOf(args);
    base.input = PackedFloats({&steps, nullptr, args.input.binding, args.input.name}, Flow::kIn, plan);
  } else {
    base.input = StepsFirst(args.input, args.batch_first, Flow::kIn, plan);
  }
  if (args.mask.present()) CheckShape(args.mask, {s.t, s.n});
  base.presence = Presence(args, s, plan);
  base.h0 = PackedFloats(args.h0, Flow::kIn, plan);
  base.c0 = PackedFloats(args.c0, Flow::kIn, plan);
  base.params = All(args.params, Flow::kIn, plan);
  const OperandList* lists[] = {&kept.i, &kept.j, &kept.f, &kept.o, &kept.h, &kept.c, &kept.tanhc};
  for (int i = 0; i < 7; ++i) {
    if (optional && lists[i]->empty()) continue;
    CheckLength("a list of what is kept", static_cast<int64_t>(lists[i]->size()), s.layers * s.directions);
    for (const Operand& operand : *lists[i]) CheckShape(operand, {s.t, s.n, s.h});
    base.kept[i] = All(*lists[i], flow, plan);
  }
  for (int64_t& at : base.inputs_at) at = plan.AddWorkspace(s.layers > 1 ? s.steps() * s.width(1) * 4 : 0);
}

Shape StepShape(const StackSizes& s, bool batch_first, int64_t width) {
  return batch_first ? Shape{s.n, s.t, width} : Shape{s.t, s.n, width};
}

template <class Body>
void FinishLstm(Plan& plan, const Body& body) {
  const StackSizes& s = body.s;
  plan.SetCost(1000 + static_cast<uint64_t>(s.steps() * s.layers * s.directions * s.h) *
                          static_cast<uint64_t>(s.h + s.in) / 4);
  plan.SetBody(body);
}

}  // namespace

void PlanLstmTraining(Plan& plan, const LstmArgs& args, const LstmKept& kept, const Operand& output,
                      const Operand& h, const Operand& c) {
  ForwardBody body{};
  const StackSizes s = body.s = StackSizesOf(args);
  CheckShape(output, StepShape(s, args.batch_first, s.directions * s.h));
  for (const Operand* o : {&h, &c}) {
    if (o->present()) CheckShape(*o, args.h0.shape());
  }
  FillLstmBase(body, args, kept, Flow::kOut, true, plan);
  body.output = StepsFirst(output, args.batch_first, Flow::kOut, plan);
  body.h_out = PackedFloats(h, Flow::kOut, plan);
  body.c_out = PackedFloats(c, Flow::kOut, plan);
  body.gates_at = plan.AddWorkspace(s.steps() * 4 * s.h * 4);
  body.moved_at = plan.AddWorkspace(s.n * 4 * s.h * 4);
  const bool spares =
      std::any_of(std::begin(body.kept), std::end(body.kept), [](auto& l) { return l.empty(); });
  body.spare_at = plan.AddWorkspace(spares ? s.directions * 7 * s.t * s.state() * 4 : 0);
  FinishLstm(plan, body);
}

void PlanLstmGradient(Plan& plan, const LstmArgs& args, const LstmKept& kept, const LstmGradients& g) {
  GradientBody body{};
  const StackSizes s = body.s = StackSizesOf(args);
  CheckShape(g.dy, StepShape(s, args.batch_first, s.directions * s.h));
  CheckShape(g.dx, args.input.shape());
  for (const Operand* o : {&g.dh, &g.dc, &g.dh_prev, &g.dc_prev}) {
    if (o->present()) CheckShape(*o, args.h0.shape());
  }
  CheckLength("dparams", static_cast<int64_t>(g.params.size()), static_cast<int64_t>(args.params.size()));
  for (size_t i = 0; i < g.params.size(); ++i) CheckShape(g.params[i], args.params[i].shape());
  FillLstmBase(body, args, kept, Flow::kIn, false, plan);
  body.dy = StepsFirst(g.dy, args.batch_first, Flow::kIn, plan);
  body.dh = PackedFloats(g.dh, Flow::kIn, plan);
  body.dc = PackedFloats(g.dc, Flow::kIn, plan);
  body.dx = StepsFirst(g.dx, args.batch_first, Flow::kOut, plan);
  body.dh_prev = PackedFloats(g.dh_prev, Flow::kOut, plan);
  body.dc_prev = PackedFloats(g.dc_prev, Flow::kOut, plan);
  body.dparams = All(g.params, Flow::kOut, plan);
  const int64_t width = std::max(s.in, s.directions * s.h);
  body.gates_at = plan.AddWorkspace(s.steps() * 4 * s.h * 4);
  body.before_at = plan.AddWorkspace(s.t * s.state() * 4);
  body.sums_at = plan.AddWorkspace(s.biased ? 4 * s.h * 8 : 0);
  body.moved_at = plan.AddWorkspace(s.state() * 4);
  body.part_at = plan.AddWorkspace(s.steps() * width * 4);
  for (int64_t& at : body.outputs_at) at = plan.AddWorkspace(s.layers > 1 ? s.steps() * width * 4 : 0);
  FinishLstm(plan, body);
}

}  // namespace belay::ops
