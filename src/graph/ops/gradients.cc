// Gradients of pointwise functions and of softmax.
#include "ops/elementwise/gradients.h"

#include "graph/ops/pointwise.h"
#include "graph/ops/reduce.h"
#include "graph/translations.h"
#include "ops/gradient/gradient_loops.h"

namespace belay::graph::translate {
namespace {

using ops::LoopAttributes;

void Gradient(Translation& node, const char* name, const ops::PointwiseLoops& loops,
              std::initializer_list<double> attributes = {}) {
  const Tensor out = node.Out(0, node.dtype(0), BroadcastOf(node, {node.shape(0), node.shape(1)}));
  RunLoops(node, name, loops, out.dtype, {node.in(0), node.in(1)}, LoopAttributes(attributes), out);
}

void RequireFloats(const Translation& node) {
  if (!IsFloat(node.dtype(0)) || node.dtype(0) != node.dtype(1)) node.Refuse("both inputs are floats");
  if (node.shape(0) != node.shape(1)) node.Refuse("both inputs have one shape");
}

}  // namespace

void HardSigmoidGrad(Translation& node) {
  Gradient(node, "HardSigmoidGrad", ops::HardSigmoidGradLoops(), {node.Float("alpha"), node.Float("beta")});
}
void SwishGrad(Translation& node) {
  Gradient(node, "SwishGrad", ops::SwishGradLoops(), {node.Float("scale")});
}
void SeluGrad(Translation& node) {
  Gradient(node, "SeluGrad", ops::EluGradOfResultLoops(), {1.6732632423543772, 1.0507009873554805, 1});
}
void LogSigmoidGrad(Translation& node) { Gradient(node, "LogSigmoidGrad", ops::LogSigmoidGradLoops()); }

namespace {

// `first` less each one's share of the sum of `summed` along the axes.
void LessShareOfSum(Translation& node, const char* axes, const Tensor& first, const Tensor& share,
                    const Tensor& summed) {
  const Shape& shape = node.shape(0);
  const DType wide = SumType(node.dtype(0));
  const uint32_t mask = MaskOf(node, node.Ints(axes), false);
  const Tensor sum = node.Temporary(wide, Left(shape, mask, true));
  RunReduce(node, {}, wide, mask, summed, sum);
  RunLoops(node, node.node().type.c_str(), ops::MinusProductLoops(), wide, {first, share, sum}, {},
           node.Out(0, node.dtype(0), shape));
}

}  // namespace

// softmax * (gradient - the sum of softmax * gradient)
void SoftmaxGrad(Translation& node) {
  RequireFloats(node);
  const DType wide = SumType(node.dtype(0));
  const Tensor product = node.Temporary(wide, node.shape(0));
  RunBinary(node, "SoftmaxGrad", ops::kernels::Mul, wide, node.in(0), node.in(1), product);
  LessShareOfSum(node, "axes", product, node.in(0), product);
}

// gradient - exp(logarithm of softmax) * the sum of the gradient
void LogSoftmaxGrad(Translation& node) {
  RequireFloats(node);
  const Tensor share = node.Temporary(SumType(node.dtype(0)), node.shape(0));
  RunUnary(node, "LogSoftmaxGrad", ops::kernels::Exp, node.in(1), share);
  LessShareOfSum(node, "axis", node.in(0), share, node.in(0));
}

}  // namespace belay::graph::translate
