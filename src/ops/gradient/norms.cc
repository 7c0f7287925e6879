// The gradients of normalisations as programs call them.
#include <algorithm>

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

void LayerNormBackward(Plan& plan, DType, const Operand& gradOut, const Operand& input,
                       std::span<const int64_t> normalizedShape, const Operand& mean, const Operand& rstd,
                       const Operand& weight, const Operand&, std::span<const uint8_t> outputMask,
                       const Operand& gradInput, const Operand& gradWeight, const Operand& gradBias) {
  const Shape& shape = input.shape();
  const auto dims = static_cast<int>(normalizedShape.size());
  if (dims == 0 || dims > shape.rank() ||
      !std::equal(normalizedShape.begin(), normalizedShape.end(), shape.end() - dims)) {
    Fail(kInvalidArgument, "op-norm-shape",
         "normalizedShape has {} sizes; it repeats the last sizes of {} {}", dims, input.name,
         shape.ToString());
  }
  if (input.tensor->empty()) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} has no elements; this gradient needs some", input.name,
         shape.ToString());
  }
  CheckGradient(gradOut, input);
  const int64_t rows = CountOver(shape, 0, shape.rank() - dims),
                length = CountOver(shape, shape.rank() - dims, shape.rank());
  Operand results[] = {gradInput, gradWeight, gradBias};
  SelectResults(outputMask, results);
  if (results[0].present()) CheckShape(results[0], shape);
  for (const Operand& o : {mean, rstd}) CheckElements(o, rows);
  for (const Operand& o : {weight, results[1], results[2]}) CheckElements(o, length);
  PlanNormGradient(plan, {gradOut, input, mean, rstd, weight, results[0], results[1], results[2],
                          Rows(rows, length), NormWeight::kElement});
}

namespace {

// Of x1 + x2, by both.
void PlanAddNormGradient(Plan& plan, const Operand& dy, const Operand& x1, const Operand& x2,
                         const Operand& rstd, const Operand& mean, const Operand& gamma,
                         const NormSlices& slices, const Operand& dx, const Operand& dgamma,
                         const Operand& dbeta) {
  // The other results are results of the second step.
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, x1.shape()), {&x1, &x2, &dy, &mean, &rstd, &gamma, &dgamma, &dbeta},
      dx, [&](Plan& part, const auto& in, const Operand& sum) { Plus(part, DType::kF32, in[0], in[1], sum); },
      [&](Plan& part, const auto& in, const Operand& sum, const Operand& to) {
        PlanNormGradient(part,
                         {in[2], sum, in[3], in[4], in[5], to, in[6], in[7], slices, NormWeight::kElement});
      });
}

}  // namespace

void AddLayerNormGrad(Plan& plan, DType, const Operand& dy, const Operand& x1, const Operand& x2,
                      const Operand& rstd, const Operand& mean, const Operand& gamma, const Operand& dsum,
                      const Operand& dx, const Operand& dgamma, const Operand& dbeta) {
  const Shape &shape = x1.shape(), &last = gamma.shape();
  const int dims = last.rank();
  if (dims == 0 || dims > shape.rank() || !std::equal(last.begin(), last.end(), shape.end() - dims)) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} does not have the last sizes of {} {}", gamma.name,
         last.ToString(), x1.name, shape.ToString());
  }
  if (x1.tensor->empty())
    Fail(kInvalidArgument, "op-norm-shape", "{} has no elements; this gradient needs some", x1.name);
  for (const Operand* o : {&dy, &x2, &dx}) CheckShape(*o, shape);
  for (const Operand* o : {&dgamma, &dbeta}) CheckShape(*o, last);
  const int64_t rows = CountOver(shape, 0, shape.rank() - dims), length = gamma.tensor->count();
  for (const Operand* o : {&mean, &rstd}) CheckElements(*o, rows);
  const NormSlices slices = Rows(rows, length);
  if (!dsum.present())
    return PlanAddNormGradient(plan, dy, x1, x2, rstd, mean, gamma, slices, dx, dgamma, dbeta);
  CheckShape(dsum, shape);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, shape),
      {&dy, &x1, &x2, &rstd, &mean, &gamma, &dsum, &dgamma, &dbeta}, dx,
      [&](Plan& part, const auto& in, const Operand& between) {
        PlanAddNormGradient(part, in[0], in[1], in[2], in[3], in[4], in[5], slices, between, in[7], in[8]);
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
  PlanNormGradient(plan, {dy, x, {}, rstd, gamma, dx, dgamma, {}, Rows(rows, length), NormWeight::kElement});
}

void GroupNormBackward(Plan& plan, DType, const Operand& gradOut, const Operand& input, const Operand& mean,
                       const Operand& rstd, const Operand& gamma, int64_t N, int64_t C, int64_t HxW,
                       int64_t group, std::span<const uint8_t> outputMask, const Operand& gradInput,
                       const Operand& gradGamma, const Operand& gradBeta) {
  if (N < 0 || C < 0 || HxW < 0 || group < 1 || C % group != 0) {
    Fail(kInvalidArgument, "op-norm-shape", "{} channels cannot be cut into {} groups", C, group);
  }
  for (const Operand& o : {gradOut, input}) CheckElements(o, N * C * HxW);
  CheckGradient(gradOut, input);
  Operand results[] = {gradInput, gradGamma, gradBeta};
  SelectResults(outputMask, results);
  if (results[0].present()) CheckShape(results[0], input.shape());
  for (const Operand& o : {mean, rstd}) CheckElements(o, N * group);
  for (const Operand& o : {gamma, results[1], results[2]}) CheckElements(o, C);
  const int64_t runs = C / group;
  PlanNormGradient(plan, {gradOut,
                          input,
                          mean,
                          rstd,
                          gamma,
                          results[0],
                          results[1],
                          results[2],
                          {N, group, runs, HxW, C * HxW, runs * HxW, HxW},
                          NormWeight::kRun});
}

void BatchNormBackward(Plan& plan, DType, const Operand& gradOut, const Operand& input, const Operand& weight,
                       const Operand& runningMean, const Operand& runningVar, const Operand& saveMean,
                       const Operand& saveInvstd, bool training, double eps,
                       std::span<const uint8_t> outputMask, const Operand& gradInput,
                       const Operand& gradWeight, const Operand& gradBias) {
  const Shape& shape = input.shape();
  if (shape.rank() < 2) {
    Fail(kInvalidArgument, "op-norm-shape", "{} {} has no dimension of channels", input.name,
         shape.ToString());
  }
  CheckGradient(gradOut, input);
  const Operand &mean = training ? saveMean : runningMean, &spread = training ? saveInvstd : runningVar;
  if (!mean.present() || !spread.present()) {
    Fail(tensor::kNullArgument, "op-masked-result", "{} and {} are needed when training is {}", mean.name,
         spread.name, training);
  }
  Operand results[] = {gradInput, gradWeight, gradBias};
  SelectResults(outputMask, results);
  if (results[0].present()) CheckShape(results[0], shape);
  const int64_t channels = shape[1], positions = CountOver(shape, 2, shape.rank());
  for (const Operand& o : {weight, mean, spread, results[1], results[2]}) CheckElements(o, channels);
  PlanNormGradient(plan, {gradOut,
                          input,
                          mean,
                          spread,
                          weight,
                          results[0],
                          results[1],
                          results[2],
                          {1, channels, shape[0], positions, 0, positions, channels * positions},
                          NormWeight::kSlice,
                          !training,
                          training ? -1 : eps});
}

}  // namespace belay::ops::kernels
