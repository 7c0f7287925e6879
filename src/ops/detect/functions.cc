// The functions of the C interface.
#include <string_view>

#include "base/error.h"
#include "ops/detect/boxes.h"
#include "ops/detect/detect.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

void CheckRegions(const Operand& rois) {
  const Shape& shape = rois.shape();
  if (shape.rank() == 2 && shape[1] == 5) return;
  Fail(kInvalidArgument, "roi-shape", "{} has shape {}; regions are rows of five, the image and two corners",
       rois.name, shape.ToString());
}

void CheckImage(const char* name, const Shape& shape) {
  if (shape.rank() == 4) return;
  Fail(kInvalidArgument, "op-rank", "{} has shape {}; it needs four dimensions", name, shape.ToString());
}

void CheckBins(int64_t height, int64_t width) {
  if (height > 0 && width > 0) return;
  Fail(kInvalidArgument, "roi-bins", "a region has {} x {} bins; it needs one at least", height, width);
}

// How many boxes there are, in dimension `dim` of two.
int64_t BoxesIn(const Operand& boxes, int dim) {
  const Shape& shape = boxes.shape();
  if (shape.rank() != 2 || shape[1 - dim] != 4) {
    Fail(kInvalidArgument, "box-shape", "{} has shape {}; boxes have four numbers, in dimension {} of two",
         boxes.name, shape.ToString(), 1 - dim);
  }
  return shape[dim];
}

}  // namespace

namespace kernels {

void ROIAlign(Plan& plan, DType, const Operand& self, const Operand& rois, double spatialScale,
              int64_t pooledHeight, int64_t pooledWidth, int64_t sampleNum, int64_t roiEndMode,
              const Operand& out) {
  CheckImage(self.name, self.shape());
  CheckRegions(rois);
  CheckBins(pooledHeight, pooledWidth);
  CheckSameType(self, rois);
  CheckSameType(self, out);
  CheckShape(out, {rois.shape()[0], self.shape()[1], pooledHeight, pooledWidth});
  PlanRoiAlign(plan, {.x = self,
                      .rois = rois,
                      .batches = {},
                      .out = out,
                      .rule = RoiRuleOf(roiEndMode, spatialScale, sampleNum)});
}

void ROIAlignBackward(Plan& plan, DType, const ROIAlignBackwardArguments& a) {
  CheckRegions(a.rois);
  CheckLength("xdiffShape", static_cast<int64_t>(a.xdiff_shape.size()), 4);
  CheckBins(a.pooled_height, a.pooled_width);
  CheckSameType(a.self, a.rois);
  CheckSameType(a.self, a.out);
  const Shape image = Shape::Of(a.xdiff_shape.data(), 4);
  CheckShape(a.out, image);
  CheckShape(a.self, {a.rois.shape()[0], image[1], a.pooled_height, a.pooled_width});
  if (image[0] == 0 && a.rois.shape()[0] != 0) {
    Fail(kInvalidArgument, "roi-no-image", "xdiffShape is {}; regions need an image to lie in",
         image.ToString());
  }
  PlanRoiAlignGradient(plan, a.self, a.rois, RoiRuleOf(a.roi_end_mode, a.spatial_scale, a.sample_num), a.out);
}

void Iou(Plan& plan, DType, const Operand& bboxes, const Operand& gtboxes, const char* modeStr, double eps,
         bool aligned, const Operand& overlap) {
  const std::string_view mode = modeStr;
  if ((mode != "iou" && mode != "iof") || aligned) {
    Fail(kInvalidArgument, "iou-mode", "modeStr is {} and aligned {}; modes are iou and iof, of all boxes",
         mode, aligned);
  }
  CheckSameType(bboxes, gtboxes);
  CheckSameType(bboxes, overlap);
  CheckShape(overlap, {BoxesIn(bboxes, 0), BoxesIn(gtboxes, 0)});
  PlanOverlaps(plan, {.rule = {.of_others = mode == "iof", .more = eps},
                      .boxes_outside = true,
                      .boxes = bboxes,
                      .others = gtboxes,
                      .out = overlap});
}

void CIoU(Plan& plan, DType, const Operand& self, const Operand& gtboxes, bool trans, bool isCross,
          const char* modeStr, const Operand& overlap, const Operand& atanSub) {
  const std::string_view mode = modeStr;
  if (mode != "iou") {
    Fail(kInvalidArgument, "iou-mode", "modeStr is {}; the only mode of aclnnCIoU is iou", mode);
  }
  const int64_t n = BoxesIn(self, 1), m = BoxesIn(gtboxes, 1);
  CheckSameType(self, gtboxes);
  if (!isCross) CheckShape(gtboxes, self.shape());
  for (const Operand* out : {&overlap, &atanSub}) {
    CheckSameType(self, *out);
    CheckShape(*out, {isCross ? m : 1, n});
  }
  PlanOverlaps(plan, {.rule = {.kind = OverlapKind::kCiou, .centred = trans},
                      .columns = true,
                      .each = !isCross,
                      .boxes = self,
                      .others = gtboxes,
                      .out = overlap,
                      .angles = atanSub});
}

}  // namespace kernels
}  // namespace belay::ops
