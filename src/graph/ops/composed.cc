// Pointwise operators that are others in a row, and operators on parts of tensors.
#include "graph/ops/axes.h"
#include "graph/ops/pointwise.h"
#include "graph/ops/reduce.h"
#include "graph/translations.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/gradients.h"
#include "ops/index/masked_scatter.h"

namespace belay::graph::translate {
namespace {

using ops::LoopAttributes;

// A tensor of one element as a scalar, so that it adds no dimension.
Tensor ScalarInput(const Translation& node, int i) {
  return node.in(i).count() == 1 ? Translation::Reshaped(node.in(i), {}) : node.in(i);
}

// The first input plus a multiple of a product or a quotient of the next two.
void AddMultiple(Translation& node, const char* name, const ops::PointwiseLoops& loops) {
  const DType type = node.dtype(0), wide = WideType(type);
  const Tensor value = ScalarInput(node, 3);
  const Tensor multiple = node.Temporary(wide, BroadcastOf(node, {node.shape(1), value.shape}));
  const Tensor out = node.Out(0, type, BroadcastOf(node, {node.shape(0), multiple.shape, node.shape(2)}));
  RunBinary(node, name, ops::kernels::Mul, wide, node.in(1), value, multiple);
  RunLoops(node, name, loops, wide, {node.in(0), multiple, node.in(2)}, {}, out);
}

}  // namespace

void Erfinv(Translation& node) {
  const Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  RunLoops(node, "Erfinv", ops::ErfinvLoops(), out.dtype, {node.in(0)}, {}, out);
}

void GLU(Translation& node) {
  const Tensor& x = node.in(0);
  const int axis = node.Axis(node.Int("dim"), x.shape.rank());
  const int64_t half = x.shape[axis] / 2;
  if (half * 2 != x.shape[axis]) node.Refuse("the dimension has no halves");
  const Tensor left = Part(x, axis, 0, half), right = Part(x, axis, half, half);
  const Tensor out = node.Out(0, x.dtype, left.shape);
  RunLoops(node, "GLU", ops::GatedLoops(), x.dtype, {left, right}, {}, out);
}

void Xlogy(Translation& node) {
  const Tensor out = node.Out(0, node.dtype(0), BroadcastOf(node, {node.shape(0), node.shape(1)}));
  RunLoops(node, "Xlogy", ops::XlogyLoops(), out.dtype, {node.in(0), node.in(1)}, {}, out);
}

void LogAddExp(Translation& node) {
  if (node.Float("scale") != 1 || node.Float("shift") != 0) node.Refuse("scale is 1 and shift is 0");
  const double base = node.Float("base");
  const Tensor out = node.Out(0, node.dtype(0), BroadcastOf(node, {node.shape(0), node.shape(1)}));
  RunLoops(node, "LogAddExp", With(ops::LogAddPowersLoops(), &ops::ComplexLogAddPowers), out.dtype,
           {node.in(0), node.in(1)}, LoopAttributes({base > 0 ? std::log(base) : 1}), out);
}

void IsClose(Translation& node) {
  DType type = DType::kC64;
  if (node.dtype(0) != type || node.dtype(1) != type) {
    type = CommonType(node, node.dtype(0), node.dtype(1));
    type = IsFloat(type) ? SumType(type) : DType::kF64;
  }
  const Tensor out = node.Out(0, DType::kBool, BroadcastOf(node, {node.shape(0), node.shape(1)}));
  const double nans = node.Bool("equal_nan") ? 1 : 0;
  RunLoops(node, "IsClose", With(ops::IsCloseLoops(), &ops::ComplexIsClose), type, {node.in(0), node.in(1)},
           LoopAttributes({node.Float("rtol"), node.Float("atol"), nans}), out);
}

void TensorEqual(Translation& node) {
  if (node.shape(0) != node.shape(1)) {
    auto no = std::make_shared<HostTensor>(DType::kBool, Shape{});
    *no->as<bool>() = false;
    return node.OutValue(0, no);
  }
  const Tensor equal = node.Temporary(DType::kBool, node.shape(0));
  const bool complex = node.dtype(0) == DType::kC64 && node.dtype(1) == DType::kC64;
  RunBinary(node, "TensorEqual", ops::kernels::Equal, complex ? DType::kC64 : DType::kBool, node.in(0),
            node.in(1), equal);
  RunReduce(node, {.fold = ops::Fold::kMin}, DType::kBool, (1u << equal.shape.rank()) - 1, equal,
            node.Out(0, DType::kBool, {}));
}

void Lerp(Translation& node) {
  const Tensor weight = ScalarInput(node, 2);
  const Tensor out =
      node.Out(0, node.dtype(0), BroadcastOf(node, {node.shape(0), node.shape(1), weight.shape}));
  node.Step("Lerp", [&](ops::Plan& plan) {
    Operand start = Read(plan, node.in(0), "start"), end = Read(plan, node.in(1), "end");
    Operand share = Read(plan, weight, "weight");
    ops::kernels::Lerp(plan, out.dtype, start, end, share, Write(plan, out, "y"));
  });
}

void AxpyV2(Translation& node) {
  const Tensor alpha = ScalarInput(node, 2);
  const Tensor out =
      node.Out(0, node.dtype(0), BroadcastOf(node, {node.shape(0), node.shape(1), alpha.shape}));
  RunLoops(node, "AxpyV2", ops::PlusProductLoops(), WideType(out.dtype), {node.in(0), node.in(1), alpha}, {},
           out);
}

void Addcmul(Translation& node) { AddMultiple(node, "Addcmul", ops::PlusProductLoops()); }
void Addcdiv(Translation& node) { AddMultiple(node, "Addcdiv", ops::PlusQuotientLoops()); }

void MaskedFill(Translation& node) {
  const Tensor value = ScalarInput(node, 2);
  const Tensor out = node.Out(0, node.dtype(0), BroadcastOf(node, {node.shape(0), node.shape(1)}));
  node.Step("MaskedFill", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x"), mask = Read(plan, node.in(1), "mask");
    Operand filled = Read(plan, value, "value");
    ops::kernels::Where(plan, out.dtype, mask, filled, x, Write(plan, out, "y"));
  });
}

void MaskedScatter(Translation& node) {
  const Tensor& x = node.in(0);
  if (node.dtype(2) != x.dtype || !tensor::BroadcastsTo(node.shape(1), x.shape))
    node.Refuse("updates have the type of x, and the mask broadcasts to x");
  const Tensor mask = node.Temporary(DType::kBool, x.shape), out = node.Out(0, x.dtype, x.shape);
  node.Copy(node.in(1), mask);
  node.Step("MaskedScatter", [&](ops::Plan& plan) {
    Operand from = Read(plan, x, "x"), chosen = Read(plan, mask, "mask");
    Operand updates = Read(plan, node.in(2), "updates");
    ops::PlanMaskedScatter(plan, from, chosen, updates, Write(plan, out, "y"));
  });
}

// A dimension that is not given is the first one of three.
void Cross(Translation& node) {
  const Tensor &a = node.in(0), &b = node.in(1);
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) {
    node.Refuse("its inputs have one type and as many dimensions");
  }
  const Shape shape = BroadcastOf(node, {a.shape, b.shape});
  constexpr int64_t kNotGiven = -65530;
  int64_t dim = node.Int("dim");
  if (dim == kNotGiven) dim = std::find(a.shape.begin(), a.shape.end(), 3) - a.shape.begin();
  const int axis = node.Axis(dim, a.shape.rank());
  if (a.shape[axis] != 3 || b.shape[axis] != 3)
    node.Refuse("dimension " + std::to_string(axis) + " has three elements");
  const DType wide = WideType(a.dtype);
  const Tensor out = node.Out(0, a.dtype, shape);
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t next = (i + 1) % 3, last = (i + 2) % 3;
    const Tensor product = node.Temporary(wide, Part(out, axis, i, 1).shape);
    RunBinary(node, "Cross", ops::kernels::Mul, wide, Part(a, axis, next, 1), Part(b, axis, last, 1),
              product);
    RunLoops(node, "Cross", With(ops::MinusProductLoops(), &ops::ComplexMinusProduct), wide,
             {product, Part(a, axis, last, 1), Part(b, axis, next, 1)}, {}, Part(out, axis, i, 1));
  }
}

// With `wrap` the diagonal of a tall matrix begins again below its end.
void FillDiagonal(Translation& node) {
  const Tensor& x = node.in(0);
  if (x.shape.rank() < 2) node.Refuse("x has two dimensions or more");
  const int64_t least = *std::min_element(x.shape.begin(), x.shape.end());
  const bool cube = std::all_of(x.shape.begin(), x.shape.end(), [&](int64_t size) { return size == least; });
  if (x.shape.rank() > 2 && !cube) node.Refuse("more than two dimensions are all of one size");
  const Tensor out = node.Out(0, x.dtype, x.shape);
  node.Copy(x, out);
  int64_t step = 0;
  for (int64_t stride : out.strides) step += stride;
  const bool whole = x.shape.rank() == 2 && node.Bool("wrap");
  const int64_t count = whole ? (x.count() + step - 1) / step : least;
  const Tensor diagonal = Translation::View(out, {count}, {step});
  const double value = node.Float("fill_value");
  node.Step("FillDiagonal", [&](ops::Plan& plan) {
    ops::kernels::Fill(plan, x.dtype, Scalar(&value, DType::kF64), Write(plan, diagonal, "y"));
  });
}

}  // namespace belay::graph::translate
