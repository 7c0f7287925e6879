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

}  // namespace belay::graph::translate
