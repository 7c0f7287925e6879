// Executors: what stands between the two stages of an operator.
#include "api/executor.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "aclnn/acl_meta.h"
#include "api/call.h"
#include "api/convert.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/plan_task.h"
#include "api/refuse.h"
#include "base/error_about.h"
#include "base/thread.h"
#include "ops/overlap.h"
#include "runtime/memory.h"
#include "runtime/observer.h"
#include "runtime/stream.h"
#include "tensor/codes.h"

namespace belay::api {
namespace {

using ops::Binding;
using ops::Plan;
using ops::PlanRef;
using tensor::kInnerNull;
using tensor::kInvalidArgument;

HandleBits NumberOfHandle(const aclOpExecutor* executor) { return reinterpret_cast<HandleBits>(executor); }

[[noreturn, gnu::cold]] void FailSpent(const aclOpExecutor* executor) {
  const bool was_one = KindOf(NumberOfHandle(executor)) == static_cast<uint8_t>(HandleKind::kExecutor);
  FailAbout(was_one ? executor : nullptr, kInnerNull, "executor-spent",
            "this executor is not alive: the second stage has used it up, or it was destroyed. Run the "
            "first "
            "stage again, or call aclSetAclOpExecutorRepeatable before the second");
}

// A reference to a live plan. Another thread may destroy the executor meanwhile, and its slot may
// even hold another plan by now; so the handle is looked up again once the plan cannot go away.
PlanRef NeedPlan(const aclOpExecutor* executor) {
  HandleBits bits = NumberOfHandle(executor);
  Plan* plan = ops::g_plans.Find(bits);
  if (plan == nullptr || !(plan->repeatable() ? plan->TryLease() : plan->TryRef())) FailSpent(executor);
  PlanRef ref(plan);
  if (ops::g_plans.Find(bits) != plan) FailSpent(executor);
  return ref;
}

// Takes the handle away, and with it the handle's references; exactly one caller gets true.
bool TryRetire(aclOpExecutor* executor) {
  Plan* plan = ops::g_plans.Retire(NumberOfHandle(executor));
  if (plan == nullptr) return false;
  plan->EndLease();
  plan->Unref();
  return true;
}

void CheckAddress(const char* name, const void* address, int64_t end) {
  if (address == nullptr) [[unlikely]] {
    Fail(kInvalidArgument, "op-address-null", "{} has no data: its address is null, {} bytes are used", name,
         end);
  }
  rt::MemoryRange range = rt::Lookup(address, static_cast<size_t>(end));
  if (range.kind == rt::MemoryKind::kDevice && range.live &&
      range.Remaining(address) >= static_cast<size_t>(end)) [[likely]] {
    return;
  }
  if (range.kind != rt::MemoryKind::kDevice) {
    FailAbout(address, kInvalidArgument, "op-address-host",
              "{} lies at {}, which is host memory; operators work on memory from aclrtMalloc", name,
              address);
  }
  if (!range.live) {
    FailAbout(address, kInvalidArgument, "op-address-freed",
              "{} lies at {}, in device memory that is not allocated (any more)", name, address);
  }
  FailAbout(address, kInvalidArgument, "op-address-short",
            "{} lies at {} and uses {} bytes, but its block has only {} from there", name, address, end,
            range.Remaining(address));
}

void CheckAddresses(const Plan& plan, const void* workspace, uint64_t workspace_size) {
  for (int i = 0; i < plan.binding_count(); ++i) {
    const Binding& binding = plan.binding(i);
    if (binding.end != 0) CheckAddress(binding.name, binding.address, binding.end);
  }
  uint64_t need = plan.workspace_bytes();
  if (need == 0) [[likely]]
    return;
  if (workspace_size < need) {
    FailAbout(workspace, kInvalidArgument, "op-workspace-short",
              "the workspace has {} bytes; the first stage asked for {}", workspace_size, need);
  }
  CheckAddress("workspace", workspace, static_cast<int64_t>(need));
  Binding whole{};
  whole.address = const_cast<void*>(workspace), whole.end = static_cast<int64_t>(need);
  for (int i = 0; i < plan.binding_count(); ++i) {
    if (!ops::SharesBytes(whole, plan.binding(i))) continue;
    Fail(kInvalidArgument, "op-workspace-overlap",
         "the workspace and {} overlap in memory; give the workspace memory of its own",
         plan.binding(i).name);
  }
}

// The binding that is the index-th among those with the access; -1 when there are fewer.
template <class Wanted>
int FindBinding(const Plan& plan, size_t index, Wanted wanted) {
  for (int i = 0; i < plan.binding_count(); ++i) {
    if (wanted(plan.binding(i).access) && index-- == 0) return i;
  }
  return -1;
}

// The same for member `relative` of the list that is the index-th such parameter.
template <class Wanted>
int FindMember(const Plan& plan, size_t index, size_t relative, Wanted wanted) {
  int param = -1;
  for (int i = 0; i < plan.binding_count(); ++i) {
    const Binding& binding = plan.binding(i);
    if (!wanted(binding.access)) continue;
    if (binding.param != param) {
      if (param != -1 && index-- == 0) return -1;
      param = binding.param;
    }
    if (index == 0 && binding.relative == relative) return i;
  }
  return -1;
}

void SetAddress(Plan& plan, int binding, void* address) {
  if (binding < 0 || !plan.binding(binding).present) {
    Fail(kInvalidArgument, "executor-no-such-tensor",
         "{} has no such tensor, or it was null in the first stage", plan.function());
  }
  if (reinterpret_cast<uintptr_t>(address) % 32 != 0) {
    Fail(kInvalidArgument, "executor-alignment", "the address {} is not a multiple of 32", address);
  }
  plan.SetAddress(binding, address);
}

bool Any(ops::Access) { return true; }

// The handle is of no use when this throws.
void CheckRanks(Plan& plan) {
  try {
    CheckExchange(plan);
  } catch (...) {
    if (ops::g_plans.Retire(ops::g_plans.HandleOf(&plan)) != nullptr) plan.EndLease();
    throw;
  }
}

// A card does not look, and what the results do not share is right.
void RemarkOnResults(const ops::Plan& plan, const ops::Copied& copied) {
  if (!rt::Observers::any()) return;
  const Binding &one = plan.binding(copied.shares_with), &other = plan.binding(copied.written.front());
  rt::TellRemark("results-overlap",
                 fmt::format("{} and {} overlap in memory, and both are written", one.name, other.name));
}

// The kernel, and what goes between the ranks before it or after it.
void RunExchange(PlanRef plan, ops::Copied copied, void* workspace, aclOpExecutor* executor,
                 rt::Stream& stream) {
  ExchangeOf exchange(*plan, workspace, stream);
  if (!plan->repeatable() && !TryRetire(executor)) FailSpent(executor);
  const uint32_t cost = plan->cost();
  if (plan->exchange()->before) {
    plan->TryRef();  // it is alive: this holds it
    stream.Submit(rt::MakeTask(BeforeExchangeTask(PlanTask(PlanRef(&*plan), workspace)), cost));
  }
  if (exchange.first()) exchange.Submit();
  if (plan->has_work()) {
    stream.Submit(
        rt::MakeTask(OverlappingPlanTask(PlanTask(std::move(plan), workspace), std::move(copied)), cost));
  }
  if (!exchange.first()) exchange.Submit();
}

// A tensor handle says from now on what the execution will have told. It is a result: the caller gave it to
// be written.
void HandOutToldShapes(const ops::Plan& plan, std::span<const ops::Arg> args) {
  for (const auto& [binding, told] : *plan.told_shapes()) {
    for (const ops::Arg& arg : args) {
      if (arg.kind == ops::ArgKind::kTensor && arg.binding == binding)
        const_cast<tensor::Tensor*>(arg.tensor)->told = told;
    }
  }
}

void RefuseNulls(const ops::Form& form, std::span<const ops::Arg> args, int code) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ops::FormParam& param = form.params[i];
    if (ops::IsAddress(args[i].kind) && args[i].integer == 0 && !form.op->params[param.param].optional)
        [[unlikely]]
      RefuseNull(param.name, code);
  }
}

template <class T>
const T* LookUp(const ops::Arg& arg, const char* name) {
  return Optional<T>(static_cast<HandleBits>(arg.integer), name);
}

// The object in place of the handle that the program passed.
void LookUp(ops::Arg& arg, const char* name) {
  switch (arg.kind) {
    case ops::ArgKind::kTensor:
      arg.tensor = LookUp<tensor::Tensor>(arg, name);
      break;
    case ops::ArgKind::kScalar:
      arg.scalar = LookUp<tensor::Scalar>(arg, name);
      break;
    case ops::ArgKind::kInts:
      arg.ints = LookUp<tensor::IntArray>(arg, name);
      break;
    case ops::ArgKind::kFloats:
      arg.floats = LookUp<tensor::FloatArray>(arg, name);
      break;
    case ops::ArgKind::kBools:
      arg.bools = LookUp<tensor::BoolArray>(arg, name);
      break;
    case ops::ArgKind::kTensors:
      arg.tensors = LookUp<tensor::TensorList>(arg, name);
      break;
    case ops::ArgKind::kScalars:
      arg.scalars = LookUp<tensor::ScalarList>(arg, name);
      break;
    default:  // a number or a text stays as it is
      break;
  }
}

void MakeExecutor(const ops::Form& form, std::span<ops::Arg> args, uint64_t* workspace_size,
                  aclOpExecutor** executor) {
  DefaultFloatMode mode;  // for the conversion of scalars: the caller may round or flush otherwise
  PlanRef plan = ops::MakePlan(form, args);
  if (plan->exchange() != nullptr) [[unlikely]]
    CheckRanks(*plan);
  if (plan->told_shapes() != nullptr) [[unlikely]]
    HandOutToldShapes(*plan, args);
  *workspace_size = plan->workspace_bytes();
  *executor = reinterpret_cast<aclOpExecutor*>(ops::g_plans.HandleOf(plan.release()));
}

void RunExecutor(const ops::Form& form, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                 rt::Stream& stream) {
  PlanRef plan = NeedPlan(executor);
  if (plan->function() != form.function) [[unlikely]] {
    Fail(kInvalidArgument, "executor-other-function",
         "this executor was made by {}GetWorkspaceSize; run it with {}", plan->function(), plan->function());
  }
  CheckAddresses(*plan, workspace, workspace_size);
  ops::Copied copied;
  if (ops::HasOverlap(*plan)) [[unlikely]] {
    copied = ops::CopiedOf(*plan);
    if (!copied.written.empty()) RemarkOnResults(*plan, copied);
  }
  if (plan->exchange() != nullptr) [[unlikely]]
    return RunExchange(std::move(plan), std::move(copied), workspace, executor, stream);
  if (!plan->repeatable() && !TryRetire(executor)) FailSpent(executor);
  if (!plan->has_work()) return;
  uint32_t cost = plan->cost();
  PlanTask task(std::move(plan), workspace);
  if (copied.empty()) [[likely]] {
    stream.Submit(rt::MakeTask(std::move(task), cost));
  } else {
    stream.Submit(rt::MakeTask(OverlappingPlanTask(std::move(task), std::move(copied)), cost));
  }
}

}  // namespace

int RunStage1(Fn fn, const ops::Form& form, std::span<ops::Arg> args, uint64_t* workspace_size,
              aclOpExecutor** executor) {
  return Run(fn, [&] {
    const int null_code = InfoOf(fn).null_code;
    RefuseNulls(form, args, null_code);
    if (workspace_size == nullptr) [[unlikely]]
      RefuseNull("workspaceSize", null_code);
    if (executor == nullptr) [[unlikely]]
      RefuseNull("executor", null_code);
    for (size_t i = 0; i < args.size(); ++i) LookUp(args[i], form.params[i].name);
    MakeExecutor(form, args, workspace_size, executor);
  });
}

int RunStage2(Fn fn, const ops::Form& form, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
              aclrtStream stream) {
  return Run(fn, [&] {
    if (executor == nullptr) [[unlikely]]
      RefuseNull("executor", kInnerNull);
    RunExecutor(form, workspace, workspace_size, executor, StreamArg(stream, "stream"));
  });
}

void aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) { NeedPlan(executor)->SetRepeatable(); }

// An executor that is used up is left alone: programs keep them all and destroy them at exit.
void aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  if (TryRetire(executor)) {
    if (rt::Observers::any()) rt::TellDestroyed(NumberOfHandle(executor));
    return;
  }
  if (KindOf(NumberOfHandle(executor)) != static_cast<uint8_t>(HandleKind::kExecutor)) FailSpent(executor);
}

void aclSetTensorAddr(aclOpExecutor* executor, const size_t index, tensor::Tensor&, void* addr) {
  PlanRef plan = NeedPlan(executor);
  SetAddress(*plan, FindBinding(*plan, index, Any), addr);
}
void aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, tensor::Tensor&, void* addr) {
  PlanRef plan = NeedPlan(executor);
  SetAddress(*plan, FindBinding(*plan, index, ops::Reads), addr);
}
void aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, tensor::Tensor&, void* addr) {
  PlanRef plan = NeedPlan(executor);
  SetAddress(*plan, FindBinding(*plan, index, ops::Writes), addr);
}
void aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                             tensor::TensorList&, void* addr) {
  PlanRef plan = NeedPlan(executor);
  for (int i = 0; i < plan->binding_count(); ++i) {
    const Binding& binding = plan->binding(i);
    if (binding.param == irIndex && binding.relative == relativeIndex) {
      return SetAddress(*plan, i, addr);
    }
  }
  SetAddress(*plan, -1, addr);
}
void aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                  tensor::TensorList&, void* addr) {
  PlanRef plan = NeedPlan(executor);
  SetAddress(*plan, FindMember(*plan, irIndex, relativeIndex, ops::Reads), addr);
}
void aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                   tensor::TensorList&, void* addr) {
  PlanRef plan = NeedPlan(executor);
  SetAddress(*plan, FindMember(*plan, irIndex, relativeIndex, ops::Writes), addr);
}

// The operators need no preparation; both exist for programs that call them.
void aclnnInit(const char*) {}
void aclnnFinalize() {}

}  // namespace belay::api
