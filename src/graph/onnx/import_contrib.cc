// What onnxruntime's own tools put into models when they quantise or fuse (com.microsoft), as the operators
// that it stands for.
#include "graph/onnx/importer.h"
#include "graph/onnx/window_attributes.h"
#include "graph/ops/integers.h"

namespace belay::graph::onnx {
namespace {

// Input `i` stands before its scale and its zero point.
Port Real(OnnxNode& node, int i) {
  return node.Add("DequantizeLinear", {node.in(i), node.in(i + 1), node.in(i + 2)});
}

// The result with the scale in input `scale`, before its zero point.
void Quantised(OnnxNode& node, Port result, int scale) {
  node.Out(0, node.Add("QuantizeLinear", {result, node.in(scale), node.in(scale + 1)}));
}

// Bytes are added as they are; onnxruntime rounds sums of 16 bits in another way.
void QLinearAdd(OnnxNode& node) {
  bool bytes = true;
  for (int zero : {2, 5, 7}) {
    Constant constant = node.has(zero) ? node.constant(zero) : nullptr;
    bytes = bytes && constant != nullptr && IsByte(constant->dtype());
  }
  if (bytes) return node.Become("QLinearAdd");
  Quantised(node, node.Add("Add", {Real(node, 0), Real(node, 3)}), 6);
}

void QLinearMul(OnnxNode& node) { Quantised(node, node.Add("Mul", {Real(node, 0), Real(node, 3)}), 6); }
void QLinearSigmoid(OnnxNode& node) { Quantised(node, node.Add("Sigmoid", {Real(node, 0)}), 3); }

void QLinearLeakyRelu(OnnxNode& node) {
  Quantised(node, node.Add("LeakyRelu", {Real(node, 0)}, {{"negative_slope", node.Float("alpha", 0.01)}}), 3);
}

// Since opset 13 one dimension, before it all from the axis on.
void QLinearSoftmax(OnnxNode& node) {
  Attributes attributes{{"axes", std::vector<int64_t>{node.Int("axis", -1)}},
                        {"flatten", node.Int("opset", 13) < 13}};
  Quantised(node, node.Add("SoftmaxV2", {Real(node, 0)}, attributes), 3);
}

void QLinearGlobalAveragePool(OnnxNode& node) {
  if (node.Int("channels_last", 0) != 0) node.Refuse("channels_last is not supported");
  Quantised(node, node.Add("AvgPoolV2", {Real(node, 0)}, {{"global_pooling", true}}), 3);
}

void QLinearAveragePool(OnnxNode& node) {
  if (node.Int("channels_last", 0) != 0) node.Refuse("channels_last is not supported");
  // onnxruntime adds the zero point before it rounds, which decides means that lie between two bytes.
  Port steps =
      node.Add("RealDiv", {node.Add("AvgPoolV2", {Real(node, 0)}, AveragePoolAttributes(node)), node.in(3)});
  Port moved = node.Add("Add", {steps, node.Add("Cast", {node.in(4)}, {{"dst_type", DType::kF32}})});
  Port one = node.Add("RealDiv", {node.in(3), node.in(3)}), none = node.Add("Sub", {node.in(4), node.in(4)});
  node.Out(0, node.Add("QuantizeLinear", {moved, one, none}));
}

// The scale and zero point of the result come first.
void QLinearConcat(OnnxNode& node) {
  std::vector<Port> pieces;
  for (int i = 2; i + 2 < node.input_count(); i += 3) pieces.push_back(Real(node, i));
  Attributes attributes{{"concat_dim", node.Int("axis", 1)}, {"N", static_cast<int64_t>(pieces.size())}};
  Quantised(node, node.Add("ConcatD", pieces, attributes), 0);
}

void QLinearWhere(OnnxNode& node) {
  Quantised(node, node.Add("SelectV2", {node.in(0), Real(node, 1), Real(node, 4)}), 7);
}

// The bias is of i32, and its scale is the product of the other two. Null: they are not known.
Constant BiasSteps(OnnxNode& node) {
  const Constant a = node.constant(1), b = node.constant(4), bias = node.constant(6);
  if (a == nullptr || b == nullptr || bias == nullptr || bias->shape().rank() != 1 || a->count() != 1 ||
      a->dtype() != DType::kF32 || b->dtype() != DType::kF32)
    return nullptr;
  auto steps = std::make_shared<HostTensor>(DType::kF32, b->count() == 1 ? Shape{} : b->shape());
  for (int64_t i = 0; i < b->count(); ++i) steps->as<float>()[i] = a->as<float>()[0] * b->as<float>()[i];
  return steps;
}

void QGemm(OnnxNode& node) {
  const bool transposed = node.Int("transB", 0) != 0;
  const double alpha = node.Float("alpha", 1);
  Port a = Real(node, 0);
  Port b = node.Add("DequantizeLinear", {node.in(3), node.in(4), node.in(5)},
                    {{"axis", int64_t{transposed ? 0 : 1}}});
  const Attributes turns{{"transpose_a", node.Int("transA", 0) != 0}, {"transpose_b", transposed}};
  const Constant steps = node.has(6) && alpha == 1 && node.has(7) ? BiasSteps(node) : nullptr;
  if (steps != nullptr) {  // as quantising tools write a layer, which passes know
    auto zeros = std::make_shared<HostTensor>(DType::kI32, steps->shape());
    Port bias = node.Add("DequantizeLinear", {node.in(6), node.Const(steps), node.Const(zeros)},
                         {{"axis", int64_t{0}}});
    return Quantised(node, node.Add("Gemm", {a, b, bias}, turns), 7);
  }
  Port y = node.Add("Gemm", {a, b}, turns);
  if (node.has(6)) {
    Port bias = node.Add("Cast", {node.in(6)}, {{"dst_type", DType::kF32}});
    y = node.Add("Add", {y, node.Add("Mul", {bias, node.Add("Mul", {node.in(1), node.in(4)})})});
  }
  if (alpha != 1) y = node.Add("Muls", {y}, {{"value", alpha}});
  if (!node.has(7)) return node.Out(0, y);
  Quantised(node, y, 7);
}

// A product of integers, times both scales, plus the bias.
Port ScaledProduct(OnnxNode& node, std::vector<Port> integers, Port a_scale, Port b_scale, Port bias) {
  Port sums = node.Add("Cast", {node.Add("MatMulInteger", std::move(integers))}, {{"dst_type", DType::kF32}});
  Port y = node.Add("Mul", {sums, node.Add("Mul", {a_scale, b_scale})});
  return bias.present() ? node.Add("Add", {y, bias}) : y;
}

void MatMulIntegerToFloat(OnnxNode& node) {
  node.Out(0, ScaledProduct(node, {node.in(0), node.in(1), node.in(4), node.in(5)}, node.in(2), node.in(3),
                            node.in(6)));
}

void DynamicQuantizeMatMul(OnnxNode& node) {
  Port a = node.Add("DynamicQuantizeLinear", {node.in(0)}, {}, 3);
  node.Out(0, ScaledProduct(node, {a, node.in(1), OnnxNode::OutputOf(a, 2), node.in(3)},
                            OnnxNode::OutputOf(a, 1), node.in(2), node.in(4)));
}

void FusedMatMul(OnnxNode& node) {
  if (node.Int("transBatchA", 0) != 0 || node.Int("transBatchB", 0) != 0)
    node.Refuse("transBatchA and transBatchB are not supported");
  Port y = node.Add("BatchMatMul", {node.in(0), node.in(1)},
                    {{"adj_x1", node.Int("transA", 0) != 0}, {"adj_x2", node.Int("transB", 0) != 0}});
  const double alpha = node.Float("alpha", 1);
  node.Out(0, alpha == 1 ? y : node.Add("Muls", {y}, {{"value", alpha}}));
}

// Weights of a few bits, [n, blocks, bytes of a block], each block of a row with its scale and perhaps its
// zero point, which are packed as tightly; first the low bits of a byte.
struct BlockWeights {
  const HostTensor *bits, *zeros;
  std::vector<double> scales;
  int64_t n, k, block, width;  // of one weight in bits

  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t Field(const uint8_t* row, int64_t i) const {
    const int64_t each = 8 / width;
    return row[i / each] >> (i % each * width) & ((1 << width) - 1);
  }
  double Zero(int64_t row, int64_t b) const {
    if (zeros == nullptr) return static_cast<double>(int64_t{1} << (width - 1));
    if (zeros->dtype() == DType::kF32) return zeros->as<float>()[row * blocks() + b];
    return static_cast<double>(Field(zeros->as<uint8_t>() + row * ((blocks() * width + 7) / 8), b));
  }
  bool Fit() const {
    const bool packed = zeros == nullptr || zeros->dtype() == DType::kU8;
    const int64_t zero_count = n * (packed ? (blocks() * width + 7) / 8 : blocks());
    return bits->dtype() == DType::kU8 && bits->count() == n * blocks() * (block * width / 8) &&
           static_cast<int64_t>(scales.size()) == n * blocks() &&
           (zeros == nullptr || (zeros->count() == zero_count && (packed || zeros->dtype() == DType::kF32)));
  }
};

Constant Unpacked(const BlockWeights& from) {
  auto weights = std::make_shared<HostTensor>(DType::kF32, Shape{from.n, from.k});
  float* to = weights->as<float>();
  const int64_t row_bytes = from.blocks() * (from.block * from.width / 8);
  for (int64_t row = 0; row < from.n; ++row) {
    const uint8_t* packed = from.bits->as<uint8_t>() + row * row_bytes;
    for (int64_t i = 0; i < from.k; ++i) {
      const int64_t b = i / from.block;
      const double scale = from.scales[static_cast<size_t>(row * from.blocks() + b)];
      *to++ = static_cast<float>((static_cast<double>(from.Field(packed, i)) - from.Zero(row, b)) * scale);
    }
  }
  return weights;
}

void MatMulNBits(OnnxNode& node) {
  const Constant bits = node.constant(1), scales = node.constant(2),
                 zeros = node.has(3) ? node.constant(3) : nullptr;
  if (bits == nullptr || scales == nullptr || (node.has(3) && zeros == nullptr)) {
    node.Refuse("weights that the model does not hold are not supported");
  }
  if (node.has(4)) node.Refuse("g_idx is not supported");
  node.WithoutEffect({"accuracy_level"});  // the least precision; what is computed here is the highest
  node.Only("weight_prepacked", 0);
  const BlockWeights weights{bits.get(),         zeros.get(),      scales->Reals(),
                             node.Int("N", 0),   node.Int("K", 0), node.Int("block_size", 32),
                             node.Int("bits", 4)};
  const bool sizes = (weights.width == 2 || weights.width == 4 || weights.width == 8) &&
                     weights.block >= 16 && weights.n > 0 && weights.k > 0;
  if (!sizes || !weights.Fit()) node.Refuse("its weights, scales and zero points do not fit its attributes");
  Port b = node.Const(Unpacked(weights));
  if (scales->dtype() != DType::kF32) b = node.Add("CastLike", {b, node.in(2)});
  const Port y = node.Add("BatchMatMul", {node.in(0), b}, {{"adj_x1", false}, {"adj_x2", true}});
  node.Out(0, node.has(5) ? node.Add("Add", {y, node.in(5)}) : y);
}

constexpr ImportRow kContribRows[] = {{"QLinearAdd", QLinearAdd, kContribDomain},
                                      {"QLinearMul", QLinearMul, kContribDomain},
                                      {"QLinearSigmoid", QLinearSigmoid, kContribDomain},
                                      {"QLinearLeakyRelu", QLinearLeakyRelu, kContribDomain},
                                      {"QLinearSoftmax", QLinearSoftmax, kContribDomain},
                                      {"QLinearGlobalAveragePool", QLinearGlobalAveragePool, kContribDomain},
                                      {"QLinearAveragePool", QLinearAveragePool, kContribDomain},
                                      {"QLinearConcat", QLinearConcat, kContribDomain},
                                      {"QLinearWhere", QLinearWhere, kContribDomain},
                                      {"QGemm", QGemm, kContribDomain},
                                      {"MatMulIntegerToFloat", MatMulIntegerToFloat, kContribDomain},
                                      {"DynamicQuantizeMatMul", DynamicQuantizeMatMul, kContribDomain},
                                      {"FusedMatMul", FusedMatMul, kContribDomain},
                                      {"MatMulNBits", MatMulNBits, kContribDomain}};

}  // namespace

std::span<const ImportRow> ContribImports() { return kContribRows; }

}  // namespace belay::graph::onnx
