// Grouped products of INT8 whose rows are gated and quantised: the sums go to the workspace, from there to
// PlanSwigluRows.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/experts/experts.h"
#include "ops/kernels.h"
#include "ops/matmul/tiles.h"
#include "ops/quant/swiglu_rows.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Two plans that share the bindings, and behind them a tensor in the workspace.
struct ThenBody {
  std::shared_ptr<PlanRef> first, second;
  int bindings;
  int64_t inner_at;

  void operator()(const Frame& frame) const {
    std::vector<char*> at(frame.at, frame.at + bindings);
    at.push_back(frame.workspace);
    for (const auto& plan : {first, second}) (*plan)->Run({at.data(), frame.workspace + inner_at});
  }
};

struct GatedArgs {
  const Operand &x, &weight, &weight_scale, &x_scale, &groups;
  int64_t list_type;
  const Operand &y, &steps;
};

// `bindings`: of the plan that the caller gave, whose addresses `plan` gets.
void PlanGated(Plan& plan, int bindings, const GatedArgs& a) {
  if (a.x.dtype() != DType::kI8 || a.weight.dtype() != DType::kI8)
    RefuseExperts(plan, "x and weight are not both of INT8: four bits are not there yet");
  if (a.list_type != kEnds && a.list_type != kLengths)
    RefuseExperts(plan, "groupListType is neither 0 (running sums) nor 1 (counts)");
  CheckExpertRank(plan, a.x, 2, 2);
  CheckExpertRank(plan, a.weight, 3, 3);
  const int64_t rows = a.x.shape()[0], groups = a.weight.shape()[0], n = a.weight.shape()[2];
  CheckExpertShape(plan, a.groups, {groups});
  CheckExpertShape(plan, a.weight_scale, {groups, n});
  CheckExpertShape(plan, a.x_scale, {rows});
  const Tensor sums = tensor::PackedOf(DType::kI32, {rows, n});
  const Operand between{&sums, nullptr, bindings, "x"}, none;
  auto first = std::make_shared<PlanRef>(NewPlan(plan.function())),
       second = std::make_shared<PlanRef>(NewPlan(plan.function()));
  const OperandList empty;
  kernels::GroupedMatmulV5(**first, DType::kI32, {a.x}, {a.weight}, empty, empty, empty, empty, empty, empty,
                           a.groups, empty, empty, empty, 3, 0, a.list_type, 0, {}, {between}, empty, empty);
  PlanSwigluRows(
      **second,
      {between, a.weight_scale, a.x_scale, none, a.groups, a.list_type == kLengths, {}, a.y, a.steps});
  if (!(*first)->has_work() || !(*second)->has_work()) return;
  const int64_t at = WorkspacePart(rows * n * static_cast<int64_t>(sizeof(int32_t)));
  plan.SetWorkspace(static_cast<uint64_t>(at) +
                    std::max((*first)->workspace_bytes(), (*second)->workspace_bytes()));
  plan.SetCost((*first)->cost() + (*second)->cost());
  plan.SetBody(ThenBody{first, second, bindings, at});
}

const Operand& OnlyOne(const Plan& plan, const OperandList& list) {
  if (list.size() != 1) RefuseExperts(plan, "weight and weightScale are lists of one tensor");
  return list[0];
}

}  // namespace

namespace kernels {

void GroupedMatmulSwigluQuant(Plan& plan, DType, const Operand& x, const Operand& weight, const Operand& bias,
                              const Operand& offset, const Operand& weightScale, const Operand& xScale,
                              const Operand& groupList, const Operand& output, const Operand& outputScale,
                              const Operand&) {
  if (bias.present() || offset.present()) RefuseExperts(plan, "bias and offset are not there yet; pass null");
  PlanGated(plan, plan.binding_count(),
            {x, weight, weightScale, xScale, groupList, kEnds, output, outputScale});
}

void GroupedMatmulSwigluQuantWeightNZ(Plan& plan, DType, const Operand& x, const Operand& weight,
                                      const Operand& bias, const Operand& offset, const Operand& weightScale,
                                      const Operand& xScale, const Operand& groupList, const Operand& output,
                                      const Operand& outputScale, const Operand&) {
  if (bias.present() || offset.present()) RefuseExperts(plan, "bias and offset are not there yet; pass null");
  Untiled untiled(plan);
  const Operand plain = untiled.Plain(weight);
  PlanGated(untiled.inner(), plan.binding_count(),
            {x, plain, weightScale, xScale, groupList, kEnds, output, outputScale});
  untiled.Finish();
}

void GroupedMatmulSwigluQuantV2(Plan& plan, DType, const Operand& x, const OperandList& weight,
                                const OperandList& weightScale, const OperandList& weightAssistMatrixOptional,
                                const Operand& biasOptional, const Operand& xScale,
                                const Operand& smoothScaleOptional, const Operand& groupList,
                                int64_t dequantMode, int64_t dequantDtype, int64_t quantMode,
                                int64_t groupListType, std::span<const int64_t>, const Operand& output,
                                const Operand& outputScale) {
  if (!weightAssistMatrixOptional.empty() || biasOptional.present() || smoothScaleOptional.present())
    RefuseExperts(
        plan,
        "weightAssistMatrix, bias and smoothScale are for four bits, which are not there yet; pass null");
  if (dequantMode != 0 || dequantDtype != 0 || quantMode != 0)
    RefuseExperts(plan, "dequantMode, dequantDtype and quantMode are 0: rows and columns, FLOAT, rows");
  Untiled untiled(plan);
  const Operand plain = untiled.Plain(OnlyOne(plan, weight));
  PlanGated(untiled.inner(), plan.binding_count(),
            {x, plain, OnlyOne(plan, weightScale), xScale, groupList, groupListType, output, outputScale});
  untiled.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
