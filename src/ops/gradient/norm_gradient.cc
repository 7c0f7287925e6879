#include "ops/gradient/norm_gradient.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/gradient/norm_loops.h"
#include "ops/packed_floats.h"

namespace belay::ops {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements

// The tensors of a run.
struct Given {
  const float *g, *x, *mean, *rstd, *weight;
  float *grad_x, *grad_weight, *grad_bias;
};

struct NormGradientBody {
  PackedFloats g, x, mean, rstd, weight, grad_x, grad_weight, grad_bias;
  NormSlices slices;
  NormWeight weight_of;
  bool constant_statistics;
  double epsilon;

  void operator()(const Frame& frame) const {
    const Given t{g.Load(frame),      x.Load(frame),       mean.Load(frame),         rstd.Load(frame),
                  weight.Load(frame), grad_x.Begin(frame), grad_weight.Begin(frame), grad_bias.Begin(frame)};
    if (t.grad_x != nullptr) {
      ParallelFor(slices.count(), std::max<int64_t>(1, kGrain / std::max<int64_t>(1, slices.size())),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t s = begin; s < end; ++s) Slice(t, s);
                  });
    }
    if (t.grad_weight != nullptr || t.grad_bias != nullptr) Weights(t);
    grad_x.Finish(frame);
    grad_weight.Finish(frame);
    grad_bias.Finish(frame);
  }

  float Mean(const Given& t, int64_t s) const { return t.mean == nullptr ? 0 : t.mean[s]; }
  float Rstd(const Given& t, int64_t s) const {
    if (epsilon < 0) return t.rstd[s];
    return static_cast<float>(1 / std::sqrt(static_cast<double>(t.rstd[s]) + epsilon));
  }
  int64_t Start(int64_t s, int64_t run) const {
    return s / slices.slices * slices.block_step + s % slices.slices * slices.slice_step +
           run * slices.run_step;
  }
  // Of a run that has one weight.
  float Scale(const Given& t, int64_t s, int64_t run) const {
    if (t.weight == nullptr || weight_of == NormWeight::kElement) return 1;
    const int64_t in_block = s % slices.slices;
    return t.weight[weight_of == NormWeight::kRun ? in_block * slices.runs + run : in_block];
  }
  const float* Spread(const Given& t) const { return weight_of == NormWeight::kElement ? t.weight : nullptr; }

  void Slice(const Given& t, int64_t s) const {
    const NormGradientLoops& loops = BestNormGradientLoops();
    const float shift = Mean(t, s), factor = Rstd(t, s);
    double sums[2] = {};
    for (int64_t run = 0; run < slices.runs && !constant_statistics; ++run) {
      double part[2] = {};
      loops.sums(t.g + Start(s, run), t.x + Start(s, run), Spread(t), shift, factor, slices.length, part);
      const auto scale = static_cast<double>(Scale(t, s, run));
      sums[0] += scale * part[0], sums[1] += scale * part[1];
    }
    const auto size = static_cast<double>(slices.size());
    const float both[2] = {t.mean == nullptr ? 0 : static_cast<float>(sums[0] / size),
                           static_cast<float>(sums[1] / size)};
    for (int64_t run = 0; run < slices.runs; ++run) {
      const int64_t at = Start(s, run);
      loops.apply(t.grad_x + at, t.g + at, t.x + at, Spread(t), Scale(t, s, run), shift, factor, both,
                  slices.length);
    }
  }

  void Weights(const Given& t) const {
    if (weight_of == NormWeight::kElement) {
      ParallelFor(slices.length, kColumns, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i += kColumns) Columns(t, i, std::min(kColumns, end - i));
      });
      return;
    }
    const int64_t runs = weight_of == NormWeight::kRun ? slices.runs : 1, weights = slices.slices * runs;
    const int64_t each = std::max<int64_t>(1, slices.blocks * slices.runs / runs * slices.length);
    ParallelFor(weights, std::max<int64_t>(1, kGrain / each), [&](int64_t begin, int64_t end) {
      for (int64_t w = begin; w < end; ++w) Weight(t, w / runs, w % runs, w);
    });
  }

  // Weight w of slice `s` in each block, and of the run where runs have weights.
  void Weight(const Given& t, int64_t s, int64_t run, int64_t w) const {
    const bool one = weight_of == NormWeight::kRun;
    double sums[2] = {};
    for (int64_t block = 0; block < slices.blocks; ++block) {
      const int64_t slice = block * slices.slices + s;
      for (int64_t r = one ? run : 0; r < (one ? run + 1 : slices.runs); ++r) {
        BestNormGradientLoops().sums(t.g + Start(slice, r), t.x + Start(slice, r), nullptr, Mean(t, slice),
                                     Rstd(t, slice), slices.length, sums);
      }
    }
    Put(t, w, sums[1], sums[0]);
  }

  // Weights `first` and on, each of its place in all runs.
  void Columns(const Given& t, int64_t first, int64_t n) const {
    alignas(64) double weights[kColumns] = {}, biases[kColumns] = {};
    for (int64_t s = 0; s < slices.count(); ++s) {
      for (int64_t run = 0; run < slices.runs; ++run) {
        const int64_t at = Start(s, run) + first;
        BestNormGradientLoops().columns(t.g + at, t.x + at, Mean(t, s), Rstd(t, s), n, weights, biases);
      }
    }
    for (int64_t i = 0; i < n; ++i) Put(t, first + i, weights[i], biases[i]);
  }

  static void Put(const Given& t, int64_t w, double weight, double bias) {
    if (t.grad_weight != nullptr) t.grad_weight[w] = static_cast<float>(weight);
    if (t.grad_bias != nullptr) t.grad_bias[w] = static_cast<float>(bias);
  }

  static constexpr int64_t kColumns = 64;
};

}  // namespace

void PlanNormGradient(Plan& plan, const NormGradientArgs& args) {
  NormGradientBody body;
  body.g = PackedFloats(args.grad, Flow::kIn, plan);
  body.x = PackedFloats(args.x, Flow::kIn, plan);
  body.mean = PackedFloats(args.mean, Flow::kIn, plan);
  body.rstd = PackedFloats(args.rstd, Flow::kIn, plan);
  body.weight = PackedFloats(args.weight, Flow::kIn, plan);
  body.grad_x = PackedFloats(args.grad_x, Flow::kOut, plan);
  body.grad_weight = PackedFloats(args.grad_weight, Flow::kOut, plan);
  body.grad_bias = PackedFloats(args.grad_bias, Flow::kOut, plan);
  body.slices = args.slices;
  body.weight_of = args.weight_of;
  body.constant_statistics = args.constant_statistics;
  body.epsilon = args.epsilon;
  plan.SetCost(200 + static_cast<uint64_t>(args.x.tensor->count()) * 2);
  plan.SetBody(body);
}

}  // namespace belay::ops
