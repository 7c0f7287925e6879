#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "ops/images.h"
#include "ops/overlap.h"
#include "ops/schema.h"
#include "ops/tiled.h"
#include "tensor/codes.h"
#include "tensor/convert.h"
#include "tensor/promote.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

constinit std::atomic<bool> g_keep_views{false};

void CheckType(DType dtype, const FormParam& param, const TypeSet& types) {
  if (types.empty() || types.Has(dtype)) [[likely]]
    return;
  Fail(kInvalidArgument, "op-dtype", "{} is {}; this operator takes {}", param.name, NameOf(dtype),
       types.ToString());
}

// A matrix that aclnnTransMatmulWeight has arranged is called FRACTAL_NZ, and lies as it lay before. One that
// aclnnNpuFormatCast has made lies in a card's tiles, and only who reads those is given it.
bool IsReadable(const Tensor& tensor, const Op& op, int param) {
  if (IsPlain(tensor.format)) [[likely]]
    return true;
  if (tensor.format != tensor::Format::kFractalNZ) return false;
  if (LiesInTiles(tensor)) return (TiledParams(op.name) >> param & 1) != 0;
  return op.params[static_cast<size_t>(param)].is_weight;
}

// What an execution has told of a tensor holds for those that read it. Only a program's own tensors are told
// of.
void SettleRead(const Tensor& tensor, const FormParam& param) {
  if (tensor.told != nullptr && param.access == Access::kRead) [[unlikely]]
    const_cast<Tensor&>(tensor).Settle();
}

void CheckTensor(const Tensor& tensor, const FormParam& param, const Op& op) {
  SettleRead(tensor, param);
  CheckType(tensor.dtype, param, op.params[param.param].types);
  if (!IsReadable(tensor, op, param.param)) [[unlikely]] {
    Fail(
        kInvalidArgument, "op-format",
        "{} has format {}, which this operator does not read; use ACL_FORMAT_ND (aclnnNpuFormatCast converts)",
        param.name, NameOf(tensor.format));
  }
}

void BindList(Plan& plan, const Form& form, int position, Arg& arg) {
  arg.binding = static_cast<int16_t>(plan.binding_count());
  int relative = 0;
  for (HandleBits item : arg.tensors->items) {
    const FormParam& param = form.params[position];
    const Tensor* tensor = tensor::g_tensors.Find(item);
    if (tensor == nullptr) {
      Fail(kInvalidArgument, "op-list-member", "{}[{}] is not a live aclTensor", param.name, relative);
    }
    CheckTensor(*tensor, param, *form.op);
    plan.Bind(tensor, param.access, param.name, position, relative++);
  }
}

// What is read as a number, where an operator does not list the types that it takes.
void CheckScalar(const Scalar& scalar, const FormParam& param, const TypeSet& types) {
  CheckType(scalar.dtype(), param, types);
  if (tensor::CanConvert(DType::kF32, scalar.dtype()) || tensor::IsComplex(scalar.dtype())) [[likely]]
    return;
  Fail(kInvalidArgument, "op-dtype", "{} is {}, which no operator computes with", param.name,
       NameOf(scalar.dtype()));
}

void CheckScalars(const tensor::ScalarList& list, const FormParam& param, const TypeSet& types) {
  for (HandleBits item : list.items) {
    const Scalar* scalar = tensor::g_scalars.Find(item);
    if (scalar != nullptr) CheckScalar(*scalar, param, types);
  }
}

void CheckAndBind(Plan& plan, const Form& form, int position, Arg& arg) {
  const FormParam& param = form.params[position];
  const Param& in_op = form.op->params[param.param];
  switch (arg.kind) {
    case ArgKind::kTensor:
      if (arg.tensor != nullptr) CheckTensor(*arg.tensor, param, *form.op);
      arg.binding = static_cast<int16_t>(plan.Bind(arg.tensor, param.access, param.name, position, 0));
      break;
    case ArgKind::kTensors:
      if (arg.tensors != nullptr) BindList(plan, form, position, arg);
      break;
    case ArgKind::kScalar:
      if (arg.scalar != nullptr) CheckScalar(*arg.scalar, param, in_op.types);
      break;
    case ArgKind::kScalars:
      if (arg.scalars != nullptr) CheckScalars(*arg.scalars, param, in_op.types);
      break;
    default:
      break;
  }
}

// The kernel may touch less than all elements.
[[gnu::cold, gnu::noinline]] void SetParts(Plan& plan, const Form& form) {
  const Op& op = *form.op;
  plan.SetInPart(true, op.in_part == InPart::kAll);
  for (int i = 0; i < plan.binding_count(); ++i)
    plan.SetPart(i, op.params[form.params[plan.binding(i).param].param].part);
}

View ViewOf(const Tensor* tensor) {
  if (tensor == nullptr) return {};
  if (LiesInTiles(*tensor)) return {{tensor->storage_count}, {1}, 0, InfoOf(tensor->dtype).bits};
  return {tensor->shape, tensor->strides, tensor->offset, InfoOf(tensor->dtype).bits};
}

// Whether the bytes from its first to its last are its own, each.
bool IsWithoutGaps(const Tensor* tensor) {
  return tensor == nullptr || LiesInTiles(*tensor) || tensor::IsPacked(tensor->shape, tensor->strides);
}

bool AreWithoutGaps(std::span<const Arg> args) {
  for (const Arg& arg : args) {
    if (arg.kind == ArgKind::kTensor && !IsWithoutGaps(arg.tensor)) return false;
    if (arg.kind != ArgKind::kTensors || arg.tensors == nullptr) continue;
    for (HandleBits item : arg.tensors->items) {
      if (!IsWithoutGaps(tensor::g_tensors.Find(item))) return false;
    }
  }
  return true;
}

bool AreChannelsLast(std::span<const Arg> args) {
  return std::any_of(args.begin(), args.end(), [](const Arg& arg) {
    return arg.kind == ArgKind::kTensor && arg.tensor != nullptr && HasChannelsLast(*arg.tensor);
  });
}

// Views with the channels behind the first dimension, in place of the images that lie with theirs last.
[[gnu::cold, gnu::noinline]] std::vector<Tensor> TurnImages(const Form& form, std::span<Arg> args) {
  const uint64_t images = ImageParams(form.op->name);
  std::vector<Tensor> turned;
  turned.reserve(args.size());  // they do not move
  for (size_t i = 0; images != 0 && i < args.size(); ++i) {
    if ((images >> form.params[i].param & 1) == 0 || args[i].tensor == nullptr) continue;
    if (!HasChannelsLast(*args[i].tensor)) continue;
    Tensor& view = turned.emplace_back(*args[i].tensor);
    BringChannelsForward(view.shape, view.shape.rank());
    BringChannelsForward(view.strides, view.shape.rank());
    args[i].tensor = &view;
  }
  return turned;
}

// In the order in which the arguments were bound.
std::vector<View> ViewsOf(std::span<const Arg> args) {
  std::vector<View> views;
  views.reserve(args.size());
  for (const Arg& arg : args) {
    if (arg.kind == ArgKind::kTensor) views.push_back(ViewOf(arg.tensor));
    if (arg.kind != ArgKind::kTensors || arg.tensors == nullptr) continue;
    for (HandleBits item : arg.tensors->items) views.push_back(ViewOf(tensor::g_tensors.Find(item)));
  }
  return views;
}

void CheckOut(const Op& op, const Args& args, DType compute) {
  const Tensor& out = args.tensor(op.out);
  if (op.shape != nullptr) {
    Shape shape = op.shape(args);
    if (shape != out.shape) [[unlikely]] {
      Fail(kInvalidArgument, "op-out-shape", "{} has shape {}, but the result has {}", args.name(op.out),
           out.shape.ToString(), shape.ToString());
    }
  }
  if (compute != DType::kUndefined && !CanCast(compute, out.dtype)) [[unlikely]] {
    Fail(kInvalidArgument, "op-out-dtype", "the result is {}, which cannot be written to {} ({})",
         NameOf(compute), args.name(op.out), NameOf(out.dtype));
  }
}

}  // namespace

OperandList Args::operands(int param) const {
  const Arg& arg = at(param);
  OperandList list;
  if (arg.tensors == nullptr) return list;
  for (HandleBits item : arg.tensors->items) {
    int binding = arg.binding + static_cast<int>(list.size());
    list.push_back({tensor::g_tensors.Find(item), nullptr, binding, name(param)});
  }
  return list;
}

std::vector<Scalar> Args::scalars(int param) const {
  const Arg& arg = at(param);
  std::vector<Scalar> list;
  if (arg.scalars == nullptr) return list;
  for (HandleBits item : arg.scalars->items) {
    const Scalar* scalar = tensor::g_scalars.Find(item);
    if (scalar == nullptr) {
      Fail(kInvalidArgument, "op-list-member", "{}[{}] is not a live aclScalar", name(param), list.size());
    }
    list.push_back(*scalar);
  }
  return list;
}

void Plan::ReadsOnly(int i, const Tensor& part) {
  if (views_ == nullptr || part.empty() || LiesInTiles(part)) return;
  (*views_)[static_cast<size_t>(i)] = ViewOf(&part);
  SetPart(i, KnownPart::kWhole);
}

void KeepViewsOfAllPlans() { g_keep_views.store(true, std::memory_order_relaxed); }

PlanRef MakePlan(const Form& form, std::span<Arg> args) {
  HandleBits handle = g_plans.Create(form.function);
  if (handle == 0) {
    Fail(tensor::kNoExecutor, "executor-limit", "too many executors are alive; run or destroy some of them");
  }
  PlanRef plan(g_plans.Find(handle));
  const Op& op = *form.op;
  try {
    for (size_t i = 0; i < args.size(); ++i) CheckAndBind(*plan, form, static_cast<int>(i), args[i]);
    // Of what has no gaps the first byte and the last say all.
    if (HasOverlap(*plan) || (g_keep_views.load(std::memory_order_relaxed) &&
                              (op.in_part != InPart::kNo || !AreWithoutGaps(args)))) [[unlikely]]
      plan->KeepViews(ViewsOf(args));
    if (op.in_part != InPart::kNo) [[unlikely]]
      SetParts(*plan, form);
    std::vector<Tensor> turned;
    if (AreChannelsLast(args)) [[unlikely]]
      turned = TurnImages(form, args);
    Args in_op_order(form, args.data());
    DType compute = op.dtype != nullptr ? op.dtype(in_op_order) : DType::kUndefined;
    if (op.out >= 0) CheckOut(op, in_op_order, compute);
    op.plan(*plan, in_op_order, compute);
    if (plan->binding_count() > 0 && plan->view(0) != nullptr) [[unlikely]]
      ReserveCopies(*plan);
  } catch (...) {
    if (g_plans.Retire(handle) != nullptr) plan->EndLease();  // PlanRef recycles the slot
    throw;
  }
  return plan;
}

}  // namespace belay::ops
