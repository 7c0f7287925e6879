// Operators that work element by element.
#include "graph/ops/pointwise.h"
#include "graph/translations.h"
#include "ops/elementwise/unlisted.h"

namespace belay::graph::translate {
namespace {

namespace kernels = ops::kernels;

Scalar Real(double value) { return Scalar(&value, DType::kF64); }

void Unary(Translation& node, const char* name, UnaryKernel kernel) {
  Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  RunUnary(node, name, kernel, node.in(0), out);
}

void Predicate(Translation& node, const char* name, UnaryKernel kernel) {
  Tensor out = node.Out(0, DType::kBool, node.shape(0));
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

void Comparison(Translation& node, const char* name, BinaryKernel kernel) {
  CommonType(node, node.dtype(0), node.dtype(1));
  Tensor out = node.Out(0, DType::kBool, BroadcastOf(node, {node.shape(0), node.shape(1)}));
  RunBinary(node, name, kernel, DType::kBool, node.in(0), node.in(1), out);
}

}  // namespace

void Abs(Translation& node) { Unary(node, "Abs", kernels::Abs); }
void Neg(Translation& node) { Unary(node, "Neg", kernels::Neg); }
void Relu(Translation& node) { Unary(node, "Relu", kernels::Relu); }
void Sigmoid(Translation& node) { Unary(node, "Sigmoid", kernels::Sigmoid); }
void Tanh(Translation& node) { Unary(node, "Tanh", kernels::Tanh); }
void Sqrt(Translation& node) { Unary(node, "Sqrt", kernels::Sqrt); }
void Rsqrt(Translation& node) { Unary(node, "Rsqrt", kernels::Rsqrt); }
void Reciprocal(Translation& node) { Unary(node, "Reciprocal", kernels::Reciprocal); }
void Inv(Translation& node) { Unary(node, "Inv", kernels::Reciprocal); }
void Floor(Translation& node) { Unary(node, "Floor", kernels::Floor); }
void Ceil(Translation& node) { Unary(node, "Ceil", kernels::Ceil); }
void Round(Translation& node) {
  constexpr int64_t kMost = 38;  // ten to it is a float
  const int64_t decimals = node.Int("decimals");
  const bool whole = !IsFloat(node.dtype(0));
  if (decimals == 0 || (whole && decimals > 0)) return Unary(node, "Round", kernels::Round);
  if (whole) node.Refuse("whole numbers are not rounded to places before the point");
  if (std::abs(decimals) > kMost) node.Refuse("decimals is " + std::to_string(decimals) + "; 38 is the most");
  WithAttributes(node, "Round", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::RoundTo(plan, type, x, static_cast<int>(decimals), y);
  });
}
void Rint(Translation& node) { Unary(node, "Rint", kernels::Round); }
void Trunc(Translation& node) { Unary(node, "Trunc", kernels::Trunc); }
void Sign(Translation& node) { Unary(node, "Sign", kernels::Sign); }
void Erf(Translation& node) { Unary(node, "Erf", kernels::Erf); }
void Erfc(Translation& node) { Unary(node, "Erfc", kernels::Erfc); }
void Sin(Translation& node) { Unary(node, "Sin", kernels::Sin); }
void Cos(Translation& node) { Unary(node, "Cos", kernels::Cos); }
void Tan(Translation& node) { Unary(node, "Tan", kernels::Tan); }
void Asin(Translation& node) { Unary(node, "Asin", kernels::Asin); }
void Acos(Translation& node) { Unary(node, "Acos", kernels::Acos); }
void Atan(Translation& node) { Unary(node, "Atan", kernels::Atan); }
void Sinh(Translation& node) { Unary(node, "Sinh", kernels::Sinh); }
void Cosh(Translation& node) { Unary(node, "Cosh", kernels::Cosh); }
void Asinh(Translation& node) { Unary(node, "Asinh", kernels::Asinh); }
void Acosh(Translation& node) { Unary(node, "Acosh", kernels::Acosh); }
void Atanh(Translation& node) { Unary(node, "Atanh", kernels::Atanh); }
void Square(Translation& node) { Unary(node, "Square", kernels::Square); }
void Expm1(Translation& node) { Unary(node, "Expm1", kernels::Expm1); }
void Log1p(Translation& node) { Unary(node, "Log1p", kernels::Log1p); }
void Softsign(Translation& node) { Unary(node, "Softsign", kernels::Softsign); }
void Mish(Translation& node) { Unary(node, "Mish", kernels::Mish); }
void HardSwish(Translation& node) { Unary(node, "HardSwish", kernels::HardSwish); }
void Gelu(Translation& node) { Unary(node, "Gelu", kernels::Gelu); }
void LogSigmoid(Translation& node) { Unary(node, "LogSigmoid", kernels::LogSigmoid); }
void Invert(Translation& node) { Unary(node, "Invert", kernels::BitwiseNot); }

void LogicalNot(Translation& node) { Predicate(node, "LogicalNot", kernels::LogicalNot); }
void IsNan(Translation& node) { Predicate(node, "IsNan", kernels::IsNan); }
void IsFinite(Translation& node) { Predicate(node, "IsFinite", kernels::IsFinite); }

void Mul(Translation& node) { Binary(node, "Mul", kernels::Mul); }
void Maximum(Translation& node) { Binary(node, "Maximum", kernels::Maximum); }
void Minimum(Translation& node) { Binary(node, "Minimum", kernels::Minimum); }
void RealDiv(Translation& node) { Binary(node, "RealDiv", kernels::RealDiv); }
void FloorDiv(Translation& node) { Binary(node, "FloorDiv", kernels::FloorDiv); }
void TruncateDiv(Translation& node) { Binary(node, "TruncateDiv", kernels::TruncDiv); }
void FloorMod(Translation& node) { Binary(node, "FloorMod", kernels::Remainder); }
void Mod(Translation& node) { Binary(node, "Mod", kernels::Fmod); }
void SquaredDifference(Translation& node) { Binary(node, "SquaredDifference", kernels::SquaredDifference); }
void Atan2(Translation& node) { Binary(node, "Atan2", kernels::Atan2); }
void BitwiseAnd(Translation& node) { Binary(node, "BitwiseAnd", kernels::BitwiseAnd); }
void BitwiseOr(Translation& node) { Binary(node, "BitwiseOr", kernels::BitwiseOr); }
void BitwiseXor(Translation& node) { Binary(node, "BitwiseXor", kernels::BitwiseXor); }
void LeftShift(Translation& node) { Binary(node, "LeftShift", kernels::LeftShift); }
void RightShift(Translation& node) { Binary(node, "RightShift", kernels::RightShift); }

void Equal(Translation& node) { Comparison(node, "Equal", kernels::Equal); }
void NotEqual(Translation& node) { Comparison(node, "NotEqual", kernels::NotEqual); }
void Greater(Translation& node) { Comparison(node, "Greater", kernels::Greater); }
void GreaterEqual(Translation& node) { Comparison(node, "GreaterEqual", kernels::GreaterEqual); }
void Less(Translation& node) { Comparison(node, "Less", kernels::Less); }
void LessEqual(Translation& node) { Comparison(node, "LessEqual", kernels::LessEqual); }
void LogicalAnd(Translation& node) { Comparison(node, "LogicalAnd", kernels::LogicalAnd); }
void LogicalOr(Translation& node) { Comparison(node, "LogicalOr", kernels::LogicalOr); }
void LogicalXor(Translation& node) { Comparison(node, "LogicalXor", kernels::LogicalXor); }

void Add(Translation& node) { Binary(node, "Add", AddKernel); }
void Sub(Translation& node) { Binary(node, "Sub", SubKernel); }
// Integers lose the remainder.
void Div(Translation& node) {
  Binary(node, "Div", IsFloat(node.dtype(0)) ? kernels::RealDiv : kernels::TruncDiv);
}

void Cast(Translation& node) {
  Tensor out = node.Out(0, node.Type("dst_type"), node.shape(0));
  node.Copy(node.in(0), out);
}

void IsInf(Translation& node) {
  Tensor out = node.Out(0, DType::kBool, node.shape(0));
  bool positive = node.Bool("detect_positive"), negative = node.Bool("detect_negative");
  node.Step("IsInf", [&](ops::Plan& plan) {
    Operand x = Read(plan, node.in(0), "x");
    kernels::IsInf(plan, DType::kBool, x, positive, negative, Write(plan, out, "y"));
  });
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

void LeakyRelu(Translation& node) {
  Scalar slope = Real(node.Float("negative_slope"));
  WithAttributes(node, "LeakyRelu", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::LeakyRelu(plan, type, x, slope, y);
  });
}

void Elu(Translation& node) {
  Scalar alpha = Real(node.Float("alpha")), scale = Real(node.Float("scale"));
  Scalar input_scale = Real(node.Float("input_scale"));
  WithAttributes(node, "Elu", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Elu(plan, type, x, alpha, scale, input_scale, y);
  });
}

void Celu(Translation& node) {
  Scalar alpha = Real(node.Float("alpha"));
  WithAttributes(node, "Celu", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Celu(plan, type, x, alpha, y);
  });
}

void Selu(Translation& node) {
  WithAttributes(node, "Selu", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Selu(plan, type, x, node.Float("alpha"), node.Float("gamma"), y);
  });
}

void HardSigmoid(Translation& node) {
  WithAttributes(node, "HardSigmoid", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::HardSigmoid(plan, type, x, node.Float("alpha"), node.Float("beta"), y);
  });
}

namespace {

void SoftplusOf(Translation& node, double beta, double threshold) {
  WithAttributes(node, "Softplus", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Softplus(plan, type, x, Real(beta), Real(threshold), y);
  });
}

void ShrinkOf(Translation& node, double lambd, double bias) {
  WithAttributes(node, "Shrink", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Shrink(plan, type, x, lambd, bias, y);
  });
}

}  // namespace

void Softplus(Translation& node) { SoftplusOf(node, 1, 1e30); }
void SoftplusV2(Translation& node) { SoftplusOf(node, node.Float("beta"), node.Float("threshold")); }
void Shrink(Translation& node) { ShrinkOf(node, node.Float("lambd"), node.Float("bias")); }
void HardShrink(Translation& node) { ShrinkOf(node, node.Float("lambd"), 0); }
void SoftShrink(Translation& node) { ShrinkOf(node, node.Float("lambd"), node.Float("lambd")); }

// x sigmoid(factor x)
void SwishBy(Translation& node, double factor) {
  const Scalar scale = Real(factor);
  WithAttributes(node, node.node().type.c_str(), [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Swish(plan, type, x, {nullptr, &scale, -1, "scale"}, y);
  });
}
void Swish(Translation& node) { SwishBy(node, node.Float("scale")); }
void FastGelu(Translation& node) { SwishBy(node, 1.702); }

void ThresholdV2D(Translation& node) {
  Scalar threshold = Real(node.Float("threshold")), value = Real(node.Float("value"));
  WithAttributes(node, "ThresholdV2D", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Threshold(plan, type, x, threshold, value, y);
  });
}

void NanToNum(Translation& node) {
  WithAttributes(node, "NanToNum", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::NanToNum(plan, type, x, node.Float("nan"), node.Float("posinf"), node.Float("neginf"), y);
  });
}

void ThresholdedRelu(Translation& node) {
  WithAttributes(node, "ThresholdedRelu", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Threshold(plan, type, x, Real(node.Float("alpha")), Real(0), y);
  });
}

void Relu6(Translation& node) {
  Scalar zero = Real(0), six = Real(6);
  WithAttributes(node, "Relu6", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Clamp(plan, type, x, {nullptr, &zero, -1, "min"}, {nullptr, &six, -1, "max"}, y);
  });
}

void Adds(Translation& node) {
  Scalar value = Real(node.Float("value")), one = Real(1);
  WithAttributes(node, "Adds", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Add(plan, type, x, {nullptr, &value, -1, "value"}, one, y);
  });
}

void Muls(Translation& node) {
  Scalar value = Real(node.Float("value"));
  WithAttributes(node, "Muls", [&](auto& plan, DType type, auto& x, const Operand& y) {
    kernels::Mul(plan, type, x, {nullptr, &value, -1, "value"}, y);
  });
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

void SelectV2(Translation& node) {
  DType type = CommonType(node, node.dtype(1), node.dtype(2));
  Tensor out = node.Out(0, type, BroadcastOf(node, {node.shape(0), node.shape(1), node.shape(2)}));
  node.Step("SelectV2", [&](ops::Plan& plan) {
    Operand condition = Read(plan, node.in(0), "condition"), then = Read(plan, node.in(1), "then");
    Operand otherwise = Read(plan, node.in(2), "else");
    kernels::Where(plan, type, condition, then, otherwise, Write(plan, out, "result"));
  });
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

void Sum(Translation& node) { Folded(node, "Sum", AddKernel, FoldedOut(node)); }
void Max(Translation& node) { Folded(node, "Max", kernels::Maximum, FoldedOut(node)); }
void Min(Translation& node) { Folded(node, "Min", kernels::Minimum, FoldedOut(node)); }

void Mean(Translation& node) {
  Tensor out = Folded(node, "Mean", AddKernel, FoldedOut(node));
  Scalar count = Real(node.input_count());
  node.Step("Mean", [&](ops::Plan& plan) {
    Operand sum = ReadWrite(plan, out, "y");
    kernels::RealDiv(plan, out.dtype, sum, {nullptr, &count, -1, "count"}, sum);
  });
}

}  // namespace belay::graph::translate
