// Normalisations of what is added up first, and the gradient of one.
#include <algorithm>

#include "base/error.h"
#include "ops/elementwise/unlisted.h"
#include "ops/gradient/norm_gradient.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

constexpr DType kWide = DType::kF32;

void CheckLastSizes(const Operand& gamma, const Operand& x) {
  const Shape &last = gamma.shape(), &shape = x.shape();
  const int dims = last.rank();
  if (dims == 0 || dims > shape.rank() || !std::equal(last.begin(), last.end(), shape.end() - dims)) {
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} does not have the last sizes of {} {}", gamma.name,
         last.ToString(), x.name, shape.ToString());
  }
}

}  // namespace

void AddRmsNormCast(Plan& plan, DType, const Operand& x1, const Operand& x2, const Operand& gamma,
                    double epsilon, const Operand& y1, const Operand& y2, const Operand& rstd,
                    const Operand& sum) {
  CheckLastSizes(gamma, x1);
  for (const Operand* o : {&x2, &y1, &y2, &sum}) CheckShape(*o, x1.shape());
  for (const Operand* o : {&x2, &gamma, &y2, &sum}) CheckSameType(x1, *o);
  Sequence parts(plan);
  parts.Add([&](Plan& part) { Plus(part, kWide, x1, x2, sum); });
  parts.Add([&](Plan& part) { RmsNorm(part, kWide, sum, gamma, epsilon, y1, rstd); });
  parts.Add([&](Plan& part) { Copy(part, kWide, y1, y2); });
  parts.Finish();
}

void DeepNorm(Plan& plan, DType, const DeepNormArguments& a) {
  CheckLastSizes(a.gamma, a.x);
  for (const Operand* o : {&a.gx, &a.y_out}) CheckShape(*o, a.x.shape());
  CheckShape(a.beta, a.gamma.shape());
  for (const Operand* o : {&a.gx, &a.beta, &a.gamma, &a.y_out}) CheckSameType(a.x, *o);
  const Scalar factor(&a.alpha, DType::kF64);
  // The statistics are results of the second step.
  PlanThrough(
      plan, tensor::PackedOf(kWide, a.x.shape()), {&a.x, &a.gx, &a.beta, &a.gamma, &a.mean_out, &a.rstd_out},
      a.y_out,
      [&](Plan& part, const auto& in, const Operand& sum) { Add(part, kWide, in[1], in[0], factor, sum); },
      [&](Plan& part, const auto& in, const Operand& sum, const Operand& to) {
        const Shape last = a.gamma.shape();
        LayerNorm(part, kWide, sum, {last.data(), static_cast<size_t>(last.rank())}, in[3], in[2], a.epsilon,
                  to, in[4], in[5]);
      });
}

void DeepNormGrad(Plan& plan, DType, const DeepNormGradArguments& a) {
  CheckLastSizes(a.gamma, a.x);
  for (const Operand* o : {&a.dy, &a.gx, &a.dx_out, &a.dgx_out}) {
    CheckShape(*o, a.x.shape());
    CheckSameType(a.x, *o);
  }
  CheckSameType(a.x, a.gamma);
  for (const Operand* o : {&a.dbeta_out, &a.dgamma_out}) CheckShape(*o, a.gamma.shape());
  if (a.x.tensor->empty())
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} has no elements; this gradient needs some", a.x.name);
  const int64_t length = a.gamma.tensor->count(), rows = a.x.tensor->count() / length;
  for (const Operand* o : {&a.mean, &a.rstd}) CheckElements(*o, rows);
  const NormSlices slices{rows, 1, 1, length, length, length, length};
  const Scalar factor(&a.alpha, DType::kF64);
  const tensor::Tensor wide = tensor::PackedOf(kWide, a.x.shape());
  // The other results are results of the steps.
  PlanThrough(
      plan, wide, {&a.dy, &a.x, &a.gx, &a.gamma, &a.mean, &a.rstd, &a.dx_out, &a.dbeta_out, &a.dgamma_out},
      a.dgx_out,
      [&](Plan& part, const auto& of, const Operand& slope) {
        PlanThrough(
            part, wide, {&of[0], &of[1], &of[2], &of[3], &of[4], &of[5], &of[7], &of[8]}, slope,
            [&](Plan& step, const auto& in, const Operand& sum) {
              Add(step, kWide, in[2], in[1], factor, sum);
            },
            [&](Plan& step, const auto& in, const Operand& sum, const Operand& to) {
              PlanNormGradient(
                  step, {in[0], sum, in[4], in[5], in[3], to, in[7], in[6], slices, NormWeight::kElement});
            });
      },
      [&](Plan& part, const auto& of, const Operand& slope, const Operand& to) {
        Sequence steps(part);
        steps.Add([&](Plan& step) { Copy(step, kWide, slope, to); });
        steps.Add([&](Plan& step) { Mul(step, kWide, slope, {nullptr, &factor, -1, "alpha"}, of[6]); });
        steps.Finish();
      });
}

}  // namespace belay::ops::kernels
