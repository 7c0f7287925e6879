// What tools of quantisation write as DequantizeLinear, an operator and QuantizeLinear becomes the operator
// that computes with the bytes themselves, rounding once.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "graph/ops/integers.h"
#include "graph/passes/editor.h"
#include "graph/passes/passes.h"
#include "ops/conv/byte_conv.h"
#include "ops/matmul/integer.h"

namespace belay::graph {
namespace {

// Bytes with their scale and zero point, as both operators have them.
struct Quantised {
  Port bytes, scale, zero;
};

class QuantisedFinder {
 public:
  explicit QuantisedFinder(Graph& graph) : edit_(graph, Editor::Types::kLater) {}

  // Whether something was found.
  bool Run() {
    bool found = false;
    for (size_t n = 0; n < edit_.graph().nodes.size(); ++n) {
      const int node = static_cast<int>(n);
      if (edit_.at(node).type == "BatchMatMul") found |= ops::SumsBytesExactly() && TakeMatMul(node);
      if (edit_.at(node).type != "QuantizeLinear" || !Known(edit_.at(node)) || !OneScale(ReadBy(node)))
        continue;
      found |= TakeMove(node) || TakeSum(node) ||
               (ops::ConvolvesBytes() && (TakeConvolution(node) || TakeProduct(node)));
    }
    return found;
  }

 private:
  // All but the first input are constants, and there are no blocks.
  bool Known(const Node& node) const {
    const auto* block = FindAttribute<int64_t>(node, "block_size");
    return node.inputs.size() == 3 && (block == nullptr || *block == 0) &&
           edit_.ConstantAt(node.inputs[1]) != nullptr && edit_.ConstantAt(node.inputs[2]) != nullptr;
  }

  Quantised ReadBy(int n) {
    const Node& node = edit_.at(n);
    return {node.inputs[0], node.inputs[1], node.inputs[2]};
  }

  // What a DequantizeLinear makes an input of the node from.
  std::optional<Quantised> Source(const Node& node, size_t input) {
    const Port port = input < node.inputs.size() ? node.inputs[input] : Port{};
    if (!port.present() || edit_.at(port.node).type != "DequantizeLinear" || !Known(edit_.at(port.node)))
      return {};
    return ReadBy(port.node);
  }

  // Scalars or lists: what else takes their place might give their dimensions to the result.
  bool IsFlat(const Quantised& value) const {
    return edit_.ConstantAt(value.scale)->shape().rank() <= 1 &&
           edit_.ConstantAt(value.zero)->shape().rank() <= 1;
  }

  // Bytes with one scale for all of them.
  bool OneScale(const Quantised& value) const {
    Constant scale = edit_.ConstantAt(value.scale), zero = edit_.ConstantAt(value.zero);
    return IsFlat(value) && scale->count() == 1 && zero->count() == 1 && scale->dtype() == DType::kF32 &&
           IsByte(zero->dtype());
  }

  // The only operator that this one rounds, of that type; -1: none.
  int Rounded(int n, const char* type) {
    const Port from = edit_.at(n).inputs[0];
    return edit_.at(from.node).type == type && edit_.OnlyUser(from) == n ? from.node : -1;
  }

  // What only moves numbers, or chooses among them by size, does the same to their bytes.
  bool TakeMove(int n) {
    const int from = edit_.at(n).inputs[0].node;
    if (!MovesBytes(edit_.at(from)) || Rounded(n, edit_.at(from).type.c_str()) < 0) return false;
    const Node move = edit_.at(from);
    auto x = Source(move, 0);
    if (!x || !Alike(*x, ReadBy(n))) return false;
    std::vector<Port> inputs = move.inputs;
    inputs[0] = x->bytes;
    return edit_.Rewrite(n, move.type, std::move(inputs), move.attributes);
  }

  static bool MovesBytes(const Node& node) {
    static constexpr std::string_view kMoves[] = {"Reshape",   "Flatten",     "Squeeze",    "SqueezeV3",
                                                  "Unsqueeze", "UnsqueezeV3", "TransposeD", "MaxPoolV3"};
    return std::find(std::begin(kMoves), std::end(kMoves), node.type) != std::end(kMoves);
  }

  bool Alike(const Quantised& a, const Quantised& b) const {
    return OneScale(a) && OneScale(b) && TypeOf(a) == TypeOf(b) &&
           edit_.ConstantAt(a.scale)->as<float>()[0] == edit_.ConstantAt(b.scale)->as<float>()[0] &&
           edit_.ConstantAt(a.scale)->as<float>()[0] > 0 &&
           edit_.ConstantAt(a.zero)->Ints() == edit_.ConstantAt(b.zero)->Ints();
  }

  bool TakeSum(int n) {
    const int add = Rounded(n, "Add");
    if (add < 0) return false;
    auto a = Source(edit_.at(add), 0), b = Source(edit_.at(add), 1);
    const Quantised y = ReadBy(n);
    if (!a || !b || !OneScale(*a) || !OneScale(*b) || TypeOf(*a) != TypeOf(y) || TypeOf(*b) != TypeOf(y))
      return false;
    return edit_.Rewrite(n, "QLinearAdd",
                         {a->bytes, a->scale, a->zero, b->bytes, b->scale, b->zero, y.scale, y.zero}, {});
  }

  DType TypeOf(const Quantised& value) const { return edit_.ConstantAt(value.zero)->dtype(); }

  bool TakeConvolution(int n) {
    const int conv = Rounded(n, "Conv2D");
    if (conv < 0 || !IsOfOnnx(edit_.at(conv))) return false;
    const Node node = edit_.at(conv);
    std::vector<Port> inputs = IntegersOf(node, ReadBy(n), 4, 0);
    if (inputs.empty()) return false;
    Attributes attributes;
    for (const char* name : {"strides", "pads", "dilations", "groups", "auto_pad"}) {
      auto it = node.attributes.find(name);
      if (it != node.attributes.end()) attributes[name] = it->second;
    }
    return edit_.Rewrite(n, "QLinearConv", std::move(inputs), std::move(attributes));
  }

  // What QLinearConv reads in place of the node; empty where the node has to compute with floats. `rank`: of
  // the weights, of which the dimension `channels` counts the results' channels.
  std::vector<Port> IntegersOf(const Node& node, const Quantised& y, int rank, int channels) {
    auto x = Source(node, 0), w = Source(node, 1);
    if (!x || !w || !OneScale(*x) || !WeightsFit(*w, node.inputs[1].node, rank, channels)) return {};
    std::vector<Port> inputs{x->bytes, x->scale, x->zero, w->bytes, w->scale, w->zero, y.scale, y.zero};
    if (node.inputs.size() > 2 && node.inputs[2].present()) {
      auto bias = Source(node, 2);
      if (!bias || !CountsSums(*bias, *x, *w, channels)) return {};
      inputs.push_back(bias->bytes);
    }
    return inputs;
  }

  // A fully connected layer is the convolution of images of one pixel.
  bool TakeProduct(int n) {
    const int gemm = Rounded(n, "Gemm");
    if (gemm < 0 || !MultipliesRows(edit_.at(gemm))) return false;
    const bool turned = Flag(edit_.at(gemm), "transpose_b");
    std::vector<Port> inputs = IntegersOf(edit_.at(gemm), ReadBy(n), 2, turned ? 0 : 1);
    if (inputs.empty()) return false;
    const std::string name = edit_.at(n).name;
    Constant matrix = edit_.ConstantAt(inputs[3]);
    if (!turned) matrix = Turned(*matrix);
    const Shape& shape = matrix->shape();
    const std::vector<int64_t> pixel{2, 3};
    inputs[0] = edit_.AddNode(name + "_pixels", "Unsqueeze", {inputs[0]}, {});
    edit_.at(inputs[0].node).attributes["axes"] = pixel;
    inputs[3] = edit_.AddConstant(
        name + "_weights", std::make_shared<HostTensor>(matrix->dtype(), Shape{shape[0], shape[1], 1, 1},
                                                        matrix->data(), matrix));
    const Port conv = edit_.AddNode(name + "_product", "QLinearConv", std::move(inputs), {});
    edit_.at(conv.node).attributes["groups"] = int64_t{1};
    return edit_.Rewrite(n, "Squeeze", {conv}, {{"axis", pixel}});
  }

  // A matrix of bytes with its rows as columns.
  static Constant Turned(const HostTensor& matrix) {
    const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
    auto turned = std::make_shared<HostTensor>(matrix.dtype(), Shape{columns, rows});
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j)
        turned->as<uint8_t>()[j * rows + i] = matrix.as<uint8_t>()[i * columns + j];
    }
    return turned;
  }

  // Rows of x times a matrix; its columns are the result's, or turned as exporters write it its rows.
  static bool MultipliesRows(const Node& node) {
    for (const char* factor : {"alpha", "beta"}) {
      const auto* value = FindAttribute<double>(node, factor);
      if (value != nullptr && *value != 1) return false;
    }
    return !Flag(node, "transpose_a");
  }

  // Sums of bytes, times both scales: no QuantizeLinear need follow.
  bool TakeMatMul(int n) {
    const Node& node = edit_.at(n);
    auto x = Source(node, 0), w = Source(node, 1);
    if (!x || !w || node.inputs.size() != 2 || !OneScale(*x) || !ColumnsFit(*w, node.inputs[1].node))
      return false;
    if (Flag(node, "adj_x1") || Flag(node, "adj_x2")) return false;
    const std::string name = node.name;
    Constant scale = edit_.ConstantAt(w->scale);
    auto scales = std::make_shared<HostTensor>(DType::kF32, scale->shape());
    const float factor = edit_.ConstantAt(x->scale)->as<float>()[0];
    for (int64_t i = 0; i < scale->count(); ++i) scales->as<float>()[i] = factor * scale->as<float>()[i];
    const Port zero = OneWhereEqual(w->zero, name + "_zero");
    const Port sums = edit_.AddNode(name + "_sums", "MatMulInteger", {x->bytes, w->bytes, x->zero, zero}, {});
    const Port real = edit_.AddNode(name + "_real", "Cast", {sums}, {});
    edit_.at(real.node).attributes["dst_type"] = DType::kF32;
    const Port factors = edit_.AddConstant(name + "_scales", std::move(scales));
    return edit_.Rewrite(n, "Mul", {real, factors}, {});
  }

  // Zero points that do not differ are subtracted by the product itself.
  Port OneWhereEqual(const Port& zeros, const std::string& name) {
    Constant all = edit_.ConstantAt(zeros);
    const std::vector<int64_t> values = all->Ints();
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end()) return zeros;
    return edit_.AddConstant(name, std::make_shared<HostTensor>(all->dtype(), Shape{}, all->data(), all));
  }

  // A matrix of bytes that `node` dequantises, with one scale and zero point for all or one for each column.
  bool ColumnsFit(const Quantised& w, int node) {
    Constant bytes = edit_.ConstantAt(w.bytes), scale = edit_.ConstantAt(w.scale),
             zero = edit_.ConstantAt(w.zero);
    if (bytes == nullptr || bytes->shape().rank() != 2 || !IsByte(bytes->dtype()) ||
        scale->dtype() != DType::kF32 || !IsFlat(w) || zero->count() != scale->count())
      return false;
    const auto* axis = FindAttribute<int64_t>(edit_.at(node), "axis");
    const bool by_column =
        (axis == nullptr || *axis == 1 || *axis == -1) && scale->count() == bytes->shape()[1];
    return scale->count() == 1 || by_column;
  }

  // Images and filters lie as ONNX has them.
  static bool IsOfOnnx(const Node& node) {
    const auto* format = FindAttribute<std::string>(node, "data_format");
    const auto* filter = FindAttribute<std::string>(node, "filter_format");
    const auto* groups = FindAttribute<int64_t>(node, "groups");
    return format != nullptr && *format == "NCHW" && (filter == nullptr || filter->empty()) &&
           groups != nullptr && *groups > 0 && node.attributes.count("group") == 0;
  }

  // Bytes of i8 that `node` dequantises, with one scale for all or one for each channel of the result.
  bool WeightsFit(const Quantised& w, int node, int rank, int channels) {
    Constant bytes = edit_.ConstantAt(w.bytes), scale = edit_.ConstantAt(w.scale),
             zero = edit_.ConstantAt(w.zero);
    if (bytes == nullptr || scale->dtype() != DType::kF32 || bytes->shape().rank() != rank || !IsFlat(w))
      return false;
    const auto* axis = FindAttribute<int64_t>(edit_.at(node), "axis");
    const int64_t along = axis == nullptr ? 1 : *axis < 0 ? *axis + rank : *axis;
    const bool by_channel = along == channels && scale->count() == bytes->shape()[channels];
    if (scale->count() != 1 && !by_channel) return false;
    return !SignedWeights(channels == 0 ? *bytes : *Turned(*bytes), *zero).empty();
  }

  // Whether the bias is in steps of the products.
  bool CountsSums(const Quantised& bias, const Quantised& x, const Quantised& w, int channels) const {
    Constant whole = edit_.ConstantAt(bias.bytes), zero = edit_.ConstantAt(bias.zero);
    if (whole == nullptr || whole->dtype() != DType::kI32 || whole->shape().rank() != 1 || !IsFlat(bias) ||
        whole->count() != edit_.ConstantAt(w.bytes)->shape()[channels])
      return false;
    const std::vector<double> steps = edit_.ConstantAt(bias.scale)->Reals(),
                              factors = edit_.ConstantAt(w.scale)->Reals();
    const double factor = edit_.ConstantAt(x.scale)->Reals()[0];
    for (int64_t value : zero->Ints()) {
      if (value != 0) return false;
    }
    if (steps.size() != 1 && steps.size() != factors.size()) return false;
    for (size_t i = 0; i < factors.size(); ++i) {
      const double step = factor * factors[i];
      if (std::abs(steps[steps.size() == 1 ? 0 : i] - step) > 1e-5 * step) return false;
    }
    return true;
  }

  Editor edit_;
};

}  // namespace

void FindQuantised(Graph& graph) {
  // Others stay as they are: an operator that nobody reads and nobody knows is still refused by name.
  if (!QuantisedFinder(graph).Run()) return;
  SortNodes(graph);
  RemoveDeadNodes(graph);
}

}  // namespace belay::graph
