#include "ge/operator_impl.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/graph_impl.h"

namespace ge {
namespace {

using belay::graph::PortKind;

template <class Slots>
int Named(const Slots& slots, std::string_view name) {
  auto it = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.name == name; });
  return it == slots.end() ? -1 : static_cast<int>(it - slots.begin());
}

// Where the entries of a list begin: behind what stands before it in the schema.
size_t BeginOf(std::span<const belay::graph::PortSchema> ports, const std::map<std::string, uint32_t>& lists,
               const std::string& list) {
  size_t at = 0;
  for (const auto& port : ports) {
    if (port.name == list) break;
    auto it = lists.find(port.name);
    at += port.kind != PortKind::kDynamic ? 1 : it == lists.end() ? 0 : it->second;
  }
  return at;
}

template <class T>
void Resize(std::vector<T>& slots, size_t begin, uint32_t old, uint32_t count, const std::string& list) {
  begin = std::min(begin, slots.size());
  auto at = slots.begin() + static_cast<std::ptrdiff_t>(begin);
  if (count < old) slots.erase(at + count, at + old);
  for (uint32_t i = old; i < count; ++i) {
    T slot;
    slot.name = list + std::to_string(i);
    slots.insert(slots.begin() + static_cast<std::ptrdiff_t>(begin + i), std::move(slot));
  }
}

}  // namespace

// Who read it last hands it over; `ending` is a list.
void OperatorImpl::End(NodePtr& read, NodePtr& ending) {
  if (read.use_count() != 1) return read.reset();
  read->next_ending_ = std::move(ending);
  ending = std::move(read);
}

OperatorImpl::~OperatorImpl() {
  static constinit thread_local NodePtr* t_ending = nullptr;  // of the destructor that empties the list
  NodePtr mine = std::move(next_ending_);
  NodePtr& ending = t_ending == nullptr ? mine : *t_ending;
  for (InputSlot& slot : inputs) End(slot.source, ending);
  for (NodePtr& node : after) End(node, ending);
  if (t_ending != nullptr) return;
  t_ending = &mine;
  while (mine != nullptr) {
    const NodePtr node = std::exchange(mine, std::move(mine->next_ending_));
  }
  t_ending = nullptr;
}

NodePtr OperatorImpl::Make(std::string name, std::string type) {
  auto node = std::make_shared<OperatorImpl>();
  node->schema = belay::graph::FindOp(type);
  node->name = std::move(name);
  node->type = std::move(type);
  if (node->schema == nullptr) return node;
  for (const auto& port : node->schema->inputs) {
    if (port.kind == PortKind::kDynamic) continue;
    node->inputs.emplace_back().name = port.name;
  }
  for (const auto& port : node->schema->outputs) {
    if (port.kind == PortKind::kDynamic) continue;
    node->outputs.emplace_back().name = port.name;
  }
  return node;
}

Operator OperatorImpl::Facade(NodePtr node) {
  Operator op;
  op.operator_impl_ = std::move(node);
  return op;
}

const belay::graph::AttributeSchema* OperatorImpl::SchemaOf(std::string_view attribute) const {
  if (schema == nullptr) return nullptr;
  for (const auto& row : schema->attributes) {
    if (row.name == attribute) return &row;
  }
  return nullptr;
}

int OperatorImpl::InputNamed(std::string_view input) const { return Named(inputs, input); }
int OperatorImpl::OutputNamed(std::string_view output) const { return Named(outputs, output); }

InputSlot* OperatorImpl::Input(int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(inputs.size()) ? &inputs[static_cast<size_t>(number)]
                                                                     : nullptr;
}
Slot* OperatorImpl::Output(int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(outputs.size()) ? &outputs[static_cast<size_t>(number)]
                                                                      : nullptr;
}

void OperatorImpl::ResizeInputs(const std::string& list, uint32_t count) {
  uint32_t& old = input_lists[list];
  size_t begin = schema == nullptr ? inputs.size() - old : BeginOf(schema->inputs, input_lists, list);
  Resize(inputs, begin, old, count, list);
  old = count;
}
void OperatorImpl::ResizeOutputs(const std::string& list, uint32_t count) {
  uint32_t& old = output_lists[list];
  size_t begin = schema == nullptr ? outputs.size() - old : BeginOf(schema->outputs, output_lists, list);
  Resize(outputs, begin, old, count, list);
  old = count;
}
int OperatorImpl::CountOf(const std::map<std::string, uint32_t>& lists, const std::string& list) const {
  auto it = lists.find(list);
  return it == lists.end() ? 0 : static_cast<int>(it->second);
}

void OperatorImpl::Connect(int input, const NodePtr& from, int output) {
  InputSlot& slot = inputs[static_cast<size_t>(input)];
  slot.source = from;
  slot.output = output;
  from->users_.push_back(weak_from_this());
}
void OperatorImpl::Disconnect(int input) { inputs[static_cast<size_t>(input)].source = nullptr; }

void OperatorImpl::Follow(const NodePtr& before) {
  if (std::find(after.begin(), after.end(), before) != after.end()) return;
  after.push_back(before);
  before->users_.push_back(weak_from_this());
}

void OperatorImpl::BreakConnections() {
  for (InputSlot& slot : inputs) slot.source = nullptr;
  after.clear();
  for (const NodePtr& user : Users()) {
    for (InputSlot& slot : user->inputs) {
      if (slot.source.get() == this) slot.source = nullptr;
    }
    std::erase_if(user->after, [this](const NodePtr& node) { return node.get() == this; });
  }
  users_.clear();
}

// Each once, and only those that still read this node.
std::vector<NodePtr> OperatorImpl::Users() const {
  std::vector<NodePtr> users;
  std::unordered_set<const OperatorImpl*> seen;
  for (const auto& weak : users_) {
    NodePtr user = weak.lock();
    if (user == nullptr || !seen.insert(user.get()).second) continue;
    bool reads = std::any_of(user->inputs.begin(), user->inputs.end(),
                             [this](const InputSlot& slot) { return slot.source.get() == this; });
    bool follows = std::any_of(user->after.begin(), user->after.end(),
                               [this](const NodePtr& node) { return node.get() == this; });
    if (reads || follows) users.push_back(std::move(user));
  }
  return users;
}

bool OperatorImpl::ConstantInput(int input, Tensor* value) {
  const InputSlot* slot = Input(input);
  if (slot == nullptr || slot->source == nullptr) return false;
  if (slot->source->type != "Const" && slot->source->type != "Constant") return false;
  auto it = slot->source->attributes.find("value");
  return it != slot->source->attributes.end() && Get(it->second, value);
}

std::vector<std::pair<std::string, std::shared_ptr<belay::graph::Graph>>> OperatorImpl::Bodies() {
  std::vector<std::pair<std::string, std::shared_ptr<belay::graph::Graph>>> bodies;
  for (const auto& [key, value] : attributes) {
    if (const auto* graph = std::get_if<std::shared_ptr<belay::graph::Graph>>(&value))
      bodies.emplace_back(key, *graph);
  }
  for (const auto& [key, builder] : builders) {
    Graph body = builder();
    bodies.emplace_back(key.first, std::make_shared<belay::graph::Graph>(
                                       GraphImpl::Of(static_cast<const Graph&>(body)).Lower()));
  }
  return bodies;
}

}  // namespace ge
