// Convolutions, plain and transposed.
#include "ops/conv/conv.h"

#include <algorithm>
#include <limits>

#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

// The filter as [out, in / groups, kernel...] (transposed: [in, out / groups, kernel...]).
Tensor FilterView(const Translation& node, const Tensor& filter, bool channels_last) {
  std::string format = node.String("filter_format");
  if (format.empty()) format = channels_last ? "HWCN" : "NCHW";
  int rank = filter.shape.rank();
  if (rank < 3) node.Refuse("the filter has no spatial dimension");
  if (format == "NCHW" || format == "NCDHW") return filter;
  if (format == "NHWC" || format == "NDHWC") return ChannelsFirst(filter, true);
  if (format != "HWCN" && format != "DHWCN") node.Refuse("filter_format is NCHW, NHWC or HWCN");
  std::vector<int64_t> order{rank - 1, rank - 2};
  for (int d = 0; d < rank - 2; ++d) order.push_back(d);
  return Translation::Transposed(filter, order);
}

std::vector<int64_t> KernelOf(const Tensor& filter) { return {filter.shape.begin() + 2, filter.shape.end()}; }

// The inputs of a convolution in the order that all of its forms share; -1: there is none.
struct Inputs {
  int x, filter, bias, residual;
};

struct Convolved {
  Tensor x, filter;
  bool channels_last;
  Window window;
  int64_t groups;
  bool transposed;
  ops::Activation activation;
  std::optional<ops::PackedWeights> packed;  // instead of the filter's elements
  bool exact = false, bf16 = false;
};

const void* Elements(const Translation& node, int input) {
  Constant constant = input < 0 ? nullptr : node.constant(input);
  return constant == nullptr ? nullptr : constant->data();
}

void AddStep(Translation& node, const char* name, const Inputs& inputs, const Convolved& conv,
             const Shape& shape) {
  const Shape laid_out = WithLayout(shape, conv.channels_last);
  if (inputs.residual >= 0 && node.shape(inputs.residual) != laid_out) {
    node.Refuse("what is added has the shape " + node.shape(inputs.residual).ToString() + ", the result " +
                laid_out.ToString());
  }
  Tensor out = ChannelsFirst(node.Out(0, conv.x.dtype, laid_out), conv.channels_last);
  Tensor residual;
  if (inputs.residual >= 0) residual = ChannelsFirst(node.in(inputs.residual), conv.channels_last);
  node.Step(name, [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::ConvArgs args;
    args.input = bind.Read(conv.x, "x");
    args.packed_weight = conv.packed ? &*conv.packed : nullptr;
    args.constant_weight = conv.packed ? nullptr : Elements(node, inputs.filter);
    args.weight = args.constant_weight == nullptr && !conv.packed
                      ? bind.Read(conv.filter, "filter")
                      : ops::Operand{&conv.filter, nullptr, -1, "filter"};
    if (inputs.bias >= 0) {
      args.constant_bias = Elements(node, inputs.bias);
      args.bias = args.constant_bias == nullptr ? bind.Read(node.in(inputs.bias), "bias")
                                                : ops::Operand{&node.in(inputs.bias), nullptr, -1, "bias"};
    }
    if (inputs.residual >= 0) args.residual = bind.Read(residual, "residual");
    args.out = bind.Write(out, "y");
    args.strides = conv.window.strides, args.dilations = conv.window.dilations;
    args.before = conv.window.before, args.after = conv.window.after;
    args.groups = conv.groups, args.transposed = conv.transposed, args.activation = conv.activation;
    args.exact = conv.exact, args.bf16 = conv.bf16;
    if (node.packs()) return node.SetPacked(ops::PackConvWeights(args));
    ops::PlanConv(plan, args);
  });
}

Inputs InputsOf(const Translation& node, int residual) {
  return {0, 1, node.has(2) ? 2 : -1, residual >= 0 && node.has(residual) ? residual : -1};
}

Shape ResultShape(const Translation& node, const Convolved& conv, int64_t channels) {
  Shape shape{conv.x.shape[0], channels};
  for (size_t i = 0; i < conv.window.kernel.size(); ++i) {
    const Window& w = conv.window;
    int64_t size = ops::ConvOutputSize(conv.x.shape[static_cast<int>(i) + 2], w.kernel[i], w.strides[i],
                                       w.dilations[i], w.before[i], w.after[i]);
    if (size < 1) node.Refuse("the kernel is larger than the padded input " + conv.x.shape.ToString());
    shape.push_back(size);
  }
  return shape;
}

Convolved ReadConv(const Translation& node, const Inputs& inputs, PadOrder order, bool channels_last,
                   const Tensor& filter) {
  Convolved conv{.x = ChannelsFirst(node.in(inputs.x), channels_last),
                 .filter = filter,
                 .channels_last = channels_last,
                 .window = {},
                 .groups = 1,
                 .transposed = false,
                 .activation = {},
                 .packed = {}};
  if (conv.x.shape.rank() < 3) node.Refuse("the input has no spatial dimension");
  if (conv.filter.shape.rank() != conv.x.shape.rank())
    node.Refuse("input and filter differ in their number of dimensions");
  conv.window = ReadWindow(node, SpatialSizes(conv.x.shape), KernelOf(conv.filter), channels_last,
                           node.String("auto_pad"), order);
  return conv;
}

Convolved ReadConv(const Translation& node, const Inputs& inputs, PadOrder order, bool channels_last) {
  return ReadConv(node, inputs, order, channels_last,
                  FilterView(node, node.in(inputs.filter), channels_last));
}

// The filter may be packed.
Convolved ReadFused(const Translation& node, const Inputs& inputs) {
  bool channels_last = ChannelsLast(node.String("data_format"));
  auto packed = node.PackedInput(inputs.filter);
  if (!packed) return ReadConv(node, inputs, PadOrder::kPairs, channels_last);
  Convolved conv = ReadConv(node, inputs, PadOrder::kPairs, channels_last, node.PackedShape());
  conv.packed = std::move(packed);
  return conv;
}

}  // namespace

void Convolution(Translation& node) {
  // A caller that writes `group` hands over what ONNX has, in ONNX's order.
  bool onnx = node.HasAttribute("group");
  bool channels_last = !onnx && ChannelsLast(node.String("data_format"));
  Inputs inputs = InputsOf(node, -1);
  Convolved conv = ReadConv(node, inputs, onnx ? PadOrder::kBeginsThenEnds : PadOrder::kPairs, channels_last);
  // The shapes say it, whatever the attribute is called.
  conv.groups = conv.filter.shape[1] == 0 ? 1 : conv.x.shape[1] / conv.filter.shape[1];
  AddStep(node, "Conv2D", inputs, conv, ResultShape(node, conv, conv.filter.shape[0]));
}

void FusedConv2D(Translation& node) {
  Inputs inputs = InputsOf(node, 3);
  Convolved conv = ReadFused(node, inputs);
  conv.groups = conv.filter.shape[1] == 0 ? 1 : conv.x.shape[1] / conv.filter.shape[1];
  std::string activation = node.String("activation");
  if (!ops::FindActivation(activation, &conv.activation.kind))
    node.Refuse("there is no activation '" + activation + "'");
  conv.activation.alpha = static_cast<float>(node.Float("alpha"));
  conv.activation.beta = static_cast<float>(node.Float("beta"));
  conv.activation.scale = static_cast<float>(node.Float("scale"));
  conv.activation.shift = static_cast<float>(node.Float("shift"));
  conv.exact = node.String("compute") == "exact", conv.bf16 = node.String("compute") == "bf16";
  AddStep(node, "FusedConv2D", inputs, conv, ResultShape(node, conv, conv.filter.shape[0]));
}

// The filter is [kernel..., channels, multiplier] or, channels first, [multiplier, channels, kernel...].
void DepthwiseConv2D(Translation& node) {
  bool channels_last = ChannelsLast(node.String("data_format"));
  Inputs inputs = InputsOf(node, -1);
  Convolved conv = ReadConv(node, inputs, PadOrder::kPairs, channels_last);
  const Tensor& filter = conv.filter;
  int64_t multiplier = filter.shape[0], channels = filter.shape[1];
  conv.groups = channels;
  // Result channel c * multiplier + m: where the two cannot be walked as one, a copy is made that can.
  Tensor swapped = Translation::Transposed(filter, std::vector<int64_t>{1, 0, 2, 3});
  Tensor packed = multiplier == 1 ? swapped : node.Packed(swapped);
  Shape shape{channels * multiplier, 1, filter.shape[2], filter.shape[3]};
  tensor::Strides strides{packed.strides[multiplier == 1 ? 0 : 1], 1, packed.strides[2], packed.strides[3]};
  conv.filter = Translation::View(packed, shape, strides);
  if (multiplier != 1) inputs.filter = -1;
  AddStep(node, "DepthwiseConv2D", inputs, conv, ResultShape(node, conv, shape[0]));
}

namespace {

int64_t HalfDown(int64_t n) { return n >= 0 ? n / 2 : (n - 1) / 2; }

// Paddings and the sizes of the result, from whichever of the two is given. `least`: of the paddings of a
// dimension together. Less than none, as ONNX's equations have it, moves the result behind its first
// elements.
Shape TransposedSizes(const Translation& node, Convolved* conv, const std::vector<int64_t>& wanted,
                      const std::vector<int64_t>& extra, bool upper, bool same, int64_t least) {
  Window& w = conv->window;
  Shape sizes;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    int64_t in = conv->x.shape[static_cast<int>(i) + 2];
    int64_t full = (in - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1 + extra[i];
    int64_t size = full - w.before[i] - w.after[i];
    if (!wanted.empty() || same) {
      size = std::max<int64_t>(wanted.empty() ? in * w.strides[i] : wanted[i], 0);
      int64_t total = std::max(least, full - size), half = HalfDown(total);
      w.before[i] = upper ? half : total - half;
      w.after[i] = total - w.before[i];
    }
    if (size < 1) node.Refuse("the result would have no elements");
    sizes.push_back(size);
  }
  return sizes;
}

Convolved ReadTransposed(const Translation& node, const Inputs& inputs) {
  bool channels_last = ChannelsLast(node.String("data_format"));
  Convolved conv = ReadConv(node, inputs, PadOrder::kPairs, channels_last);
  // ReadWindow works out SAME for a convolution of the input, which this is not.
  if (node.String("auto_pad").starts_with("SAME")) {
    conv.window.before.assign(conv.window.kernel.size(), 0);
    conv.window.after = conv.window.before;
  }
  conv.transposed = true;
  conv.groups = node.Int("groups");
  if (conv.groups < 1 || conv.filter.shape[0] != conv.x.shape[1])
    node.Refuse("the filter has other channels than the input");
  return conv;
}

// GE's forms name the whole shape of the result and the paddings.
void TransposedTo(Translation& node, const Inputs& inputs, const std::vector<int64_t>& input_size) {
  Convolved conv = ReadTransposed(node, inputs);
  Shape shape{conv.x.shape[0], conv.filter.shape[1] * conv.groups};
  int rank = conv.x.shape.rank();
  for (int64_t size : SpatialOf(node, input_size, rank, conv.channels_last, 0)) shape.push_back(size);
  std::string auto_pad = node.String("auto_pad");
  if (auto_pad.starts_with("SAME")) {
    std::vector<int64_t> wanted(shape.begin() + 2, shape.end()), none(wanted.size(), 0);
    TransposedSizes(node, &conv, wanted, none, auto_pad != "SAME_LOWER", true, 0);
  }
  AddStep(node, "Conv2DTranspose", inputs, conv, shape);
}

}  // namespace

void ConvTranspose(Translation& node) {
  Inputs inputs = InputsOf(node, -1);
  Convolved conv = ReadTransposed(node, inputs);
  int rank = conv.x.shape.rank();
  std::string auto_pad = node.String("auto_pad");
  std::vector<int64_t> extra = SpatialOf(node, node.Ints("output_padding"), rank, conv.channels_last, 0);
  std::vector<int64_t> wanted = node.Ints("output_shape");
  if (wanted.size() > conv.window.kernel.size()) wanted.erase(wanted.begin(), wanted.end() - (rank - 2));
  if (!wanted.empty() && wanted.size() < conv.window.kernel.size()) {
    node.Refuse("output_shape needs a number for each dimension");
  }
  Shape shape{conv.x.shape[0], conv.filter.shape[1] * conv.groups};
  Shape sizes = TransposedSizes(node, &conv, wanted, extra, auto_pad == "SAME_UPPER",
                                auto_pad.starts_with("SAME"), std::numeric_limits<int64_t>::min());
  for (int64_t size : sizes) shape.push_back(size);
  AddStep(node, "ConvTranspose", inputs, conv, shape);
}

void Conv2DTransposeD(Translation& node) { TransposedTo(node, InputsOf(node, -1), node.Ints("input_size")); }

void Conv2DTranspose(Translation& node) {
  TransposedTo(node, {1, 2, node.has(3) ? 3 : -1, -1}, node.ints(0));
}

void Conv2DBackpropInput(Translation& node) { TransposedTo(node, {2, 1, -1, -1}, node.ints(0)); }
void Conv2DBackpropInputD(Translation& node) { TransposedTo(node, {1, 0, -1, -1}, node.Ints("input_size")); }

}  // namespace belay::graph::translate
