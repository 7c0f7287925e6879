// Quantised operators.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "graph/host_tensor.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/window_attributes.h"
#include "graph/ops/integers.h"
#include "ops/conv/byte_conv.h"

namespace belay::graph::onnx {
namespace {

void Quantize(OnnxNode& node) {
  node.WithoutEffect({"saturate"});  // of floats of 8 bits, which are not supported
  node.Only("precision", 0);
  node.Become(node.type(), {{"axis", node.Int("axis", 1)},
                            {"block_size", node.Int("block_size", 0)},
                            {"output_dtype", node.Int("output_dtype", 0)}});
}

Attributes ConvAttributes(const OnnxNode& node) {
  Attributes attributes = PaddedWindowAttributes(node);
  attributes["groups"] = node.Int("group", 1);
  return attributes;
}

// The inputs of a convolution of integers.
struct IntegerConv {
  int x, x_zero, w, w_zero;
};

// Integers less their zero points as f32. `channels`: how many there are where each has a zero point of its
// own.
Port WithoutZero(OnnxNode& node, int values, int zero, int64_t channels) {
  auto scale = std::make_shared<HostTensor>(DType::kF32, channels > 1 ? Shape{channels} : Shape{});
  std::fill_n(scale->as<float>(), scale->count(), 1.0f);
  std::vector<Port> inputs{node.in(values), node.Const(scale)};
  if (node.has(zero)) inputs.push_back(node.in(zero));
  return node.Add("DequantizeLinear", inputs, {{"axis", int64_t{0}}});
}

// The sums of products as f32 by an ordinary convolution, which has everything that makes it fast. Absent
// where the weights are not known yet, or not those of images.
Port SumsOfProducts(OnnxNode& node, const IntegerConv& conv, int bias) {
  Constant weights = node.constant(conv.w),
           zeros = node.has(conv.w_zero) ? node.constant(conv.w_zero) : nullptr;
  if (weights == nullptr || weights->shape().rank() != 4 || (node.has(conv.w_zero) && zeros == nullptr))
    return {};
  Attributes attributes = ConvAttributes(node);
  attributes["data_format"] = std::string("NCHW");
  std::vector<Port> inputs{WithoutZero(node, conv.x, conv.x_zero, 1),
                           WithoutZero(node, conv.w, conv.w_zero, zeros == nullptr ? 1 : zeros->count())};
  if (node.has(bias)) inputs.push_back(node.Add("Cast", {node.in(bias)}, {{"dst_type", DType::kF32}}));
  attributes["compute"] = std::string("exact");
  return node.Add("FusedConv2D", inputs, attributes);
}

// Whether f32 holds every sum that the weights can give.
bool FitsF32(OnnxNode& node, const IntegerConv& conv) {
  Constant weights = node.constant(conv.w),
           zeros = node.has(conv.w_zero) ? node.constant(conv.w_zero) : nullptr;
  if (weights == nullptr || weights->shape().rank() < 1 || weights->shape()[0] == 0) return false;
  const int64_t rows = weights->shape()[0], each = weights->count() / rows,
                count = zeros == nullptr ? 0 : zeros->count();
  auto byte = [](const Constant& tensor, int64_t i) -> int64_t {
    return tensor->dtype() == DType::kI8 ? tensor->as<int8_t>()[i] : tensor->as<uint8_t>()[i];
  };
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t zero = count == 0 ? 0 : byte(zeros, count == 1 ? 0 : row);
    // What lies above x's zero point and what lies below are at most 255 apart, so that one sign's weights
    // set the limit.
    int64_t above = 0, below = 0;
    for (int64_t i = 0; i < each; ++i) {
      const int64_t weight = byte(weights, row * each + i) - zero;
      (weight > 0 ? above : below) += std::abs(weight);
    }
    if (255 * std::max(above, below) > (1 << 24)) return false;
  }
  return true;
}

// Products of bytes are of whole blocks of filters.
bool HasFewFilters(OnnxNode& node, const Constant& weights) {
  constexpr int64_t kFew = 8;
  return weights != nullptr && weights->shape().rank() > 0 &&
         weights->shape()[0] < kFew * node.Int("group", 1);
}

void ConvInteger(OnnxNode& node) {
  constexpr IntegerConv kConv{0, 2, 1, 3};
  CheckKernelShape(node, kConv.w);
  const bool as_bytes = ops::ConvolvesBytes() && !HasFewFilters(node, node.constant(kConv.w));
  Port sums = !as_bytes && FitsF32(node, kConv) ? SumsOfProducts(node, kConv, 4) : Port{};
  if (!sums.present()) return node.Become(node.type(), ConvAttributes(node));
  node.Out(0, node.Add("Cast", {sums}, {{"dst_type", DType::kI32}}));
}

// The sums are rounded to bytes, so that a last bit which f32 cannot hold does not show.
void QLinearConv(OnnxNode& node) {
  CheckKernelShape(node, 3);
  Constant weights = node.constant(3), zeros = node.constant(5);
  if (ops::ConvolvesBytes() && weights != nullptr && zeros != nullptr &&
      !SignedWeights(*weights, *zeros).empty())
    return node.Become(node.type(), ConvAttributes(node));
  Port sums = SumsOfProducts(node, {0, 2, 3, 5}, 8);
  if (!sums.present()) return node.Become(node.type(), ConvAttributes(node));
  Port scale = node.Add("Div", {node.Add("Mul", {node.in(4), node.in(1)}), node.in(6)});
  node.Out(0, node.Add("Requantize", {sums, scale, node.in(7)}, {{"axis", int64_t{1}}}));
}

constexpr ImportRow kQuantRows[] = {{"QuantizeLinear", Quantize},
                                    {"DequantizeLinear", Quantize},
                                    {"ConvInteger", ConvInteger},
                                    {"QLinearConv", QLinearConv},
                                    {"QuantizeLinear", Quantize, kContribDomain},
                                    {"DequantizeLinear", Quantize, kContribDomain}};

}  // namespace

std::span<const ImportRow> QuantImports() { return kQuantRows; }

}  // namespace belay::graph::onnx
