// Batch norms whose statistics several devices make together: what one tells the others, and what is made of
// all.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/elementwise/gradients.h"
#include "ops/gradient/checks.h"
#include "ops/gradient/norm_loops.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/norm/normalise.h"
#include "ops/packed_floats.h"
#include "ops/reduce/reduce.h"
#include "ops/sequence.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

void CheckPerChannel(const Operand& operand, int64_t channels) {
  if (operand.present()) CheckShape(operand, {channels});
}

// The channels of an input, which are its dimension 1.
int64_t ChannelsOf(const Operand& input) {
  if (input.shape().rank() >= 2) return input.shape()[1];
  Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} has no dimension of channels", input.name,
       input.shape().ToString());
}

uint32_t AllButChannels(const Operand& input) { return ((1u << input.shape().rank()) - 1) & ~2u; }

// How the elements of a channel lie in a packed tensor.
struct ChannelLayout {
  int64_t batch = 0, channels = 0, positions = 1;

  explicit ChannelLayout(const Shape& shape) : batch(shape[0]), channels(shape[1]) {
    for (int d = 2; d < shape.rank(); ++d) positions *= shape[d];
  }
  int64_t At(int64_t n, int64_t c) const { return (n * channels + c) * positions; }
  int64_t grain() const { return std::max<int64_t>(1, 16 * 1024 / std::max<int64_t>(1, batch * positions)); }
};

struct BackwardSumsBody {
  enum { kSumDy, kSumDyXmu, kGradWeight, kGradBias, kResults };

  ChannelLayout layout;
  PackedFloats grad, x, mean, invstd;
  PackedFloats results[kResults];

  void operator()(const Frame& frame) const {
    const float *g = grad.Load(frame), *from = x.Load(frame), *middle = mean.Load(frame),
                *inverse = invstd.Load(frame);
    float* to[kResults];
    for (int i = 0; i < kResults; ++i) to[i] = results[i].Begin(frame);
    ParallelFor(layout.channels, layout.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        NormSums sums;
        for (int64_t n = 0; n < layout.batch; ++n) {
          const int64_t at = layout.At(n, c);
          BestNormGradientLoops().sums(g + at, from + at, nullptr, middle[c], 1, layout.positions, &sums);
        }
        const double sum = sums.Total(0), product = sums.Total(1);
        const double values[kResults] = {sum, product, product * static_cast<double>(inverse[c]), sum};
        for (int i = 0; i < kResults; ++i) {
          if (to[i] != nullptr) to[i][c] = static_cast<float>(values[i]);
        }
      }
    });
    for (const PackedFloats& result : results) result.Finish(frame);
  }
};

struct BackwardElementsBody {
  ChannelLayout layout;
  PackedFloats grad, x, mean, invstd, weight, sum_dy, sum_dy_xmu, grad_x;
  PackedOperand counts;
  int64_t devices;

  void operator()(const Frame& frame) const {
    const float *g = grad.Load(frame), *from = x.Load(frame), *middle = mean.Load(frame),
                *inverse = invstd.Load(frame), *scale = weight.Load(frame), *sums = sum_dy.Load(frame),
                *products = sum_dy_xmu.Load(frame);
    const auto* of_devices = reinterpret_cast<const double*>(counts.Loaded(frame));
    double count = 0;
    for (int64_t i = 0; i < devices; ++i) count += of_devices[i];
    float* to = grad_x.Begin(frame);
    ParallelFor(layout.channels, layout.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const float w = scale == nullptr ? 1 : scale[c];
        const double share = static_cast<double>(w) / count;
        const float both[2] = {
            static_cast<float>(share * static_cast<double>(sums[c])),
            static_cast<float>(share * static_cast<double>(products[c]) * static_cast<double>(inverse[c]))};
        for (int64_t n = 0; n < layout.batch; ++n) {
          const int64_t at = layout.At(n, c);
          BestNormGradientLoops().apply(to + at, g + at, from + at, nullptr, w, middle[c], inverse[c], both,
                                        layout.positions);
        }
      }
    });
    grad_x.Finish(frame);
  }
};

// An operand that is read and written; it may be absent.
struct Running {
  PackedOperand before, after;

  Running() = default;
  Running(Plan& plan, const Operand& operand) {
    if (!operand.present()) return;
    before = {plan, operand, DType::kF64, false, true}, after = {plan, operand, DType::kF64, false, false};
  }
  // Nearer to what is now.
  void Update(const Frame& frame, double momentum, const double* now, int64_t channels) const {
    if (!before.present()) return;
    const auto* old = reinterpret_cast<const double*>(before.Loaded(frame));
    auto* to = reinterpret_cast<double*>(after.Result(frame));
    for (int64_t c = 0; c < channels; ++c) to[c] = (1 - momentum) * old[c] + momentum * now[c];
    after.Store(frame);
  }
};

// The statistics of all devices together, in f64: they are few.
struct GatherBody {
  PackedOperand first, second, counts, mean, invstd;  // [devices, channels], [devices], [channels]
  Running running_mean, running_variance;
  Scratch<double> variances;
  int64_t devices, channels;
  double momentum, epsilon;
  bool of_sums;  // first and second are sums and those of squares; else means and inverse deviations

  void operator()(const Frame& frame) const {
    const auto in = [&](const PackedOperand& from) {
      return reinterpret_cast<const double*>(from.Loaded(frame));
    };
    const double *a = in(first), *b = in(second), *count = in(counts);
    auto* means = reinterpret_cast<double*>(mean.Result(frame));
    auto* inverses = reinterpret_cast<double*>(invstd.Result(frame));
    double* unbiased = variances.At(frame);
    for (int64_t c = 0; c < channels; ++c) {
      double total = 0, middle = 0, squares = 0;  // squares: how far all are from the middle
      for (int64_t i = 0; i < devices; ++i) {
        of_sums ? AddSums(a[i * channels + c], b[i * channels + c], count[i], total, middle, squares)
                : AddStatistics(a[i * channels + c], b[i * channels + c], count[i], total, middle, squares);
      }
      if (of_sums) {
        middle /= total;
        squares -= total * middle * middle;
      }
      means[c] = middle;
      inverses[c] = 1 / std::sqrt(squares / total + epsilon);
      unbiased[c] = squares / (total - 1);
    }
    running_mean.Update(frame, momentum, means, channels);
    running_variance.Update(frame, momentum, unbiased, channels);
    mean.Store(frame);
    invstd.Store(frame);
  }

  static void AddSums(double sum, double square_sum, double n, double& total, double& middle,
                      double& squares) {
    total += n, middle += sum, squares += square_sum;
  }

  void AddStatistics(double own, double inverse, double n, double& total, double& middle,
                     double& squares) const {
    if (n == 0) return;
    const double deviation = 1 / inverse, away = own - middle, both = total + n;
    squares += (deviation * deviation - epsilon) * n + away * away * total * n / both;
    middle += away * n / both;
    total = both;
  }
};

struct GatherArgs {
  Operand first, second, counts, running_mean, running_variance, mean, invstd;
  double momentum, epsilon;
  bool of_sums;
};

void PlanGather(Plan& plan, const GatherArgs& args) {
  const Shape& shape = args.first.shape();
  if (shape.rank() != 2) {
    Fail(tensor::kInvalidArgument, "op-norm-shape", "{} {} needs a row for each device", args.first.name,
         shape.ToString());
  }
  CheckShape(args.second, shape);
  CheckElements(args.counts, shape[0]);
  for (const Operand* o : {&args.mean, &args.invstd, &args.running_mean, &args.running_variance})
    CheckPerChannel(*o, shape[1]);
  if (shape[1] == 0) return;
  GatherBody body{.first = {plan, args.first, DType::kF64, false, true},
                  .second = {plan, args.second, DType::kF64, false, true},
                  .counts = {plan, args.counts, DType::kF64, false, true},
                  .mean = {plan, args.mean, DType::kF64, false, false},
                  .invstd = {plan, args.invstd, DType::kF64, false, false},
                  .running_mean = {plan, args.running_mean},
                  .running_variance = {plan, args.running_variance},
                  .variances = {plan, shape[1]},
                  .devices = shape[0],
                  .channels = shape[1],
                  .momentum = args.momentum,
                  .epsilon = args.epsilon,
                  .of_sums = args.of_sums};
  plan.SetCost(100 + static_cast<uint64_t>(args.first.tensor->count()) * 10);
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void BatchNormStats(Plan& plan, DType, const Operand& input, double eps, const Operand& mean,
                    const Operand& invstd) {
  const int64_t channels = ChannelsOf(input);
  for (const Operand* o : {&mean, &invstd}) CheckPerChannel(*o, channels);
  if (channels == 0) return;
  std::vector<int64_t> dims;
  for (int d = 0; d < input.shape().rank(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  Sequence parts(plan);
  parts.Add([&](Plan& part) { Mean(part, DType::kF32, input, dims, false, DType::kF32, mean); });
  parts.Add([&](Plan& part) { Var(part, DType::kF32, input, dims, 0, false, invstd); });
  parts.Add([&](Plan& part) {
    PlanPointwise(part, InverseDeviationLoops(), DType::kF32, {invstd}, LoopAttributes({eps}), invstd);
  });
  parts.Finish();
}

void BatchNormReduce(Plan& plan, DType, const Operand& x, const Operand& sum, const Operand& squares) {
  const int64_t channels = ChannelsOf(x);
  for (const Operand* o : {&sum, &squares}) CheckPerChannel(*o, channels);
  if (channels == 0) return;
  Sequence parts(plan);
  parts.Add([&](Plan& part) { PlanReduce(part, {}, DType::kF32, x, AllButChannels(x), sum); });
  parts.Add([&](Plan& part) {
    PlanReduce(part, {.fold = Fold::kSumOfSquares}, DType::kF32, x, AllButChannels(x), squares);
  });
  parts.Finish();
}

void BatchNormElemt(Plan& plan, DType compute, const Operand& input, const Operand& weight,
                    const Operand& bias, const Operand& mean, const Operand& invstd, double,
                    const Operand& out) {
  const int64_t channels = ChannelsOf(input);
  for (const Operand* o : {&weight, &bias, &mean, &invstd}) CheckPerChannel(*o, channels);
  PlanChannelNorm(plan, 0, compute, {input, out, weight, bias, mean, invstd, true}, 1);
}

void BatchNormReduceBackward(Plan& plan, DType, const BatchNormReduceBackwardArguments& a) {
  const int64_t channels = ChannelsOf(a.input);
  CheckShape(a.grad_out, a.input.shape());
  const Operand results[] = {AskedFor(a.input_g, a.sum_dy), AskedFor(a.input_g, a.sum_dy_xmu),
                             AskedFor(a.weight_g, a.grad_weight), AskedFor(a.bias_g, a.grad_bias)};
  for (const Operand& result : results) CheckPerChannel(result, channels);
  for (const Operand* o : {&a.mean, &a.invstd, &a.weight}) CheckPerChannel(*o, channels);
  if (channels == 0) return;
  BackwardSumsBody body{.layout = ChannelLayout(a.input.shape()),
                        .grad = {a.grad_out, Flow::kIn, plan},
                        .x = {a.input, Flow::kIn, plan},
                        .mean = {a.mean, Flow::kIn, plan},
                        .invstd = {a.invstd, Flow::kIn, plan},
                        .results = {}};
  for (int i = 0; i < BackwardSumsBody::kResults; ++i) body.results[i] = {results[i], Flow::kOut, plan};
  plan.SetCost(100 + static_cast<uint64_t>(a.input.tensor->count()));
  plan.SetBody(body);
}

void BatchNormElemtBackward(Plan& plan, DType, const BatchNormElemtBackwardArguments& a) {
  const int64_t channels = ChannelsOf(a.input);
  CheckShape(a.grad_out, a.input.shape());
  CheckShape(a.grad_input, a.input.shape());
  for (const Operand* o : {&a.mean, &a.invstd, &a.weight, &a.sum_dy, &a.sum_dy_xmu})
    CheckPerChannel(*o, channels);
  if (a.input.tensor->empty()) return;
  BackwardElementsBody body{.layout = ChannelLayout(a.input.shape()),
                            .grad = {a.grad_out, Flow::kIn, plan},
                            .x = {a.input, Flow::kIn, plan},
                            .mean = {a.mean, Flow::kIn, plan},
                            .invstd = {a.invstd, Flow::kIn, plan},
                            .weight = {a.weight, Flow::kIn, plan},
                            .sum_dy = {a.sum_dy, Flow::kIn, plan},
                            .sum_dy_xmu = {a.sum_dy_xmu, Flow::kIn, plan},
                            .grad_x = {a.grad_input, Flow::kOut, plan},
                            .counts = {plan, a.counter, DType::kF64, false, true},
                            .devices = a.counter.tensor->count()};
  plan.SetCost(100 + static_cast<uint64_t>(a.input.tensor->count()));
  plan.SetBody(body);
}

void BatchNormGatherStatsWithCounts(Plan& plan, DType, const BatchNormGatherStatsWithCountsArguments& a) {
  CheckPerChannel(a.mean_all, ChannelsOf(a.input));
  PlanGather(plan, {.first = a.mean,
                    .second = a.invstd,
                    .counts = a.counts,
                    .running_mean = a.running_mean,
                    .running_variance = a.running_var,
                    .mean = a.mean_all,
                    .invstd = a.invstd_all,
                    .momentum = a.momentum,
                    .epsilon = a.eps,
                    .of_sums = false});
}

void SyncBatchNormGatherStats(Plan& plan, DType, const SyncBatchNormGatherStatsArguments& a) {
  PlanGather(plan, {.first = a.total_sum,
                    .second = a.total_square_sum,
                    .counts = a.sample_count,
                    .running_mean = a.mean,
                    .running_variance = a.variance,
                    .mean = a.batch_mean,
                    .invstd = a.batch_invstd,
                    .momentum = a.momentum,
                    .epsilon = a.eps,
                    .of_sums = true});
}

}  // namespace kernels
}  // namespace belay::ops
