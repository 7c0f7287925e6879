// Boxes of detection networks: how far they overlap, and what networks learn of them.
#include "ops/detect/boxes.h"

#include <cmath>

#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

using ops::Operand;
using ops::OverlapKind;

void NeedFloats(const Translation& node, std::initializer_list<int> inputs) {
  for (const int i : inputs) {
    if (!IsFloat(node.dtype(i))) node.Refuse("boxes are floats");
  }
}

// Input i has four numbers a box, in dimension `dim` of two; how many boxes there are.
int64_t BoxesAt(const Translation& node, int i, int dim) {
  const Shape& shape = node.shape(i);
  if (!IsFloat(node.dtype(i)) || shape.rank() != 2 || shape[dim] != 4)
    node.Refuse("boxes have four floats, in dimension " + std::to_string(dim) + " of two");
  return shape[1 - dim];
}

void Overlaps(Translation& node, OverlapKind kind) {
  const int64_t n = BoxesAt(node, 0, 0), m = BoxesAt(node, 1, 0);
  const bool cross = node.Bool("is_cross");
  if (!cross && n != m) node.Refuse("there are as many boxes as others, unless is_cross");
  const Shape shape{cross ? m : 1, n};
  const Tensor out = node.Out(0, node.dtype(0), shape);
  const bool has_angles = node.output_count() > 1;
  const Tensor angles = has_angles ? node.Out(1, node.dtype(0), shape) : Tensor();
  node.Step("Overlaps", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::OverlapArgs args{.rule = {.kind = kind, .centred = node.Bool("trans")},
                          .columns = true,
                          .each = !cross,
                          .boxes = bind.Read(node.in(0), "bboxes"),
                          .others = bind.Read(node.in(1), "gtboxes"),
                          .out = bind.Write(out, "overlap")};
    if (has_angles) args.angles = bind.Write(angles, "atan_sub");
    ops::PlanOverlaps(plan, args);
  });
}

void OverlapGradient(Translation& node, OverlapKind kind) {
  const int64_t n = BoxesAt(node, 1, 0), m = BoxesAt(node, 2, 0);
  if (n != m || node.in(0).count() != n || !IsFloat(node.dtype(0)))
    node.Refuse("there are as many floats of the gradient as boxes, and others");
  const Tensor grad_boxes = node.Out(0, node.dtype(1), node.shape(1)),
               grad_others = node.Out(1, node.dtype(2), node.shape(2));
  node.Step("OverlapGradient", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::PlanOverlapGradient(plan, {.rule = {.kind = kind, .centred = node.Bool("trans")},
                                    .grad = bind.Read(node.in(0), "dy"),
                                    .boxes = bind.Read(node.in(1), "bboxes"),
                                    .others = bind.Read(node.in(2), "gtboxes"),
                                    .grad_boxes = bind.Write(grad_boxes, "dbboxes"),
                                    .grad_others = bind.Write(grad_others, "dgtboxes")});
  });
}

ops::Four FourOf(const Translation& node, const char* attribute) {
  const std::vector<double> list = node.Floats(attribute);
  ops::Four four;
  if (list.size() != four.size()) node.Refuse(std::string(attribute) + " is four numbers");
  std::copy(list.begin(), list.end(), four.begin());
  return four;
}

// Two inputs of n boxes.
int64_t PairsOfBoxes(const Translation& node) {
  const int64_t n = BoxesAt(node, 0, 1);
  if (BoxesAt(node, 1, 1) != n) node.Refuse("both inputs have as many boxes");
  return n;
}

// [batch, 5, n]
void NeedTurned(const Translation& node, int i) {
  if (!IsFloat(node.dtype(i)) || node.shape(i).rank() != 3 || node.shape(i)[1] != 5)
    node.Refuse("boxes have five floats, in dimension 1 of three");
}

using TurnedKernel = void (*)(ops::Plan&, const Operand&, const Operand&, const Operand&);
void TurnedPairs(Translation& node, TurnedKernel kernel) {
  for (const int i : {0, 1}) NeedTurned(node, i);
  if (node.shape(0) != node.shape(1)) node.Refuse("both inputs have as many boxes");
  for (const double weight : node.Floats("weight")) {
    if (weight != 1) node.Refuse("weights other than 1 are not supported");
  }
  const Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("RotatedBox", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand anchors = bind.Read(node.in(0), "anchor_box"), others = bind.Read(node.in(1), "others");
    kernel(plan, anchors, others, bind.Write(out, "y"));
  });
}

void TurnedOverlaps(Translation& node, bool shares) {
  for (const int i : {0, 1}) NeedTurned(node, i);
  const Shape &boxes = node.shape(0), &others = node.shape(1);
  if (boxes[0] != others[0]) node.Refuse("both inputs have as many batches");
  const Tensor out = node.Out(0, node.dtype(0), {boxes[0], boxes[2], others[2]});
  node.Step("RotatedOverlaps", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand a = bind.Read(node.in(0), "boxes"), b = bind.Read(node.in(1), "query_boxes");
    ops::PlanTurnedOverlaps(plan, a, b, {.corners = node.Bool("trans"), .shares = shares},
                            bind.Write(out, "overlaps"));
  });
}

}  // namespace

void Iou(Translation& node) {
  const std::string mode = node.String("mode");
  if (mode != "iou" && mode != "iof") node.Refuse("mode is iou or iof");
  const Tensor out = node.Out(0, node.dtype(0), {BoxesAt(node, 1, 1), BoxesAt(node, 0, 1)});
  node.Step("Iou", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::PlanOverlaps(
        plan, {.rule = {.of_others = mode == "iof", .more = node.Float("eps"), .common_has_more = false},
               .boxes = bind.Read(node.in(0), "bboxes"),
               .others = bind.Read(node.in(1), "gtboxes"),
               .out = bind.Write(out, "overlap")});
  });
}

void GIoU(Translation& node) { Overlaps(node, OverlapKind::kGiou); }
void DIoU(Translation& node) { Overlaps(node, OverlapKind::kDiou); }
void CIoU(Translation& node) { Overlaps(node, OverlapKind::kCiou); }
void GIoUGrad(Translation& node) { OverlapGradient(node, OverlapKind::kGiou); }
void DIoUGrad(Translation& node) { OverlapGradient(node, OverlapKind::kDiou); }
// The angles follow from the boxes.
void CIoUGrad(Translation& node) { OverlapGradient(node, OverlapKind::kCiou); }

void RotatedIou(Translation& node) { TurnedOverlaps(node, true); }
void RotatedOverlaps(Translation& node) { TurnedOverlaps(node, false); }
void RotatedBoxEncode(Translation& node) { TurnedPairs(node, &ops::PlanTurnedEncode); }
void RotatedBoxDecode(Translation& node) { TurnedPairs(node, &ops::PlanTurnedDecode); }

void BoundingBoxEncode(Translation& node) {
  const ops::Four means = FourOf(node, "means"), deviations = FourOf(node, "stds");
  const Tensor out = node.Out(0, node.dtype(0), {PairsOfBoxes(node), 4});
  node.Step("BoundingBoxEncode", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand anchors = bind.Read(node.in(0), "anchor_box"), truths = bind.Read(node.in(1), "truths");
    ops::PlanBoxEncode(plan, anchors, truths, means, deviations, bind.Write(out, "delats"));
  });
}

void BoundingBoxDecode(Translation& node) {
  ops::BoxDecodeArgs args;
  args.means = FourOf(node, "means"), args.deviations = FourOf(node, "stds");
  const std::vector<int64_t> image = node.Ints("max_shape");
  if (!image.empty() && (image.size() != 2 || image[0] < 1 || image[1] < 1))
    node.Refuse("max_shape is a height and a width");
  args.height = image.empty() ? 0 : static_cast<double>(image[0]);
  args.width = image.empty() ? 0 : static_cast<double>(image[1]);
  args.most = std::fabs(std::log(node.Float("wh_ratio_clip")));
  if (!std::isfinite(args.most)) node.Refuse("wh_ratio_clip is above 0");
  const Tensor out = node.Out(0, node.dtype(0), {PairsOfBoxes(node), 4});
  node.Step("BoundingBoxDecode", [&](ops::Plan& plan) {
    Binder bind(plan);
    args.rois = bind.Read(node.in(0), "rois"), args.deltas = bind.Read(node.in(1), "deltas");
    args.out = bind.Write(out, "bboxes");
    ops::PlanBoxDecode(plan, args);
  });
}

void YoloBoxesEncode(Translation& node) {
  const int64_t n = PairsOfBoxes(node);
  if (node.in(2).count() != n || !IsInt(node.dtype(2))) node.Refuse("each box has an integer as its stride");
  const Tensor out = node.Out(0, node.dtype(0), {n, 4});
  node.Step("YoloBoxesEncode", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand anchors = bind.Read(node.in(0), "anchor_boxes"),
                  truths = bind.Read(node.in(1), "gt_bboxes"), strides = bind.Read(node.in(2), "stride");
    ops::PlanYoloEncode(plan, anchors, truths, strides, bind.Write(out, "encoded_bboxes"));
  });
}

void AnchorResponseFlags(Translation& node) {
  BoxesAt(node, 0, 1);
  constexpr int64_t kMost = 1 << 20;
  const std::vector<int64_t> size = node.Ints("featmap_size"), strides = node.Ints("strides");
  const int64_t anchors = node.Int("num_base_anchors");
  const auto is_size = [](int64_t number) { return number >= 1 && number <= kMost; };
  if (size.size() != 2 || strides.size() != 2 || !is_size(size[0]) || !is_size(size[1]) ||
      !is_size(strides[0]) || !is_size(strides[1]) || !is_size(anchors))
    node.Refuse("featmap_size and strides are two numbers of one and up, and num_base_anchors is one");
  const Tensor out = node.Out(0, DType::kU8, {size[0] * size[1] * anchors});
  node.Step("AnchorResponseFlags", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand boxes = bind.Read(node.in(0), "gt_bboxes");
    ops::PlanAnchorFlags(plan, boxes,
                         {.height = size[0],
                          .width = size[1],
                          .anchors = anchors,
                          .stride_x = static_cast<double>(strides[0]),
                          .stride_y = static_cast<double>(strides[1])},
                         bind.Write(out, "flags"));
  });
}

void GridAssignPositive(Translation& node) {
  NeedFloats(node, {0, 1, 3, 5});
  const Shape& overlaps = node.shape(1);
  const int64_t n = node.in(0).count();
  const auto is = [&](int i, int64_t count) {
    const DType dtype = node.dtype(i);
    return node.in(i).count() == count && (IsFloat(dtype) || IsInt(dtype) || dtype == DType::kBool);
  };
  if (overlaps.rank() != 2 || overlaps[1] != n || !is(2, n) || !is(3, n) || !is(4, n) ||
      !is(5, overlaps[0]) || !is(6, overlaps[0]) || !is(7, 1))
    node.Refuse("overlaps has a row for each true box and a column for each anchor, as the others have");
  const Tensor out = node.Out(0, node.dtype(0), node.shape(0));
  node.Step("GridAssignPositive", [&](ops::Plan& plan) {
    Binder bind(plan);
    const auto read = [&](int i) {
      return bind.Read(node.in(i), node.schema().inputs[static_cast<size_t>(i)].name);
    };
    ops::GridAssignArgs args{.assigned = read(0),
                             .overlaps = read(1),
                             .flags = read(2),
                             .most = read(3),
                             .most_at = read(4),
                             .most_of_truth = read(5),
                             .most_of_truth_at = read(6),
                             .truths = read(7),
                             .out = bind.Write(out, "y"),
                             .positive = node.Float("pos_iou_thr"),
                             .least = node.Float("min_pos_iou"),
                             .all = node.Bool("gt_max_assign_all")};
    ops::PlanGridAssign(plan, args);
  });
}

}  // namespace belay::graph::translate
