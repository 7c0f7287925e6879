// One step of an LSTM from the products of its gates, which keeps them for the gradient, and the gradient.
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/rnn/products.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct CellSizes {
  int64_t n, h;

  int64_t gates() const { return 4 * h; }
  int64_t grain() const { return 1 + 8192 / (4 * h + 1); }
};

// [sequences, states], and the gates of four times as many.
CellSizes CellSizesOf(const Operand& states, const Operand& gates) {
  const Shape &shape = states.shape(), &wide = gates.shape();
  if (shape.rank() != 2 || wide.rank() != 2 || wide[0] != shape[0] || wide[1] % 4 != 0 ||
      wide[1] / 4 != shape[1]) {
    Fail(tensor::kInvalidArgument, "op-lstm-shape",
         "{} has the shape {} and {} the shape {}; they are [sequences, states] and [sequences, 4 * states]",
         states.name, shape.ToString(), gates.name, wide.ToString());
  }
  return {shape[0], shape[1]};
}

struct CellBody {
  CellSizes s;
  PackedFloats from_x, from_h, cx, bias_x, bias_h, hy, cy, storage;

  void operator()(const Frame& frame) const {
    const float *a = from_x.Load(frame), *b = from_h.Load(frame), *before = cx.Load(frame);
    const float *plus_a = bias_x.Load(frame), *plus_b = bias_h.Load(frame);
    float *state = hy.Begin(frame), *memory = cy.Begin(frame), *kept = storage.Begin(frame);
    ParallelFor(s.n, s.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto sum = [&](int64_t at) {
          const int64_t place = row * s.gates() + at;
          return a[place] + b[place] + (plus_a == nullptr ? 0 : plus_a[at]) +
                 (plus_b == nullptr ? 0 : plus_b[at]);
        };
        for (int64_t k = 0; k < s.h; ++k) {
          const float i = Sigmoid(sum(k)), f = Sigmoid(sum(s.h + k)), g = std::tanh(sum(2 * s.h + k)),
                      o = Sigmoid(sum(3 * s.h + k));
          const int64_t at = row * s.h + k;
          memory[at] = f * before[at] + i * g;
          state[at] = o * std::tanh(memory[at]);
          float* gate = kept + row * s.gates() + k;
          gate[0] = i, gate[s.h] = f, gate[2 * s.h] = g, gate[3 * s.h] = o;
        }
      }
    });
    for (const PackedFloats* result : {&hy, &cy, &storage}) result->Finish(frame);
  }
};

struct CellGradientBody {
  CellSizes s;
  PackedFloats dh, dc, cx, cy, storage, gates, to_c, bias;
  Scratch<double> sums;

  void operator()(const Frame& frame) const {
    const float *up_h = dh.Load(frame), *up_c = dc.Load(frame), *before = cx.Load(frame),
                *after = cy.Load(frame), *kept = storage.Load(frame);
    float *to = gates.Begin(frame), *memory = to_c.Begin(frame);
    ParallelFor(s.n, s.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t k = 0; k < s.h; ++k) {
          const int64_t at = row * s.h + k, first = row * s.gates() + k;
          const float i = kept[first], f = kept[first + s.h], g = kept[first + 2 * s.h],
                      o = kept[first + 3 * s.h], bent = std::tanh(after[at]);
          const float up = up_h == nullptr ? 0 : up_h[at];
          const float state = (up_c == nullptr ? 0 : up_c[at]) + up * o * (1 - bent * bent);
          to[first] = state * g * i * (1 - i);
          to[first + s.h] = state * before[at] * f * (1 - f);
          to[first + 2 * s.h] = state * i * (1 - g * g);
          to[first + 3 * s.h] = up * bent * o * (1 - o);
          memory[at] = state * f;
        }
      }
    });
    if (bias.present()) SumRows(to, s.n, s.gates(), sums.At(frame), bias.Begin(frame));
    for (const PackedFloats* result : {&gates, &to_c, &bias}) result->Finish(frame);
  }
};

template <class Body>
void FinishCell(Plan& plan, const Body& body) {
  plan.SetCost(500 + static_cast<uint64_t>(body.s.n * body.s.h) * 40);
  plan.SetBody(body);
}

void CheckLike(const Operand& operand, const Shape& shape, const Operand& like) {
  if (!operand.present()) return;
  CheckShape(operand, shape);
  CheckSameType(like, operand);
}

}  // namespace

namespace kernels {

void ThnnFusedLstmCell(Plan& plan, DType, const Operand& inputGates, const Operand& hiddenGates,
                       const Operand& cx, const Operand& inputBias, const Operand& hiddenBias,
                       const Operand& hy, const Operand& cy, const Operand& storage) {
  CellBody body{};
  const CellSizes s = body.s = CellSizesOf(cx, inputGates);
  for (const Operand* o : {&hy, &cy}) CheckLike(*o, cx.shape(), cx);
  for (const Operand* o : {&inputGates, &hiddenGates, &storage}) CheckLike(*o, inputGates.shape(), cx);
  for (const Operand* o : {&inputBias, &hiddenBias}) CheckLike(*o, {s.gates()}, cx);
  if (cx.tensor->empty()) return;
  body.from_x = PackedFloats(inputGates, Flow::kIn, plan);
  body.from_h = PackedFloats(hiddenGates, Flow::kIn, plan);
  body.cx = PackedFloats(cx, Flow::kIn, plan);
  body.bias_x = PackedFloats(inputBias, Flow::kIn, plan);
  body.bias_h = PackedFloats(hiddenBias, Flow::kIn, plan);
  body.hy = PackedFloats(hy, Flow::kOut, plan);
  body.cy = PackedFloats(cy, Flow::kOut, plan);
  body.storage = PackedFloats(storage, Flow::kOut, plan);
  FinishCell(plan, body);
}

void ThnnFusedLstmCellBackward(Plan& plan, DType, const ThnnFusedLstmCellBackwardArguments& a) {
  CellGradientBody body{};
  const CellSizes s = body.s = CellSizesOf(a.cx, a.storage);
  if (a.has_bias && !a.grad_bias_out.present())
    Fail(tensor::kNullArgument, "op-masked-result", "{} is null; hasBias asks for it", a.grad_bias_out.name);
  for (const Operand* o : {&a.grad_hy, &a.grad_cy, &a.cy, &a.grad_cx_out}) CheckLike(*o, a.cx.shape(), a.cx);
  for (const Operand* o : {&a.storage, &a.grad_gates_out}) CheckLike(*o, a.storage.shape(), a.cx);
  if (a.has_bias) CheckLike(a.grad_bias_out, {s.gates()}, a.cx);
  if (s.h == 0) return;  // of no sequences the bias's gradient is 0
  body.dh = PackedFloats(a.grad_hy, Flow::kIn, plan);
  body.dc = PackedFloats(a.grad_cy, Flow::kIn, plan);
  body.cx = PackedFloats(a.cx, Flow::kIn, plan);
  body.cy = PackedFloats(a.cy, Flow::kIn, plan);
  body.storage = PackedFloats(a.storage, Flow::kIn, plan);
  body.gates = PackedFloats(a.grad_gates_out, Flow::kOut, plan);
  body.to_c = PackedFloats(a.grad_cx_out, Flow::kOut, plan);
  if (a.has_bias) body.bias = PackedFloats(a.grad_bias_out, Flow::kOut, plan);
  body.sums = {plan, a.has_bias ? s.gates() : 0};
  FinishCell(plan, body);
}

}  // namespace kernels
}  // namespace belay::ops
