// What is known of an operator's outputs before a graph is built.
#pragma once

#include "ge/operator_impl.h"

namespace ge {

// Describes the outputs from the descriptions of the inputs. Throws Error that names the operator.
void InferTypes(OperatorImpl& node);

}  // namespace ge
