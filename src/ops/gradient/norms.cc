// The gradients of normalisations as programs call them.
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "ops/elementwise/unlisted.h"
#include "ops/gradient/checks.h"
#include "ops/gradient/norm_gradient.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

using tensor::kInvalidArgument;

void CheckGradient(const Operand& grad, const Operand& x) {
  CheckShape(grad, x.shape());
  CheckSameType(grad, x);
}

// The product of sizes [first, end).
int64_t CountOver(const Shape& shape, int first, int end) {
  int64_t count = 1;
  for (int d = first; d < end; ++d) count *= shape[d];
  return count;
}

// Rows of so many elements, and what belongs to them.
NormSlices Rows(int64_t rows, int64_t length) { return {rows, 1, 1, length, length, length, length}; }

}  // namespace

void LayerNormBackward(Plan& plan, DType, const LayerNormBackwardArguments& a) {
  const Shape& shape = a.input.shape();
  const auto dims = static_cast<int>(a.normalized_shape.size());
  if (dims == 0 || dims > shape.rank() ||
      !std::equal(a.normalized_shape.begin(), a.normalized_shape.end(), shape.end() - dims)) {
    Fail(kInvalidArgument, "op-norm-shape",
         "normalizedShape has {} sizes; it repeats the last sizes of {} {}", dims, a.input.name,
         shape.ToString());
  }
  if (a.input.tensor->empty()) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} has no elements; this gradient needs some", a.input.name,
         shape.ToString());
  }
  CheckGradient(a.grad_out, a.input);
  const int64_t rows = CountOver(shape, 0, shape.rank() - dims),
                length = CountOver(shape, shape.rank() - dims, shape.rank());
  Operand results[] = {a.grad_input, a.grad_weight, a.grad_bias};
  SelectResults(a.output_mask, results);
  if (results[0].present()) CheckShape(results[0], shape);
  for (const Operand& o : {a.mean, a.rstd}) CheckElements(o, rows);
  for (const Operand& o : {a.weight, results[1], results[2]}) CheckElements(o, length);
  PlanNormGradient(plan, {.grad = a.grad_out,
                          .x = a.input,
                          .mean = a.mean,
                          .rstd = a.rstd,
                          .weight = a.weight,
                          .grad_x = results[0],
                          .grad_weight = results[1],
                          .grad_bias = results[2],
                          .slices = Rows(rows, length),
                          .weight_of = NormWeight::kElement});
}

namespace {

// Of x1 + x2, by both.
void PlanAddNormGradient(Plan& plan, const AddLayerNormGradArguments& a, const NormSlices& slices) {
  // The other results are results of the second step.
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, a.x1.shape()),
      {&a.x1, &a.x2, &a.dy, &a.mean, &a.rstd, &a.gamma, &a.dgamma_out, &a.dbeta_out}, a.dx_out,
      [&](Plan& part, const auto& in, const Operand& sum) { Plus(part, DType::kF32, in[0], in[1], sum); },
      [&](Plan& part, const auto& in, const Operand& sum, const Operand& to) {
        PlanNormGradient(part, {.grad = in[2],
                                .x = sum,
                                .mean = in[3],
                                .rstd = in[4],
                                .weight = in[5],
                                .grad_x = to,
                                .grad_weight = in[6],
                                .grad_bias = in[7],
                                .slices = slices,
                                .weight_of = NormWeight::kElement});
      });
}

}  // namespace

void AddLayerNormGrad(Plan& plan, DType, const AddLayerNormGradArguments& a) {
  const Shape &shape = a.x1.shape(), &last = a.gamma.shape();
  const int dims = last.rank();
  if (dims == 0 || dims > shape.rank() || !std::equal(last.begin(), last.end(), shape.end() - dims)) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} does not have the last sizes of {} {}", a.gamma.name,
         last.ToString(), a.x1.name, shape.ToString());
  }
  if (a.x1.tensor->empty())
    Fail(kInvalidArgument, "op-norm-shape", "{} has no elements; this gradient needs some", a.x1.name);
  for (const Operand* o : {&a.dy, &a.x2, &a.dx_out}) CheckShape(*o, shape);
  for (const Operand* o : {&a.dgamma_out, &a.dbeta_out}) CheckShape(*o, last);
  const int64_t rows = CountOver(shape, 0, shape.rank() - dims), length = a.gamma.tensor->count();
  for (const Operand* o : {&a.mean, &a.rstd}) CheckElements(*o, rows);
  const NormSlices slices = Rows(rows, length);
  if (!a.dsum.present()) return PlanAddNormGradient(plan, a, slices);
  CheckShape(a.dsum, shape);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, shape),
      {&a.dy, &a.x1, &a.x2, &a.rstd, &a.mean, &a.gamma, &a.dsum, &a.dgamma_out, &a.dbeta_out}, a.dx_out,
      [&](Plan& part, const auto& in, const Operand& between) {
        PlanAddNormGradient(part,
                            {.dy = in[0],
                             .x1 = in[1],
                             .x2 = in[2],
                             .rstd = in[3],
                             .mean = in[4],
                             .gamma = in[5],
                             .dx_out = between,
                             .dgamma_out = in[7],
                             .dbeta_out = in[8]},
                            slices);
      },
      [&](Plan& part, const auto& in, const Operand& between, const Operand& to) {
        Plus(part, DType::kF32, between, in[6], to);
      });
}

void RmsNormGrad(Plan& plan, DType, const Operand& dy, const Operand& x, const Operand& rstd,
                 const Operand& gamma, const Operand& dx, const Operand& dgamma) {
  const Shape& shape = x.shape();
  const Shape& last = gamma.shape();
  const int dims = last.rank();
  if (dims == 0 || dims > shape.rank() || !std::equal(last.begin(), last.end(), shape.end() - dims)) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} does not have the last sizes of {} {}", gamma.name,
         last.ToString(), x.name, shape.ToString());
  }
  CheckGradient(dy, x);
  CheckShape(dx, shape);
  CheckShape(dgamma, last);
  const int64_t rows = CountOver(shape, 0, shape.rank() - dims), length = gamma.tensor->count();
  CheckElements(rstd, rows);
  PlanNormGradient(plan, {.grad = dy,
                          .x = x,
                          .mean = {},
                          .rstd = rstd,
                          .weight = gamma,
                          .grad_x = dx,
                          .grad_weight = dgamma,
                          .grad_bias = {},
                          .slices = Rows(rows, length),
                          .weight_of = NormWeight::kElement});
}

void GroupNormBackward(Plan& plan, DType, const GroupNormBackwardArguments& a) {
  if (a.n < 0 || a.c < 0 || a.hx_w < 0 || a.group < 1 || a.c % a.group != 0) {
    Fail(kInvalidArgument, "op-norm-shape", "{} channels cannot be cut into {} groups", a.c, a.group);
  }
  const std::optional<int64_t> count = tensor::CheckedCount(std::array{a.n, a.c, a.hx_w});
  if (!count) Fail(kInvalidArgument, "op-norm-shape", "N {}, C {} and HxW {} are too many", a.n, a.c, a.hx_w);
  for (const Operand& o : {a.grad_out, a.input}) CheckElements(o, *count);  // their shapes do not matter
  CheckSameType(a.grad_out, a.input);
  Operand results[] = {a.grad_input, a.grad_gamma_out, a.grad_beta_out};
  SelectResults(a.output_mask, results);
  if (results[0].present()) CheckShape(results[0], a.input.shape());
  for (const Operand& o : {a.mean, a.rstd}) CheckElements(o, a.n * a.group);
  for (const Operand& o : {a.gamma, results[1], results[2]}) CheckElements(o, a.c);
  const int64_t runs = a.c / a.group;
  PlanNormGradient(plan, {.grad = a.grad_out,
                          .x = a.input,
                          .mean = a.mean,
                          .rstd = a.rstd,
                          .weight = a.gamma,
                          .grad_x = results[0],
                          .grad_weight = results[1],
                          .grad_bias = results[2],
                          .slices = {a.n, a.group, runs, a.hx_w, a.c * a.hx_w, runs * a.hx_w, a.hx_w},
                          .weight_of = NormWeight::kRun});
}

void BatchNormBackward(Plan& plan, DType, const BatchNormBackwardArguments& a) {
  const Shape& shape = a.input.shape();
  if (shape.rank() < 2) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} has no dimension of channels", a.input.name,
         shape.ToString());
  }
  CheckGradient(a.grad_out, a.input);
  const Operand &mean = a.training ? a.save_mean : a.running_mean,
                &spread = a.training ? a.save_invstd : a.running_var;
  if (!mean.present() || !spread.present()) {
    Fail(tensor::kNullArgument, "op-masked-result", "{} and {} are needed when training is {}", mean.name,
         spread.name, a.training);
  }
  Operand results[] = {a.grad_input, a.grad_weight, a.grad_bias};
  SelectResults(a.output_mask, results);
  if (results[0].present()) CheckShape(results[0], shape);
  const int64_t channels = shape[1], positions = CountOver(shape, 2, shape.rank());
  for (const Operand& o : {a.weight, mean, spread, results[1], results[2]}) CheckElements(o, channels);
  PlanNormGradient(plan, {.grad = a.grad_out,
                          .x = a.input,
                          .mean = mean,
                          .rstd = spread,
                          .weight = a.weight,
                          .grad_x = results[0],
                          .grad_weight = results[1],
                          .grad_bias = results[2],
                          .slices = {1, channels, shape[0], positions, 0, positions, channels * positions},
                          .weight_of = NormWeight::kSlice,
                          .constant_statistics = !a.training,
                          .epsilon = a.training ? -1 : a.eps});
}

}  // namespace belay::ops::kernels
