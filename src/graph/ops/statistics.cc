// What tells something of a tensor as a whole: extremes with their places, counts, norms and determinants.
#include "graph/ops/pointwise.h"
#include "graph/ops/reduce.h"
#include "graph/translations.h"
#include "ops/elementwise/gradients.h"
#include "ops/elementwise/unlisted.h"
#include "ops/linalg/linalg.h"
#include "ops/reduce/histogram.h"

namespace belay::graph::translate {
namespace {

using ops::Finish;

void WithValue(Translation& node, bool largest) {
  const Shape& shape = node.shape(0);
  const int axis = node.Axis(node.Int("dimension"), std::max(shape.rank(), 1));
  const Shape left = Left(shape, shape.rank() == 0 ? 0 : 1u << axis, node.Bool("keep_dims"));
  const Tensor places = node.Out(0, DType::kI32, left), values = node.Out(1, node.dtype(0), left);
  CommonType(node, node.dtype(0), node.dtype(0));
  node.Step("Arg", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x"), value = Write(plan, values, "values");
    ops::PlanArg(plan, {.largest = largest}, x, axis, value, Write(plan, places, "indice"));
  });
}

void Norm(Translation& node, const Tensor& x, double p, const std::vector<int64_t>& dims, const Tensor& out) {
  node.Step("Norm", [&](ops::Plan& plan) {
    Operand from = Read(plan, x, "x");
    ops::kernels::VectorNorm(plan, x.dtype, from, Scalar(&p, DType::kF64), dims, false, x.dtype,
                             Write(plan, out, "y"));
  });
}

// As the attribute has it: infinity may be given as a negative number.
double NormOrder(const Translation& node) {
  const double p = node.Float("p");
  return p < 0 ? std::numeric_limits<double>::infinity() : p;
}

Tensor Matrices(Translation& node) {
  const Shape& shape = node.shape(0);
  const bool square = shape.rank() >= 2 && shape.back(0) == shape.back(1);
  if (!square || !IsFloat(node.dtype(0))) node.Refuse("the last two dimensions are of one size, and floats");
  return node.Cast(node.in(0), DType::kF64);
}

}  // namespace

void ArgMaxWithValue(Translation& node) { WithValue(node, true); }
void ArgMinWithValue(Translation& node) { WithValue(node, false); }

// The sum of input * count / count_sum
void ReduceMeanWithCount(Translation& node) {
  const Shape& shape = node.shape(0);
  const DType type = node.dtype(0), wide = SumType(type);
  if (BroadcastOf(node, {shape, node.shape(1), node.shape(2)}) != shape)
    node.Refuse("counts broadcast to input");
  const Tensor share = node.Temporary(wide, shape);
  RunBinary(node, "ReduceMeanWithCount", ops::kernels::Mul, wide, node.in(0), node.in(1), share);
  RunBinary(node, "ReduceMeanWithCount", ops::kernels::RealDiv, wide, share, node.in(2), share);
  const uint32_t mask = MaskOf(node, node.Ints("axes"), true);
  RunReduce(node, {}, wide, mask, share, node.Out(0, type, Left(shape, mask, node.Bool("keep_dims"))));
}

// With `invert` it is 1 / the root of the variance plus epsilon.
void ReduceStdWithMean(Translation& node) {
  const Shape& shape = node.shape(0);
  const DType type = node.dtype(0), wide = SumType(type);
  if (BroadcastOf(node, {shape, node.shape(1)}) != shape) node.Refuse("mean broadcasts to x");
  const Tensor square = node.Temporary(wide, shape);
  RunBinary(node, "ReduceStdWithMean", ops::kernels::SquaredDifference, wide, node.in(0), node.in(1), square);
  const uint32_t mask = MaskOf(node, node.Ints("dim"), true);
  const bool invert = node.Bool("invert");
  const int64_t correction = node.HasAttribute("correction") ? node.Int("correction") : node.Bool("unbiased");
  const Tensor out = node.Out(0, type, Left(shape, mask, node.Bool("keepdim")));
  const Tensor spread = invert ? node.Temporary(wide, out.shape) : out;
  RunReduce(
      node,
      {.finish = Finish::kDivide, .divisor = -static_cast<double>(correction), .root_of_quotient = !invert},
      wide, mask, square, spread);
  if (invert) {
    RunLoops(node, "ReduceStdWithMean", ops::InverseDeviationLoops(), wide, {spread},
             ops::LoopAttributes({node.Float("epsilon")}), out);
  }
}

void Histogram(Translation& node) {
  const int64_t bins = node.Int("bins");
  if (bins < 1 || node.Float("min") > node.Float("max"))
    node.Refuse("there are bins, and min is not above max");
  const Tensor x = node.Cast(node.in(0), DType::kF64), counts = node.Temporary(DType::kF64, {bins});
  node.Step("Histogram", [&](ops::Plan& plan) {
    Operand from = Read(plan, x, "x");
    ops::PlanHistogram(plan, from, node.Float("min"), node.Float("max"), Write(plan, counts, "y"));
  });
  node.Copy(counts, node.Out(0, IsFloat(node.dtype(0)) ? DType::kF32 : DType::kI32, {bins}));
}

void Bincount(Translation& node) {
  const std::vector<int64_t> size = node.ints(1);
  if (size.size() != 1 || size[0] < 0) node.Refuse("size is one number");
  const bool weighted = node.in(2).count() > 0;
  if (weighted && node.in(2).count() != node.in(0).count()) node.Refuse("each element has a weight");
  const Tensor x = node.Cast(node.in(0), DType::kI64), counts = node.Temporary(DType::kF64, {size[0]});
  const Tensor weights = weighted ? node.Cast(node.in(2), DType::kF64) : Tensor{};
  node.Step("Bincount", [&](ops::Plan& plan) {
    Operand from = Read(plan, x, "array");
    Operand weight = weighted ? Read(plan, weights, "weights") : Operand{};
    ops::PlanBincount(plan, from, weight, Write(plan, counts, "bins"));
  });
  node.Copy(counts, node.Out(0, node.dtype(2), {size[0]}));
}

// The factors that take the parts along a dimension to the norm maxnorm where theirs is larger.
void Renorm(Translation& node) {
  Tensor x = node.Cast(node.in(0), SumType(node.dtype(0)));
  const int rank = x.shape.rank(), kept = node.Axis(node.Int("dim"), rank);
  x.shape.push_back(1);  // so that there is a dimension to fold
  x.strides.push_back(1);
  std::vector<int64_t> dims;
  Shape left;
  for (int i = 0; i <= rank; ++i) {
    if (i != kept) dims.push_back(i);
    if (i < rank) left.push_back(i == kept ? x.shape[i] : 1);
  }
  const Tensor norm = node.Temporary(x.dtype, left);
  Norm(node, x, NormOrder(node), dims, Translation::Reshaped(norm, {x.shape[kept]}));
  RunLoops(node, "Renorm", ops::ShorteningLoops(), x.dtype, {norm},
           ops::LoopAttributes({node.Float("maxnorm")}), node.Out(0, node.dtype(0), left));
}

// The rows of both inputs have been repeated so that they have one shape.
void Cdist(Translation& node) {
  const Shape shape = BroadcastOf(node, {node.shape(0), node.shape(1)});
  if (shape.rank() == 0) node.Refuse("its inputs have rows");
  const DType type = node.dtype(0), wide = SumType(type);
  const int last = shape.rank() - 1;
  const Tensor gaps = node.Temporary(wide, shape);
  const Tensor norms = node.Temporary(wide, Left(shape, 1u << last, false));
  RunLoops(node, "Cdist", ops::AbsoluteErrorLoops(), wide, {node.in(0), node.in(1)}, {}, gaps);
  Norm(node, gaps, NormOrder(node), {last}, norms);
  node.Copy(norms, node.Out(0, type, norms.shape));
}

// All four have been repeated so that they have one shape, [.., rows, others, width].
void CdistGrad(Translation& node) {
  const Shape& shape = node.shape(0);
  if (shape.rank() < 2) node.Refuse("its inputs have rows of two matrices");
  for (int i = 1; i < 4; ++i) {
    if (node.shape(i) != shape || node.dtype(i) != node.dtype(0))
      node.Refuse("its inputs have one shape and one type");
  }
  if (!IsFloat(node.dtype(0)) || node.dtype(0) == DType::kF64) node.Refuse("its inputs are FLOAT or shorter");
  std::vector<Tensor> in;
  for (int i = 0; i < 4; ++i) in.push_back(node.Packed(node.Cast(node.in(i), DType::kF32)));
  Shape left = Shape::Of(shape.data(), shape.rank() - 2);
  left.push_back(shape.back(0));
  const Tensor sums = node.Temporary(DType::kF32, left);
  node.Step("CdistGrad", [&](ops::Plan& plan) {
    const ops::DistanceGradientArgs args{Read(plan, in[0], "grad"), Read(plan, in[1], "x1"),
                                         Read(plan, in[2], "x2"), Read(plan, in[3], "cdist"),
                                         NormOrder(node)};
    ops::PlanDistanceGradient(plan, args, Write(plan, sums, "y"));
  });
  node.Copy(sums, node.Out(0, node.dtype(0), left));
}

void Pdist(Translation& node) {
  const Shape& shape = node.shape(0);
  if (shape.rank() != 2) node.Refuse("x has two dimensions");
  const Tensor x = node.Cast(node.in(0), DType::kF64);
  const Tensor pairs = node.Temporary(DType::kF64, {shape[0] * (shape[0] - 1) / 2});
  node.Step("Pdist", [&](ops::Plan& plan) {
    Operand from = Read(plan, x, "x");
    ops::PlanPairDistances(plan, from, NormOrder(node), Write(plan, pairs, "y"));
  });
  node.Copy(pairs, node.Out(0, node.dtype(0), pairs.shape));
}

void MatrixInverse(Translation& node) {
  Tensor x = Matrices(node);
  if (node.Bool("adjoint")) node.Refuse("adjoint is not supported");
  const Tensor inverse = node.Temporary(DType::kF64, x.shape);
  node.Step("MatrixInverse", [&](ops::Plan& plan) {
    Operand from = Read(plan, x, "x");
    ops::PlanInverse(plan, from, Write(plan, inverse, "y"));
  });
  node.Copy(inverse, node.Out(0, node.dtype(0), x.shape));
}

void LogMatrixDeterminant(Translation& node) {
  const Tensor x = Matrices(node);
  const Shape left = Shape::Of(x.shape.data(), x.shape.rank() - 2);
  const Tensor sign = node.Temporary(DType::kF64, left), logarithm = node.Temporary(DType::kF64, left);
  node.Step("LogMatrixDeterminant", [&](ops::Plan& plan) {
    Operand from = Read(plan, x, "x"), signs = Write(plan, sign, "sign");
    ops::PlanLogDeterminant(plan, from, signs, Write(plan, logarithm, "y"));
  });
  node.Copy(sign, node.Out(0, node.dtype(0), left));
  node.Copy(logarithm, node.Out(1, node.dtype(0), left));
}

}  // namespace belay::graph::translate
