// The first step of compiling: with the types of the inputs fixed, works out the type of every value, and
// replaces what depends on constants only by its result.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/translation.h"

namespace belay::graph {

// Of a graph's inputs, in their order, as they are declared.
std::vector<ValueType> InputTypes(const Graph& graph);
bool AllConcrete(std::span<const ValueType> types);
// Whether the sizes that are known are those of the shape.
bool Admits(const ValueType& declared, const Shape& shape);

struct Specialised {
  Graph graph;
  // Empty, or the name of the first node whose result's shape only the data decides. Types behind it are
  // not known, and such a graph is interpreted.
  std::string dynamic_at;
};

// `inputs`: concrete types, in the order of the graph's inputs. kTypes: faster, but what no kernel takes is
// only found when plans are made.
Specialised Specialise(const Graph& graph, std::span<const ValueType> inputs,
                       Purpose purpose = Purpose::kPlans);

}  // namespace belay::graph
