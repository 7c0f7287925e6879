// What comes between two products of a mixture of experts: aclnnDequantSwigluQuant and aclnnSwiGluQuantV2.
#include <string_view>

#include "ops/experts/experts.h"
#include "ops/kernels.h"
#include "ops/quant/swiglu_rows.h"

namespace belay::ops::kernels {

void DequantSwigluQuantV2(Plan& plan, DType, const DequantSwigluQuantV2Arguments& a) {
  const std::string_view mode = a.quant_mode == nullptr ? "" : a.quant_mode;
  if (mode != "dynamic") RefuseExperts(plan, "quantMode is not dynamic: other quantisation is not there yet");
  const std::string_view rounding = a.round_mode == nullptr ? "rint" : a.round_mode;
  if (!rounding.empty() && rounding != "rint")
    RefuseExperts(plan, "roundMode is not rint, the only one that there is");
  if (static_cast<int32_t>(a.dst_type) != static_cast<int32_t>(DType::kI8))
    RefuseExperts(plan, "dstType is not INT8 (2): four bits and 8-bit floats are not there yet");
  if (a.activate_dim != -1 && a.activate_dim != a.x.shape().rank() - 1)
    RefuseExperts(plan, "activateDim is not the last dimension, the only one whose halves are taken");
  if (a.swiglu_mode < 0 || a.swiglu_mode > 2) RefuseExperts(plan, "swigluMode is none of 0, 1 and 2");
  if (a.swiglu_mode != 0 && !(a.clamp_limit > 0)) RefuseExperts(plan, "clampLimit is not above 0");
  if (a.bias.present() || a.quant_offset.present())
    RefuseExperts(plan, "bias and quantOffset are not there yet; pass null");
  if (a.x.dtype() == DType::kI32 && !a.weight_scale.present())
    RefuseExperts(plan, "x of INT32 needs weightScale");
  if (a.x.dtype() != DType::kI32 && a.activation_scale.present())
    RefuseExperts(plan, "activationScale is for x of INT32");
  const SwigluForm form{.left = a.activate_left,
                        .neighbours = a.swiglu_mode == 1,
                        .limited = a.swiglu_mode != 0,
                        .limit = static_cast<float>(a.clamp_limit),
                        .alpha = static_cast<float>(a.glu_alpha),
                        .bias = static_cast<float>(a.glu_bias)};
  PlanSwigluRows(plan, {.x = a.x,
                        .column_scale = a.weight_scale,
                        .row_scale = a.activation_scale,
                        .smooth = a.quant_scale,
                        .groups = a.group_index,
                        .counts = true,
                        .form = form,
                        .y = a.y_out,
                        .steps = a.scale_out});
}

void DequantSwigluQuant(Plan& plan, DType type, const DequantSwigluQuantArguments& a) {
  DequantSwigluQuantV2(plan, type,
                       {.x = a.x,
                        .weight_scale = a.weight_scale,
                        .activation_scale = a.activation_scale,
                        .bias = a.bias,
                        .quant_scale = a.quant_scale,
                        .quant_offset = a.quant_offset,
                        .group_index = a.group_index,
                        .activate_left = a.activate_left,
                        .quant_mode = a.quant_mode,
                        .dst_type = static_cast<int64_t>(DType::kI8),
                        .round_mode = "rint",
                        .activate_dim = -1,
                        .swiglu_mode = 0,
                        .clamp_limit = 1,
                        .glu_alpha = 1,
                        .glu_bias = 0,
                        .y_out = a.y_out,
                        .scale_out = a.scale_out});
}

void SwiGluQuantV2(Plan& plan, DType, const SwiGluQuantV2Arguments& a) {
  const std::string_view mode = a.quant_mode == nullptr ? "" : a.quant_mode;
  if (mode != "dynamic") RefuseExperts(plan, "quantMode is not dynamic: other quantisation is not there yet");
  if (static_cast<int32_t>(a.dst_type) != static_cast<int32_t>(DType::kI8))
    RefuseExperts(plan, "dstType is not INT8 (2): four bits are not there yet");
  if (a.group_list_type != 0 && a.group_list_type != 1)
    RefuseExperts(plan, "groupListType is neither 0 (running sums) nor 1 (counts)");
  const Operand none;
  PlanSwigluRows(plan, {.x = a.x,
                        .column_scale = none,
                        .row_scale = none,
                        .smooth = a.smooth_scales,
                        .groups = a.group_index,
                        .counts = a.group_list_type == 1,
                        .form = {.left = a.activate_left},
                        .y = a.y_out,
                        .steps = a.scale_out,
                        .factors = true});
}

}  // namespace belay::ops::kernels
