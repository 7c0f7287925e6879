// Products of matrices.
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

Tensor LastTwoSwapped(const Tensor& tensor) {
  Tensor view = tensor;
  std::swap(view.shape.back(0), view.shape.back(1));
  std::swap(view.strides.back(0), view.strides.back(1));
  return view;
}

Tensor Side(const Translation& node, int input, bool swap) {
  const Tensor& tensor = node.in(input);
  if (!swap) return tensor;
  if (tensor.shape.rank() < 2) node.Refuse("a vector cannot be transposed");
  return LastTwoSwapped(tensor);
}

// As numpy.matmul: vectors, and batches that broadcast.
Shape ProductShape(const Translation& node, const Tensor& a, const Tensor& b) {
  int ra = a.shape.rank(), rb = b.shape.rank();
  if (ra == 0 || rb == 0) node.Refuse("scalars cannot be multiplied as matrices");
  int64_t inner_a = a.shape.back(0), inner_b = rb == 1 ? b.shape[0] : b.shape.back(1);
  auto batch = tensor::BroadcastShapes(Shape::Of(a.shape.data(), ra < 2 ? 0 : ra - 2),
                                       Shape::Of(b.shape.data(), rb < 2 ? 0 : rb - 2));
  if (inner_a != inner_b || !batch) {
    node.Refuse("matrices of " + a.shape.ToString() + " and " + b.shape.ToString() + " cannot be multiplied");
  }
  Shape shape = *batch;
  if (ra > 1) shape.push_back(a.shape.back(1));
  if (rb > 1) shape.push_back(b.shape.back(0));
  return shape;
}

void Product(Translation& node, bool swap_1, bool swap_2) {
  Tensor a = Side(node, 0, swap_1), b = Side(node, 1, swap_2);
  Shape shape = ProductShape(node, a, b);
  Tensor out = node.Out(0, node.dtype(0), shape);
  node.Run(ops::forms::Matmul, {Arg(&a), Arg(&b), Arg(&out), Arg(int64_t{0})});
}

}  // namespace

void BatchMatMul(Translation& node) { Product(node, node.Bool("adj_x1"), node.Bool("adj_x2")); }

void MatMulV2(Translation& node) {
  Product(node, node.Bool("transpose_x1"), node.Bool("transpose_x2"));
  if (node.has(2)) node.Refuse("a bias is not supported yet");
}

}  // namespace belay::graph::translate
