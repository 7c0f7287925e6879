// A node that is an operator of spec/ops under other names: which of the node's inputs, outputs and
// attributes are that row's parameters. The rules of the row give the types and shapes of the results.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/result_rules.h"

namespace belay::graph {

// Where a parameter comes from.
enum class Way : uint8_t {
  kInput,  // a tensor; of a number or a list its elements, and of a type that of the input
  kOutput,
  kAttribute,
  kWord,   // an attribute's place among the words that it may be
  kWhole,  // a number that is the same for each node
  kReal,
};

struct Source {
  Way way;
  ops::ArgKind kind;  // as which the operator takes it
  uint8_t index;      // of the input, output or attribute
  double number;
  std::span<const std::string_view> words = {};
};

struct Door {
  const ops::Form& form;            // the operator's own parameters, under the names of the node's ports
  std::span<const Source> sources;  // one a parameter
  std::span<const ops::ResultRule> results;  // one an output
};

}  // namespace belay::graph
