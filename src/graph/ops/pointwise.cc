#include "graph/ops/pointwise.h"

#include "tensor/convert.h"
#include "tensor/promote.h"

namespace belay::graph::translate {
namespace {

using ops::Access;

Operand Bound(ops::Plan& plan, const Tensor& tensor, Access access, const char* name) {
  return {&tensor, nullptr, plan.Bind(&tensor, access, name, plan.binding_count(), 0), name};
}

void RequireNumbers(const Translation& node, DType type, bool or_complex = false) {
  if (or_complex && type == DType::kC64) return;
  if (!tensor::CanConvert(DType::kF32, type)) {
    node.Refuse(std::string(NameOf(type)) + " is not supported here");
  }
}

}  // namespace

Operand Read(ops::Plan& plan, const Tensor& tensor, const char* name) {
  return Bound(plan, tensor, Access::kRead, name);
}
Operand Write(ops::Plan& plan, const Tensor& tensor, const char* name) {
  return Bound(plan, tensor, Access::kWrite, name);
}
Operand ReadWrite(ops::Plan& plan, const Tensor& tensor, const char* name) {
  return Bound(plan, tensor, Access::kReadWrite, name);
}

DType CommonType(const Translation& node, DType a, DType b) {
  RequireNumbers(node, a);
  RequireNumbers(node, b);
  DType type = tensor::Promote(a, b);
  if (type == DType::kUndefined) {
    node.Refuse(std::string(NameOf(a)) + " and " + NameOf(b) + " have no common type");
  }
  return type;
}

Shape BroadcastOf(const Translation& node, const std::vector<Shape>& shapes) {
  Shape all;
  for (const Shape& shape : shapes) {
    auto both = tensor::BroadcastShapes(all, shape);
    if (!both) {
      node.Refuse("shapes " + all.ToString() + " and " + shape.ToString() +
                  " do not broadcast to one another");
    }
    all = *both;
  }
  return all;
}

void RunUnary(Translation& node, const char* name, UnaryKernel kernel, const Tensor& x, const Tensor& out) {
  RequireNumbers(node, x.dtype);
  node.Step(name, [&](ops::Plan& plan) {
    Operand operand = Read(plan, x, "x");
    kernel(plan, x.dtype, operand, Write(plan, out, "y"));
  });
}

void RunBinary(Translation& node, const char* name, BinaryKernel kernel, DType compute, const Tensor& x1,
               const Tensor& x2, const Tensor& out) {
  // A kernel of complex numbers refuses those that it has no loop for.
  RequireNumbers(node, x1.dtype, compute == DType::kC64);
  RequireNumbers(node, x2.dtype, compute == DType::kC64);
  node.Step(name, [&](ops::Plan& plan) {
    Operand left = Read(plan, x1, "x1"), right = Read(plan, x2, "x2");
    kernel(plan, compute, left, right, Write(plan, out, "y"));
  });
}

void RunLoops(Translation& node, const char* name, const ops::PointwiseLoops& loops, DType compute,
              const std::vector<Tensor>& inputs, const ops::LoopAttributes& attributes, const Tensor& out) {
  const bool complex = compute == DType::kC64 && loops.c64 != nullptr;
  for (const Tensor& input : inputs) RequireNumbers(node, input.dtype, complex);
  node.Step(name, [&](ops::Plan& plan) {
    Operand x[ops::kMostInputs];
    for (size_t i = 0; i < inputs.size(); ++i) x[i] = Read(plan, inputs[i], "x");
    const Operand y = Write(plan, out, "y");
    if (inputs.size() == 1) return PlanPointwise(plan, loops, compute, {x[0]}, attributes, y);
    if (inputs.size() == 2) return PlanPointwise(plan, loops, compute, {x[0], x[1]}, attributes, y);
    PlanPointwise(plan, loops, compute, {x[0], x[1], x[2]}, attributes, y);
  });
}

}  // namespace belay::graph::translate
