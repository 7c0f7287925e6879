#include "ops/gradient/norm_gradient.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/float_pieces.h"
#include "ops/gradient/norm_loops.h"

namespace belay::ops {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements

// The tensors of a run.
struct Given {
  FloatPieces::Elements g, x, grad_x;
  const float *mean, *rstd, *weight;
  float *grad_weight, *grad_bias;

  bool wants_weights() const { return grad_weight != nullptr || grad_bias != nullptr; }
};

struct NormGradientBody {
  FloatPieces g, x, grad_x;
  PackedFloats mean, rstd, weight, grad_weight, grad_bias;
  NormSlices slices;
  NormWeight weight_of;
  bool constant_statistics;
  double epsilon;

  void operator()(const Frame& frame) const {
    const Given t{g.Load(frame),    x.Load(frame),      grad_x.Begin(frame),      mean.Load(frame),
                  rstd.Load(frame), weight.Load(frame), grad_weight.Begin(frame), grad_bias.Begin(frame)};
    if (t.grad_x.present() || (SlicesAreWeights() && t.wants_weights())) {
      const int64_t together = Together(), groups = (slices.count() + together - 1) / together;
      ParallelFor(groups, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, slices.size() * together)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t s = begin * together; s < std::min(slices.count(), end * together);
                         s += together)
                      Slices(t, s, std::min(together, slices.count() - s));
                  });
    }
    if (!SlicesAreWeights() && t.wants_weights()) Weights(t);
    grad_x.Finish(frame);
    grad_weight.Finish(frame);
    grad_bias.Finish(frame);
  }

  // A weight is that of one slice, whose sums its gradients are.
  bool SlicesAreWeights() const { return weight_of == NormWeight::kSlice && slices.blocks == 1; }

  // How many slices that lie side by side are read together: the short runs of one lie far apart.
  int64_t Together() const {
    constexpr int64_t kLong = 2048;  // elements
    const bool beside =
        slices.runs > 1 && slices.run_step != slices.length && slices.slice_step == slices.length;
    return beside ? std::clamp<int64_t>(kLong / std::max<int64_t>(1, slices.length), 1, kMost) : 1;
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

  // What a slice adds up over its runs.
  struct SliceSums {
    float shift, factor;
    NormSums plain;           // where all runs have one weight, which is not in it
    double weighted[2] = {};  // where each has its own
    float both[2] = {};       // the means that are taken off
  };

  void Slices(const Given& t, int64_t first, int64_t count) const {
    SliceSums sums[kMost];
    for (int64_t i = 0; i < count; ++i)
      sums[i].shift = Mean(t, first + i), sums[i].factor = Rstd(t, first + i);
    const bool wants = SlicesAreWeights() && t.wants_weights();
    if (!constant_statistics || wants) {
      for (int64_t run = 0; run < slices.runs; ++run) {
        for (int64_t i = 0; i < count; ++i) AddRun(t, first + i, run, &sums[i]);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      SliceSums& slice = sums[i];
      if (wants) Put(t, first + i, slice.plain.Total(1), slice.plain.Total(0));
      if (!constant_statistics) FindMeans(t, first + i, &slice);
    }
    for (int64_t run = 0; run < slices.runs && t.grad_x.present(); ++run) {
      for (int64_t i = 0; i < count; ++i) ApplyRun(t, first + i, run, sums[i]);
    }
  }

  void AddRun(const Given& t, int64_t s, int64_t run, SliceSums* sums) const {
    if (weight_of != NormWeight::kRun)
      return AddUp(t, Start(s, run), sums->shift, sums->factor, &sums->plain);
    NormSums part;
    AddUp(t, Start(s, run), sums->shift, sums->factor, &part);
    const auto scale = static_cast<double>(Scale(t, s, run));
    for (int k = 0; k < 2; ++k) sums->weighted[k] += scale * part.Total(k);
  }

  void FindMeans(const Given& t, int64_t s, SliceSums* sums) const {
    const auto size = static_cast<double>(slices.size()), scale = static_cast<double>(Scale(t, s, 0));
    for (int k = t.mean == nullptr ? 1 : 0; k < 2; ++k) {
      const double sum = weight_of == NormWeight::kRun ? sums->weighted[k] : scale * sums->plain.Total(k);
      sums->both[k] = static_cast<float>(sum / size);
    }
  }

  // A run from an element on.
  void AddUp(const Given& t, int64_t at, float shift, float factor, NormSums* sums) const {
    const NormGradientLoops& loops = BestNormGradientLoops();
    const float* weights = Spread(t);
    alignas(64) float grads[kPiece], values[kPiece];
    EachPiece(t, [&](int64_t i, int64_t n) {
      loops.sums(t.g.Load(at + i, n, grads), t.x.Load(at + i, n, values),
                 weights == nullptr ? nullptr : weights + i, shift, factor, n, sums);
    });
  }

  void ApplyRun(const Given& t, int64_t s, int64_t run, const SliceSums& sums) const {
    const NormGradientLoops& loops = BestNormGradientLoops();
    const int64_t at = Start(s, run);
    const float scale = Scale(t, s, run), *weights = Spread(t);
    alignas(64) float grads[kPiece], values[kPiece], results[kPiece];
    EachPiece(t, [&](int64_t i, int64_t n) {
      float* to = t.grad_x.Room(at + i, results);
      loops.apply(to, t.g.Load(at + i, n, grads), t.x.Load(at + i, n, values),
                  weights == nullptr ? nullptr : weights + i, scale, sums.shift, sums.factor, sums.both, n);
      t.grad_x.Store(at + i, n, to);
    });
  }

  // visit(first element of a run, how many)
  template <class Visit>
  void EachPiece(const Given& t, const Visit& visit) const {
    const bool floats = t.g.are_floats() && t.x.are_floats() && t.grad_x.are_floats();
    const int64_t piece = floats ? std::max<int64_t>(1, slices.length) : kPiece;
    for (int64_t i = 0; i < slices.length; i += piece) visit(i, std::min(piece, slices.length - i));
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
    NormSums sums;
    for (int64_t block = 0; block < slices.blocks; ++block) {
      const int64_t slice = block * slices.slices + s;
      for (int64_t r = one ? run : 0; r < (one ? run + 1 : slices.runs); ++r)
        AddUp(t, Start(slice, r), Mean(t, slice), Rstd(t, slice), &sums);
    }
    Put(t, w, sums.Total(1), sums.Total(0));
  }

  // Weights `first` and on, each of its place in all runs.
  void Columns(const Given& t, int64_t first, int64_t n) const {
    alignas(64) double weights[kColumns] = {}, biases[kColumns] = {};
    for (int64_t s = 0; s < slices.count(); ++s) {
      for (int64_t run = 0; run < slices.runs; ++run) {
        const int64_t at = Start(s, run) + first;
        BestNormGradientLoops().columns(t.g.floats() + at, t.x.floats() + at, Mean(t, s), Rstd(t, s), n,
                                        weights, biases);
      }
    }
    for (int64_t i = 0; i < n; ++i) Put(t, first + i, weights[i], biases[i]);
  }

  static void Put(const Given& t, int64_t w, double weight, double bias) {
    if (t.grad_weight != nullptr) t.grad_weight[w] = static_cast<float>(weight);
    if (t.grad_bias != nullptr) t.grad_bias[w] = static_cast<float>(bias);
  }

  static constexpr int64_t kColumns = 64, kPiece = kBlock;
  static constexpr int64_t kMost = 16;  // slices together
};

}  // namespace

void PlanNormGradient(Plan& plan, const NormGradientArgs& args) {
  NormGradientBody body;
  const bool whole = args.weight_of == NormWeight::kElement;  // which reads columns
  body.g = FloatPieces(args.grad, Flow::kIn, whole, plan);
  body.x = FloatPieces(args.x, Flow::kIn, whole, plan);
  body.mean = PackedFloats(args.mean, Flow::kIn, plan);
  body.rstd = PackedFloats(args.rstd, Flow::kIn, plan);
  body.weight = PackedFloats(args.weight, Flow::kIn, plan);
  body.grad_x = FloatPieces(args.grad_x, Flow::kOut, whole, plan);
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
