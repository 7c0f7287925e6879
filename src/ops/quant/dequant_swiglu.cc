// What comes between two products of a mixture of experts: aclnnDequantSwigluQuant and aclnnSwiGluQuantV2.
#include <string_view>

#include "ops/experts/experts.h"
#include "ops/kernels.h"
#include "ops/quant/swiglu_rows.h"

namespace belay::ops::kernels {

void DequantSwigluQuantV2(Plan& plan, DType, const Operand& x, const Operand& weightScaleOptional,
                          const Operand& activationScaleOptional, const Operand& biasOptional,
                          const Operand& quantScaleOptional, const Operand& quantOffsetOptional,
                          const Operand& groupIndexOptional, bool activateLeft, const char* quantModeOptional,
                          int64_t dstType, const char* roundModeOptional, int64_t activateDim,
                          int64_t swigluMode, double clampLimit, double gluAlpha, double gluBias,
                          const Operand& yOut, const Operand& scaleOut) {
  const std::string_view mode = quantModeOptional == nullptr ? "" : quantModeOptional;
  if (mode != "dynamic") RefuseExperts(plan, "quantMode is not dynamic: other quantisation is not there yet");
  const std::string_view rounding = roundModeOptional == nullptr ? "rint" : roundModeOptional;
  if (!rounding.empty() && rounding != "rint")
    RefuseExperts(plan, "roundMode is not rint, the only one that there is");
  if (static_cast<int32_t>(dstType) != static_cast<int32_t>(DType::kI8))
    RefuseExperts(plan, "dstType is not INT8 (2): four bits and 8-bit floats are not there yet");
  if (activateDim != -1 && activateDim != x.shape().rank() - 1)
    RefuseExperts(plan, "activateDim is not the last dimension, the only one whose halves are taken");
  if (swigluMode < 0 || swigluMode > 2) RefuseExperts(plan, "swigluMode is none of 0, 1 and 2");
  if (swigluMode != 0 && !(clampLimit > 0)) RefuseExperts(plan, "clampLimit is not above 0");
  if (biasOptional.present() || quantOffsetOptional.present())
    RefuseExperts(plan, "bias and quantOffset are not there yet; pass null");
  if (x.dtype() == DType::kI32 && !weightScaleOptional.present())
    RefuseExperts(plan, "x of INT32 needs weightScale");
  if (x.dtype() != DType::kI32 && activationScaleOptional.present())
    RefuseExperts(plan, "activationScale is for x of INT32");
  const SwigluForm form{activateLeft,
                        swigluMode == 1,
                        swigluMode != 0,
                        static_cast<float>(clampLimit),
                        static_cast<float>(gluAlpha),
                        static_cast<float>(gluBias)};
  PlanSwigluRows(plan, {x, weightScaleOptional, activationScaleOptional, quantScaleOptional,
                        groupIndexOptional, true, form, yOut, scaleOut});
}

void DequantSwigluQuant(Plan& plan, DType type, const Operand& x, const Operand& weightScaleOptional,
                        const Operand& activationScaleOptional, const Operand& biasOptional,
                        const Operand& quantScaleOptional, const Operand& quantOffsetOptional,
                        const Operand& groupIndexOptional, bool activateLeft, const char* quantModeOptional,
                        const Operand& yOut, const Operand& scaleOut) {
  DequantSwigluQuantV2(plan, type, x, weightScaleOptional, activationScaleOptional, biasOptional,
                       quantScaleOptional, quantOffsetOptional, groupIndexOptional, activateLeft,
                       quantModeOptional, static_cast<int64_t>(DType::kI8), "rint", -1, 0, 1, 1, 0, yOut,
                       scaleOut);
}

void SwiGluQuantV2(Plan& plan, DType, const Operand& x, const Operand& smoothScalesOptional, const Operand&,
                   const Operand& groupIndexOptional, bool activateLeft, const char* quantModeOptional,
                   int64_t groupListType, int64_t dstType, const Operand& yOut, const Operand& scaleOut) {
  const std::string_view mode = quantModeOptional == nullptr ? "" : quantModeOptional;
  if (mode != "dynamic") RefuseExperts(plan, "quantMode is not dynamic: other quantisation is not there yet");
  if (static_cast<int32_t>(dstType) != static_cast<int32_t>(DType::kI8))
    RefuseExperts(plan, "dstType is not INT8 (2): four bits are not there yet");
  if (groupListType != 0 && groupListType != 1)
    RefuseExperts(plan, "groupListType is neither 0 (running sums) nor 1 (counts)");
  const Operand none;
  PlanSwigluRows(plan, {x,
                        none,
                        none,
                        smoothScalesOptional,
                        groupIndexOptional,
                        groupListType == 1,
                        {.left = activateLeft},
                        yOut,
                        scaleOut,
                        true});
}

}  // namespace belay::ops::kernels
