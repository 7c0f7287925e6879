// Pooling.
#include "ops/pool/pool.h"

#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/pool/unpool.h"

namespace belay::graph::translate {
namespace {

struct Pooled {
  Tensor x;
  bool channels_last;
  Shape shape;  // of the result, channels first
  std::vector<ops::PoolSpans> spans;
};

Pooled Adaptive(const Translation& node, bool channels_last, const std::vector<int64_t>& sizes) {
  Pooled pooled{ChannelsFirst(node.in(0), channels_last), channels_last, {}, {}};
  pooled.shape = {pooled.x.shape[0], pooled.x.shape[1]};
  for (size_t i = 0; i < sizes.size(); ++i) {
    pooled.shape.push_back(sizes[i]);
    pooled.spans.push_back(ops::AdaptiveSpans(pooled.x.shape[static_cast<int>(i) + 2], sizes[i]));
  }
  return pooled;
}

// Where strides leave elements out between windows, the paddings that ONNX's names stand for may be less than
// none, which it does not define. A single element less is one behind the last window.
void RefuseCutWindows(const Translation& node, const ops::PoolDimension& d) {
  const int64_t size = (d.in + d.stride - 1) / d.stride;
  if ((size - 1) * d.stride + (d.kernel - 1) * d.dilation + 1 < d.in - 1)
    node.Refuse(
        "its strides are longer than its windows, where SAME_UPPER and SAME_LOWER are not defined; "
        "give pads instead");
}

Pooled Sliding(const Translation& node, bool channels_last, std::string_view padding, bool ceil,
               const char* dilations = "dilations") {
  Pooled pooled{ChannelsFirst(node.in(0), channels_last), channels_last, {}, {}};
  const Shape& in = pooled.x.shape;
  if (in.rank() < 3) node.Refuse("the input has no spatial dimension");
  std::vector<int64_t> kernel = SpatialOf(node, node.Ints("ksize"), in.rank(), channels_last, 1);
  Window w = ReadWindow(node, SpatialSizes(in), kernel, channels_last, padding, PadOrder::kPairs, dilations);
  pooled.shape = {in[0], in[1]};
  for (size_t i = 0; i < kernel.size(); ++i) {
    ops::PoolDimension d{
        in[static_cast<int>(i) + 2], w.kernel[i], w.strides[i], w.dilations[i], w.before[i], w.after[i]};
    bool same = padding.starts_with("SAME");
    if (padding.starts_with("SAME_")) RefuseCutWindows(node, d);
    int64_t size = same ? (d.in + d.stride - 1) / d.stride : ops::PoolOutputSize(d, ceil);
    if (size < 1) node.Refuse("the window is larger than the padded input " + in.ToString());
    pooled.shape.push_back(size);
    pooled.spans.push_back(ops::SlidingSpans(d, size));
  }
  return pooled;
}

Pooled Global(const Translation& node, bool channels_last) {
  if (node.shape(0).rank() < 3) node.Refuse("the input has no spatial dimension");
  return Adaptive(node, channels_last,
                  std::vector<int64_t>(static_cast<size_t>(node.shape(0).rank() - 2), 1));
}

// `args` holds what is special about the node.
void AddPool(Translation& node, const char* name, const Pooled& pooled, ops::PoolArgs args) {
  Shape declared = WithLayout(pooled.shape, pooled.channels_last);
  Tensor out = ChannelsFirst(node.Out(0, node.dtype(0), declared), pooled.channels_last);
  Tensor places;
  if (node.output_count() > 1)
    places = ChannelsFirst(node.Out(1, DType::kI64, declared), pooled.channels_last);
  node.Step(name, [&](ops::Plan& plan) {
    Binder bind(plan);
    args.input = bind.Read(pooled.x, "x");
    args.out = bind.Write(out, "y");
    if (node.output_count() > 1) args.places = bind.Write(places, "indices");
    args.spans = pooled.spans;
    ops::PlanPool(plan, args);
  });
}

ops::PoolArgs PoolOf(ops::PoolKind kind) {
  return {.kind = kind, .input = {}, .out = {}, .places = {}, .spans = {}};
}

// The types whose attributes are ksize, padding_mode, global_pooling and ceil_mode.
Pooled Modern(const Translation& node) {
  bool channels_last = ChannelsLast(node.String("data_format"));
  if (node.Bool("global_pooling")) return Global(node, channels_last);
  return Sliding(node, channels_last, node.String("padding_mode"), node.Bool("ceil_mode"));
}

}  // namespace

void MaxPoolV3(Translation& node) { AddPool(node, "MaxPoolV3", Modern(node), PoolOf(ops::PoolKind::kMax)); }

void MaxPool(Translation& node) {
  AddPool(node, "MaxPool",
          Sliding(node, ChannelsLast(node.String("data_format")), node.String("padding"), false),
          PoolOf(ops::PoolKind::kMax));
}

void MaxPool3D(Translation& node) {
  AddPool(node, "MaxPool3D",
          Sliding(node, ChannelsLast(node.String("data_format")), node.String("padding"),
                  node.Int("ceil_mode") != 0, "dilation"),
          PoolOf(ops::PoolKind::kMax));
}

void MaxPoolWithIndices(Translation& node) {
  ops::PoolArgs args = PoolOf(ops::PoolKind::kMax);
  args.column_major = node.Int("storage_order") == 1;
  bool channels_last = ChannelsLast(node.String("data_format"));
  AddPool(node, "MaxPoolWithIndices",
          Sliding(node, channels_last, node.String("padding_mode"), node.Bool("ceil_mode")), args);
}

void AvgPoolV2(Translation& node) {
  ops::PoolArgs args = PoolOf(ops::PoolKind::kMean);
  args.count_padding = !node.Bool("exclusive");
  args.divisor = node.Int("divisor_override");
  AddPool(node, "AvgPoolV2", Modern(node), args);
}

void AvgPool(Translation& node) {
  AddPool(node, "AvgPool",
          Sliding(node, ChannelsLast(node.String("data_format")), node.String("padding"), false),
          PoolOf(ops::PoolKind::kMean));
}

void AvgPool3D(Translation& node) {
  ops::PoolArgs args = PoolOf(ops::PoolKind::kMean);
  args.count_padding = node.Bool("count_include_pad");
  args.divisor = node.Int("divisor_override");
  AddPool(node, "AvgPool3D",
          Sliding(node, ChannelsLast(node.String("data_format")), "CALCULATED", node.Bool("ceil_mode")),
          args);
}

void LpPool(Translation& node) {
  ops::PoolArgs args = PoolOf(ops::PoolKind::kNorm);
  args.norm = static_cast<double>(node.Int("p"));
  AddPool(node, "LpPool", Modern(node), args);
}

void AdaptiveAvgPool2d(Translation& node) {
  std::vector<int64_t> sizes = node.Ints("output_size");
  if (node.shape(0).rank() != 4) node.Refuse("the input has four dimensions");
  if (sizes.size() == 1) sizes.push_back(sizes[0]);
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1) node.Refuse("output_size is two positive numbers");
  AddPool(node, "AdaptiveAvgPool2d", Adaptive(node, false, sizes), PoolOf(ops::PoolKind::kMean));
}

// The indices count in a tensor of the size that the windows come from, even where output_shape is larger.
void MaxUnpool(Translation& node) {
  const Shape& in = node.shape(0);
  if (in.rank() < 3 || node.shape(1) != in)
    node.Refuse("x and indices have one shape with spatial dimensions");
  std::vector<int64_t> kernel = SpatialOf(node, node.Ints("ksize"), in.rank(), false, 1);
  Window w = ReadWindow(node, SpatialSizes(in), kernel, false, "NOTSET", PadOrder::kPairs);
  Shape natural{in[0], in[1]};
  for (size_t i = 0; i < kernel.size(); ++i) {
    natural.push_back((in[static_cast<int>(i) + 2] - 1) * w.strides[i] + w.kernel[i] - w.before[i] -
                      w.after[i]);
  }
  Shape shape = natural;
  if (node.has(2)) {
    std::vector<int64_t> wanted = node.ints(2);
    shape = Shape::Of(wanted.data(), static_cast<int>(std::min<size_t>(wanted.size(), tensor::kMaxRank)));
  }
  if (shape.rank() != in.rank()) node.Refuse("output_shape has another number of dimensions");
  Tensor out = node.Out(0, node.dtype(0), shape);
  Tensor places = node.Cast(node.in(1), DType::kI64);
  node.Step("MaxUnpool", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::Operand x = bind.Read(node.in(0), "x"), at = bind.Read(places, "indices");
    ops::PlanUnpool(plan, x, at, natural, bind.Write(out, "y"));
  });
}

}  // namespace belay::graph::translate
