// Operators that work element by element.
#include "graph/ops/pointwise.h"
#include "graph/translations.h"
#include "ops/elementwise/unlisted.h"

namespace belay::graph::translate {
namespace {

namespace kernels = ops::kernels;

Scalar RealNumber(double value) { return Scalar(&value, DType::kF64); }

void Unary(Translation& node, const char* name, UnaryKernel kernel) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  RunUnary(node, name, kernel, node.in(0), out);
}

// A kernel with attributes: kernel(plan, compute, x, out).
template <class Kernel>
void WithAttributes(Translation& node, const char* name, const Kernel& kernel) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step(name, [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    kernel(plan, node.dtype(0), x, Write(plan, out, "y"));
  });
}

void Binary(Translation& node, const char* name, BinaryKernel kernel) {
  DType type = CommonType(node, node.dtype(0), node.dtype(1));
  Tensor out = node.Out(0, type, BroadcastOf(node, {node.shape(0), node.shape(1)}));
  RunBinary(node, name, kernel, type, node.in(0), node.in(1), out);
}

}  // namespace

void RealDiv(Translation& node) { Binary(node, "RealDiv", kernels::RealDiv); }

// Integers lose the remainder.
void Div(Translation& node) {
  Binary(node, "Div", IsFloat(node.dtype(0)) ? kernels::RealDiv : kernels::TruncDiv);
}

// base ^ (scale * x + shift); a base of -1 is e.
void Exp(Translation& node) {
  double base = node.Float("base");
  double factor = base > 0 ? std::log(base) : 1;
  double scale = node.Float("scale") * factor, shift = node.Float("shift") * factor;
  if (scale == 1 && shift == 0) return Unary(node, "Exp", kernels::Exp);
  WithAttributes(node, "Exp", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::ExpOf(plan, type, x, scale, shift, y);
  });
}

void Log(Translation& node) {
  double base = node.Float("base"), scale = node.Float("scale"), shift = node.Float("shift");
  double factor = base > 0 ? 1 / std::log(base) : 1;
  if (scale == 1 && shift == 0 && factor == 1) return Unary(node, "Log", kernels::Log);
  WithAttributes(node, "Log", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::LogOf(plan, type, x, scale, shift, factor, y);
  });
}

void GeluV2(Translation& node) {
  Unary(node, "GeluV2", node.String("approximate") == "tanh" ? kernels::GeluTanh : kernels::Gelu);
}

void ClipByValueV2(Translation& node) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  for (int i = 1; i <= 2; ++i) {
    if (node.has(i) && !BroadcastsTo(node.shape(i), node.shape(0)))
      node.Refuse("a bound does not broadcast to x");
  }
  node.Step("ClipByValueV2", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x"), low, high;
    if (node.has(1)) low = Read(plan, node.in(1), "clip_value_min");
    if (node.has(2)) high = Read(plan, node.in(2), "clip_value_max");
    kernels::Clamp(plan, node.dtype(0), x, low, high, Write(plan, out, "y"));
  });
}

void PRelu(Translation& node) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  bool broadcast = node.Bool("broadcast");
  if (broadcast && !BroadcastsTo(node.shape(1), node.shape(0)))
    node.Refuse("the slope does not broadcast to x");
  RunBinary(node, "PRelu", broadcast ? kernels::PreluOf : kernels::Prelu, node.dtype(0), node.in(0),
            node.in(1), out);
}

namespace {

// What a power by a known number is, where that is something simpler.
UnaryKernel KnownPower(const Translation& node) {
  Constant exponent = node.constant(1);
  if (exponent == nullptr || exponent->count() != 1 || !IsFloat(node.dtype(0))) return nullptr;
  double value = exponent->Reals()[0];
  if (value == 2) return kernels::Square;
  if (value == 0.5) return kernels::Sqrt;
  return value == -1 ? kernels::Reciprocal : nullptr;
}

}  // namespace

// The result has the type of the base; a broken power of integers is computed in f64.
void Pow(Translation& node) {
  DType base = node.dtype(0), exponent = node.dtype(1);
  Tensor out = node.Out(0, base, BroadcastOf(node, {node.shape(0), node.shape(1)}));
  UnaryKernel simple = KnownPower(node);
  if (simple != nullptr && out.shape == node.shape(0)) return RunUnary(node, "Pow", simple, node.in(0), out);
  DType compute = IsFloat(base) ? base : IsFloat(exponent) ? DType::kF64 : CommonType(node, base, exponent);
  RunBinary(node, "Pow", kernels::Pow, compute, node.in(0), node.in(1), out);
}

namespace {

// Folds the inputs from the left; each partial result has the final shape, so it is its own operand.
Tensor Folded(Translation& node, const char* name, BinaryKernel kernel, const Tensor& out) {
  if (node.input_count() == 1) {
    node.Copy(node.in(0), out);
    return out;
  }
  for (int i = 1; i < node.input_count(); ++i) {
    RunBinary(node, name, kernel, out.dtype, i == 1 ? node.in(0) : out, node.in(i), out);
  }
  return out;
}

Tensor FoldedOut(Translation& node) {
  if (node.input_count() == 0) node.Refuse("it has no input");
  std::vector<Shape> shapes;
  for (int i = 0; i < node.input_count(); ++i) {
    if (node.dtype(i) != node.dtype(0)) node.Refuse("its inputs have different types");
    shapes.push_back(node.shape(i));
  }
  return node.Out(0, node.dtype(0), BroadcastOf(node, shapes));
}

}  // namespace

void Sum(Translation& node) { Folded(node, "Sum", kernels::Plus, FoldedOut(node)); }
void Max(Translation& node) { Folded(node, "Max", kernels::Maximum, FoldedOut(node)); }
void Min(Translation& node) { Folded(node, "Min", kernels::Minimum, FoldedOut(node)); }

void Mean(Translation& node) {
  Tensor out = Folded(node, "Mean", kernels::Plus, FoldedOut(node));
  Scalar count = RealNumber(node.input_count());
  node.Step("Mean", [&](ops::Plan& plan) {
    Operand sum = ReadWrite(plan, out, "y");
    kernels::RealDiv(plan, out.dtype, sum, {nullptr, &count, -1, "count"}, sum);
  });
}

}  // namespace belay::graph::translate
