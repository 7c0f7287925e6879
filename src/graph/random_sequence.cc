// Which random numbers a node draws next.
#include <memory>
#include <optional>

#include "graph/ir.h"
#include "graph/op_schema.h"
#include "ops/random/random.h"

namespace belay::graph {
namespace {

int64_t NumberOf(const Node& node, const OpSchema& schema, std::string_view name) {
  for (const AttributeSchema& attribute : schema.attributes) {
    if (attribute.name != name) continue;
    const Attribute value = AttributeOf(node, attribute);
    const auto* number = std::get_if<int64_t>(&value);
    return number == nullptr ? 0 : *number;
  }
  return 0;
}

}  // namespace

std::shared_ptr<ops::RandomSequence> NewSequence(const Node& node) {
  const OpSchema* schema = FindOp(node.type);
  std::optional<ops::RandomSeed> seed;
  if (schema != nullptr) {
    seed = ops::RandomSeed{static_cast<uint64_t>(NumberOf(node, *schema, "seed")),
                           static_cast<uint64_t>(NumberOf(node, *schema, "seed2"))};
    if (seed->first == 0 && seed->second == 0) seed.reset();
  }
  return std::make_shared<ops::RandomSequence>(seed);
}

void BeginSequences(Graph& graph) {
  for (Node& node : graph.nodes) {
    const OpSchema* schema = FindOp(node.type);
    if (schema != nullptr && schema->Is(kTraitRandom) && node.sequence == nullptr)
      node.sequence = NewSequence(node);
    for (auto& [name, value] : node.attributes) {
      auto* body = std::get_if<std::shared_ptr<Graph>>(&value);
      if (body == nullptr || *body == nullptr) continue;
      *body = std::make_shared<Graph>(**body);  // others may be made of the same body
      BeginSequences(**body);
    }
  }
}

}  // namespace belay::graph
