// Softmax along the last dimension of what is scaled and masked first, and its gradient.
#include <algorithm>

#include "base/error.h"
#include "ops/elementwise/unlisted.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/norm/softmax_loops.h"
#include "ops/rules.h"
#include "ops/scratch.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr float kMaskedValue = -10000;  // what stands in place of what the mask names

int64_t MaskedGrain(int64_t width) { return 16 * 1024 / (width + 1) + 1; }

struct MaskedSoftmaxBody {
  Rows x, mask, out;
  float scale;
  const SoftmaxLoops<float>* loops;
  PieceScratch<float> room;  // a row

  void operator()(const Frame& frame) const {
    room.For(frame, [&](int64_t begin, int64_t end, float* row) {
      for (int64_t i = begin; i < end; ++i) {
        Fill(frame, i, row);
        Exponentials(row);
        out.Store(frame, i, row);
      }
    });
  }

  void Fill(const Frame& frame, int64_t i, float* row) const {
    alignas(64) float block[kBlock], named[kBlock];
    for (int64_t first = 0; first < x.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, x.width() - first);
      const float* from = x.Load(frame, i, first, n, block);
      const float* hidden = mask.Load(frame, i, first, n, named);
      for (int64_t k = 0; k < n; ++k) row[first + k] = hidden[k] != 0 ? kMaskedValue : from[k] * scale;
    }
  }

  void Exponentials(float* row) const {
    const float most = loops->max(row, x.width());
    double sum = 0;
    for (int64_t first = 0; first < x.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, x.width() - first);
      sum += static_cast<double>(loops->exp_sum(row + first, row + first, most, n));
    }
    loops->scale(row, static_cast<float>(1 / sum), x.width());
  }
};

struct MaskedSoftmaxGradBody {
  Rows grad, result, mask, out;
  float scale;

  void operator()(const Frame& frame) const {
    ParallelFor(out.count(), MaskedGrain(out.width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Row(frame, i);
    });
  }

  void Row(const Frame& frame, int64_t i) const {
    alignas(64) float left[kBlock], right[kBlock], named[kBlock];
    double sum = 0;
    for (int64_t first = 0; first < out.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, out.width() - first);
      const float* a = grad.Load(frame, i, first, n, left);
      const float* b = result.Load(frame, i, first, n, right);
      float part = 0;
      for (int64_t k = 0; k < n; ++k) part += a[k] * b[k];
      sum += static_cast<double>(part);
    }
    const auto common = static_cast<float>(sum);
    alignas(64) float slope[kBlock];
    for (int64_t first = 0; first < out.width(); first += kBlock) {
      const int64_t n = std::min(kBlock, out.width() - first);
      const float* a = grad.Load(frame, i, first, n, left);
      const float* b = result.Load(frame, i, first, n, right);
      const float* hidden = mask.Load(frame, i, first, n, named);
      for (int64_t k = 0; k < n; ++k) slope[k] = hidden[k] != 0 ? 0 : b[k] * (a[k] - common) * scale;
      out.Store(frame, i, first, n, slope);
    }
  }
};

// The mask as it lies over x, whose rows the last dimension makes.
Rows MaskOver(const Operand& x, const Operand& mask, bool triangle) {
  if (x.shape().rank() == 0)
    Fail(tensor::kInvalidArgument, "op-dim", "{} has no dimension to go along", x.name);
  if (triangle)
    Fail(tensor::kInvalidArgument, "op-triangle", "fixedTriuMask is reserved; pass a mask and false");
  const Tensor spread = tensor::Expanded(*mask.tensor, rules::BroadcastOnto(x, mask));
  return Rows(Operand{&spread, nullptr, mask.binding, mask.name});
}

}  // namespace

namespace kernels {

void ScaledMaskedSoftmax(Plan& plan, DType, const Operand& x, const Operand& mask, double scale,
                         bool fixedTriuMask, const Operand& out) {
  const Rows rows(x), named = MaskOver(x, mask, fixedTriuMask);
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(MaskedSoftmaxBody{rows,
                                 named,
                                 Rows(out),
                                 static_cast<float>(scale),
                                 &BestSoftmaxLoopsF32(),
                                 {plan, rows.count(), MaskedGrain(rows.width()), rows.width()}});
}

void ScaledMaskedSoftmaxBackward(Plan& plan, DType, const Operand& yGrad, const Operand& y,
                                 const Operand& mask, double scale, bool fixedTriuMask, const Operand& out) {
  CheckShape(y, yGrad.shape());
  CheckSameType(y, yGrad);
  const Rows named = MaskOver(y, mask, fixedTriuMask);
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(MaskedSoftmaxGradBody{Rows(yGrad), Rows(y), named, Rows(out), static_cast<float>(scale)});
}

void MaskedSoftmaxWithRelPosBias(Plan& plan, DType, const Operand& x, const Operand& mask,
                                 const Operand& bias, double scale, int64_t innerPrecisionMode,
                                 const Operand& out) {
  if (x.shape().rank() == 0)
    Fail(tensor::kInvalidArgument, "op-dim", "{} has no dimension to go along", x.name);
  if (innerPrecisionMode != 0 && innerPrecisionMode != 1) {
    Fail(tensor::kInvalidArgument, "op-inner-precise", "innerPrecisionMode is {}; it is 0 or 1",
         innerPrecisionMode);
  }
  std::vector<const Operand*> in = {&x, &bias};
  if (mask.present()) in.push_back(&mask);
  for (size_t i = 1; i < in.size(); ++i) {
    if (tensor::BroadcastsTo(in[i]->shape(), x.shape())) continue;
    Fail(tensor::kInvalidArgument, "op-broadcast", "{} {} does not broadcast to {} {}", in[i]->name,
         in[i]->shape().ToString(), x.name, x.shape().ToString());
  }
  const Scalar factor(&scale, DType::kF64);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, x.shape()), in, out,
      [&](Plan& part, const auto& from, const Operand& scores) {
        Sequence steps(part);
        steps.Add([&](Plan& step) {
          Mul(step, DType::kF32, from[0], {nullptr, &factor, -1, "scale"}, scores);
        });
        for (size_t i = 1; i < in.size(); ++i)
          steps.Add([&](Plan& step) { Plus(step, DType::kF32, scores, from[i], scores); });
        steps.Add([&](Plan& step) { Softmax(step, DType::kF32, scores, -1, scores); });
        steps.Finish();
      },
      [&](Plan& part, const auto&, const Operand& scores, const Operand& to) {
        Copy(part, DType::kF32, scores, to);
      });
}

}  // namespace kernels
}  // namespace belay::ops
