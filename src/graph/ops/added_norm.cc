// Normalisations of what is summed, scaled or masked first.
#include <limits>

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

void AddInto(Translation& node, const Tensor& a, const Tensor& b, const Tensor& sum) {
  const int64_t one = 1;
  const Scalar factor(&one, DType::kI64);
  node.Run(ops::forms::Add, {Arg(&a), Arg(&b), Arg(&factor), Arg(&sum)});
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
  const Tensor y = node.Out(0, dtype, shape);
  const Shape rows = RowShape(node, node.shape(2));
  const Tensor mean = OutOrTemporary(node, 1, DType::kF32, rows),
               rstd = OutOrTemporary(node, 2, DType::kF32, rows);
  const Tensor sum = OutOrTemporary(node, 3, dtype, shape);
  AddInto(node, node.Cast(node.in(0), dtype), node.Cast(node.in(1), dtype), sum);
  if (node.has(4)) AddInto(node, sum, node.Cast(node.in(4), dtype), sum);
  const tensor::IntArray sizes(node.shape(2).data(), static_cast<size_t>(node.shape(2).rank()));
  node.Run(ops::forms::LayerNorm, {Arg(&sum), Arg(&sizes), Arg(&node.in(2)), Arg(&node.in(3)),
                                   Arg(node.Float("epsilon")), Arg(&y), Arg(&mean), Arg(&rstd)});
}

// softmax(x * scale) over the last dimension, without what the mask names (or, fixed, what is above the
// diagonal).
void ScaledMaskedSoftmax(Translation& node) {
  const Tensor& x = node.in(0);
  if (!IsFloat(x.dtype) || x.shape.rank() == 0) node.Refuse("x has dimensions and is of a float type");
  const bool fixed = node.Bool("fixed_triu_mask");
  if (!fixed && !node.has(1)) node.Refuse("there is no mask");
  const double scale = node.Float("scale"), least = -10000;
  const int64_t one = 1;
  const Scalar factor(&scale, DType::kF64), hidden(&least, DType::kF64), truth(&one, DType::kI64);
  const Tensor scaled = node.Temporary(DType::kF32, x.shape);
  node.Run(ops::forms::Muls, {Arg(&x), Arg(&factor), Arg(&scaled)});
  Tensor mask;
  if (fixed) {
    if (x.shape.rank() < 2) node.Refuse("a triangle has two dimensions");
    const Tensor all = node.Temporary(DType::kU8, {x.shape.back(1), x.shape.back(0)});
    const Tensor above = node.Temporary(DType::kU8, all.shape);
    node.Run(ops::forms::InplaceFillScalar, {Arg(&all), Arg(&truth)});
    node.Run(ops::forms::Triu, {Arg(&all), Arg(int64_t{1}), Arg(&above)});
    mask = node.Cast(above, DType::kBool);
  } else {
    mask = node.Cast(node.in(1), DType::kBool);
  }
  node.Run(ops::forms::InplaceMaskedFillScalar, {Arg(&scaled), Arg(&mask), Arg(&hidden)});
  const Tensor y = node.Out(0, x.dtype, x.shape);
  node.Run(ops::forms::Softmax, {Arg(&scaled), Arg(int64_t{-1}), Arg(&y)});
}

}  // namespace belay::graph::translate
