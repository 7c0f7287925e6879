// Group norms followed by a swish, and their gradients.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/elementwise/gradients.h"
#include "ops/gradient/checks.h"
#include "ops/gradient/norm_gradient.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/norm/normalise.h"
#include "ops/packed_floats.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// The gradient of what the swish was applied to, which is made again from the statistics.
struct SwishSlopeBody {
  PackedFloats dy, x, mean, rstd, gamma, beta, out;
  int64_t rows, channels, groups, positions;  // a row: the positions of one channel of a member
  LoopAttributes scale;

  void operator()(const Frame& frame) const {
    const float *g = dy.Load(frame), *from = x.Load(frame), *middle = mean.Load(frame),
                *factor = rstd.Load(frame), *weight = gamma.Load(frame), *bias = beta.Load(frame);
    float* to = out.Begin(frame);
    const PointwiseLoop slope = SwishGradLoops().f32;
    ParallelFor(rows, std::max<int64_t>(1, 16 * 1024 / std::max<int64_t>(positions, 1)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t r = begin; r < end; ++r) {
                    const int64_t c = r % channels, at = r * positions;
                    const int64_t group = r / channels * groups + c / (channels / groups);
                    float* z = to + at;
                    for (int64_t i = 0; i < positions; ++i)
                      z[i] = (from[at + i] - middle[group]) * (factor[group] * weight[c]) + bias[c];
                    const void* in[] = {g + at, z};
                    slope(z, in, scale, positions);
                  }
                });
    out.Finish(frame);
  }
};

struct SwishGradientArgs {
  Operand dy, mean, rstd, x, gamma, beta, dx;
  Operand dgamma, dbeta;  // where they are wanted
  int64_t groups;
  double scale;
};

void PlanSwishGradient(Plan& plan, const SwishGradientArgs& args) {
  const Shape& shape = args.x.shape();
  int64_t positions = 1;
  for (int d = 2; d < shape.rank(); ++d) positions *= shape[d];
  const int64_t channels = shape[1], runs = channels / args.groups;
  std::vector<const Operand*> among = {&args.dy, &args.mean, &args.rstd, &args.x, &args.gamma, &args.beta};
  // These are results of the second step.
  const size_t gamma_at = among.size();
  if (args.dgamma.present()) among.push_back(&args.dgamma);
  const size_t beta_at = among.size();
  if (args.dbeta.present()) among.push_back(&args.dbeta);
  const NormSlices slices{shape[0],         args.groups, runs, positions, channels * positions,
                          runs * positions, positions};
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, shape), among, args.dx,
      [&](Plan& part, const auto& in, const Operand& slope) {
        const auto read = [&](size_t i) { return PackedFloats(in[i], Flow::kIn, part); };
        SwishSlopeBody body{.dy = read(0),
                            .x = read(3),
                            .mean = read(1),
                            .rstd = read(2),
                            .gamma = read(4),
                            .beta = read(5),
                            .out = {slope, Flow::kOut, part},
                            .rows = shape[0] * channels,
                            .channels = channels,
                            .groups = args.groups,
                            .positions = positions,
                            .scale = LoopAttributes({args.scale})};
        part.SetCost(100 + static_cast<uint64_t>(args.x.tensor->count()) * 4);
        part.SetBody(body);
      },
      [&](Plan& part, const auto& in, const Operand& slope, const Operand& to) {
        NormGradientArgs gradient{slope, in[3], in[1], in[2], in[4], to, {}, {}, slices, NormWeight::kRun};
        if (args.dgamma.present()) gradient.grad_weight = in[gamma_at];
        if (args.dbeta.present()) gradient.grad_bias = in[beta_at];
        PlanNormGradient(part, gradient);
      });
}

// In which order the dimensions lie: there is but one.
void CheckDataFormat(const char* format) {
  if (format == nullptr || std::string_view(format) == "NCHW") return;
  Fail(tensor::kInvalidArgument, "op-data-format", "dataFormatOptional is {}; only NCHW is supported",
       format);
}

void CheckGroups(const Operand& x, const Operand& gamma, const Operand& beta, int64_t groups) {
  const Shape& shape = x.shape();
  if (shape.rank() < 2 || groups < 1 || shape[1] % groups != 0) {
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} cannot be cut into {} groups of channels", x.name,
         shape.ToString(), groups);
  }
  for (const Operand* o : {&gamma, &beta}) CheckShape(*o, {shape[1]});
}

}  // namespace

namespace kernels {

void GroupNormSwish(Plan& plan, DType, const GroupNormSwishArguments& a) {
  CheckDataFormat(a.data_format);
  CheckGroups(a.x, a.gamma, a.beta, a.num_groups);
  CheckShape(a.y_out, a.x.shape());
  CheckSameType(a.x, a.y_out);
  for (const Operand* o : {&a.mean_out, &a.rstd_out}) CheckShape(*o, {a.x.shape()[0], a.num_groups});
  if (!a.activate_swish)
    return PlanGroupNorm(plan, a.eps, DType::kF32, {a.x, a.y_out, a.gamma, a.beta, a.mean_out, a.rstd_out},
                         a.num_groups, false);
  const Scalar scale(&a.swish_scale, DType::kF64);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, a.x.shape()), {&a.x, &a.gamma, &a.beta, &a.mean_out, &a.rstd_out},
      a.y_out,
      [&](Plan& part, const auto& in, const Operand& between) {  // the statistics are results of this step
        PlanGroupNorm(part, a.eps, DType::kF32, {in[0], between, in[1], in[2], in[3], in[4]}, a.num_groups,
                      false);
      },
      [&](Plan& part, const auto&, const Operand& between, const Operand& to) {
        Swish(part, DType::kF32, between, {nullptr, &scale, -1, "swishScale"}, to);
      });
}

void GroupNormSwishGrad(Plan& plan, DType, const GroupNormSwishGradArguments& a) {
  CheckDataFormat(a.data_format);
  CheckGroups(a.x, a.gamma, a.beta, a.num_groups);
  const Shape& shape = a.x.shape();
  for (const Operand* o : {&a.dy, &a.dx_out}) {
    CheckShape(*o, shape);
    CheckSameType(a.x, *o);
  }
  for (const Operand* o : {&a.mean, &a.rstd}) CheckElements(*o, shape[0] * a.num_groups);
  const Operand results[] = {AskedFor(a.dgamma_is_require, a.dgamma_out),
                             AskedFor(a.dbeta_is_require, a.dbeta_out)};
  for (const Operand& result : results) {
    if (result.present()) CheckShape(result, {shape[1]});
  }
  PlanSwishGradient(plan, {.dy = a.dy,
                           .mean = a.mean,
                           .rstd = a.rstd,
                           .x = a.x,
                           .gamma = a.gamma,
                           .beta = a.beta,
                           .dx = a.dx_out,
                           .dgamma = results[0],
                           .dbeta = results[1],
                           .groups = a.num_groups,
                           .scale = a.swish_scale});
}

}  // namespace kernels
}  // namespace belay::ops
