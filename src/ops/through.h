// A plan in two steps, with a packed tensor between them that lies in the workspace.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ops/plan.h"
#include "ops/schema.h"

namespace belay::ops {

struct ThroughBody {
  static constexpr int kMostInputs = tensor::kMaxRank + 2;
  using Inputs = std::array<Operand, kMostInputs>;

  PlanRef make, use;
  std::array<int, kMostInputs> inputs = {};  // bindings of the whole
  int input_count = 0, out = -1;
  int64_t bytes = 0;  // of the tensor between, before the steps' workspace

  explicit ThroughBody(const char* function) : make(NewPlan(function)), use(NewPlan(function)) {}

  // Both steps bind the inputs, then the tensor between, then the result.
  void operator()(const Frame& frame) const {
    std::array<char*, kMostInputs + 2> at;
    for (int i = 0; i < input_count; ++i) at[i] = frame.at[inputs[i]];
    at[input_count] = frame.workspace, at[input_count + 1] = frame.at[out];
    make->Run({at.data(), frame.workspace + bytes});
    use->Run({at.data(), frame.workspace + bytes});
  }
};

// make(part, inputs, between) plans the first step, and use(part, inputs, between, out) the second; the
// inputs are tensors, and all operands those of the step's own plan.
template <class Make, class Use>
void PlanThrough(Plan& plan, const tensor::Tensor& between, const std::vector<const Operand*>& in,
                 const Operand& out, const Make& make, const Use& use) {
  const auto bound = [](PlanRef& to, const char* name, const tensor::Tensor* tensor, Access access) {
    return Operand{tensor, nullptr, to->Bind(tensor, access, name, to->binding_count(), 0), name};
  };
  auto body = std::make_shared<ThroughBody>(plan.function());
  std::array<ThroughBody::Inputs, 2> inputs;
  for (const Operand* operand : in) {
    const int i = body->input_count++;
    body->inputs[i] = operand->binding;
    inputs[0][i] = bound(body->make, operand->name, operand->tensor, Access::kRead);
    inputs[1][i] = bound(body->use, operand->name, operand->tensor, Access::kRead);
  }
  make(*body->make, inputs[0], bound(body->make, out.name, &between, Access::kWrite));
  const Operand made = bound(body->use, out.name, &between, Access::kRead);
  use(*body->use, inputs[1], made, bound(body->use, out.name, out.tensor, Access::kWrite));
  body->out = out.binding;
  body->bytes = WorkspacePart(between.count() * static_cast<int64_t>(BytesOf(between.dtype)));
  plan.SetWorkspace(static_cast<uint64_t>(body->bytes) +
                    std::max(body->make->workspace_bytes(), body->use->workspace_bytes()));
  plan.SetCost(uint64_t{body->make->cost()} + body->use->cost());
  plan.SetBody(
      [body = std::shared_ptr<const ThroughBody>(std::move(body))](const Frame& frame) { (*body)(frame); });
}

}  // namespace belay::ops
