#include "graph/control_flow.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/op_schema.h"
#include "graph/sequence.h"

namespace belay::graph {
namespace {

const Graph& Body(const Node& node, std::string_view attribute) {
  const auto* body = FindAttribute<std::shared_ptr<Graph>>(node, attribute);
  if (body == nullptr || *body == nullptr) {
    Fail(kGraphInvalid, "graph-attribute-missing", "node '{}' ({}) has no attribute '{}', which it needs",
         node.name, node.type, attribute);
  }
  return **body;
}

[[noreturn]] void Refuse(const Node& node, const std::string& reason) {
  Fail(kGraphInvalid, "graph-body", "node '{}' ({}): {}", node.name, node.type, reason);
}

// The inputs from `first` on, which a body takes, are there.
void NeedInputs(const Node& node, std::span<const Constant> inputs, size_t first) {
  for (size_t i = first; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) Refuse(node, "input " + std::to_string(i) + " is missing");
  }
}

// A number of inputs, of which there are `most`.
size_t CountAt(const Node& node, std::string_view name, size_t most) {
  const auto* count = FindAttribute<int64_t>(node, name);
  if (count != nullptr && *count >= 0 && static_cast<size_t>(*count) <= most)
    return static_cast<size_t>(*count);
  Refuse(node, std::string(name) + " is not from 0 to " + std::to_string(most));
}

void NeedOutputs(const Node& node, const Graph& body, size_t count) {
  if (body.outputs.size() < count)
    Refuse(node, "its body has fewer outputs than the " + std::to_string(count) + " that are carried on");
}

bool Holds(const Constant& condition) {
  if (condition->count() != 1) {
    Fail(kGraphInvalid, "graph-condition", "a condition must be one element, not {}",
         condition->shape().ToString());
  }
  return condition->Reals()[0] != 0;
}

// cond, then what the bodies read.
std::vector<Constant> If(const Node& node, std::span<const Constant> inputs, BodyRunner& bodies) {
  if (inputs.empty()) Refuse(node, "it has no condition");
  NeedInputs(node, inputs, 0);
  return bodies.RunBody(Body(node, Holds(inputs[0]) ? "then_branch" : "else_branch"), inputs.subspan(1));
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
std::vector<Constant> Loop(const Node& node, std::span<const Constant> inputs, BodyRunner& bodies) {
  const Graph& body = Body(node, "body");
  if (inputs.size() < 2) Refuse(node, "it has no place for the trips and the condition");
  NeedInputs(node, inputs, 2);
  const size_t rest = inputs.size() - 2;
  const size_t carried =
      FindAttribute<int64_t>(node, "carried") == nullptr ? rest : CountAt(node, "carried", rest);
  NeedOutputs(node, body, 1 + carried);
  if (inputs[0] != nullptr && inputs[0]->count() != 1) Refuse(node, "its number of trips is not one number");
  int64_t trips = inputs[0] != nullptr ? inputs[0]->Ints()[0] : INT64_MAX;
  bool going = inputs[1] == nullptr || Holds(inputs[1]);
  std::vector<Constant> values(inputs.begin() + 2, inputs.begin() + 2 + static_cast<ptrdiff_t>(carried));
  std::vector<std::vector<Constant>> gathered(body.outputs.size() - 1 - carried);
  for (int64_t trip = 0; trip < trips && going; ++trip) {
    std::vector<Constant> arguments{IntConstant(trip), IntConstant(going, DType::kBool)};
    arguments.insert(arguments.end(), values.begin(), values.end());
    arguments.insert(arguments.end(), inputs.begin() + 2 + static_cast<ptrdiff_t>(carried), inputs.end());
    std::vector<Constant> results = bodies.RunBody(body, arguments);
    going = Holds(results[0]);
    values.assign(results.begin() + 1, results.begin() + 1 + static_cast<ptrdiff_t>(carried));
    for (size_t i = 0; i < gathered.size(); ++i) gathered[i].push_back(results[1 + carried + i]);
  }
  for (Constant& all : StackAll(gathered)) values.push_back(std::move(all));
  return values;
}

int64_t NumberAt(const Node& node, std::string_view name, size_t i) {
  const auto* numbers = FindAttribute<std::vector<int64_t>>(node, name);
  return numbers == nullptr || i >= numbers->size() ? 0 : (*numbers)[i];
}

int AxisOf(const Node& node, std::string_view name, size_t i, int rank) {
  int64_t axis = NumberAt(node, name, i);
  if (axis < -rank || axis >= rank)
    Fail(kGraphInvalid, "graph-scan-axis", "node '{}': axis {} of {}", node.name, axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// Element `index` along an axis, as a tensor without it; or its place when `whole` is to be filled.
struct SliceWalk {
  int64_t outer = 1, inner_bytes, stride_bytes;

  SliceWalk(const HostTensor& whole, int axis) {
    int64_t inner = 1;
    for (int i = 0; i < axis; ++i) outer *= whole.shape()[i];
    for (int i = axis + 1; i < whole.shape().rank(); ++i) inner *= whole.shape()[i];
    inner_bytes = static_cast<int64_t>(PackedBytes(whole.dtype(), inner));
    stride_bytes = inner_bytes * whole.shape()[axis];
  }
};

Constant SliceOf(const HostTensor& whole, int axis, int64_t index) {
  auto slice = std::make_shared<HostTensor>(whole.dtype(), WithoutDim(whole.shape(), axis));
  SliceWalk walk(whole, axis);
  for (int64_t o = 0; o < walk.outer; ++o) {
    std::copy_n(whole.data() + o * walk.stride_bytes + index * walk.inner_bytes, walk.inner_bytes,
                slice->mutable_data() + o * walk.inner_bytes);
  }
  return slice;
}

// What Stacked gathered along the first axis, along another one.
Constant StackedAlong(const std::vector<Constant>& items, int axis) {
  Constant first = Stacked(items);
  if (axis == 0) return first;
  Shape shape;
  Shape one = items[0]->shape();
  for (int i = 0; i <= one.rank(); ++i) {
    shape.push_back(i == axis ? static_cast<int64_t>(items.size()) : one[i < axis ? i : i - 1]);
  }
  auto whole = std::make_shared<HostTensor>(first->dtype(), shape);
  SliceWalk walk(*whole, axis);
  for (size_t index = 0; index < items.size(); ++index) {
    for (int64_t o = 0; o < walk.outer; ++o) {
      std::copy_n(
          items[index]->data() + o * walk.inner_bytes, walk.inner_bytes,
          whole->mutable_data() + o * walk.stride_bytes + static_cast<int64_t>(index) * walk.inner_bytes);
    }
  }
  return whole;
}

// states, what is scanned, captured values. The body takes the states and a slice of each scanned tensor,
// and gives the states and what is gathered.
std::vector<Constant> Scan(const Node& node, std::span<const Constant> inputs, BodyRunner& bodies) {
  const Graph& body = Body(node, "body");
  NeedInputs(node, inputs, 0);
  const size_t states = CountAt(node, "states", inputs.size());
  const size_t scanned = CountAt(node, "scanned", inputs.size() - states);
  NeedOutputs(node, body, states);
  std::vector<Constant> values(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(states));
  std::span<const Constant> sequences = inputs.subspan(states, scanned),
                            captured = inputs.subspan(states + scanned);
  std::vector<int> axes;
  int64_t length = 0;
  for (size_t i = 0; i < scanned; ++i) {
    axes.push_back(AxisOf(node, "input_axes", i, sequences[i]->shape().rank()));
    const int64_t size = sequences[i]->shape()[axes[i]];
    if (i > 0 && size != length) Refuse(node, "it scans sequences of different lengths");
    length = size;
  }
  std::vector<std::vector<Constant>> gathered(body.outputs.size() - states);
  for (int64_t step = 0; step < length; ++step) {
    std::vector<Constant> arguments = values;
    for (size_t i = 0; i < scanned; ++i) {
      bool backwards = NumberAt(node, "input_directions", i) != 0;
      arguments.push_back(SliceOf(*sequences[i], axes[i], backwards ? length - 1 - step : step));
    }
    arguments.insert(arguments.end(), captured.begin(), captured.end());
    std::vector<Constant> results = bodies.RunBody(body, arguments);
    values.assign(results.begin(), results.begin() + static_cast<ptrdiff_t>(states));
    for (size_t i = 0; i < gathered.size(); ++i) {
      auto place = NumberAt(node, "output_directions", i) != 0 ? gathered[i].begin() : gathered[i].end();
      gathered[i].insert(place, results[states + i]);
    }
  }
  for (size_t i = 0; i < gathered.size(); ++i) {
    if (gathered[i].empty())
      Fail(kShapeInvalid, "graph-scan-empty", "node '{}' scans a sequence without elements", node.name);
    values.push_back(
        StackedAlong(gathered[i], AxisOf(node, "output_axes", i, gathered[i][0]->shape().rank() + 1)));
  }
  return values;
}

// Sequences, the first of all, and tensors that are the same for all, then captured values. The body takes a
// member of each sequence and the rest as it is, and gives a member of each result.
std::vector<Constant> SequenceMap(const Node& node, std::span<const Constant> inputs, BodyRunner& bodies) {
  const Graph& body = Body(node, "body");
  NeedInputs(node, inputs, 0);
  const size_t mapped = CountAt(node, "mapped", inputs.size());
  if (mapped == 0 || inputs[0]->members() == nullptr) Refuse(node, "its first input is no sequence");
  const size_t length = inputs[0]->members()->size();
  std::vector<HostTensor::Members> results(body.outputs.size());
  for (size_t at = 0; at < length; ++at) {
    std::vector<Constant> arguments(inputs.begin(), inputs.end());
    for (size_t i = 0; i < mapped; ++i) {
      const HostTensor::Members* members = inputs[i]->members();
      if (members == nullptr) continue;
      if (members->size() != length) Refuse(node, "its sequences are of different lengths");
      arguments[i] = (*members)[at];
    }
    std::vector<Constant> given = bodies.RunBody(body, arguments);
    for (size_t i = 0; i < results.size(); ++i) {
      if (given[i]->members() != nullptr)
        Refuse(node, "its body gives a sequence, which no sequence can hold");
      results[i].push_back(std::move(given[i]));
    }
  }
  std::vector<Constant> sequences;
  for (HostTensor::Members& members : results)
    sequences.push_back(std::make_shared<HostTensor>(std::move(members)));
  return sequences;
}

void CheckBody(const Node& node, std::string_view attribute, size_t takes, size_t gives) {
  const Graph& body = Body(node, attribute);
  if (body.inputs.size() != takes || body.outputs.size() < gives) {
    Refuse(node,
           fmt::format("its '{}' takes {} inputs and gives {} outputs, but {} and at least {} are wanted",
                       attribute, body.inputs.size(), body.outputs.size(), takes, gives));
  }
  for (const Node& inner : body.nodes) CheckControl(inner);
}

void CheckPorts(const Node& node) {
  const OpSchema* schema = FindOp(node.type);
  for (size_t i = 0; schema != nullptr && i < schema->inputs.size(); ++i) {
    const PortSchema& port = schema->inputs[i];
    const bool given = i < node.inputs.size() && node.inputs[i].present();
    if (given || port.kind != PortKind::kRequired) continue;
    Fail(kGraphInvalid, "graph-input-absent", "node '{}' ({}) lacks its input '{}'", node.name, node.type,
         port.name);
  }
}

}  // namespace

void CheckControl(const Node& node) {
  if (FindControl(node.type) == nullptr) return;
  CheckPorts(node);
  const size_t inputs = node.inputs.size(), outputs = static_cast<size_t>(node.outputs);
  if (node.type == "If") {
    for (const char* branch : {"then_branch", "else_branch"}) CheckBody(node, branch, inputs - 1, outputs);
  } else if (node.type == "Loop") {
    if (inputs < 2) Refuse(node, "it has no place for the trips and the condition");
    CheckBody(node, "body", inputs, 1 + outputs);
  } else if (node.type == "Scan" || node.type == "SequenceMap") {
    CheckBody(node, "body", inputs, outputs);
  } else if (outputs > 1) {
    Refuse(node, "it has one output");
  }
}

ControlFunction FindControl(std::string_view type) {
  static const auto* table = new std::unordered_map<std::string_view, ControlFunction>{
      {"If", If}, {"Loop", Loop}, {"Scan", Scan}, {"SequenceMap", SequenceMap}};
  auto it = table->find(type);
  return it == table->end() ? FindSequenceOp(type) : it->second;
}

}  // namespace belay::graph
