// Statistics of batch norms that several devices share: what one of them adds up, and what is made of all
// sums.
#include "graph/ops/pointwise.h"
#include "graph/ops/reduce.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/elementwise/gradients.h"
#include "ops/elementwise/unlisted.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

constexpr uint32_t kDevices = 1;  // dimension 0 of what all have told
constexpr DType kWide = DType::kF32;

Tensor Summed(Translation& node, const Tensor& x, uint32_t mask, bool keep) {
  const Tensor sum = node.Temporary(kWide, Left(x.shape, mask, keep));
  RunReduce(node, {}, kWide, mask, x, sum);
  return sum;
}

Tensor Made(Translation& node, BinaryKernel kernel, const Tensor& a, const Tensor& b) {
  const Tensor made = node.Temporary(kWide, BroadcastOf(node, {a.shape, b.shape}));
  RunBinary(node, "SyncBatchNorm", kernel, kWide, a, b, made);
  return made;
}

// a - b * c
Tensor LessProduct(Translation& node, const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor made = node.Temporary(kWide, BroadcastOf(node, {a.shape, b.shape, c.shape}));
  RunLoops(node, "SyncBatchNorm", ops::MinusProductLoops(), kWide, {a, b, c}, {}, made);
  return made;
}

void InverseDeviation(Translation& node, const Tensor& variance, double epsilon, const Tensor& out) {
  RunLoops(node, "SyncBatchNorm", ops::InverseDeviationLoops(), kWide, {variance},
           ops::LoopAttributes({epsilon}), out);
}

// Result `output` = (1 - momentum) * old + momentum * now
void Update(Translation& node, const Tensor& old, const Tensor& now, int output) {
  const double momentum = node.Float("momentum");
  const Scalar share(&momentum, DType::kF64);
  const Tensor wide = node.Cast(old, kWide), moved = node.Temporary(kWide, wide.shape);
  node.Run(ops::forms::Lerps, {Arg(&wide), Arg(&now), Arg(&share), Arg(&moved)});
  node.Copy(moved, node.Out(output, old.dtype, old.shape));
}

}  // namespace

void BNTrainingReduce(Translation& node) {
  const Tensor& x = node.in(0);
  if (x.shape.rank() < 2 || !IsFloat(x.dtype)) node.Refuse("x has floats in two dimensions or more");
  const Tensor from = x.dtype == DType::kF64 ? node.Cast(x, kWide) : x;
  const Shape channels{x.shape[1]};
  const Tensor sum = node.Out(0, kWide, channels), squares = node.Out(1, kWide, channels);
  node.Run(ops::forms::BatchNormReduce, {Arg(&from), Arg(&sum), Arg(&squares)});
}

void SyncBatchNormBackwardReduce(Translation& node) {
  const Tensor &sum_dy = node.in(0), &sum_dy_dx = node.in(1), &mean = node.in(2), &inverse = node.in(3);
  const Tensor moved = LessProduct(node, sum_dy_dx, mean, sum_dy);
  if (moved.shape != sum_dy_dx.shape) node.Refuse("mean has the shape of the sums");
  node.Copy(moved, node.Out(0, sum_dy.dtype, moved.shape));
  RunBinary(node, "SyncBatchNorm", ops::kernels::Mul, kWide, moved, inverse,
            node.Out(1, inverse.dtype, moved.shape));
}

void SyncBatchNormBackwardElemt(Translation& node) {
  const Tensor &dy = node.in(0), &x = node.in(1), &mean = node.in(2), &inverse = node.in(3),
               &weight = node.in(4), &mean_dy = node.in(5), &mean_dy_xmu = node.in(6);
  const Tensor square = Made(node, ops::kernels::Mul, inverse, inverse);
  const Tensor slope = Made(node, ops::kernels::Mul, square, mean_dy_xmu);
  const Tensor away = Made(node, ops::kernels::Minus, x, mean),
               rest = Made(node, ops::kernels::Minus, dy, mean_dy);
  const Tensor inner = LessProduct(node, rest, away, slope),
               scaled = Made(node, ops::kernels::Mul, inner, inverse);
  const Tensor made = Made(node, ops::kernels::Mul, scaled, weight);
  if (made.shape != dy.shape) node.Refuse("statistics broadcast to grad_output");
  node.Copy(made, node.Out(0, dy.dtype, dy.shape));
}

void SyncBatchNormGatherStats(Translation& node) {
  const Tensor &sums = node.in(0), &squares = node.in(1), &counts = node.in(2);
  if (sums.shape.rank() != 2 || squares.shape != sums.shape || counts.shape.rank() != 1)
    node.Refuse("sums have a row for each device, and counts an element");
  const Shape channels{sums.shape[1]};
  for (const int i : {3, 4}) {
    if (node.shape(i) != channels) node.Refuse("running statistics have an element for each channel");
  }
  const Tensor count = Summed(node, node.Cast(counts, kWide), kDevices, false);
  const Tensor mean = Made(node, ops::kernels::RealDiv, Summed(node, sums, kDevices, false), count);
  const Tensor square = Made(node, ops::kernels::RealDiv, Summed(node, squares, kDevices, false), count);
  const Tensor variance = LessProduct(node, square, mean, mean);
  node.Copy(mean, node.Out(0, sums.dtype, channels));
  InverseDeviation(node, variance, node.Float("eps"), node.Out(1, sums.dtype, channels));
  Update(node, node.in(3), mean, 2);
  const double whole = 1;
  const Scalar one(&whole, DType::kF64);
  const Tensor fewer = node.Temporary(kWide, count.shape);
  node.Run(ops::forms::Subs, {Arg(&count), Arg(&one), Arg(&one), Arg(&fewer)});
  const Tensor share = Made(node, ops::kernels::RealDiv, count, fewer);
  Update(node, node.in(4), Made(node, ops::kernels::Mul, variance, share), 3);
}

void SyncBatchNormGatherStatsWithCounts(Translation& node) {
  const Tensor &means = node.in(0), &inverses = node.in(1), &counts = node.in(2), &mean = node.in(3),
               &count = node.in(4), &running = node.in(5);
  const double epsilon = node.Float("epsilon"), whole = 1;
  if (means.shape.rank() != 2 || inverses.shape != means.shape || counts.shape != means.shape ||
      mean.shape != means.shape || count.shape != Left(means.shape, kDevices, true) ||
      running.shape != count.shape)
    node.Refuse("what all have told has a row for each device, and sums have one");
  // The variances by themselves, and how far their means are from that of all.
  const Scalar one(&whole, DType::kF64), less(&epsilon, DType::kF64);
  const Tensor variance = node.Temporary(kWide, means.shape),
               square = Made(node, ops::kernels::Mul, inverses, inverses);
  node.Run(ops::forms::Reciprocal, {Arg(&square), Arg(&variance)});
  node.Run(ops::forms::Subs, {Arg(&variance), Arg(&less), Arg(&one), Arg(&variance)});
  const Tensor away = Made(node, ops::kernels::SquaredDifference, means, mean);
  const Tensor each = Made(node, ops::kernels::Mul, Made(node, ops::kernels::Plus, variance, away), counts);
  const Tensor sum = Summed(node, each, kDevices, true);
  const Shape& shape = count.shape;
  InverseDeviation(node, Made(node, ops::kernels::RealDiv, sum, count), epsilon,
                   node.Out(0, means.dtype, shape));
  const Tensor fewer = node.Temporary(kWide, shape);
  node.Run(ops::forms::Subs, {Arg(&count), Arg(&one), Arg(&one), Arg(&fewer)});
  Update(node, running, Made(node, ops::kernels::RealDiv, sum, fewer), 1);
}

void SyncBNTrainingUpdate(Translation& node) {
  if (node.shape(0) != node.shape(1)) node.Refuse("both means have one shape");
  Update(node, node.in(1), node.Cast(node.in(0), kWide), 0);
}

}  // namespace belay::graph::translate
