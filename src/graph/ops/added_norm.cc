// Normalisations of what is summed, scaled or masked first.
#include "graph/ops/pointwise.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

// One for each row that the weights go along.
Shape RowShape(const Translation& node, const Shape& weight) {
  Shape shape = node.shape(0);
  if (weight.rank() > shape.rank()) node.Refuse("gamma has more dimensions than x1");
  for (int d = shape.rank() - weight.rank(); d < shape.rank(); ++d) shape[d] = 1;
  return shape;
}

Tensor OutOrTemporary(Translation& node, int output, DType dtype, const Shape& shape) {
  return output < node.output_count() ? node.Out(output, dtype, shape) : node.Temporary(dtype, shape);
}

}  // namespace

void AddRmsNorm(Translation& node) {
  const Tensor& x1 = node.in(0);
  const Tensor y = node.Out(0, x1.dtype, x1.shape);
  const Tensor rstd = OutOrTemporary(node, 1, DType::kF32, RowShape(node, node.shape(2)));
  const Tensor sum = OutOrTemporary(node, 2, x1.dtype, x1.shape);
  node.Run(ops::forms::AddRmsNorm, {Arg(&x1), Arg(&node.in(1)), Arg(&node.in(2)), Arg(node.Float("epsilon")),
                                    Arg(&y), Arg(&rstd), Arg(&sum)});
}

// In f32 where x1 and x2 are of two types.
void AddLayerNorm(Translation& node) {
  const DType dtype = node.dtype(0) == node.dtype(1) ? node.dtype(0) : DType::kF32;
  const Shape& shape = node.shape(0);
  const Tensor* bias = node.has(4) ? &node.in(4) : nullptr;
  const Tensor y = node.Out(0, dtype, shape);
  const Shape rows = RowShape(node, node.shape(2));
  const Tensor mean = OutOrTemporary(node, 1, DType::kF32, rows),
               rstd = OutOrTemporary(node, 2, DType::kF32, rows);
  const Tensor sum = OutOrTemporary(node, 3, dtype, shape);
  node.Run(ops::forms::AddLayerNorm,
           {Arg(&node.in(0)), Arg(&node.in(1)), Arg(&node.in(2)), Arg(&node.in(3)), Arg(bias),
            Arg(node.Float("epsilon")), Arg(true), Arg(&y), Arg(&mean), Arg(&rstd), Arg(&sum)});
}

void AddLayerNormGrad(Translation& node) {
  const Tensor &dy = node.in(0), &gamma = node.in(5);
  const Tensor* dsum = node.has(6) ? &node.in(6) : nullptr;
  const Tensor dx = node.Out(0, dy.dtype, dy.shape), dgamma = node.Out(1, DType::kF32, gamma.shape),
               dbeta = node.Out(2, DType::kF32, gamma.shape);
  node.Run(ops::forms::AddLayerNormGrad,
           {Arg(&dy), Arg(&node.in(1)), Arg(&node.in(2)), Arg(&node.in(3)), Arg(&node.in(4)), Arg(&gamma),
            Arg(dsum), Arg(&dx), Arg(&dgamma), Arg(&dbeta)});
}

// One statistic for each row: the first two results.
void DeepNorm(Translation& node) {
  const Tensor &x = node.in(0), &gamma = node.in(3);
  const Shape rows = RowShape(node, gamma.shape);
  const Tensor mean = node.Out(0, DType::kF32, rows), rstd = OutOrTemporary(node, 1, DType::kF32, rows),
               y = OutOrTemporary(node, 2, x.dtype, x.shape);
  node.Run(ops::forms::DeepNorm,
           {Arg(&x), Arg(&node.in(1)), Arg(&node.in(2)), Arg(&gamma), Arg(node.Float("alpha")),
            Arg(node.Float("epsilon")), Arg(&mean), Arg(&rstd), Arg(&y)});
}

void DeepNormGrad(Translation& node) {
  const Tensor &x = node.in(1), &gamma = node.in(3);
  const Tensor dx = node.Out(0, x.dtype, x.shape), dgx = OutOrTemporary(node, 1, x.dtype, x.shape),
               dbeta = OutOrTemporary(node, 2, DType::kF32, gamma.shape),
               dgamma = OutOrTemporary(node, 3, DType::kF32, gamma.shape);
  node.Run(ops::forms::DeepNormGrad,
           {Arg(&node.in(0)), Arg(&x), Arg(&node.in(2)), Arg(&gamma), Arg(&node.in(4)), Arg(&node.in(5)),
            Arg(node.Float("alpha")), Arg(&dx), Arg(&dgx), Arg(&dbeta), Arg(&dgamma)});
}

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
