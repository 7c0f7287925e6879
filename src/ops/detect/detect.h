// Operators of detection networks, as plans. Tensors are f32 and packed unless said otherwise.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// Where regions lie in a plane, and where samples lie in them.
struct RoiRule {
  double scale = 1;
  double shift = 0;           // subtracted from scaled corners
  double past = 0;            // added to the far corner before it is scaled
  bool at_least_one = false;  // as wide and high as a pixel
  int64_t sampling = 0;       // samples of a bin along one side; 0: as many as it has pixels
};

struct RoiArgs {
  // [n, c, h, w], [r, 4] and i64 [r], or, without batches, [r, 5] with the image in front; [r, c, ph, pw]
  Operand x, rois, batches, out;
  bool largest = false;  // instead of the mean
  RoiRule rule;
};
void PlanRoiAlign(Plan& plan, const RoiArgs& args);

// How ROIAlign numbers its rules, which are those of corners: 0, 1 (the far corner is a pixel further) and 3
// (corners are half a pixel nearer); fails with others and with numbers of samples that there are not.
RoiRule RoiRuleOf(int64_t end_mode, double scale, int64_t sampling);

// The reverse of the mean: grad [r, c, ph, pw], rois [r, 5], out [n, c, h, w].
void PlanRoiAlignGradient(Plan& plan, const Operand& grad, const Operand& rois, const RoiRule& rule,
                          const Operand& out);

// Each bin has channels of its own, x [n, out channels * group * group, h, w]: their mean over its pixels.
// rois are [batch, 5, r]: the image, then the corners; out [batch * r, channels, group, group].
void PlanGroupPool(Plan& plan, const Operand& x, const Operand& rois, double scale, const Operand& out);
void PlanGroupPoolGradient(Plan& plan, const Operand& grad, const Operand& rois, double scale,
                           const Operand& out);

// rois are [r, 5]: the image, then the corners. The largest pixel of each bin, whole pixels only.
void PlanRoiPool(Plan& plan, const Operand& x, const Operand& rois, double scale, const Operand& out);

struct DeformArgs {
  Operand x, weight, offset, bias, mask, out;  // bias and mask may be absent
  int64_t strides[2], dilations[2], before[2];
  int64_t groups, offset_groups;
};
// A convolution whose taps are displaced at each position.
void PlanDeformConv(Plan& plan, const DeformArgs& args);

struct TapWindow {
  int64_t kernel[2], strides[2], dilations[2], before[2];
};
// The displaced taps themselves: x [n, h, w, c]; offsets [n, h', w', 3 * groups * kernel], along the columns,
// along the rows and the weight of each tap; out [n, h' * rows of the kernel, w' * its columns, c].
void PlanTaps(Plan& plan, const Operand& x, const Operand& offsets, int64_t groups, const TapWindow& window,
              const Operand& out);
struct TapsGradientArgs {
  Operand grad, x, offsets, grad_x, grad_offsets;
  int64_t groups;
  TapWindow window;
};
void PlanTapsGradient(Plan& plan, const TapsGradientArgs& args);

}  // namespace belay::ops
