// Quantised operators: integers are multiplied exactly, and scales are applied to the sums.
#include "ops/quant/quant.h"

#include "graph/ops/integers.h"
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/conv/conv.h"
#include "ops/kernels.h"

namespace belay::graph {

using ops::Operand;

Tensor WithoutZero(Translation& node, const Tensor& x, const Tensor* zero, int axis) {
  Tensor whole = node.Cast(node.Packed(x), DType::kI32);
  if (zero == nullptr) return whole;
  Tensor shift = node.Cast(*zero, DType::kI32);
  Shape shape = Shape::Filled(x.shape.rank(), 1);
  if (-axis <= x.shape.rank() && shift.count() == x.shape.back(-1 - axis)) {
    shape.back(-1 - axis) = shift.count();
  } else if (shift.count() != 1) {
    shape = shift.shape;  // one for each row of each batch
  }
  shift = Translation::Reshaped(shift, shape);
  Tensor result = node.Temporary(DType::kI32, x.shape);
  static const int64_t one = 1;
  Scalar alpha(&one, DType::kI64);
  node.Run(ops::forms::Sub, {Arg(&whole), Arg(&shift), Arg(&alpha), Arg(&result)});
  return result;
}

namespace translate {
namespace {

struct Limits {
  double least, most;
};

Limits LimitsOf(const Translation& node, DType type) {
  switch (type) {
    case DType::kU8:
      return {0, 255};
    case DType::kI8:
      return {-128, 127};
    case DType::kU16:
      return {0, 65535};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kI32:
      return {-2147483648.0, 2147483520.0};
    default:
      node.Refuse(std::string("quantising to ") + NameOf(type) + " is not supported");
  }
}

// The element types that a model can ask for, by ONNX's numbers.
DType QuantType(const Translation& node, int64_t number) {
  switch (number) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 4:
      return DType::kU16;
    case 5:
      return DType::kI16;
    case 6:
      return DType::kI32;
    case 10:
      return DType::kF16;
    case 16:
      return DType::kBF16;
    default:
      node.Refuse("output_dtype " + std::to_string(number) + " is not supported");
  }
}

struct Scales {
  Tensor scale;
  const Tensor* zero;
  int axis;
  int64_t block;
};

void AddQuant(Translation& node, ops::QuantStep step, const Tensor& x, const Scales& scales,
              const Tensor& out, Limits limits) {
  const bool reads_bytes = step == ops::QuantStep::kDequantize && IsByte(x.dtype);
  Tensor from = reads_bytes ? node.Packed(x) : node.Cast(node.Packed(x), DType::kF32),
         scale = node.Cast(scales.scale, DType::kF32), zero;
  if (scales.zero != nullptr) zero = node.Cast(*scales.zero, DType::kF32);
  const bool direct = out.dtype == DType::kF32 || (step != ops::QuantStep::kDequantize && IsByte(out.dtype));
  Tensor to = direct ? out : node.Temporary(DType::kF32, out.shape);
  node.Step("Quantize", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::QuantArgs args{
        .step = step, .x = bind.Read(from, "x"), .scale = bind.Read(scale, "scale"), .zero = {}, .out = {}};
    if (scales.zero != nullptr) args.zero = bind.Read(zero, "zero");
    args.out = bind.Write(to, "y");
    args.axis = scales.axis, args.block = scales.block;
    args.least = limits.least, args.most = limits.most;
    ops::PlanQuant(plan, args);
  });
  if (!direct) node.Copy(to, out);
}

Scales ReadScales(const Translation& node) {
  const Tensor* zero = node.has(2) ? &node.in(2) : nullptr;
  bool one = node.in(1).count() == 1 && node.shape(1).rank() == 0;
  if (one) return {node.in(1), zero, -1, 0};
  if (node.in(1).count() == 1 && node.Int("block_size") == 0) {
    // A vector of one is the number for all, or the only element of the axis: the same.
    return {node.in(1), zero, -1, 0};
  }
  return {node.in(1), zero, node.Axis(node.Int("axis"), node.shape(0).rank()), node.Int("block_size")};
}

}  // namespace

void QuantizeLinear(Translation& node) {
  int64_t wanted = node.Int("output_dtype");
  DType type = node.has(2) ? node.dtype(2) : wanted != 0 ? QuantType(node, wanted) : DType::kU8;
  Limits limits = LimitsOf(node, type);
  Tensor out = node.Out(0, type, node.shape(0));
  AddQuant(node, ops::QuantStep::kQuantize, node.in(0), ReadScales(node), out, limits);
}

void DequantizeLinear(Translation& node) {
  int64_t wanted = node.Int("output_dtype");
  DType type = wanted != 0 ? QuantType(node, wanted) : node.dtype(1);
  Tensor out = node.Out(0, type, node.shape(0));
  AddQuant(node, ops::QuantStep::kDequantize, node.in(0), ReadScales(node), out, {0, 0});
}

void DynamicQuantizeLinear(Translation& node) {
  Tensor x = node.Cast(node.in(0), DType::kF32);
  Tensor y = node.Out(0, DType::kU8, node.shape(0)), scale = node.Out(1, DType::kF32, {}),
         zero = node.Out(2, DType::kU8, {});
  node.Step("DynamicQuantizeLinear", [&](ops::Plan& plan) {
    Binder bind(plan);
    Operand from = bind.Read(x, "x"), to = bind.Write(y, "y"), s = bind.Write(scale, "scale");
    ops::PlanDynamicQuant(plan, from, to, s, bind.Write(zero, "zero"));
  });
}

namespace {

// a * b / c as f32; c may be null. They broadcast.
Tensor ScaleOf(Translation& node, const Tensor& a, const Tensor& b, const Tensor& c) {
  Tensor x = node.Cast(a, DType::kF32), y = node.Cast(b, DType::kF32), z = node.Cast(c, DType::kF32);
  auto both = tensor::BroadcastShapes(x.shape, y.shape);
  if (!both) node.Refuse("the scales do not fit together");
  Tensor product = node.Temporary(DType::kF32, *both);
  node.Run(ops::forms::Mul, {Arg(&x), Arg(&y), Arg(&product)});
  Tensor result = node.Temporary(DType::kF32, *both);
  node.Run(ops::forms::Div, {Arg(&product), Arg(&z), Arg(&result)});
  return result;
}

// Sums of products become y: `axis` is the one that several scales run along.
void Requantize(Translation& node, const Tensor& sums, const Tensor& scale, int y_zero, int axis) {
  DType type = node.dtype(y_zero);
  Limits limits = LimitsOf(node, type);
  Tensor out = node.Out(0, type, sums.shape);
  Scales scales{scale, nullptr, scale.count() == 1 ? -1 : axis, 0};
  Tensor zero = node.in(y_zero);
  if (scale.count() == 1) scales.zero = &zero;
  if (scale.count() == 1) return AddQuant(node, ops::QuantStep::kRequantize, sums, scales, out, limits);
  // The one zero point of the result, for each scale.
  Tensor repeated = node.Temporary(DType::kF32, {scale.count()});
  node.Copy(node.Cast(zero, DType::kF32), repeated);
  scales.zero = &repeated;
  AddQuant(node, ops::QuantStep::kRequantize, sums, scales, out, limits);
}

}  // namespace

void QLinearMatMul(Translation& node) {
  Tensor sums = node.Temporary(DType::kI32, ProductShape(node, node.shape(0), node.shape(3)));
  IntegerProduct(node, {node.in(0), &node.in(2)}, {node.in(3), &node.in(5)}, sums);
  if (node.in(1).count() != 1) node.Refuse("one scale for each row of a is not supported");
  Requantize(node, sums, ScaleOf(node, node.in(4), node.in(1), node.in(6)), 7, sums.shape.rank() - 1);
}

// Sums of products, of one scale or one for each element along the axis.
void Requantize(Translation& node) {
  Requantize(node, node.in(0), node.Cast(node.in(1), DType::kF32), 2,
             node.Axis(node.Int("axis"), node.shape(0).rank()));
}

namespace {

// A convolution of integers as f32 where that is exact, or as f64.
Tensor IntegerConv(Translation& node, const Tensor& x, const Tensor& w) {
  if (x.shape.rank() < 3 || w.shape.rank() != x.shape.rank())
    node.Refuse("x and w have one number of dimensions, at least three");
  int64_t products = w.shape[0] == 0 ? 0 : w.count() / w.shape[0];
  constexpr int64_t kMostExact = (1 << 24) / (255 * 255);
  DType type = products <= kMostExact ? DType::kF32 : DType::kF64;
  Tensor from = node.Cast(x, type), weight = node.Cast(w, type);
  Window window = ReadWindow(node, SpatialSizes(x.shape), {w.shape.begin() + 2, w.shape.end()}, false,
                             node.String("auto_pad"), PadOrder::kPairs);
  Shape shape{x.shape[0], w.shape[0]};
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    shape.push_back(ops::ConvOutputSize(x.shape[static_cast<int>(i) + 2], window.kernel[i], window.strides[i],
                                        window.dilations[i], window.before[i], window.after[i]));
  }
  Tensor sums = node.Temporary(type, shape);
  node.Step("ConvInteger", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::ConvArgs args;
    args.input = bind.Read(from, "x"), args.weight = bind.Read(weight, "w"), args.out = bind.Write(sums, "y");
    args.strides = window.strides, args.dilations = window.dilations;
    args.before = window.before, args.after = window.after;
    args.groups = node.Int("groups");
    ops::PlanConv(plan, args);
  });
  return sums;
}

}  // namespace

void ConvInteger(Translation& node) {
  Tensor x = WithoutZero(node, node.in(0), node.has(2) ? &node.in(2) : nullptr, -1);
  Tensor w = WithoutZero(node, node.in(1), node.has(3) ? &node.in(3) : nullptr, -node.shape(1).rank());
  Tensor sums = IntegerConv(node, x, w);
  node.Copy(sums, node.Out(0, DType::kI32, sums.shape));
}

void QLinearConv(Translation& node) {
  Tensor x = WithoutZero(node, node.in(0), &node.in(2), -1);
  Tensor w = WithoutZero(node, node.in(3), &node.in(5), -node.shape(3).rank());
  Tensor sums = IntegerConv(node, x, w);
  if (node.has(8)) {
    Shape shape = Shape::Filled(sums.shape.rank(), 1);
    shape[1] = node.in(8).count();
    Tensor bias = Translation::Reshaped(node.Cast(node.in(8), sums.dtype), shape);
    Tensor added = node.Temporary(sums.dtype, sums.shape);
    static const int64_t one = 1;
    Scalar alpha(&one, DType::kI64);
    node.Run(ops::forms::Add, {Arg(&sums), Arg(&bias), Arg(&alpha), Arg(&added)});
    sums = added;
  }
  Requantize(node, sums, ScaleOf(node, node.in(4), node.in(1), node.in(6)), 7, 1);
}

}  // namespace translate
}  // namespace belay::graph
