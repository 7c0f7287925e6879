// Tensors of a node as operands of a plan that is made by hand.
#pragma once

#include "graph/translation.h"

namespace belay::graph {

inline ops::Operand Bound(ops::Plan& plan, const Tensor& tensor, ops::Access access, const char* name) {
  return {&tensor, nullptr, plan.Bind(&tensor, access, name, plan.binding_count(), 0), name};
}
inline ops::Operand ReadFrom(ops::Plan& plan, const Tensor& tensor, const char* name) {
  return Bound(plan, tensor, ops::Access::kRead, name);
}
inline ops::Operand WrittenTo(ops::Plan& plan, const Tensor& tensor, const char* name) {
  return Bound(plan, tensor, ops::Access::kWrite, name);
}

}  // namespace belay::graph
