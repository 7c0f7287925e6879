// Normalisations and softmax.
#include "ops/norm/normalise.h"

#include "graph/ops/bind.h"
#include "graph/ops/pointwise.h"
#include "graph/translations.h"
#include "ops/norm/nll.h"
#include "ops/reduce/reduce.h"

namespace belay::graph::translate {
namespace {

using ops::Normalisation;
using ops::NormOperands;
using ops::Statistic;

void RequireFloat(const Translation& node) {
  if (!IsFloat(node.dtype(0))) node.Refuse(std::string(NameOf(node.dtype(0))) + " is not supported here");
}

uint32_t From(int axis, int rank) { return ((1u << rank) - 1) & ~((1u << axis) - 1); }

int64_t CountFrom(const Shape& shape, int begin, int end) {
  int64_t count = 1;
  for (int i = begin; i < end; ++i) count *= shape[i];
  return count;
}

int64_t OneAxis(const Translation& node) {
  std::vector<int64_t> axes = node.Ints("axes");
  if (axes.size() != 1) node.Refuse("one axis is supported");
  return axes[0];
}

// No weights, no statistics as results.
void Plain(Translation& node, const Normalisation& how, uint32_t mask) {
  RequireFloat(node);
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("Normalise", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    ops::PlanNormalise(plan, how, node.dtype(0), {x, Write(plan, out, "y"), {}, {}, {}, {}}, mask);
  });
}

// gamma and beta are broadcast to x if it ends with dimensions [begin, end), or have one element for each of
// those; statistics have the dimensions up to `outer`.
struct Weights {
  int begin, end, outer;
};

bool HasEach(const Translation& node, int input, const Weights& where) {
  return node.in(input).count() == CountFrom(node.shape(0), where.begin, where.end);
}

bool IsBroadcast(const Translation& node, int input, const Weights& where) {
  return where.end == node.shape(0).rank() && tensor::BroadcastsTo(node.shape(input), node.shape(0));
}

void CheckWeight(const Translation& node, int input, const Weights& where) {
  if (!node.has(input)) return;
  if (!HasEach(node, input, where) && !IsBroadcast(node, input, where)) {
    node.Refuse("weights " + node.shape(input).ToString() + " do not fit x " + node.shape(0).ToString());
  }
}

// The input spread over x.
Tensor SpreadInput(const Translation& node, int input, const Weights& where) {
  const Shape& shape = node.shape(0);
  if (IsBroadcast(node, input, where))
    return ops::Spread(node.in(input), shape, shape.rank() - node.shape(input).rank());
  Shape part = Shape::Of(shape.data() + where.begin, where.end - where.begin);
  return ops::Spread(Translation::Reshaped(node.in(input), part), shape, where.begin);
}

void Weighted(Translation& node, const Normalisation& how, uint32_t mask, const Weights& where,
              const Tensor* shift, const Tensor* factor) {
  RequireFloat(node);
  CheckWeight(node, 1, where);
  CheckWeight(node, 2, where);
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("Normalise", [&](ops::Plan& plan) {
    Tensor gamma, beta, spread_shift, spread_factor;
    NormOperands operands{Read(plan, node.in(0), "x"), Write(plan, out, "y"), {}, {}, {}, {}};
    if (node.has(1)) gamma = SpreadInput(node, 1, where), operands.weight = Read(plan, gamma, "gamma");
    if (node.has(2)) beta = SpreadInput(node, 2, where), operands.bias = Read(plan, beta, "beta");
    if (shift != nullptr)
      spread_shift = ops::Spread(*shift, node.shape(0), 0),
      operands.shift = Write(plan, spread_shift, "mean");
    if (factor != nullptr)
      spread_factor = ops::Spread(*factor, node.shape(0), 0),
      operands.factor = Write(plan, spread_factor, "rstd");
    ops::PlanNormalise(plan, how, node.dtype(0), operands, mask);
  });
}

Shape StatisticShape(const Shape& shape, int axis) {
  Shape result = shape;
  for (int i = axis; i < shape.rank(); ++i) result[i] = 1;
  return result;
}

void ReduceStep(Translation& node, const ops::Reduction& how, uint32_t mask, const Tensor& out) {
  node.Step("Reduce", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    ops::PlanReduce(plan, how, node.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32, x, mask,
                    Write(plan, out, "statistic"));
  });
}

constexpr ops::Reduction kMeanOf{.finish = ops::Finish::kDivide};
constexpr ops::Reduction kVariance{
    .fold = ops::Fold::kSumOfSquares, .finish = ops::Finish::kDivide, .around_mean = true};

int ChannelOf(const Translation& node) {
  int rank = node.shape(0).rank();
  if (rank < 2) node.Refuse("x has no dimension of channels");
  std::string format = node.String("data_format");
  return !format.empty() && format.back() == 'C' ? rank - 1 : 1;
}

void ChannelsOnce(const Translation& node, int channel) {
  for (int i = 1; i <= 4; ++i) {
    if (node.has(i) && node.in(i).count() != node.shape(0)[channel]) {
      node.Refuse("input " + std::to_string(i) + " needs an element for each channel");
    }
  }
}

void ByChannel(Translation& node, int channel) {
  RequireFloat(node);
  ChannelsOnce(node, channel);
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("BatchNorm", [&](ops::Plan& plan) {
    Tensor flat[4];
    Operand parts[4];
    for (int i = 0; i < 4; ++i) {
      flat[i] = Translation::Reshaped(node.in(i + 1), {node.in(i + 1).count()});
      parts[i] = Read(plan, flat[i], "channels");
    }
    Operand x = Read(plan, node.in(0), "x");
    ops::PlanChannelNorm(plan, node.Float("epsilon"), node.dtype(0),
                         {x, Write(plan, out, "y"), parts[0], parts[1], parts[2], parts[3]}, channel);
  });
}

// (1 - factor) * running + factor * batch
void UpdateRunning(Translation& node, int output, int input, const Tensor& batch) {
  Tensor out = node.Out(output, batch.dtype, batch.shape);
  double factor = node.Float("exponential_avg_factor");
  if (factor == 1 || !node.has(input)) return node.Copy(batch, out);
  Scalar weight(&factor, DType::kF64);
  node.Step("Running", [&](ops::Plan& plan) {
    Tensor running = Translation::Reshaped(node.in(input), batch.shape);
    Operand old = Read(plan, running, "running"), now = Read(plan, batch, "batch");
    ops::kernels::Lerp(plan, batch.dtype, old, now, {nullptr, &weight, -1, "factor"}, Write(plan, out, "y"));
  });
}

void BatchTraining(Translation& node, int channel) {
  ChannelsOnce(node, channel);
  const Shape& shape = node.shape(0);
  uint32_t mask = From(0, shape.rank()) & ~(1u << channel);
  Weighted(node, {.epsilon = node.Float("epsilon")}, mask, {channel, channel + 1, 0}, nullptr, nullptr);
  if (node.output_count() == 1) return;
  DType type = node.has(3) ? node.dtype(3) : DType::kF32;
  Tensor mean = node.Temporary(type, {shape[channel]}), variance = node.Temporary(type, {shape[channel]});
  ReduceStep(node, kMeanOf, mask, mean);
  ReduceStep(node, kVariance, mask, variance);
  for (int i = 1; i < std::min(node.output_count(), 5); ++i) {
    const Tensor& batch = i % 2 == 1 ? mean : variance;
    i < 3 ? UpdateRunning(node, i, i + 2, batch) : node.Copy(batch, node.Out(i, type, batch.shape));
  }
}

// Along one axis, or along all from it on.
void AlongAxis(Translation& node, const char* name, DType type,
               void (*kernel)(ops::Plan&, DType, const Operand&, int64_t, const Operand&)) {
  RequireFloat(node);
  int64_t axis = OneAxis(node);
  Tensor out = node.Out(0, type, node.shape(0));
  Tensor x = node.in(0);
  if (node.Bool("flatten") && x.shape.rank() > 0) {
    int at = node.Axis(axis, x.shape.rank());
    Shape flat{CountFrom(x.shape, 0, at), CountFrom(x.shape, at, x.shape.rank())};
    x = Translation::Reshaped(x, flat);
    out = Translation::Reshaped(out, flat);
    axis = 1;
  }
  node.Step(name, [&](ops::Plan& plan) {
    Operand operand = Read(plan, x, "x");
    kernel(plan, x.dtype, operand, axis, Write(plan, out, "y"));
  });
}

}  // namespace

void SoftmaxV2(Translation& node) {
  const bool widen = node.Bool("half_to_float") && node.dtype(0) == DType::kF16;
  AlongAxis(node, "Softmax", widen ? DType::kF32 : node.dtype(0), &ops::kernels::Softmax);
}

void LogSoftmaxV2(Translation& node) {
  AlongAxis(node, "LogSoftmax", node.dtype(0), &ops::kernels::LogSoftmax);
}

void HardMax(Translation& node) {
  RequireFloat(node);
  const Shape& shape = node.shape(0);
  const int rank = shape.rank(), axis = rank == 0 ? 0 : node.Axis(node.Int("axis"), rank);
  Shape lines = shape;
  int dim = axis;
  if (rank == 0 || node.Bool("flatten"))
    lines = {CountFrom(shape, 0, axis), CountFrom(shape, axis, rank)}, dim = 1;
  const Tensor x = Translation::Reshaped(node.in(0), lines);
  const Tensor out = Translation::Reshaped(node.Out(0, node.dtype(0), shape), lines);
  node.Step("HardMax", [&](ops::Plan& plan) {
    ops::PlanFirstMax(plan, Read(plan, x, "x"), dim, Write(plan, out, "y"));
  });
}

void BatchNorm(Translation& node) {
  int channel = ChannelOf(node);
  if (node.Bool("is_training")) return BatchTraining(node, channel);
  if (!node.has(3) || !node.has(4)) node.Refuse("inference needs mean and variance");
  ByChannel(node, channel);
  for (int i = 1; i < std::min(node.output_count(), 5); ++i) {
    int input = i % 2 == 1 ? 3 : 4;
    node.OutSame(i, node.in(input), node.shape(input));
  }
}

void BNInfer(Translation& node) { ByChannel(node, ChannelOf(node)); }

namespace {

// The second statistic is the variance, or 1 / deviation.
void Layer(Translation& node, bool variance) {
  const Shape& shape = node.shape(0);
  int axis = node.Axis(node.Int("begin_norm_axis"), shape.rank());
  Shape statistic = StatisticShape(shape, axis);
  Tensor mean, second;
  bool more = node.output_count() > 1;
  if (more) mean = node.Out(1, DType::kF32, statistic);
  if (node.output_count() > 2) second = node.Out(2, DType::kF32, statistic);
  bool factor = node.output_count() > 2 && !variance;
  Weighted(node, {.epsilon = node.Float("epsilon")}, From(axis, shape.rank()), {axis, shape.rank(), axis},
           more ? &mean : nullptr, factor ? &second : nullptr);
  if (node.output_count() > 2 && variance) ReduceStep(node, kVariance, From(axis, shape.rank()), second);
}

}  // namespace

void LayerNorm(Translation& node) { Layer(node, true); }
void LayerNormV3(Translation& node) { Layer(node, false); }

void InstanceNorm(Translation& node) {
  int channel = ChannelOf(node);
  uint32_t mask = From(1, node.shape(0).rank()) & ~(1u << channel);
  Weighted(node, {.epsilon = node.Float("epsilon")}, mask, {channel, channel + 1, 0}, nullptr, nullptr);
}

namespace {

// Of each group, as the third output.
void GroupVariance(Translation& node, int64_t groups) {
  const Shape& shape = node.shape(0);
  if (groups < 1 || shape[1] % groups != 0) node.Refuse("num_groups does not divide the channels");
  const Tensor out = node.Out(2, DType::kF32, {shape[0], groups});
  const int64_t rest = shape[1] / groups * CountFrom(shape, 2, shape.rank());
  const Tensor x = Translation::Reshaped(node.in(0), {shape[0], groups, rest});
  node.Step("Reduce", [&](ops::Plan& plan) {
    constexpr uint32_t kRest = 1u << 2;
    const DType type = node.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
    ops::PlanReduce(plan, kVariance, type, Read(plan, x, "x"), kRest, Write(plan, out, "variance"));
  });
}

}  // namespace

void GroupNorm(Translation& node) {
  RequireFloat(node);
  if (ChannelOf(node) != 1) node.Refuse("channels must be dimension 1");
  int64_t groups = node.Int("num_groups");
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  Tensor mean;
  if (node.output_count() > 1) mean = node.Out(1, DType::kF32, {node.shape(0)[0], groups});
  node.Step("GroupNorm", [&](ops::Plan& plan) {
    NormOperands operands{Read(plan, node.in(0), "x"),
                          Write(plan, out, "y"),
                          Read(plan, node.in(1), "gamma"),
                          Read(plan, node.in(2), "beta"),
                          {},
                          {}};
    if (node.output_count() > 1) operands.shift = Write(plan, mean, "mean");
    ops::PlanGroupNorm(plan, node.Float("eps"), node.dtype(0), operands, groups, node.Bool("per_group"));
  });
  if (node.output_count() > 2) GroupVariance(node, groups);
}

void RmsNorm(Translation& node) {
  const Shape& shape = node.shape(0);
  int axis = shape.rank() - std::min(node.shape(1).rank(), shape.rank());
  Tensor rstd;
  bool more = node.output_count() > 1;
  if (more) rstd = node.Out(1, DType::kF32, StatisticShape(shape, axis));
  Weighted(node, {.statistic = Statistic::kMeanSquare, .epsilon = node.Float("epsilon")},
           From(axis, shape.rank()), {axis, shape.rank(), axis}, nullptr, more ? &rstd : nullptr);
}

void LpNormalization(Translation& node) {
  int64_t p = node.Int("p");
  if (p != 1 && p != 2) node.Refuse("p is 1 or 2");
  RequireFloat(node);
  const int axis = node.Axis(node.Int("axis"), node.shape(0).rank());
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("Normalise", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    const Normalisation how{.statistic = p == 1 ? Statistic::kSizes : Statistic::kLength};
    ops::PlanNormalise(plan, how, node.dtype(0), {x, Write(plan, out, "y"), {}, {}, {}, {}}, 1u << axis);
  });
}

void MVNV2(Translation& node) {
  uint32_t mask = 0;
  for (int64_t axis : node.Ints("axes")) mask |= 1u << node.Axis(axis, node.shape(0).rank());
  Plain(node, {.epsilon = node.Float("eps"), .epsilon_outside = true}, mask);
}

// With `size` as ONNX has it; without, 2 * depth_radius + 1 channels whose squares are not divided.
void LRN(Translation& node) {
  RequireFloat(node);
  if (node.shape(0).rank() < 2) node.Refuse("x has no dimension of channels");
  int64_t size = node.Int("size"), window = size > 0 ? size : 2 * node.Int("depth_radius") + 1;
  double alpha = node.Float("alpha") * (size > 0 ? 1 : static_cast<double>(window));
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("LRN", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    ops::PlanLocalResponse(plan, {alpha, node.Float("beta"), node.Float("bias"), window}, x,
                           Write(plan, out, "y"));
  });
}

void NLLLoss(Translation& node) {
  RequireFloat(node);
  const Shape& shape = node.shape(0);
  if (shape.rank() < 1) node.Refuse("x has a dimension of classes");
  const int axis = std::min(1, shape.rank() - 1);
  Shape of_target;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != axis) of_target.push_back(shape[d]);
  }
  const bool fits = node.shape(1) == of_target && (!node.has(2) || node.shape(2) == Shape{shape[axis]});
  if (!fits) node.Refuse("target is as x without its classes, and weight has one element for each class");
  const std::string reduction = node.String("reduction");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    node.Refuse("reduction is none, sum or mean");
  const Shape result = reduction == "none" ? of_target : Shape{};
  const Tensor out = node.Out(0, node.dtype(0), result);
  Tensor total;
  if (node.output_count() > 1) total = node.Out(1, node.dtype(0), {});
  node.Step("NLLLoss", [&](ops::Plan& plan) {
    ops::NllArgs args;
    args.x = ReadFrom(plan, node.in(0), "x"), args.target = ReadFrom(plan, node.in(1), "target");
    if (node.has(2)) args.weight = ReadFrom(plan, node.in(2), "weight");
    args.out = WrittenTo(plan, out, "y");
    if (node.output_count() > 1) args.total = WrittenTo(plan, total, "total_weight");
    args.reduction = reduction == "none"  ? ops::LossReduction::kNone
                     : reduction == "sum" ? ops::LossReduction::kSum
                                          : ops::LossReduction::kMean;
    args.ignored = node.Int("ignore_index");
    ops::PlanNll(plan, args);
  });
}

}  // namespace belay::graph::translate
