// A plan in two steps, with a packed tensor between them that lies in the workspace.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "ops/plan.h"
#include "ops/schema.h"

namespace belay::ops {

struct ThroughBody {
  static constexpr int kMostInputs = 2;

  PlanRef make, use;
  std::array<int, kMostInputs> inputs = {};  // bindings of the whole
  int input_count = 0, out = -1;
  int64_t bytes = 0;  // of the tensor between, before the steps' workspace

  explicit ThroughBody(const char* function) : make(NewPlan(function)), use(NewPlan(function)) {}

  void operator()(const Frame& frame) const {
    std::array<char*, kMostInputs + 1> first;
    for (int i = 0; i < input_count; ++i) first[i] = frame.at[inputs[i]];
    first[input_count] = frame.workspace;
    make->Run({first.data(), frame.workspace + bytes});
    char* second[] = {frame.workspace, frame.at[out]};
    use->Run({second, frame.workspace + bytes});
  }
};

// make(part, operands, between) plans the first step from the inputs, which are tensors, and use(part,
// between, out) the second; the operands that they are given are those of their own plan.
template <class Make, class Use>
void PlanThrough(Plan& plan, const tensor::Tensor& between, std::initializer_list<const Operand*> in,
                 const Operand& out, const Make& make, const Use& use) {
  const auto bound = [](PlanRef& to, const Operand& of, const tensor::Tensor* tensor, Access access) {
    return Operand{tensor, nullptr, to->Bind(tensor, access, of.name, to->binding_count(), 0), of.name};
  };
  auto body = std::make_shared<ThroughBody>(plan.function());
  std::array<Operand, ThroughBody::kMostInputs> operands;
  for (const Operand* operand : in) {
    body->inputs[body->input_count] = operand->binding;
    operands[body->input_count++] = bound(body->make, *operand, operand->tensor, Access::kRead);
  }
  make(*body->make, operands, bound(body->make, out, &between, Access::kWrite));
  const Operand made = bound(body->use, **in.begin(), &between, Access::kRead);
  use(*body->use, made, bound(body->use, out, out.tensor, Access::kWrite));
  body->out = out.binding;
  body->bytes = WorkspacePart(between.count() * static_cast<int64_t>(BytesOf(between.dtype)));
  plan.SetWorkspace(static_cast<uint64_t>(body->bytes) +
                    std::max(body->make->workspace_bytes(), body->use->workspace_bytes()));
  plan.SetCost(uint64_t{body->make->cost()} + body->use->cost());
  plan.SetBody(
      [body = std::shared_ptr<const ThroughBody>(std::move(body))](const Frame& frame) { (*body)(frame); });
}

}  // namespace belay::ops
