#include "graph/control_flow.h"

#include <unordered_map>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/interpreter.h"

namespace belay::graph {
namespace {

const Graph& Body(const Node& node, std::string_view attribute) {
  const auto* body = FindAttribute<std::shared_ptr<Graph>>(node, attribute);
  if (body == nullptr || *body == nullptr) {
    Fail(kGraphInvalid, "graph-attribute-missing", "node '{}' ({}) has no attribute '{}', which it needs", node.name,
         node.type, attribute);
  }
  return **body;
}

bool Holds(const Constant& condition) {
  if (condition->count() != 1) {
    Fail(kGraphInvalid, "graph-condition", "a condition must be one element, not {}", condition->shape().ToString());
  }
  return condition->Reals()[0] != 0;
}

// cond, then what the bodies read.
std::vector<Constant> If(const Node& node, std::span<const Constant> inputs) {
  return Evaluate(Body(node, Holds(inputs[0]) ? "then_branch" : "else_branch"), inputs.subspan(1));
}

// One tensor of what a loop gathered: stacked along a new first axis.
Constant Stacked(const std::vector<Constant>& items) {
  const Shape& one = items[0]->shape();
  Shape shape{static_cast<int64_t>(items.size())};
  for (int64_t size : one) shape.push_back(size);
  auto result = std::make_shared<HostTensor>(items[0]->dtype(), shape);
  size_t bytes = items[0]->bytes();
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i]->shape() != one || items[i]->dtype() != items[0]->dtype()) {
      Fail(kShapeInvalid, "graph-loop-shapes", "a loop gathers values of one shape, but it met {} and {}",
           one.ToString(), items[i]->shape().ToString());
    }
    std::copy_n(items[i]->data(), bytes, result->mutable_data() + i * bytes);
  }
  return result;
}

std::vector<Constant> StackAll(const std::vector<std::vector<Constant>>& gathered) {
  std::vector<Constant> results;
  for (const auto& items : gathered) {
    results.push_back(items.empty() ? std::make_shared<HostTensor>(DType::kF32, Shape{0}) : Stacked(items));
  }
  return results;
}

// trip count (or absent), condition (or absent), carried values, captured values. The body takes the
// iteration, the condition, the carried values and the captured ones, and gives the condition, the
// carried values and what is gathered.
std::vector<Constant> Loop(const Node& node, std::span<const Constant> inputs) {
  const Graph& body = Body(node, "body");
  const auto* carried_count = FindAttribute<int64_t>(node, "carried");
  size_t carried = carried_count == nullptr ? inputs.size() - 2 : static_cast<size_t>(*carried_count);
  int64_t trips = inputs[0] != nullptr ? inputs[0]->Ints().at(0) : INT64_MAX;
  bool going = inputs[1] == nullptr || Holds(inputs[1]);
  std::vector<Constant> values(inputs.begin() + 2, inputs.begin() + 2 + static_cast<ptrdiff_t>(carried));
  std::vector<std::vector<Constant>> gathered(body.outputs.size() - 1 - carried);
  for (int64_t trip = 0; trip < trips && going; ++trip) {
    std::vector<Constant> arguments{IntConstant(trip), IntConstant(going, DType::kBool)};
    arguments.insert(arguments.end(), values.begin(), values.end());
    arguments.insert(arguments.end(), inputs.begin() + 2 + static_cast<ptrdiff_t>(carried), inputs.end());
    std::vector<Constant> results = Evaluate(body, arguments);
    going = Holds(results[0]);
    values.assign(results.begin() + 1, results.begin() + 1 + static_cast<ptrdiff_t>(carried));
    for (size_t i = 0; i < gathered.size(); ++i) gathered[i].push_back(results[1 + carried + i]);
  }
  for (Constant& all : StackAll(gathered)) values.push_back(std::move(all));
  return values;
}

}  // namespace

ControlFunction FindControl(std::string_view type) {
  static const auto* table = new std::unordered_map<std::string_view, ControlFunction>{{"If", If}, {"Loop", Loop}};
  auto it = table->find(type);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace belay::graph
