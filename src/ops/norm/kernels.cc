// The normalisations as programs call them.
#include "ops/kernels.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/elementwise/unlisted.h"
#include "ops/layout/checks.h"
#include "ops/norm/normalise.h"
#include "ops/rules.h"
#include "ops/sequence.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace kernels {
namespace {

using Dims = std::span<const int64_t>;

// The last `count` dimensions.
uint32_t LastDims(int rank, int count) { return ((1u << count) - 1) << (rank - count); }

int64_t CountOver(const Shape& shape, uint32_t mask, bool inside) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (((mask >> i & 1) != 0) == inside) count *= shape[i];
  }
  return count;
}

// Its sizes are those of `like` from `first` on, but for ones.
void CheckSizes(const Operand& operand, const Shape& like, int first) {
  const Shape& shape = operand.shape();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1 || (first + i < like.rank() && shape[i] == like[first + i])) continue;
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} has shape {}, which are no sizes of {}", operand.name,
         shape.ToString(), like.ToString());
  }
}

// Views that live as long as a plan is made.
struct Views {
  Tensor tensors[4];
  int used = 0;

  Operand Of(const Operand& operand, const Shape& like, int first) {
    if (!operand.present()) return {};
    CheckSizes(operand, like, first);
    Tensor& view = tensors[used++];
    view = Spread(*operand.tensor, like, first);
    return {&view, nullptr, operand.binding, operand.name};
  }
};

// Weights have the last dimensions, statistics the others.
void NormaliseLast(Plan& plan, const Normalisation& how, DType compute, const NormOperands& given, int dims) {
  const Shape& shape = given.x.shape();
  uint32_t mask = LastDims(shape.rank(), dims);
  CheckElements(given.weight, CountOver(shape, mask, true));
  CheckElements(given.bias, CountOver(shape, mask, true));
  CheckElements(given.shift, CountOver(shape, mask, false));
  CheckElements(given.factor, CountOver(shape, mask, false));
  Views views;
  NormOperands operands = given;
  operands.weight = views.Of(given.weight, shape, shape.rank() - dims);
  operands.bias = views.Of(given.bias, shape, shape.rank() - dims);
  operands.shift = views.Of(given.shift, shape, 0);
  operands.factor = views.Of(given.factor, shape, 0);
  PlanNormalise(plan, how, compute, operands, mask);
}

}  // namespace

void LayerNorm(Plan& plan, DType compute, const Operand& input, Dims normalized, const Operand& weight,
               const Operand& bias, double eps, const Operand& out, const Operand& mean,
               const Operand& rstd) {
  const Shape& shape = input.shape();
  auto dims = static_cast<int>(normalized.size());
  if (dims == 0 || dims > shape.rank() ||
      !std::equal(normalized.begin(), normalized.end(), shape.end() - dims)) {
    Fail(tensor::kInvalidArgument, "op-norm-shape",
         "normalizedShape has {} sizes; it repeats the last sizes of {} {}", dims, input.name,
         shape.ToString());
  }
  NormaliseLast(plan, {.epsilon = eps}, compute, {input, out, weight, bias, mean, rstd}, dims);
}

void RmsNorm(Plan& plan, DType compute, const Operand& x, const Operand& gamma, double epsilon,
             const Operand& out, const Operand& rstd) {
  int dims = std::min(gamma.shape().rank(), x.shape().rank());
  Normalisation how{.statistic = Statistic::kMeanSquare, .epsilon = epsilon};
  NormaliseLast(plan, how, compute, {x, out, gamma, {}, {}, rstd}, dims);
}

void AddRmsNorm(Plan& plan, DType compute, const Operand& x1, const Operand& x2, const Operand& gamma,
                double epsilon, const Operand& out, const Operand& rstd, const Operand& sum) {
  if (sum.shape() != x1.shape() || x2.shape() != x1.shape()) {
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{}, {} and {} do not have one shape", x1.name, x2.name,
         sum.name);
  }
  Sequence parts(plan);
  parts.Add([&](Plan& part) { Plus(part, compute, x1, x2, sum); });
  parts.Add([&](Plan& part) { RmsNorm(part, compute, sum, gamma, epsilon, out, rstd); });
  parts.Finish();
}

void GemmaRmsNorm(Plan& plan, DType, const Operand& x, const Operand& gamma, double epsilon,
                  const Operand& out, const Operand& rstd) {
  const int64_t whole = 1;
  const Scalar one(&whole, DType::kI64);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, gamma.shape()), {&x, &gamma, &rstd},
      out,  // rstd: a result of the second step
      [&](Plan& part, const auto& in, const Operand& factor) {
        Plus(part, DType::kF32, in[1], {nullptr, &one, -1, "one"}, factor);
      },
      [&](Plan& part, const auto& in, const Operand& factor, const Operand& to) {
        RmsNorm(part, DType::kF32, in[0], factor, epsilon, to, in[2]);
      });
}

void AddLayerNorm(Plan& plan, DType, const AddLayerNormArguments& a) {
  const Shape& shape = a.x1.shape();
  CheckShape(a.x2, shape);
  for (const Operand* o : {&a.y_out, &a.x_out}) {
    if (!o->present()) continue;
    CheckShape(*o, shape);
    const DType wanted = a.x1.dtype() == a.x2.dtype() ? a.x1.dtype() : DType::kF32;
    if (o->dtype() != wanted) {
      Fail(tensor::kInvalidArgument, "op-out-dtype", "{} is {}; of {} and {} it is {}", o->name,
           NameOf(o->dtype()), NameOf(a.x1.dtype()), NameOf(a.x2.dtype()), NameOf(wanted));
    }
  }
  if (a.additional_out && !a.x_out.present())
    Fail(tensor::kNullArgument, "op-masked-result", "{} is null; additionalOut asks for it", a.x_out.name);
  if (a.bias.present()) rules::BroadcastOnto(a.x1, a.bias);
  // The statistics and the sum are results of the second step.
  std::vector<const Operand*> among = {&a.x1, &a.x2, &a.gamma, &a.beta, &a.mean_out, &a.rstd_out};
  const size_t bias_at = among.size();
  if (a.bias.present()) among.push_back(&a.bias);
  const size_t x_at = among.size();
  if (a.additional_out) among.push_back(&a.x_out);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, shape), among, a.y_out,
      [&](Plan& part, const auto& in, const Operand& sum) {
        Sequence steps(part);
        steps.Add([&](Plan& step) { Plus(step, DType::kF32, in[0], in[1], sum); });
        if (a.bias.present()) steps.Add([&](Plan& step) { Plus(step, DType::kF32, sum, in[bias_at], sum); });
        steps.Finish();
      },
      [&](Plan& part, const auto& in, const Operand& sum, const Operand& to) {
        const Shape last = a.gamma.shape();
        Sequence steps(part);
        steps.Add([&](Plan& step) {
          LayerNorm(step, DType::kF32, sum, {last.data(), static_cast<size_t>(last.rank())}, in[2], in[3],
                    a.epsilon, to, in[4], in[5]);
        });
        if (a.additional_out) steps.Add([&](Plan& step) { Copy(step, DType::kF32, sum, in[x_at]); });
        steps.Finish();
      });
}

namespace {

// Dimension 1 as two: groups, and the channels of one.
Tensor Grouped(const Tensor& t, int64_t groups) {
  Tensor view = t;
  view.shape = {t.shape[0], groups, t.shape[1] / groups};
  view.strides = {t.strides[0], t.strides[1] * (t.shape[1] / groups), t.strides[1]};
  for (int i = 2; i < t.shape.rank(); ++i) {
    view.shape.push_back(t.shape[i]);
    view.strides.push_back(t.strides[i]);
  }
  return view;
}

// A weight for each channel or group, as a view of what Grouped gives.
Tensor GroupedWeight(const Operand& weight, const Shape& like, bool per_group) {
  Tensor view = *weight.tensor;
  int64_t step = view.shape.rank() == 0 ? 0 : view.strides[view.shape.rank() - 1];
  view.shape = like;
  view.strides = Shape::Filled(like.rank(), 0);
  view.strides[1] = per_group ? step : step * like[2];
  view.strides[2] = per_group ? 0 : step;
  return view;
}

}  // namespace

void GroupNorm(Plan& plan, DType compute, const GroupNormArguments& a) {
  PlanGroupNorm(plan, a.eps, compute, {a.self, a.out, a.gamma, a.beta, a.mean_out, a.rstd_out}, a.group,
                false);
}

void GroupNormSilu(Plan& plan, DType, const Operand& self, const Operand& gamma, const Operand& beta,
                   int64_t group, double eps, const Operand& out, const Operand& mean, const Operand& rstd) {
  CheckShape(out, self.shape());
  CheckSameType(self, out);
  std::vector<const Operand*> among = {&self, &mean, &rstd};  // the statistics are results of the first step
  const size_t gamma_at = among.size();
  if (gamma.present()) among.push_back(&gamma);
  const size_t beta_at = among.size();
  if (beta.present()) among.push_back(&beta);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, self.shape()), among, out,
      [&](Plan& part, const auto& in, const Operand& between) {
        PlanGroupNorm(part, eps, DType::kF32,
                      {in[0], between, gamma.present() ? in[gamma_at] : Operand{},
                       beta.present() ? in[beta_at] : Operand{}, in[1], in[2]},
                      group, false);
      },
      [&](Plan& part, const auto&, const Operand& between, const Operand& to) {
        Silu(part, DType::kF32, between, to);
      });
}

namespace {

// running = (1 - momentum) * running + momentum * what this batch has, which the normalisation has left in
// the workspace; the variance without its bias.
struct UpdateBody {
  int binding;
  DType type;
  int64_t offset, step;  // bytes
  int64_t channels;
  double momentum, correction;
  bool variance;

  void operator()(const Frame& frame) const {
    const auto* moments = reinterpret_cast<const SliceMoments*>(frame.workspace);
    for (int64_t c = 0; c < channels; ++c) {
      double old;
      char* running = frame.at[binding] + offset + c * step;
      Convert(DType::kF64, &old, type, running, 1);
      const double now = variance ? moments[c].variance * correction : moments[c].mean;
      double value = (1 - momentum) * old + momentum * now;
      Convert(type, running, DType::kF64, &value, 1);
    }
  }
};

void AddUpdate(Sequence& parts, const Operand& running, const UpdateBody& shared, bool variance) {
  if (!running.present()) return;
  UpdateBody body = shared;
  body.binding = running.binding;
  body.type = running.dtype();
  const auto size = static_cast<int64_t>(BytesOf(body.type));
  body.offset = running.tensor->offset * size;
  body.step = running.tensor->strides[0] * size;
  body.variance = variance;
  parts.Add([&](Plan& part) { part.SetBody(body); });
}

void CheckChannels(const Operand& operand, int64_t channels) {
  if (!operand.present()) return;
  CheckElements(operand, channels);
  if (operand.shape().rank() != 1) {
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} needs one dimension", operand.name,
         operand.shape().ToString());
  }
}

}  // namespace

void BatchNorm(Plan& plan, DType compute, const BatchNormArguments& a) {
  const Shape& shape = a.input.shape();
  if (shape.rank() < 2) {
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} has no dimension of channels", a.input.name,
         shape.ToString());
  }
  for (const Operand* o : {&a.weight, &a.bias, &a.running_mean, &a.running_var}) CheckChannels(*o, shape[1]);
  if (!a.training) {
    return PlanChannelNorm(plan, a.eps, compute,
                           {a.input, a.out, a.weight, a.bias, a.running_mean, a.running_var}, 1);
  }
  CheckChannels(a.save_mean, shape[1]);
  CheckChannels(a.save_invstd, shape[1]);
  Views weights, statistics;
  NormOperands operands{a.input,
                        a.out,
                        weights.Of(a.weight, shape, 1),
                        weights.Of(a.bias, shape, 1),
                        statistics.Of(a.save_mean, shape, 1),
                        statistics.Of(a.save_invstd, shape, 1)};
  uint32_t mask = LastDims(shape.rank(), shape.rank()) & ~2u;
  auto count = static_cast<double>(shape[1] == 0 ? 0 : a.input.tensor->count() / shape[1]);
  UpdateBody update{};
  update.channels = shape[1];
  update.momentum = a.momentum;
  update.correction = count > 1 ? count / (count - 1) : 1;
  Sequence parts(plan);
  const bool kept = !a.input.tensor->empty() && (a.running_mean.present() || a.running_var.present());
  parts.Add(
      [&](Plan& part) { PlanNormalise(part, {.epsilon = a.eps, .kept = kept}, compute, operands, mask); });
  if (kept) {
    AddUpdate(parts, a.running_mean, update, false);
    AddUpdate(parts, a.running_var, update, true);
  }
  parts.Finish();
}

}  // namespace kernels

void PlanGroupNorm(Plan& plan, double epsilon, DType compute, const NormOperands& given, int64_t groups,
                   bool per_group) {
  using namespace kernels;  // NOLINT: the helpers above
  const Shape& shape = given.x.shape();
  if (shape.rank() < 2 || shape.rank() >= tensor::kMaxRank || groups <= 0 || shape[1] % groups != 0) {
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} cannot be cut into {} groups of channels",
         given.x.name, shape.ToString(), groups);
  }
  CheckElements(given.weight, per_group ? groups : shape[1]);
  CheckElements(given.bias, per_group ? groups : shape[1]);
  CheckElements(given.shift, shape[0] * groups);
  CheckElements(given.factor, shape[0] * groups);
  Tensor x = Grouped(*given.x.tensor, groups), y = Grouped(*given.out.tensor, groups), weight, bias;
  auto view = [](const Tensor& tensor, const Operand& of) {
    return Operand{&tensor, nullptr, of.binding, of.name};
  };
  NormOperands operands{view(x, given.x), view(y, given.out), {}, {}, {}, {}};
  if (given.weight.present())
    weight = GroupedWeight(given.weight, x.shape, per_group), operands.weight = view(weight, given.weight);
  if (given.bias.present())
    bias = GroupedWeight(given.bias, x.shape, per_group), operands.bias = view(bias, given.bias);
  Views views;
  operands.shift = views.Of(given.shift, x.shape, 0);
  operands.factor = views.Of(given.factor, x.shape, 0);
  PlanNormalise(plan, {.epsilon = epsilon}, compute, operands, LastDims(x.shape.rank(), x.shape.rank() - 2));
}

}  // namespace belay::ops
