// Outputs as the caller of a single operator describes them. Bytes of another type or in another order would
// be read wrongly without a word, so an operator gives what is described or is refused.
#pragma once

#include <span>
#include <string>

#include "graph/ir.h"

namespace belay::graph {

// Whether a result can be read as it is described: each element has its value and its place. Truth values are
// 0 and 1 in eight bits; sizes of 1 move no element; -1, an unknown rank and an undefined type describe
// nothing.
bool IsAsDescribed(const ValueType& described, DType dtype, const Shape& shape);

// The output may be of any type of floats, and is converted to the one that is described.
bool IsConverted(const std::string& type, DType described, size_t output);

// Throws Error that names operator, output, and both types. Types that are not known yet pass.
void NeedAsDescribed(const std::string& type, std::span<const ValueType> described, size_t output,
                     const ValueType& computed);

// Gives attributes that decide the type of an output, and that the caller left out, what is described.
void FitTypes(const std::string& type, std::span<const ValueType> described, Attributes& attributes);

}  // namespace belay::graph
