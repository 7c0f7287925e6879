// Losses, which are functions of a prediction and a target that may be folded to one number, and their
// gradients.
#include "graph/ops/pointwise.h"
#include "graph/ops/reduce.h"
#include "graph/translations.h"
#include "ops/elementwise/gradients.h"

namespace belay::graph::translate {
namespace {

using ops::LoopAttributes;

// By the attribute `reduction`, of an input of this shape.
std::optional<ops::Reduction> ReductionOf(const Translation& node, const Shape& shape) {
  const std::string name = node.String("reduction");
  if (name == "none") return std::nullopt;
  if (name == "sum") return ops::Reduction{};
  if (name == "mean") return ops::Reduction{.finish = ops::Finish::kDivide};
  if (name != "batchmean" || shape.rank() == 0) node.Refuse("reduction is none, sum, mean or batchmean");
  const auto rest = static_cast<double>(shape[0] - CountOf(shape));
  return ops::Reduction{.finish = ops::Finish::kDivide, .divisor = rest};
}

void Multiply(Translation& node, const Tensor& tensor, const Tensor& weight) {
  RunBinary(node, "Weight", ops::kernels::Mul, tensor.dtype, tensor, weight, tensor);
}

// The first two inputs are the prediction and the target; `weight` is an input that may be absent.
void Loss(Translation& node, const char* name, const ops::PointwiseLoops& loops,
          std::initializer_list<double> attributes = {}, int weight = -1, std::vector<Tensor> more = {}) {
  const Shape shape = BroadcastOf(node, {node.shape(0), node.shape(1)});
  const std::optional<ops::Reduction> reduction = ReductionOf(node, shape);
  std::vector<Tensor> inputs{node.in(0), node.in(1)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  const DType type = node.dtype(0), wide = SumType(type);
  const Tensor each = node.Temporary(wide, shape);
  RunLoops(node, name, loops, wide, inputs, LoopAttributes(attributes), each);
  if (weight >= 0 && node.has(weight)) Multiply(node, each, node.in(weight));
  if (!reduction) return node.Copy(each, node.Out(0, type, shape));
  RunReduce(node, *reduction, wide, (1u << shape.rank()) - 1, each, node.Out(0, type, {}));
}

// The inputs that are the prediction, the target and the gradient of the loss; the loop's first attribute is
// the share that an element has in the loss.
struct GradientInputs {
  int prediction = 0, target = 1, gradient = 2, weight = -1;
};

void LossGradient(Translation& node, const char* name, const ops::PointwiseLoops& loops,
                  const GradientInputs& in, double attribute = 0) {
  const Tensor& prediction = node.in(in.prediction);
  const bool mean = node.String("reduction") == "mean";
  const double share = mean ? 1.0 / static_cast<double>(std::max<int64_t>(prediction.count(), 1)) : 1.0;
  const Tensor out = node.Out(0, prediction.dtype, prediction.shape);
  BroadcastOf(node, {out.shape, node.shape(in.target), node.shape(in.gradient)});
  RunLoops(node, name, loops, out.dtype, {prediction, node.in(in.target), node.in(in.gradient)},
           LoopAttributes({share, attribute}), out);
  if (in.weight >= 0 && node.has(in.weight)) Multiply(node, out, node.in(in.weight));
}

}  // namespace

void MseLoss(Translation& node) { Loss(node, "MseLoss", ops::SquaredErrorLoops()); }
void MseLossGrad(Translation& node) { LossGradient(node, "MseLossGrad", ops::SquaredErrorGradLoops(), {}); }

void LpLoss(Translation& node) {
  if (node.Int("p") != 1) node.Refuse("p is 1");
  Loss(node, "LpLoss", ops::AbsoluteErrorLoops());
}
void L1LossGrad(Translation& node) {
  LossGradient(node, "L1LossGrad", ops::AbsoluteErrorGradLoops(),
               {.prediction = 1, .target = 2, .gradient = 0});
}

void SmoothL1LossV2(Translation& node) {
  Loss(node, "SmoothL1LossV2", ops::SmoothErrorLoops(), {node.Float("sigma")});
}
void SmoothL1LossGradV2(Translation& node) {
  LossGradient(node, "SmoothL1LossGradV2", ops::SmoothErrorGradLoops(), {}, node.Float("sigma"));
}

void KLDiv(Translation& node) {
  Loss(node, "KLDiv", node.Bool("log_target") ? ops::LogDivergenceLoops() : ops::DivergenceLoops());
}

void SoftMarginLoss(Translation& node) { Loss(node, "SoftMarginLoss", ops::SoftMarginLoops()); }
void SoftMarginLossGrad(Translation& node) {
  LossGradient(node, "SoftMarginLossGrad", ops::SoftMarginGradLoops(), {});
}

void BinaryCrossEntropy(Translation& node) {
  Loss(node, "BinaryCrossEntropy", ops::CrossEntropyLoops(), {}, 2);
}
void BinaryCrossEntropyGrad(Translation& node) {
  LossGradient(node, "BinaryCrossEntropyGrad", ops::CrossEntropyGradLoops(), {.weight = 3});
}

void SigmoidCrossEntropyWithLogitsV2(Translation& node) {
  Tensor positive;
  if (node.has(3)) {
    positive = node.in(3);
  } else {
    const double one = 1;
    positive = node.Temporary(DType::kF32, {});
    node.Step("PositiveWeight", [&](ops::Plan& plan) {
      ops::kernels::Fill(plan, DType::kF32, Scalar(&one, DType::kF64), Write(plan, positive, "weight"));
    });
  }
  Loss(node, "SigmoidCrossEntropyWithLogitsV2", ops::LogitsCrossEntropyLoops(), {}, 2, {positive});
}

}  // namespace belay::graph::translate
