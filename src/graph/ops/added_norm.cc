// Normalisations of what is summed, scaled or masked first.
#include "graph/ops/pointwise.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

// What input i names; or, fixed, what is above the diagonal of the last two dimensions.
Tensor HiddenIn(Translation& node, int i, const Tensor& x) {
  if (!IsFloat(x.dtype) || x.shape.rank() == 0)
    node.Refuse("what is masked has dimensions and is of a float type");
  if (!node.Bool("fixed_triu_mask")) {
    if (!node.has(i)) node.Refuse("there is no mask");
    return node.Cast(node.in(i), DType::kBool);
  }
  if (x.shape.rank() < 2) node.Refuse("a triangle has two dimensions");
  const int64_t one = 1;
  const Scalar truth(&one, DType::kI64);
  const Tensor all = node.Temporary(DType::kU8, {x.shape.back(1), x.shape.back(0)});
  const Tensor above = node.Temporary(DType::kU8, all.shape);
  node.Run(ops::forms::InplaceFillScalar, {Arg(&all), Arg(&truth)});
  node.Run(ops::forms::Triu, {Arg(&all), Arg(int64_t{1}), Arg(&above)});
  return node.Cast(above, DType::kBool);
}

}  // namespace

// softmax(x * scale) over the last dimension, without what the mask names.
void ScaledMaskedSoftmax(Translation& node) {
  const Tensor& x = node.in(0);
  const Tensor mask = HiddenIn(node, 1, x), y = node.Out(0, x.dtype, x.shape);
  node.Run(ops::forms::ScaledMaskedSoftmax,
           {Arg(&x), Arg(&mask), Arg(node.Float("scale")), Arg(false), Arg(&y)});
}

void ScaledMaskedSoftmaxGrad(Translation& node) {
  const Tensor &gradient = node.in(0), &y = node.in(1);
  const Tensor mask = HiddenIn(node, 2, y), x_grad = node.Out(0, gradient.dtype, gradient.shape);
  node.Run(ops::forms::ScaledMaskedSoftmaxBackward,
           {Arg(&gradient), Arg(&y), Arg(&mask), Arg(node.Float("scale")), Arg(false), Arg(&x_grad)});
}

}  // namespace belay::graph::translate
