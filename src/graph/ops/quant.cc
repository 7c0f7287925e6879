// Quantised operators: integers are multiplied exactly, and scales are applied to the sums.
#include "ops/quant/quant.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "graph/ops/integers.h"
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/conv/byte_conv.h"
#include "ops/conv/integer_conv.h"
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

namespace {

// The bytes of a row less their zero point. False: some are no INT8 then.
template <class T>
bool SignedRow(std::span<const T> row, int zero, int8_t* to) {
  if (std::is_same_v<T, int8_t> && zero == 0) {
    std::copy(row.begin(), row.end(), to);
    return true;
  }
  unsigned beyond = 0;  // bits of what is not within a byte
  for (T value : row) {
    const int moved = value - zero;
    beyond |= static_cast<unsigned>(moved + 128) & ~255u;
    *to++ = static_cast<int8_t>(moved);
  }
  return beyond == 0;
}

}  // namespace

std::vector<int8_t> SignedWeights(const HostTensor& weights, const HostTensor& zeros) {
  if (!IsByte(weights.dtype()) || !IsByte(zeros.dtype()) || weights.shape().rank() < 2 ||
      weights.count() == 0)
    return {};
  const int64_t rows = weights.shape()[0];
  if (zeros.count() != 1 && zeros.count() != rows) return {};
  const std::vector<int64_t> shifts = zeros.Ints();
  std::vector<int8_t> moved(static_cast<size_t>(weights.count()));
  const auto each = static_cast<size_t>(weights.count() / rows);
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    const int zero = static_cast<int>(shifts[shifts.size() == 1 ? 0 : row]);
    int8_t* to = moved.data() + row * each;
    const bool fit = weights.dtype() == DType::kU8
                         ? SignedRow(std::span(weights.as<uint8_t>() + row * each, each), zero, to)
                         : SignedRow(std::span(weights.as<int8_t>() + row * each, each), zero, to);
    if (!fit) return {};
  }
  return moved;
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

// a * b / c as f32. They broadcast.
Tensor ScaleOf(Translation& node, const Tensor& a, const Tensor& b, const Tensor& c) {
  Tensor x = node.Cast(a, DType::kF32), y = node.Cast(b, DType::kF32), z = node.Cast(c, DType::kF32);
  auto both = tensor::BroadcastShapes(x.shape, y.shape);
  auto all = both ? tensor::BroadcastShapes(*both, z.shape) : both;
  if (!all) node.Refuse("the scales do not fit together");
  Tensor product = node.Temporary(DType::kF32, *both);
  node.Run(ops::forms::Mul, {Arg(&x), Arg(&y), Arg(&product)});
  Tensor result = node.Temporary(DType::kF32, *all);
  node.Run(ops::forms::Div, {Arg(&product), Arg(&z), Arg(&result)});
  return result;
}

// Sums of products become y: `axis` is the one that several scales run along.
void Requantize(Translation& node, const Tensor& sums, const Tensor& scale, int y_zero, int axis,
                const Tensor& out) {
  Limits limits = LimitsOf(node, out.dtype);
  Scales scales{scale, nullptr, scale.count() == 1 ? -1 : axis, 0};
  Tensor zero = node.in(y_zero);
  if (scale.count() > 1) {  // the one zero point of the result, for each scale
    Tensor repeated = node.Temporary(DType::kF32, {scale.count()});
    node.Copy(node.Cast(zero, DType::kF32), repeated);
    zero = repeated;
  }
  scales.zero = &zero;
  AddQuant(node, ops::QuantStep::kRequantize, sums, scales, out, limits);
}

}  // namespace

void QLinearMatMul(Translation& node) {
  const Shape shape = ProductShape(node, node.shape(0), node.shape(3));
  constexpr int64_t kMostProducts = INT32_MAX / (255 * 255);  // whose sum fits 32 bits, whatever the bytes
  const bool fits = node.shape(0).back(0) <= kMostProducts;
  Tensor sums = node.Temporary(fits ? DType::kI32 : DType::kF64, shape);
  if (fits) {
    IntegerProduct(node, {node.in(0), &node.in(2)}, {node.in(3), &node.in(5)}, sums);
  } else {
    const Tensor a = node.Cast(WithoutZero(node, node.in(0), &node.in(2), -2), DType::kF64),
                 b = node.Cast(WithoutZero(node, node.in(3), &node.in(5), -1), DType::kF64);
    ExactProduct(node, a, b, sums);
  }
  if (node.in(1).count() != 1) node.Refuse("one scale for each row of a is not supported");
  Requantize(node, sums, ScaleOf(node, node.in(4), node.in(1), node.in(6)), 7, sums.shape.rank() - 1,
             node.Out(0, node.dtype(7), sums.shape));
}

// Sums of products, of one scale or one for each element along the axis.
void Requantize(Translation& node) {
  Requantize(node, node.in(0), node.Cast(node.in(1), DType::kF32), 2,
             node.Axis(node.Int("axis"), node.shape(0).rank()), node.Out(0, node.dtype(2), node.shape(0)));
}

void QLinearAdd(Translation& node) {
  const DType type = node.dtype(0);
  if (!IsByte(type) || node.dtype(3) != type || node.dtype(7) != type)
    node.Refuse("a, b and y are of UINT8, or all of INT8");
  auto shape = tensor::BroadcastShapes(node.shape(0), node.shape(3));
  if (!shape) node.Refuse("a and b do not fit together");
  auto number = [&](int i) { return static_cast<float>(node.value(i).Reals().at(0)); };
  auto whole = [&](int i) {
    if (node.shape(i) == *shape) return node.in(i);
    Tensor repeated = node.Temporary(type, *shape);
    node.Copy(node.in(i), repeated);
    return repeated;
  };
  Tensor a = whole(0), b = whole(3), out = node.Out(0, type, *shape);
  ops::QuantSumArgs args{.a_scale = number(1),
                         .a_zero = number(2),
                         .b_scale = number(4),
                         .b_zero = number(5),
                         .scale = number(6),
                         .zero = number(7)};
  node.Step("QLinearAdd", [&](ops::Plan& plan) {
    Binder bind(plan);
    args.a = bind.Read(a, "a"), args.b = bind.Read(b, "b"), args.out = bind.Write(out, "y");
    ops::PlanQuantSum(plan, args);
  });
}

namespace {

struct ConvSizes {
  Window window;
  Shape out;  // channels first
};

// For x and w with their channels first.
ConvSizes ConvSizesOf(const Translation& node, const Shape& x, const Shape& w) {
  if (x.rank() < 3 || w.rank() != x.rank())
    node.Refuse("x and w have one number of dimensions, at least three");
  ConvSizes sizes{ReadWindow(node, SpatialSizes(x), {w.begin() + 2, w.end()}, false, node.String("auto_pad"),
                             PadOrder::kPairs),
                  {x[0], w[0]}};
  const Window& window = sizes.window;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    sizes.out.push_back(ops::ConvOutputSize(x[static_cast<int>(i) + 2], window.kernel[i], window.strides[i],
                                            window.dilations[i], window.before[i], window.after[i]));
  }
  return sizes;
}

void SetWindow(const Translation& node, const Window& window, ops::ConvArgs* args) {
  args->strides = window.strides, args->dilations = window.dilations;
  args->before = window.before, args->after = window.after;
  args->groups = node.Int("groups");
}

// Channels first as they lie with their channels last in memory: a copy, where they do not lie so.
Tensor TurnedLast(Translation& node, const Tensor& first) {
  std::vector<int64_t> order{0};
  for (int d = 2; d < first.shape.rank(); ++d) order.push_back(d);
  order.push_back(1);
  return ChannelsFirst(node.Packed(Translation::Transposed(first, order)), true);
}

// x and w of bytes with their zero points, as inputs of the node.
struct ByteInputs {
  Tensor x;  // channels first
  int w, x_zero, w_zero;
};

// More products than sums of i32 hold for certain.
Tensor DeepIntegerConv(Translation& node, const ByteInputs& in, const ConvSizes& sizes) {
  const auto zero = [&](int i) { return node.has(i) ? &node.in(i) : nullptr; };
  const Tensor x = node.Cast(WithoutZero(node, in.x, zero(in.x_zero), -1), DType::kF64),
               w = node.Cast(WithoutZero(node, node.in(in.w), zero(in.w_zero), -node.shape(in.w).rank()),
                             DType::kF64),
               sums = node.Temporary(DType::kF64, sizes.out);
  node.Step("ConvInteger", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::ConvArgs args;
    args.input = bind.Read(x, "x"), args.weight = bind.Read(w, "w"), args.out = bind.Write(sums, "y");
    SetWindow(node, sizes.window, &args);
    ops::PlanConv(plan, args);
  });
  return sums;
}

// The sums of products, of i32 or f64.
Tensor IntegerConv(Translation& node, const ByteInputs& in) {
  const ConvSizes sizes = ConvSizesOf(node, in.x.shape, node.shape(in.w));
  const int64_t rows = node.shape(in.w)[0], products = rows == 0 ? 0 : node.in(in.w).count() / rows;
  const bool one_zero = !node.has(in.x_zero) || node.in(in.x_zero).count() == 1;
  if (!one_zero || !ops::FitsIntegerConv(products)) return DeepIntegerConv(node, in, sizes);
  const bool planes = ops::PaysAsIntegerPlanes(products, sizes.out.back(0));
  const Tensor x = planes ? node.Packed(in.x) : TurnedLast(node, in.x), weight = node.Packed(node.in(in.w));
  const Constant constant = node.constant(in.w);
  const Tensor sums = ChannelsFirst(node.Temporary(DType::kI32, WithLayout(sizes.out, !planes)), !planes);
  node.Step("ConvInteger", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::IntegerConvArgs args;
    args.conv.input = bind.Read(x, "x"), args.conv.out = bind.Write(sums, "y");
    args.conv.constant_weight = constant == nullptr ? nullptr : constant->data();
    args.conv.weight = constant == nullptr ? bind.Read(weight, "w") : ops::Operand{&weight, nullptr, -1, "w"};
    if (node.has(in.x_zero)) args.x_zero = bind.Read(node.in(in.x_zero), "x_zero");
    if (node.has(in.w_zero)) args.w_zero = bind.Read(node.in(in.w_zero), "w_zero");
    SetWindow(node, sizes.window, &args.conv);
    planes ? ops::PlanIntegerPlanes(plan, args) : ops::PlanIntegerConv(plan, args);
  });
  return sums;
}

}  // namespace

void ConvInteger(Translation& node) {
  const Tensor sums = IntegerConv(node, {node.in(0), 1, 2, 3});
  node.Copy(sums, node.Out(0, DType::kI32, sums.shape));
}

namespace {

struct ByteConstants {
  std::vector<int8_t> weight;
  std::vector<float> bias, scales;
  int32_t in_zero, out_zero;
};

std::vector<float> FloatsOf(const HostTensor& tensor) {
  std::vector<double> values = tensor.Reals();
  return {values.begin(), values.end()};
}

// What a convolution of bytes needs to know ahead; nothing where it changes, or has no such form.
std::optional<ByteConstants> ReadByteConstants(const Translation& node) {
  for (int i = 1; i < (node.has(8) ? 9 : 8); ++i) {
    if (node.constant(i) == nullptr) return {};
  }
  if (!IsByte(node.dtype(0)) || !IsByte(node.dtype(7))) return {};
  ByteConstants found{SignedWeights(*node.constant(3), *node.constant(5)), {}, {}, 0, 0};
  const int64_t rows = node.shape(3)[0], scales = node.constant(4)->count();
  if (found.weight.empty() || node.constant(1)->count() != 1 || node.constant(6)->count() != 1 ||
      (scales != 1 && scales != rows))
    return {};
  if (node.has(8)) found.bias = FloatsOf(*node.constant(8));
  const float x = FloatsOf(*node.constant(1))[0], y = FloatsOf(*node.constant(6))[0];
  for (float w : FloatsOf(*node.constant(4))) found.scales.push_back(x * w / y);
  found.in_zero = static_cast<int32_t>(node.constant(2)->Ints().at(0));
  found.out_zero = static_cast<int32_t>(node.constant(7)->Ints().at(0));
  return found;
}

void ConvolveBytes(Translation& node, const ByteConstants& constants) {
  const bool last = ChannelsLast(node.String("data_format"));
  const Tensor first = ChannelsFirst(node.in(0), last);
  const ConvSizes sizes = ConvSizesOf(node, first.shape, node.shape(3));
  Tensor out = node.Out(0, node.dtype(7), WithLayout(sizes.out, last));
  const Tensor x = TurnedLast(node, first);
  Tensor turned = last ? out : node.Temporary(out.dtype, WithLayout(sizes.out, true));
  Tensor y = ChannelsFirst(turned, true);
  node.Step("QLinearConv", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::ByteConvArgs args{.conv = {},
                           .weight = constants.weight,
                           .bias = constants.bias,
                           .scales = constants.scales,
                           .in_zero = constants.in_zero,
                           .out_zero = constants.out_zero};
    args.conv.input = bind.Read(x, "x"), args.conv.out = bind.Write(y, "y");
    args.conv.weight = {&node.in(3), nullptr, -1, "w"};
    SetWindow(node, sizes.window, &args.conv);
    ops::PlanByteConv(plan, args);
  });
  if (!last) node.Copy(y, out);
}

}  // namespace

void QLinearConv(Translation& node) {
  if (ops::ConvolvesBytes()) {
    if (auto constants = ReadByteConstants(node)) return ConvolveBytes(node, *constants);
  }
  const bool last = ChannelsLast(node.String("data_format"));
  Tensor sums = IntegerConv(node, {ChannelsFirst(node.in(0), last), 3, 2, 5});
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
  Tensor out = node.Out(0, node.dtype(7), WithLayout(sums.shape, last));
  Tensor first = last ? node.Temporary(out.dtype, sums.shape) : out;
  Requantize(node, node.Packed(sums), ScaleOf(node, node.in(4), node.in(1), node.in(6)), 7, 1, first);
  if (last) node.Copy(first, ChannelsFirst(out, true));
}

}  // namespace translate
}  // namespace belay::graph
