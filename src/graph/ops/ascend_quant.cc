// Quantised operators of the vendor's own: one factor for all elements, or one for each channel.
#include <algorithm>
#include <cctype>

#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/kernels.h"

namespace belay::graph::translate {
namespace {

// What a chain of elementwise steps works on.
class Chain {
 public:
  Chain(Translation& node, const Tensor& x) : node_(node), value_(node.Cast(x, DType::kF32)) {}

  Chain& Times(double factor) { return Step(ops::forms::Muls, factor); }
  Chain& Times(const Tensor& factor) {
    Tensor next = node_.Temporary(DType::kF32, value_.shape);
    node_.Run(ops::forms::Mul, {Arg(&value_), Arg(&factor), Arg(&next)});
    value_ = next;
    return *this;
  }
  Chain& Plus(double amount) {
    Scalar scalar(&amount, DType::kF64);
    static const double kOne = 1;
    Scalar one(&kOne, DType::kF64);
    Tensor next = node_.Temporary(DType::kF32, value_.shape);
    node_.Run(ops::forms::Adds, {Arg(&value_), Arg(&scalar), Arg(&one), Arg(&next)});
    value_ = next;
    return *this;
  }
  Chain& Rounded(const std::string& mode) {
    std::string name = mode;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == "round") return Step(ops::forms::Round);
    if (name == "floor") return Step(ops::forms::Floor);
    if (name == "ceil") return Step(ops::forms::Ceil);
    if (name == "trunc") return Step(ops::forms::Trunc);
    node_.Refuse("round_mode '" + mode + "' is not supported; it is Round, Floor, Ceil or Trunc");
  }
  Chain& Within(double least, double most) {
    Scalar from(&least, DType::kF64), to(&most, DType::kF64);
    Tensor next = node_.Temporary(DType::kF32, value_.shape);
    node_.Run(ops::forms::Clamp, {Arg(&value_), Arg(&from), Arg(&to), Arg(&next)});
    value_ = next;
    return *this;
  }
  Chain& NotNegative() { return Step(ops::forms::Relu); }
  void Into(DType dtype) { node_.Copy(value_, node_.Out(0, dtype, value_.shape)); }

 private:
  Chain& Step(const ops::Form& form) {
    Tensor next = node_.Temporary(DType::kF32, value_.shape);
    node_.Run(form, {Arg(&value_), Arg(&next)});
    value_ = next;
    return *this;
  }
  Chain& Step(const ops::Form& form, double number) {
    Scalar scalar(&number, DType::kF64);
    Tensor next = node_.Temporary(DType::kF32, value_.shape);
    node_.Run(form, {Arg(&value_), Arg(&scalar), Arg(&next)});
    value_ = next;
    return *this;
  }

  Translation& node_;
  Tensor value_;
};

double Factor(const Translation& node) {
  double scale = node.Float("scale");
  return node.Bool("sqrt_mode") ? scale * scale : scale;
}

// The factors as f32 that broadcast with x. As u64 they are f32 in the lower half. Several run along the
// channels of images, and along the last dimension otherwise.
Tensor ChannelFactors(Translation& node, const Tensor& factors, const Shape& x) {
  Tensor low = factors;
  if (low.dtype == DType::kU64) {
    low.dtype = DType::kF32;
    low.offset *= 2;
    for (int i = 0; i < low.shape.rank(); ++i) low.strides[i] *= 2;
  }
  Tensor packed = node.Packed(node.Cast(low, DType::kF32));
  Shape shape = Shape::Filled(x.rank(), 1);
  int64_t count = packed.count();
  if (count != 1) {
    bool image = x.rank() >= 4 && x[1] == count;
    if (x.rank() == 0 || (!image && x.back(0) != count))
      node.Refuse("there are " + std::to_string(count) + " factors for " + x.ToString());
    (image ? shape[1] : shape.back(0)) = count;
  }
  return Translation::Reshaped(packed, shape);
}

}  // namespace

void AscendQuant(Translation& node) {
  if (node.Int("dst_type") != static_cast<int64_t>(DType::kI8))
    node.Refuse("only int8 results are supported");
  Chain(node, node.in(0))
      .Times(Factor(node))
      .Plus(node.Float("offset"))
      .Rounded(node.String("round_mode"))
      .Within(-128, 127)
      .Into(DType::kI8);
}

void AscendDequant(Translation& node) {
  int64_t type = node.Int("dtype");
  if (type != static_cast<int64_t>(DType::kF32) && type != static_cast<int64_t>(DType::kF16))
    node.Refuse("the result is float or float16");
  Tensor factors = ChannelFactors(node, node.in(1), node.shape(0));
  Chain chain(node, node.in(0));
  chain.Times(factors);
  if (node.Bool("sqrt_mode")) chain.Times(factors);
  if (node.Bool("relu_flag")) chain.NotNegative();
  chain.Into(static_cast<DType>(type));
}

void AscendAntiQuant(Translation& node) {
  Chain(node, node.in(0)).Plus(node.Float("offset")).Times(Factor(node)).Into(DType::kF16);
}

}  // namespace belay::graph::translate
