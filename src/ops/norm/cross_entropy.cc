// Softmax and its distance from given distributions, or from given classes, a row at a time.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "ops/experts/rows.h"
#include "ops/gradient/checks.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/reduce/fold_loops.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct ClassRows {
  int binding = -1;
  DType type = DType::kUndefined;
  int64_t offset = 0, row_step = 0, step = 0;  // bytes

  ClassRows() = default;
  explicit ClassRows(const Operand& operand) : binding(operand.binding), type(operand.dtype()) {
    auto size = static_cast<int64_t>(BytesOf(type));
    const Tensor& t = *operand.tensor;
    offset = t.offset * size;
    row_step = t.strides[0] * size;
    step = t.shape.rank() > 1 ? t.strides[1] * size : 0;
  }
  char* At(const Frame& frame, int64_t row) const { return frame.at[binding] + offset + row * row_step; }

  void Load(const Frame& frame, int64_t row, float* to, int64_t n) const {
    Lane lane(type, type, step);
    for (int64_t i = 0; i < n; i += kBlock) {
      int64_t m = std::min(kBlock, n - i);
      const void* block = lane.Load(to + i, At(frame, row) + i * step, m);
      if (block != to + i) std::copy_n(static_cast<const float*>(block), m, to + i);
    }
  }
};

// In pieces, whose sums are added in f64.
double SumOfExps(const float* x, int64_t count, float most) {
  constexpr int64_t kPiece = 4096;
  double sum = 0;
  for (int64_t i = 0; i < count; i += kPiece) {
    sum += static_cast<double>(
        BestFoldLoops<float>(Fold::kSumOfExps).fold(x + i, std::min(kPiece, count - i), most));
  }
  return sum;
}

struct CrossEntropyBody {
  ClassRows features, labels, loss, backprop;
  int64_t classes;
  PieceScratch<float> rows;  // of the features and the labels

  void operator()(const Frame& frame) const {
    rows.For(frame, [&](int64_t begin, int64_t end, float* x) {
      for (int64_t r = begin; r < end; ++r) Row(frame, r, x, x + classes);
    });
  }

  void Row(const Frame& frame, int64_t r, float* x, float* y) const {
    features.Load(frame, r, x, classes);
    labels.Load(frame, r, y, classes);
    float most = BestFoldLoops<float>(Fold::kMax).fold(x, classes, 0);
    const double level = std::log(SumOfExps(x, classes, most));
    double total = 0;
    for (int64_t i = 0; i < classes; ++i) {
      const double below = static_cast<double>(x[i] - most) - level;  // what all have in common goes first
      total += y[i] == 0 ? 0.0 : static_cast<double>(y[i]) * -below;
      x[i] = std::exp(static_cast<float>(below)) - y[i];
    }
    Convert(loss.type, loss.At(frame, r), DType::kF64, &total, 1);
    Lane lane(backprop.type, backprop.type, backprop.step);
    for (int64_t i = 0; i < classes; i += kBlock) {
      lane.Store(backprop.At(frame, r) + i * backprop.step, x + i, std::min(kBlock, classes - i), false);
    }
  }
};

// What losses of given classes and their gradients share: class `target[n]` of row n counts with its weight,
// less what is spread over all classes.
struct ClassTargets {
  Indices target;
  int target_at;
  Rows weight;  // one for each class, or none
  int64_t classes, ignored;
  double smoothing;
  LossReduction reduction;
  Scratch<double> weights;  // of the classes, and behind them their sum

  struct Known {
    std::span<const int64_t> target;
    const double* weights;
    double all;      // of the weights
    double counted;  // of those of the targets that count
  };

  bool Counts(int64_t target_class) const { return ignored < 0 || target_class != ignored; }

  Known Read(const Frame& frame) const {
    Known known{target.Read(frame, target_at), weights.At(frame), 0, 0};
    double* to = weights.At(frame);
    for (int64_t c = 0; c < classes; ++c) {
      to[c] = weight.present() ? static_cast<double>(weight.At(frame, c, 0)) : 1;
      known.all += to[c];
    }
    for (const int64_t c : known.target) {
      if (!Counts(c)) continue;
      if (c < 0 || c >= classes)
        Fail(tensor::kRuntimeFailure, "nll-class", "a target is {}; there are {} classes", c, classes);
      known.counted += to[c];
    }
    return known;
  }
};

struct ClassLossBody {
  ClassTargets targets;
  Rows input, log_prob, loss;
  PieceScratch<float> room;  // a row
  Scratch<double> losses;

  void operator()(const Frame& frame) const {
    const ClassTargets::Known known = targets.Read(frame);
    double* of_row = losses.At(frame);
    room.For(frame, [&](int64_t begin, int64_t end, float* row) {
      for (int64_t n = begin; n < end; ++n) of_row[n] = Row(frame, known, n, row);
    });
    double sum = 0;
    for (int64_t n = 0; n < input.count(); ++n) {
      if (targets.reduction == LossReduction::kNone) loss.Set(frame, n, 0, static_cast<float>(of_row[n]));
      sum += of_row[n];
    }
    if (targets.reduction == LossReduction::kNone) return;
    loss.Set(frame, 0, 0,
             static_cast<float>(targets.reduction == LossReduction::kMean ? sum / known.counted : sum));
  }

  double Row(const Frame& frame, const ClassTargets::Known& known, int64_t n, float* row) const {
    const int64_t classes = targets.classes;
    const float* x = input.Load(frame, n, row);
    const float most = BestFoldLoops<float>(Fold::kMax).fold(x, classes, 0);
    const double level = std::log(SumOfExps(x, classes, most));
    const int64_t target = known.target[static_cast<size_t>(n)];
    double spread = 0, of_target = 0;
    for (int64_t i = 0; i < classes; ++i) {
      const double below = static_cast<double>(x[i] - most) - level;  // what all have in common goes first
      if (targets.smoothing != 0) spread -= known.weights[i] * below;
      if (i == target) of_target = -below;
      row[i] = static_cast<float>(below);
    }
    log_prob.Store(frame, n, row);
    if (!targets.Counts(target)) return 0;
    return (1 - targets.smoothing) * known.weights[target] * of_target +
           targets.smoothing * spread / static_cast<double>(classes);
  }
};

struct ClassLossGradBody {
  ClassTargets targets;
  Rows grad_loss, log_prob, out;

  void operator()(const Frame& frame) const {
    const ClassTargets::Known known = targets.Read(frame);
    const int64_t grain = std::max<int64_t>(1, 16 * 1024 / targets.classes);
    ParallelFor(out.count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) Row(frame, known, n);
    });
  }

  void Row(const Frame& frame, const ClassTargets::Known& known, int64_t n) const {
    const int64_t target = known.target[static_cast<size_t>(n)];
    if (!targets.Counts(target)) return out.Clear(frame, n);
    const bool each = targets.reduction == LossReduction::kNone;
    double gradient = static_cast<double>(grad_loss.At(frame, each ? n : 0, 0));
    if (targets.reduction == LossReduction::kMean) gradient /= known.counted;
    const double spread = targets.smoothing / static_cast<double>(targets.classes);
    const double of_target = (1 - targets.smoothing) * known.weights[target];
    const double whole = of_target + spread * known.all;
    alignas(64) float block[kBlock], slope[kBlock];
    for (int64_t first = 0; first < targets.classes; first += kBlock) {
      const int64_t m = std::min(kBlock, targets.classes - first);
      const float* logs = log_prob.Load(frame, n, first, m, block);
      for (int64_t i = 0; i < m; ++i) {
        double value = static_cast<double>(std::exp(logs[i])) * whole - spread * known.weights[first + i];
        if (first + i == target) value -= of_target;
        slope[i] = static_cast<float>(gradient * value);
      }
      out.Store(frame, n, first, m, slope);
    }
  }
};

struct ClassLossArgs {
  const Operand &target, &weight;
  const char* reduction;
  int64_t ignored;
  double smoothing;
};

LossReduction ReductionNamed(const char* reduction) {
  const std::string_view name = reduction == nullptr ? "" : reduction;
  if (name == "none") return LossReduction::kNone;
  if (name == "mean") return LossReduction::kMean;
  if (name == "sum") return LossReduction::kSum;
  Fail(tensor::kInvalidArgument, "op-reduction", "reduction is \"{}\"; it is none, mean or sum", name);
}

// Of rows [n, classes].
ClassTargets TargetsOf(Plan& plan, const Shape& rows, const ClassLossArgs& args) {
  if (rows.rank() != 2 || rows[1] < 1 || args.target.shape() != Shape{rows[0]}) {
    Fail(tensor::kInvalidArgument, "op-loss-shape", "rows {} and target {} do not fit together",
         rows.ToString(), args.target.shape().ToString());
  }
  if (args.weight.present()) CheckShape(args.weight, {rows[1]});
  if (args.ignored >= rows[1])
    Fail(tensor::kInvalidArgument, "op-ignore-index", "ignoreIndex is {}; there are {} classes", args.ignored,
         rows[1]);
  if (!(args.smoothing >= 0 && args.smoothing < 1))
    Fail(tensor::kInvalidArgument, "op-smoothing", "labelSmoothing is {}; it is at least 0 and below 1",
         args.smoothing);
  return {Indices(plan, *args.target.tensor),
          args.target.binding,
          Rows(args.weight, true),
          rows[1],
          args.ignored,
          args.smoothing,
          ReductionNamed(args.reduction),
          Scratch<double>(plan, rows[1])};
}

void RefuseAuxiliaryLoss(double scale, bool asked) {
  if (scale == 0 && !asked) return;
  Fail(tensor::kInvalidArgument, "op-zloss",
       "the auxiliary loss is reserved; pass lseSquareScaleForZloss 0 and no zloss");
}

bool HoldsSomething(const Operand& operand) { return operand.present() && !operand.tensor->empty(); }

}  // namespace

namespace kernels {

void SoftmaxCrossEntropy(Plan& plan, DType, const Operand& features, const Operand& labels,
                         const Operand& loss, const Operand& backprop) {
  const Shape& shape = features.shape();
  bool fits = shape.rank() == 2 && labels.shape() == shape && backprop.shape() == shape &&
              loss.shape() == Shape{shape[0]};
  if (!fits) {
    Fail(tensor::kInvalidArgument, "op-loss-shape",
         "features {}, labels {}, loss {} and backprop {} do not fit together", shape.ToString(),
         labels.shape().ToString(), loss.shape().ToString(), backprop.shape().ToString());
  }
  if (features.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(features.tensor->count()) * 2);
  const int64_t grain = std::max<int64_t>(1, 16 * 1024 / shape[1]);
  plan.SetBody(CrossEntropyBody{ClassRows(features),
                                ClassRows(labels),
                                ClassRows(loss),
                                ClassRows(backprop),
                                shape[1],
                                {plan, shape[0], grain, 2 * shape[1]}});
}

void CrossEntropyLoss(Plan& plan, DType, const CrossEntropyLossArguments& a) {
  RefuseAuxiliaryLoss(a.lse_square_scale_for_zloss,
                      a.return_zloss || HoldsSomething(a.zloss) || HoldsSomething(a.lse_for_zloss));
  const Shape& shape = a.input.shape();
  ClassTargets targets =
      TargetsOf(plan, shape, {a.target, a.weight, a.reduction, a.ignore_index, a.label_smoothing});
  CheckShape(a.log_prob, shape);
  for (const Operand* o : {&a.loss, &a.log_prob}) CheckSameType(a.input, *o);
  CheckElements(a.loss, targets.reduction == LossReduction::kNone ? shape[0] : 1);
  plan.SetCost(100 + static_cast<uint64_t>(a.input.tensor->count()) * 2);
  const int64_t grain = std::max<int64_t>(1, 16 * 1024 / shape[1]);
  plan.SetBody(ClassLossBody{std::move(targets),
                             Rows(a.input),
                             Rows(a.log_prob),
                             Rows(a.loss, true),
                             {plan, shape[0], grain, shape[1]},
                             Scratch<double>(plan, shape[0])});
}

void CrossEntropyLossGrad(Plan& plan, DType, const CrossEntropyLossGradArguments& a) {
  RefuseAuxiliaryLoss(a.lse_square_scale_for_zloss,
                      HoldsSomething(a.grad_zloss) || HoldsSomething(a.lse_for_zloss));
  const Shape& shape = a.log_prob.shape();
  ClassTargets targets =
      TargetsOf(plan, shape, {a.target, a.weight, a.reduction, a.ignore_index, a.label_smoothing});
  CheckShape(a.out, shape);
  CheckSameType(a.grad_loss, a.out);
  CheckElements(a.grad_loss, targets.reduction == LossReduction::kNone ? shape[0] : 1);
  if (a.out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(a.out.tensor->count()) * 2);
  plan.SetBody(ClassLossGradBody{std::move(targets), Rows(a.grad_loss, true), Rows(a.log_prob), Rows(a.out)});
}

}  // namespace kernels
}  // namespace belay::ops
