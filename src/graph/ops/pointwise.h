// What translations of pointwise operators share: operands of plans, types and shapes, and steps that
// run a kernel on them.
#pragma once

#include <cmath>
#include <vector>

#include "graph/translation.h"
#include "ops/elementwise/pointwise.h"
#include "ops/kernels.h"

namespace belay::graph::translate {

using ops::Operand;
using UnaryKernel = void (*)(ops::Plan&, DType compute, const Operand& x, const Operand& out);
using BinaryKernel = void (*)(ops::Plan&, DType compute, const Operand& x1, const Operand& x2,
                              const Operand& out);

// Tensors as operands that a plan is bound to. They must outlive the call that makes the plan.
Operand Read(ops::Plan& plan, const Tensor& tensor, const char* name);
Operand Write(ops::Plan& plan, const Tensor& tensor, const char* name);
Operand ReadWrite(ops::Plan& plan, const Tensor& tensor, const char* name);

// The type in which floats of this type are added up.
constexpr DType SumType(DType type) { return type == DType::kF64 ? type : DType::kF32; }
// The same; integers stay what they are.
inline DType WideType(DType type) { return IsFloat(type) ? SumType(type) : type; }

// Refuses what has no common type or shape.
DType CommonType(const Translation& node, DType a, DType b);
Shape BroadcastOf(const Translation& node, const std::vector<Shape>& shapes);

// Refuses types that are no numbers. x may be out.
void RunUnary(Translation& node, const char* name, UnaryKernel kernel, const Tensor& x, const Tensor& out);
void RunBinary(Translation& node, const char* name, BinaryKernel kernel, DType compute, const Tensor& x1,
               const Tensor& x2, const Tensor& out);

// The loop over one to three inputs; each may be out.
void RunLoops(Translation& node, const char* name, const ops::PointwiseLoops& loops, DType compute,
              const std::vector<Tensor>& inputs, const ops::LoopAttributes& attributes, const Tensor& out);

}  // namespace belay::graph::translate
