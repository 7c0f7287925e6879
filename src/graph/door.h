// A node that is an operator of spec/ops under other names: which of the node's inputs, outputs and
// attributes are that row's parameters. The rules of the row give the type and shape of the result.
#pragma once

#include <cstdint>
#include <span>

#include "ops/schema.h"

namespace belay::graph {

// Where a parameter comes from.
enum class Way : uint8_t {
  kInput,  // a tensor; of a number or a list its elements, and of a type that of the input
  kOutput,
  kAttribute,
  kWhole,  // a number that is the same for each node
  kReal,
};

struct Source {
  Way way;
  ops::ArgKind kind;  // as which the operator takes it
  uint8_t index;      // of the input, output or attribute
  double number;
};

struct Door {
  const ops::Form& form;            // the operator's own parameters, under the names of the node's ports
  std::span<const Source> sources;  // one a parameter
};

}  // namespace belay::graph
