// Cross entropy of classes that are dealt out over devices: what one of them adds, the loss that all have
// together, and the gradient of one's part.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/norm/softmax_loops.h"
#include "ops/packed_floats.h"
#include "ops/scratch.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

constexpr int64_t kBits = 8;
constexpr DType kLogit = DType::kF32;

int64_t BytesOfBits(int64_t rows) { return rows / kBits + (rows % kBits != 0); }

// The first row has the highest bit.
uint8_t BitOf(int64_t row) { return static_cast<uint8_t>(0x80u >> (row % kBits)); }

int64_t LogitGrain(int64_t classes) { return 1 + 16384 / (classes + 1); }

// Logits of all rows, and what is told of them.
struct MaxSumBody {
  PackedFloats logits, most, sum, predicted;
  PackedBytes mask;
  Indices target;
  int target_at;
  WholeOut masked;
  int64_t rows, classes, first, last;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    const float* x = logits.Load(frame);
    float *largest = most.Begin(frame), *sums = sum.Begin(frame), *own = predicted.Begin(frame);
    uint8_t* bits = mask.Begin(frame);
    const std::span<const int64_t> targets = target.Read(frame, target_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* powers) {
      for (int64_t byte = begin; byte < end; ++byte) {
        bits[byte] = 0;
        for (int64_t row = byte * kBits; row < (byte + 1) * kBits; ++row) {
          const int64_t to = row < rows ? targets[static_cast<size_t>(row)] : -1;
          const bool elsewhere = row >= rows || to < first || to > last;
          if (elsewhere) bits[byte] |= BitOf(row);
          if (row >= rows) continue;
          const float* of = x + row * classes;
          largest[row] = BestSoftmaxLoopsF32().max(of, classes);
          sums[row] = BestSoftmaxLoopsF32().exp_sum(powers, of, largest[row], classes);
          own[row] = elsewhere ? 0 : of[to - first] - largest[row];
          masked.Set(frame, row, elsewhere ? 0 : to - first);
        }
      }
    });
    for (const PackedFloats* result : {&most, &sum, &predicted}) result->Finish(frame);
    mask.Finish(frame);
  }
};

struct VocabularyLossBody {
  PackedFloats most, sum, predicted, loss;
  Rows logits, shares;
  int64_t rows;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    const float *largest = most.Load(frame), *sums = sum.Load(frame), *own = predicted.Load(frame);
    float* to = loss.Begin(frame);
    for (int64_t row = 0; row < rows; ++row) to[row] = std::log(sums[row]) - own[row];
    loss.Finish(frame);
    if (!logits.present()) return;
    const int64_t n = logits.width();
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) {
        const float* x = logits.Load(frame, row, mine);
        BestSoftmaxLoopsF32().exp_sum(mine + n, x, largest[row], n);
        for (int64_t i = 0; i < n; ++i) mine[n + i] /= sums[row];
        shares.Store(frame, row, mine + n);
      }
    });
  }
};

// From the softmax, or from logits in its place, the gradient of the logits.
struct LogitGradientBody {
  PackedFloats shares, most, sum, grad, out;
  PackedBytes mask;
  Indices target;
  int target_at;
  int64_t rows, classes;

  void operator()(const Frame& frame) const {
    const float *given = shares.Load(frame), *largest = most.Load(frame), *sums = sum.Load(frame),
                *slope = grad.Load(frame);
    const uint8_t* bits = mask.Load(frame);
    const std::span<const int64_t> targets = target.Read(frame, target_at);
    float* to = out.Begin(frame);
    ParallelFor(rows, LogitGrain(classes), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* g = to + row * classes;
        if (given != nullptr) {
          std::copy_n(given + row * classes, classes, g);
        } else {
          BestSoftmaxLoopsF32().exp_sum(g, g, largest[row], classes);
          for (int64_t i = 0; i < classes; ++i) g[i] /= sums[row];
        }
        if ((bits[row / kBits] & BitOf(row)) == 0) g[Class(targets[static_cast<size_t>(row)])] -= 1;
        for (int64_t i = 0; i < classes; ++i) g[i] *= slope[row];
      }
    });
    out.Finish(frame);
  }

  int64_t Class(int64_t target) const {
    if (target >= 0 && target < classes) return target;
    Fail(kIndexFault, "nll-class", "a target is class {}; the classes of this device are 0 to {}", target,
         classes - 1);
  }
};

// input [rows, depth] and weight [classes, depth]; a number for each row in all others.
void CheckVocabulary(const Operand& input, const Operand& weight) {
  const Shape &x = input.shape(), &w = weight.shape();
  if (x.rank() != 2 || w.rank() != 2 || x[1] != w[1]) {
    Fail(kInvalidArgument, "op-vocabulary",
         "{} has the shape {} and {} {}; they are matrices with rows of one length", input.name, x.ToString(),
         weight.name, w.ToString());
  }
  CheckSameType(input, weight);
}

void CheckNoSmoothing(double smoothing) {
  if (smoothing == 0) return;
  Fail(kInvalidArgument, "op-vocabulary", "labelSmoothing is {}; only 0 is supported", smoothing);
}

// The transpose, as a view.
struct Turned {
  Tensor tensor;
  Operand operand;

  explicit Turned(const Operand& of) : tensor(*of.tensor), operand{&tensor, nullptr, of.binding, of.name} {
    std::swap(tensor.shape[0], tensor.shape[1]);
    std::swap(tensor.strides[0], tensor.strides[1]);
  }
  Turned(const Turned&) = delete;
  Turned& operator=(const Turned&) = delete;
};

}  // namespace

namespace kernels {

void FusedLinearOnlineMaxSum(Plan& plan, DType, const FusedLinearOnlineMaxSumArguments& a) {
  CheckVocabulary(a.input, a.weight);
  const int64_t rows = a.input.shape()[0], classes = a.weight.shape()[0];
  if (a.vocab_start_index < 0 || a.vocab_end_index < a.vocab_start_index ||
      a.vocab_end_index - a.vocab_start_index >= classes) {
    Fail(kInvalidArgument, "op-vocabulary",
         "vocabStartIndex is {} and vocabEndIndex {}; they are the first and the last of at most {} classes",
         a.vocab_start_index, a.vocab_end_index, classes);
  }
  for (const Operand* o : {&a.target, &a.logits_max_local_out, &a.sum_exp_logits_local_out,
                           &a.predicted_logits_local_out, &a.masked_target_out})
    CheckShape(*o, {rows});
  CheckShape(a.target_mask_out, {BytesOfBits(rows)});
  CheckSameType(a.target, a.masked_target_out);
  if (a.vocab_parallel_logits_out.present()) {
    CheckShape(a.vocab_parallel_logits_out, {rows, classes});
    CheckSameType(a.input, a.vocab_parallel_logits_out);
  }
  if (rows == 0) return;
  // Most results are results of the second step.
  std::vector<const Operand*> among = {&a.input,
                                       &a.weight,
                                       &a.target,
                                       &a.logits_max_local_out,
                                       &a.sum_exp_logits_local_out,
                                       &a.predicted_logits_local_out,
                                       &a.target_mask_out};
  const size_t kept_at = among.size();
  if (a.vocab_parallel_logits_out.present()) among.push_back(&a.vocab_parallel_logits_out);
  PlanThrough(
      plan, tensor::PackedOf(kLogit, {rows, classes}), among, a.masked_target_out,
      [&](Plan& part, const auto& in, const Operand& logits) {
        Matmul(part, kLogit, in[0], Turned(in[1]).operand, 0, logits);
      },
      [&](Plan& part, const auto& in, const Operand& logits, const Operand& to) {
        Sequence steps(part);
        steps.Add([&](Plan& step) {
          MaxSumBody body{};
          body.logits = PackedFloats(logits, Flow::kIn, step);
          body.target = Indices(step, *in[2].tensor), body.target_at = in[2].binding;
          body.most = PackedFloats(in[3], Flow::kOut, step);
          body.sum = PackedFloats(in[4], Flow::kOut, step);
          body.predicted = PackedFloats(in[5], Flow::kOut, step);
          body.mask = PackedBytes(in[6], step), body.masked = WholeOut(to);
          body.rows = rows, body.classes = classes, body.first = a.vocab_start_index,
          body.last = a.vocab_end_index;
          body.room = {step, BytesOfBits(rows), 1, classes};
          step.SetCost(500 + static_cast<uint64_t>(rows * classes) * 2);
          step.SetBody(body);
        });
        if (a.vocab_parallel_logits_out.present())
          steps.Add([&](Plan& step) { Copy(step, kLogit, logits, in[kept_at]); });
        steps.Finish();
      });
}

void FusedCrossEntropyLossWithMaxSum(Plan& plan, DType, const FusedCrossEntropyLossWithMaxSumArguments& a) {
  CheckNoSmoothing(a.label_smoothing);
  for (const Operand* o : {&a.input, &a.weight}) {
    if (o->present())
      Fail(kInvalidArgument, "op-vocabulary", "{} is given; it is not supported by this version: pass null",
           o->name);
  }
  if (a.logits_max.shape().rank() != 1)
    Fail(kInvalidArgument, "op-vocabulary", "{} has the shape {}; it has one dimension", a.logits_max.name,
         a.logits_max.shape().ToString());
  const int64_t rows = a.logits_max.shape()[0];
  for (const Operand* o : {&a.sum_exp_logits, &a.predicted_logits, &a.loss_out}) CheckShape(*o, {rows});
  VocabularyLossBody body{};
  if (a.vocab_parallel_logits.present()) {
    if (!a.soft_max_out.present())
      Fail(tensor::kNullArgument, "op-masked-result", "{} is null; with {} it is needed", a.soft_max_out.name,
           a.vocab_parallel_logits.name);
    if (a.vocab_parallel_logits.shape().rank() != 2 || a.vocab_parallel_logits.shape()[0] != rows)
      Fail(kInvalidArgument, "op-vocabulary", "{} has the shape {}; it has {} rows",
           a.vocab_parallel_logits.name, a.vocab_parallel_logits.shape().ToString(), rows);
    CheckShape(a.soft_max_out, a.vocab_parallel_logits.shape());
    if (!a.vocab_parallel_logits.tensor->empty())
      body.logits = Rows(a.vocab_parallel_logits), body.shares = Rows(a.soft_max_out);
  }
  if (rows == 0) return;
  body.rows = rows;
  body.most = PackedFloats(a.logits_max, Flow::kIn, plan),
  body.sum = PackedFloats(a.sum_exp_logits, Flow::kIn, plan);
  body.predicted = PackedFloats(a.predicted_logits, Flow::kIn, plan),
  body.loss = PackedFloats(a.loss_out, Flow::kOut, plan);
  const int64_t n = body.logits.width();
  if (n > 0) body.room = {plan, rows, LogitGrain(n), 2 * n};
  plan.SetCost(500 + static_cast<uint64_t>(rows * (n + 8)));
  plan.SetBody(body);
}

namespace {

// Two numbers for each row, or a softmax in their place.
struct LogitGradientInputs {
  Operand grad, mask, target, most, sum, shares;
};

void PlanLogitGradient(Plan& plan, const LogitGradientInputs& in, const Operand& out) {
  LogitGradientBody body{};
  body.rows = out.shape()[0], body.classes = out.shape()[1];
  body.grad = PackedFloats(in.grad, Flow::kIn, plan), body.mask = PackedBytes(in.mask, plan);
  body.target = Indices(plan, *in.target.tensor), body.target_at = in.target.binding;
  body.most = PackedFloats(in.most, Flow::kIn, plan), body.sum = PackedFloats(in.sum, Flow::kIn, plan);
  body.shares = PackedFloats(in.shares, Flow::kIn, plan);
  body.out = PackedFloats(out, in.shares.present() ? Flow::kOut : Flow::kInOut, plan);
  plan.SetCost(500 + static_cast<uint64_t>(out.tensor->count()) * 2);
  plan.SetBody(body);
}

void CheckRowSums(const Operand& most, const Operand& sum, int64_t rows) {
  for (const Operand* o : {&most, &sum}) {
    if (!o->present())
      Fail(tensor::kNullArgument, "op-masked-result", "{} is null; without a softmax it is needed", o->name);
    CheckShape(*o, {rows});
  }
}

}  // namespace

void FusedLinearCrossEntropyLossGrad(Plan& plan, DType, const FusedLinearCrossEntropyLossGradArguments& a) {
  CheckNoSmoothing(a.label_smoothing);
  CheckVocabulary(a.input, a.weight);
  const int64_t rows = a.input.shape()[0], classes = a.weight.shape()[0];
  for (const Operand* o : {&a.grad, &a.masked_target}) CheckShape(*o, {rows});
  CheckShape(a.target_mask, {BytesOfBits(rows)});
  for (const auto& [of, to] :
       {std::pair{&a.input, &a.input_grad_out}, std::pair{&a.weight, &a.weight_grad_out}}) {
    CheckShape(*to, of->shape());
    CheckSameType(*of, *to);
  }
  a.softmax.present() ? CheckShape(a.softmax, {rows, classes})
                      : CheckRowSums(a.logits_max, a.sum_exp_logits, rows);
  // The other result is a result of the second step.
  std::vector<const Operand*> among = {&a.grad,        &a.input,         &a.weight,
                                       &a.target_mask, &a.masked_target, &a.weight_grad_out};
  const size_t given_at = among.size();
  if (a.softmax.present()) {
    among.push_back(&a.softmax);
  } else {
    among.push_back(&a.logits_max), among.push_back(&a.sum_exp_logits);
  }
  PlanThrough(
      plan, tensor::PackedOf(kLogit, {rows, classes}), among, a.input_grad_out,
      [&](Plan& part, const auto& in, const Operand& slope) {
        if (slope.tensor->empty()) return;
        LogitGradientInputs given{in[0], in[3], in[4], {}, {}, {}};
        if (a.softmax.present()) {
          given.shares = in[given_at];
          return PlanLogitGradient(part, given, slope);
        }
        given.most = in[given_at], given.sum = in[given_at + 1];
        Sequence steps(part);
        steps.Add([&](Plan& step) { Matmul(step, kLogit, in[1], Turned(in[2]).operand, 0, slope); });
        steps.Add([&](Plan& step) { PlanLogitGradient(step, given, slope); });
        steps.Finish();
      },
      [&](Plan& part, const auto& in, const Operand& slope, const Operand& to) {
        Sequence steps(part);
        steps.Add([&](Plan& step) { Matmul(step, kLogit, slope, in[2], 0, to); });
        steps.Add([&](Plan& step) { Matmul(step, kLogit, Turned(slope).operand, in[1], 0, in[5]); });
        steps.Finish();
      });
}

}  // namespace kernels
}  // namespace belay::ops
