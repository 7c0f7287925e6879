// Tensors that follow a rule, and diagonals.
#include <cmath>

#include "graph/ops/pointwise.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

Scalar ScalarOf(const double& value) { return {&value, DType::kF64}; }

// The diagonal of a packed matrix, as a vector; k > 0 is above the main one.
Tensor DiagonalOf(const Tensor& matrix, int64_t k) {
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  const int64_t first_row = std::max<int64_t>(-k, 0), first_column = std::max<int64_t>(k, 0);
  const int64_t length = std::max<int64_t>(std::min(rows - first_row, columns - first_column), 0);
  return Translation::View(matrix, {length}, {columns + 1},
                           length == 0 ? 0 : first_row * columns + first_column);
}

}  // namespace

// x counts the elements; its values are not looked at.
void RangeD(Translation& node) {
  const double bounds[] = {node.Float("start"), node.Float("limit"), node.Float("delta")};
  const Scalar start = ScalarOf(bounds[0]), end = ScalarOf(bounds[1]), step = ScalarOf(bounds[2]);
  const Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Run(ops::forms::Range, {Arg(&start), Arg(&end), Arg(&step), Arg(&out)});
}

// Inputs: start, stop, and how many.
void LinSpace(Translation& node) {
  const int64_t count = node.ints(2).at(0);
  if (count < 0) node.Refuse("num is negative");
  const double bounds[] = {node.value(0).Reals().at(0), node.value(1).Reals().at(0)};
  const Scalar start = ScalarOf(bounds[0]), end = ScalarOf(bounds[1]);
  const Tensor out = node.Out(0, node.dtype(0), {count});
  node.Run(ops::forms::Linspace, {Arg(&start), Arg(&end), Arg(count), Arg(&out)});
}

// base to the power of `steps` numbers from start to end.
void LogSpaceD(Translation& node) {
  const int64_t count = node.Int("steps");
  if (count != node.in(0).count()) node.Refuse("assist has as many elements as there are steps");
  const double bounds[] = {node.Float("start"), node.Float("end"), node.Float("base")};
  const Scalar start = ScalarOf(bounds[0]), end = ScalarOf(bounds[1]), base = ScalarOf(bounds[2]);
  const Tensor exponents = node.Temporary(DType::kF32, {count});
  node.Run(ops::forms::Linspace, {Arg(&start), Arg(&end), Arg(count), Arg(&exponents)});
  const Tensor out = node.Out(0, node.Int("dtype") == 0 ? DType::kF16 : DType::kF32, {count});
  node.Run(ops::forms::PowScalarTensor, {Arg(&base), Arg(&exponents), Arg(&out)});
}

// x on a diagonal of zeros; several dimensions count as one.
void Diag(Translation& node) {
  const Tensor& x = node.in(0);
  const int64_t k = node.Int("diagonal"), size = x.count() + std::abs(k);
  if (x.shape.rank() > tensor::kMaxRank / 2 || (x.shape.rank() != 1 && k != 0))
    node.Refuse("x has up to four dimensions, and one if diagonal is not 0");
  Shape shape{size, size};
  if (x.shape.rank() > 1) {
    shape = x.shape;
    for (int64_t length : x.shape) shape.push_back(length);
  }
  const Tensor out = node.Out(0, x.dtype, shape);
  node.Run(ops::forms::InplaceZero, {Arg(&out)});
  node.Copy(Translation::Reshaped(x, {x.count()}), DiagonalOf(Translation::Reshaped(out, {size, size}), k));
}

void DiagPart(Translation& node) {
  const Tensor& x = node.in(0);
  const int half = x.shape.rank() / 2;
  if (half == 0 || x.shape.rank() % 2 != 0) node.Refuse("x has an even number of dimensions");
  const Shape front = Shape::Of(x.shape.data(), half), back = Shape::Of(x.shape.data() + half, half);
  if (half == 1) {
    const Tensor diagonal = DiagonalOf(x, node.Int("diagonal"));
    return node.Copy(diagonal, node.Out(0, x.dtype, diagonal.shape));
  }
  if (front != back || node.Int("diagonal") != 0)
    node.Refuse("both halves of the dimensions are the same, and diagonal is 0");
  const int64_t size = CountOf(front);
  const Tensor out = node.Out(0, x.dtype, front);
  node.Copy(DiagonalOf(Translation::Reshaped(x, {size, size}), 0), Translation::Reshaped(out, {size}));
}

}  // namespace belay::graph::translate
