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

void CheckRegions(const Translation& node, int rois, int rank, int numbers) {
  if (node.shape(rois).rank() != rank || node.shape(rois)[1] != numbers)
    node.Refuse("a region is " + std::to_string(numbers) + " numbers, dimension 1 of " +
                std::to_string(rank));
  for (const int i : {0, rois}) {
    if (!IsFloat(node.dtype(i))) node.Refuse("inputs are floats");
  }
}

int64_t AtLeastOne(const Translation& node, const char* attribute) {
  constexpr int64_t kMost = 1 << 20;  // so that products of three are right
  const int64_t value = node.Int(attribute);
  if (value < 1 || value > kMost) node.Refuse(std::string(attribute) + " is one or more, and not too many");
  return value;
}

ops::RoiRule RuleOf(const Translation& node) {
  if (node.has(2)) node.Refuse("rois_n is not read by this version");
  return ops::RoiRuleOf(node.Int("roi_end_mode"), node.Float("spatial_scale"), node.Int("sample_num"));
}

Shape GivenImage(const Translation& node, const std::vector<int64_t>& sizes) {
  for (const int64_t size : sizes) {
    if (size < 0) node.Refuse("an image has no negative size");
  }
  return Shape::Of(sizes.data(), static_cast<int>(sizes.size()));
}

}  // namespace

void ROIAlign(Translation& node) {
  CheckImages(node, 5);
  CheckRegions(node, 1, 2, 5);
  const ops::RoiRule rule = RuleOf(node);
  const Tensor out = node.Out(0, node.dtype(0),
                              {node.shape(1)[0], node.shape(0)[1], AtLeastOne(node, "pooled_height"),
                               AtLeastOne(node, "pooled_width")});
  node.Step("ROIAlign", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand x = bind.Read(node.in(0), "features"), rois = bind.Read(node.in(1), "rois");
    ops::PlanRoiAlign(plan, {.x = x, .rois = rois, .batches = {}, .out = bind.Write(out, "y"), .rule = rule});
  });
}

void ROIAlignGrad(Translation& node) {
  CheckRegions(node, 1, 2, 5);
  const ops::RoiRule rule = RuleOf(node);
  const std::vector<int64_t> sizes = node.Ints("xdiff_shape");
  if (sizes.size() != 4) node.Refuse("xdiff_shape is four numbers");
  const Shape image = GivenImage(node, sizes),
              bins{node.shape(1)[0], image[1], AtLeastOne(node, "pooled_height"),
                   AtLeastOne(node, "pooled_width")};
  if (node.shape(0) != bins) node.Refuse("ydiff has the shape " + bins.ToString());
  if (image[0] == 0 && bins[0] != 0) node.Refuse("regions need an image");
  const Tensor out = node.Out(0, node.dtype(0), image);
  node.Step("ROIAlignGrad", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand grad = bind.Read(node.in(0), "ydiff"), rois = bind.Read(node.in(1), "rois");
    ops::PlanRoiAlignGradient(plan, grad, rois, rule, bind.Write(out, "xdiff"));
  });
}

void PSROIPoolingV2(Translation& node) {
  CheckRegions(node, 1, 3, 5);
  const int64_t group = AtLeastOne(node, "group_size"), channels = AtLeastOne(node, "output_dim");
  const Shape &x = node.shape(0), &rois = node.shape(1);
  if (x.rank() != 4 || x[0] == 0 || group > x[1] || channels > x[1] || x[1] % (group * group) != 0 ||
      x[1] / (group * group) != channels)
    node.Refuse("x has output_dim times group_size times group_size channels, and an image");
  const Tensor out = node.Out(0, node.dtype(0), {rois[0] * rois[2], channels, group, group});
  node.Step("PSROIPoolingV2", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand from = bind.Read(node.in(0), "x"), boxes = bind.Read(node.in(1), "rois");
    ops::PlanGroupPool(plan, from, boxes, node.Float("spatial_scale"), bind.Write(out, "y"));
  });
}

void PSROIPoolingGradV2D(Translation& node) {
  CheckRegions(node, 1, 3, 5);
  const int64_t group = AtLeastOne(node, "group_size"), channels = AtLeastOne(node, "output_dim");
  const Shape &rois = node.shape(1), bins{rois[0] * rois[2], channels, group, group};
  const std::vector<int64_t> sizes = node.Ints("input_size");
  if (sizes.size() != 2 || node.shape(0) != bins)
    node.Refuse("input_size is two numbers, and x has the shape " + bins.ToString());
  const Shape plane = GivenImage(node, sizes);
  const Tensor out = node.Out(0, node.dtype(0), {rois[0], channels * group * group, plane[0], plane[1]});
  node.Step("PSROIPoolingGradV2D", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand grad = bind.Read(node.in(0), "x"), boxes = bind.Read(node.in(1), "rois");
    ops::PlanGroupPoolGradient(plan, grad, boxes, node.Float("spatial_scale"), bind.Write(out, "y"));
  });
}

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
                        .out = {},
                        .rule = {}};
      args.out = bind.Write(out, "y");
      args.largest = mode == "max";
      const bool half_pixel = node.String("coordinate_transformation_mode") == "half_pixel";
      args.rule.shift = half_pixel ? 0.5 : 0, args.rule.at_least_one = !half_pixel;
      args.rule.sampling = node.Int("sampling_ratio"), args.rule.scale = node.Float("spatial_scale");
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
