// Operators of detection networks.
#include "ops/detect/detect.h"
#include "ops/linalg/linalg.h"

#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/conv/conv.h"

namespace belay::graph::translate {
namespace {

using ops::Operand;

Tensor Floats(Translation& node, int i) { return node.Cast(node.in(i), DType::kF32); }

// Calls make(out) with a tensor of f32 that becomes the output.
template <class Make>
void WithFloatOut(Translation& node, const Shape& shape, const Make& make) {
  Tensor out = node.Out(0, node.dtype(0), shape);
  if (out.dtype == DType::kF32) return make(out);
  Tensor floats = node.Temporary(DType::kF32, shape);
  make(floats);
  node.Copy(floats, out);
}

void CheckImages(const Translation& node, int64_t columns) {
  if (node.shape(0).rank() != 4 || node.shape(1).rank() != 2 || node.shape(1)[1] != columns) {
    node.Refuse("x has four dimensions, and rois is [n, " + std::to_string(columns) + "]");
  }
}

}  // namespace

void RoiAlign(Translation& node) {
  CheckImages(node, 4);
  Shape shape{node.shape(1)[0], node.shape(0)[1], node.Int("output_height"), node.Int("output_width")};
  Tensor x = Floats(node, 0), rois = Floats(node, 1), batches = node.Cast(node.in(2), DType::kI64);
  std::string mode = node.String("mode");
  if (mode != "avg" && mode != "max") node.Refuse("mode is avg or max");
  if (batches.count() != shape[0]) node.Refuse("batch_indices has one element for each of rois");
  WithFloatOut(node, shape, [&](const Tensor& out) {
    node.Step("RoiAlign", [&](ops::Plan& plan) {
      Binder bind(plan);
      ops::RoiArgs args{.x = bind.Read(x, "x"),
                        .rois = bind.Read(rois, "rois"),
                        .batches = bind.Read(batches, "batch_indices"),
                        .out = {}};
      args.out = bind.Write(out, "y");
      args.largest = mode == "max";
      args.half_pixel = node.String("coordinate_transformation_mode") == "half_pixel";
      args.sampling = node.Int("sampling_ratio"), args.scale = node.Float("spatial_scale");
      ops::PlanRoiAlign(plan, args);
    });
  });
}

void MaxRoiPool(Translation& node) {
  CheckImages(node, 5);
  std::vector<int64_t> sizes = node.Ints("pooled_shape");
  if (sizes.size() != 2) node.Refuse("pooled_shape is two numbers");
  Tensor x = Floats(node, 0), rois = Floats(node, 1);
  WithFloatOut(node, {node.shape(1)[0], node.shape(0)[1], sizes[0], sizes[1]}, [&](const Tensor& out) {
    node.Step("MaxRoiPool", [&](ops::Plan& plan) {
      Binder bind(plan);
      Operand from = bind.Read(x, "x"), boxes = bind.Read(rois, "rois");
      ops::PlanRoiPool(plan, from, boxes, node.Float("spatial_scale"), bind.Write(out, "y"));
    });
  });
}

void Det(Translation& node) {
  const Shape& in = node.shape(0);
  if (in.rank() < 2 || in.back(0) != in.back(1)) node.Refuse("the last two dimensions are of one size");
  Tensor x = Floats(node, 0);
  WithFloatOut(node, Shape::Of(in.data(), in.rank() - 2), [&](const Tensor& out) {
    node.Step("Det", [&](ops::Plan& plan) {
      Binder bind(plan);
      Operand from = bind.Read(x, "x");
      ops::PlanDeterminant(plan, from, bind.Write(out, "y"));
    });
  });
}

void DeformConv(Translation& node) {
  const Shape &in = node.shape(0), &w = node.shape(1);
  if (in.rank() != 4 || w.rank() != 4) node.Refuse("two spatial dimensions are supported");
  ops::DeformArgs args{};
  args.groups = node.Int("group"), args.offset_groups = node.Int("offset_group");
  if (args.groups < 1 || args.offset_groups < 1 || w[1] * args.groups != in[1] ||
      in[1] % args.offset_groups != 0 || w[0] % args.groups != 0) {
    node.Refuse("the groups do not divide the channels");
  }
  Window window = ReadWindow(node, SpatialSizes(in), {w[2], w[3]}, false, "NOTSET", PadOrder::kPairs);
  Shape shape{in[0], w[0]};
  for (size_t i = 0; i < 2; ++i) {
    args.strides[i] = window.strides[i], args.dilations[i] = window.dilations[i],
    args.before[i] = window.before[i];
    shape.push_back(ops::ConvOutputSize(in[static_cast<int>(i) + 2], window.kernel[i], window.strides[i],
                                        window.dilations[i], window.before[i], window.after[i]));
  }
  Shape offsets{in[0], args.offset_groups * w[2] * w[3] * 2, shape[2], shape[3]};
  if (node.shape(2) != offsets)
    node.Refuse("offset has the shape " + node.shape(2).ToString() + ", not " + offsets.ToString());
  std::vector<Tensor> inputs;
  for (int i = 0; i < 5; ++i) inputs.push_back(node.has(i) ? Floats(node, i) : Tensor());
  WithFloatOut(node, shape, [&](const Tensor& out) {
    node.Step("DeformConv", [&](ops::Plan& plan) {
      Binder bind(plan);
      Operand* operands[] = {&args.x, &args.weight, &args.offset, &args.bias, &args.mask};
      static constexpr const char* kNames[] = {"x", "w", "offset", "b", "mask"};
      for (int i = 0; i < 5; ++i) {
        if (node.has(i)) *operands[i] = bind.Read(inputs[static_cast<size_t>(i)], kNames[i]);
      }
      args.out = bind.Write(out, "y");
      ops::PlanDeformConv(plan, args);
    });
  });
}

}  // namespace belay::graph::translate
