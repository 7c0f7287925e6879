// Operators of detection networks, as plans. Tensors are f32 and packed unless said otherwise.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace belay::ops {

struct RoiArgs {
  Operand x, rois, batches, out;  // [n, c, h, w], [r, 4], i64 [r], [r, c, ph, pw]
  bool largest = false;           // instead of the mean
  bool half_pixel = true;
  int64_t sampling = 0;  // samples of a bin along one side; 0: as many as it has pixels
  double scale = 1;
};
void PlanRoiAlign(Plan& plan, const RoiArgs& args);

// rois are [r, 5]: the image, then the corners. The largest pixel of each bin, whole pixels only.
void PlanRoiPool(Plan& plan, const Operand& x, const Operand& rois, double scale, const Operand& out);

struct DeformArgs {
  Operand x, weight, offset, bias, mask, out;  // bias and mask may be absent
  int64_t strides[2], dilations[2], before[2];
  int64_t groups, offset_groups;
};
// A convolution whose taps are displaced at each position.
void PlanDeformConv(Plan& plan, const DeformArgs& args);

}  // namespace belay::ops
