// Grouped products of INT8 whose rows are gated and quantised: the sums go to the workspace, from there to
// PlanSwigluRows.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/experts/experts.h"
#include "ops/kernels.h"
#include "ops/matmul/panels.h"
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

template <class Arguments>
void RefuseBias(const Plan& plan, const Arguments& a) {
  if (a.bias.present() || a.offset.present())
    RefuseExperts(plan, "bias and offset are not there yet; pass null");
}

// Of the first versions, whose groups are running sums.
template <class Arguments>
GatedArgs TakeGated(const Arguments& a, const Operand& weight) {
  return {.x = a.x,
          .weight = weight,
          .weight_scale = a.weight_scale,
          .x_scale = a.x_scale,
          .groups = a.group_list,
          .list_type = kEnds,
          .y = a.output,
          .steps = a.output_scale};
}

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
  kernels::GroupedMatmulV5(**first, DType::kI32,
                           {.x = {a.x},
                            .weight = {a.weight},
                            .group_list = a.groups,
                            .split_item = 3,
                            .group_type = 0,
                            .group_list_type = a.list_type,
                            .act_type = 0,
                            .results = {between}});
  PlanSwigluRows(**second, {.x = between,
                            .column_scale = a.weight_scale,
                            .row_scale = a.x_scale,
                            .smooth = none,
                            .groups = a.groups,
                            .counts = a.list_type == kLengths,
                            .form = {},
                            .y = a.y,
                            .steps = a.steps});
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

void GroupedMatmulSwigluQuant(Plan& plan, DType, const GroupedMatmulSwigluQuantArguments& a) {
  RefuseBias(plan, a);
  PlanGated(plan, plan.binding_count(), TakeGated(a, a.weight));
}

void GroupedMatmulSwigluQuantWeightNZ(Plan& plan, DType, const GroupedMatmulSwigluQuantWeightNZArguments& a) {
  RefuseBias(plan, a);
  Untiled untiled(plan);
  const Operand plain = PanelsMultiply(a.x.dtype(), a.weight) ? a.weight : untiled.Plain(a.weight);
  PlanGated(untiled.inner(), plan.binding_count(), TakeGated(a, plain));
  untiled.Finish();
}

void GroupedMatmulSwigluQuantV2(Plan& plan, DType, const GroupedMatmulSwigluQuantV2Arguments& a) {
  if (!a.weight_assist_matrix.empty() || a.bias.present() || a.smooth_scale.present())
    RefuseExperts(
        plan,
        "weightAssistMatrix, bias and smoothScale are for four bits, which are not there yet; pass null");
  if (a.dequant_mode != 0 || a.dequant_dtype != 0 || a.quant_mode != 0)
    RefuseExperts(plan, "dequantMode, dequantDtype and quantMode are 0: rows and columns, FLOAT, rows");
  Untiled untiled(plan);
  const Operand& weight = OnlyOne(plan, a.weight);
  const Operand plain = PanelsMultiply(a.x.dtype(), weight) ? weight : untiled.Plain(weight);
  PlanGated(untiled.inner(), plan.binding_count(),
            {.x = a.x,
             .weight = plain,
             .weight_scale = OnlyOne(plan, a.weight_scale),
             .x_scale = a.x_scale,
             .groups = a.group_list,
             .list_type = a.group_list_type,
             .y = a.output,
             .steps = a.output_scale});
  untiled.Finish();
}

}  // namespace kernels
}  // namespace belay::ops
