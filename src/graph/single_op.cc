#include "graph/single_op.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "graph/codes.h"
#include "graph/described.h"
#include "graph/op_schema.h"
#include "graph/tiled_ports.h"
#include "graph/translation.h"
#include "runtime/context.h"

namespace belay::graph {

constinit HandleTable<OpAttributes, HandleKind::kOpAttributes> g_op_attributes;
constinit HandleTable<OpHandle, HandleKind::kOpHandle> g_op_handles;

namespace {

[[maybe_unused]] const bool g_single_op_at_fork = UnlockInChild<g_op_attributes, g_op_handles>();

// The sequences that single operators draw their random numbers from. They outlive the instances, so that a
// sequence does not begin again when an instance is forgotten; the latest are kept, and those in use.
class Sequences {
 public:
  std::shared_ptr<ops::RandomSequence> For(int device, const Node& node) {
    std::string key = node.type + '\0' + std::to_string(device);
    for (const char* seed : {"seed", "seed2"}) {
      const auto* number = FindAttribute<int64_t>(node, seed);
      key += ' ' + std::to_string(number == nullptr ? 0 : *number);
    }
    if (auto found = at_.find(key); found != at_.end()) return found->second->second;
    auto sequence = NewSequence(node);
    at_[key] = kept_.emplace(kept_.end(), key, sequence);
    if (kept_.size() > kMost) ForgetOne();
    return sequence;
  }

 private:
  static constexpr size_t kMost = size_t{1} << 16;
  using Kept = std::list<std::pair<std::string, std::shared_ptr<ops::RandomSequence>>>;

  void ForgetOne() {
    auto it = std::find_if(kept_.begin(), kept_.end(),
                           [](const auto& entry) { return entry.second.use_count() == 1; });
    if (it == kept_.end()) return;
    at_.erase(it->first);
    kept_.erase(it);
  }

  Kept kept_;  // the oldest first
  std::unordered_map<std::string, Kept::iterator> at_;
};

struct PreparedOps {
  std::mutex lock;
  std::unordered_map<std::string, std::shared_ptr<Instance>> ops;
  Sequences sequences;
  size_t most = 1024;
};
PreparedOps& ThePrepared() { return PerProcess<PreparedOps>::Get(); }

void Append(std::string& key, const void* bytes, size_t count) {
  key.append(static_cast<const char*>(bytes), count);
}

template <class T>
void AppendNumbers(std::string& key, std::span<const T> numbers) {
  size_t count = numbers.size();
  Append(key, &count, sizeof count);
  Append(key, numbers.data(), numbers.size_bytes());
}

struct KeyOfAttribute {
  std::string& key;
  void operator()(int64_t v) const { Append(key, &v, sizeof v); }
  void operator()(double v) const { Append(key, &v, sizeof v); }
  void operator()(bool v) const { key += v ? 't' : 'f'; }
  void operator()(DType v) const { key += static_cast<char>(v); }
  void operator()(const std::string& v) const { key += v + '\0'; }
  void operator()(const std::vector<int64_t>& v) const { AppendNumbers<int64_t>(key, v); }
  void operator()(const std::vector<double>& v) const { AppendNumbers<double>(key, v); }
  void operator()(const std::vector<std::string>& v) const {
    for (const std::string& text : v) key += text + '\0';
  }
  void operator()(const Constant& v) const {
    if (v != nullptr) Append(key, v->data(), v->bytes());
  }
  void operator()(const std::shared_ptr<Graph>&) const {}
};

void AppendType(std::string& key, const ValueType& type) {
  key += static_cast<char>(type.dtype);
  key += type.rank_known ? 'k' : 'u';
  AppendNumbers<int64_t>(key, {type.shape.data(), static_cast<size_t>(type.shape.rank())});
}

// What two calls must have in common to be the same to us.
std::string KeyOf(int device, const SingleOp& op) {
  std::string key = op.type + '\0';
  key += static_cast<char>(device);
  key += static_cast<char>(op.outputs);
  for (const OpArgument& input : op.inputs) {
    key += input.present ? static_cast<char>(input.type.dtype) : '-';
    key += static_cast<char>(input.type.format);
    AppendNumbers<int64_t>(key, {input.type.shape.data(), static_cast<size_t>(input.type.shape.rank())});
    if (input.value != nullptr) Append(key, input.value->data(), input.value->bytes());
    AppendNumbers<int64_t>(key, input.tiles);
  }
  for (const std::vector<int64_t>& tiles : op.result_tiles) AppendNumbers<int64_t>(key, tiles);
  for (const ValueType& result : op.results) AppendType(key, result);
  for (const auto& [name, value] : op.attributes) {
    key += name + '\0';
    key += static_cast<char>(value.index());
    std::visit(KeyOfAttribute{key}, value);
  }
  return key;
}

// How a filter lies, where its description says it: it need not be as data_format has it for the image.
const char* FilterFormat(const SingleOp& op) {
  constexpr size_t kFilter = 1;
  if (op.inputs.size() <= kFilter) return nullptr;
  switch (op.inputs[kFilter].type.format) {
    case Format::kNCHW:
      return "NCHW";
    case Format::kNCDHW:
      return "NCDHW";
    case Format::kHWCN:
      return "HWCN";
    default:
      return nullptr;
  }
}

bool HasFilterFormat(const OpSchema* schema) {
  return schema != nullptr &&
         std::any_of(schema->attributes.begin(), schema->attributes.end(), [](const auto& attribute) {
           return std::string_view(attribute.name) == "filter_format";
         });
}

}  // namespace

Node NodeOf(const SingleOp& op) {
  Node node{.name = op.type, .type = op.type};
  node.attributes = op.attributes;
  node.outputs = op.outputs;
  const char* format = FilterFormat(op);
  if (format != nullptr && HasFilterFormat(FindOp(op.type)))
    node.attributes.emplace("filter_format", std::string(format));
  return node;
}

namespace {

Port ConvertedAsDescribed(Graph& graph, const SingleOp& op, const Port& port) {
  const auto output = static_cast<size_t>(port.output);
  if (output >= op.results.size() || !IsConverted(op.type, op.results[output].dtype, output)) return port;
  Node cast{.name = "output" + std::to_string(output), .type = "Cast", .inputs = {port}};
  cast.attributes["dst_type"] = op.results[output].dtype;
  return {graph.Add(std::move(cast))};
}

// The dimensions of what is stored.
ValueType StoredType(const ValueType& type, const std::vector<int64_t>& tiles) {
  if (tiles.empty()) return type;
  return {type.dtype, type.format, true, Shape::Of(tiles.data(), static_cast<int>(tiles.size()))};
}

Port InputOf(Graph& graph, const std::string& name, const OpArgument& input) {
  const Port stored{graph.AddInput(name, StoredType(input.type, input.tiles))};
  return input.tiles.empty() ? stored : OutOfTiles(graph, stored, input.tiles, input.type.shape);
}

const std::vector<int64_t>& TilesOfResult(const SingleOp& op, size_t output) {
  static const std::vector<int64_t> kNone;
  return output < op.result_tiles.size() ? op.result_tiles[output] : kNone;
}

// A result that is not as it is described would lie elsewhere in the tiles.
Port ResultOf(Graph& graph, const SingleOp& op, const Port& port) {
  const Port result = ConvertedAsDescribed(graph, op, port);
  const auto output = static_cast<size_t>(port.output);
  const std::vector<int64_t>& tiles = TilesOfResult(op, output);
  if (tiles.empty()) return result;
  const std::vector<ValueType> types = InferOutputs(op);
  NeedAsDescribed(op.type, op.results, output, types[output]);
  return IntoTiles(graph, result, tiles, op.results[output].shape);
}

}  // namespace

Graph GraphOf(const SingleOp& op) {
  Graph graph;
  graph.name = op.type;
  Node node = NodeOf(op);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const OpArgument& input = op.inputs[i];
    std::string name = "input" + std::to_string(i);
    if (!input.present) {
      node.inputs.push_back({});
    } else if (input.value != nullptr) {
      node.inputs.push_back(graph.AddConstant(name, input.value));
      graph.nodes.back().types[0].format = input.type.format;
    } else {
      node.inputs.push_back(InputOf(graph, name, input));
    }
  }
  while (!node.inputs.empty() && !node.inputs.back().present()) node.inputs.pop_back();
  int number = graph.Add(std::move(node));
  for (int i = 0; i < op.outputs; ++i) {
    graph.outputs.push_back({ResultOf(graph, op, {number, i}), "output" + std::to_string(i)});
  }
  return graph;
}

namespace {

bool GivesWhatIsDescribed(const SingleOp& op) {
  try {
    return InferOutputs(op)[0].shape == op.results[0].shape;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void FitPads(SingleOp& op) {
  auto found = op.attributes.find("pads");
  if (found == op.attributes.end() || op.results.empty() || !op.results[0].concrete()) return;
  const auto* pads = std::get_if<std::vector<int64_t>>(&found->second);
  if (pads == nullptr || pads->size() % 2 != 0) return;
  const size_t half = pads->size() / 2;
  std::vector<int64_t> ours;
  for (size_t d = 0; d < half; ++d) ours.insert(ours.end(), {(*pads)[d], (*pads)[half + d]});
  if (ours == *pads || GivesWhatIsDescribed(op)) return;
  SingleOp other = op;
  other.attributes["pads"] = std::move(ours);
  if (GivesWhatIsDescribed(other)) op = std::move(other);
}

std::shared_ptr<Instance> InstanceOf(rt::Device& device, const SingleOp& op) {
  std::string key = KeyOf(device.id(), op);
  PreparedOps& prepared = ThePrepared();
  {
    std::lock_guard guard(prepared.lock);
    auto it = prepared.ops.find(key);
    if (it != prepared.ops.end() && it->second->alive()) return it->second;
  }
  SingleOp fitted = op;
  FitTypes(op.type, op.results, fitted.attributes);
  Graph graph = GraphOf(fitted);
  if (const OpSchema* schema = FindOp(op.type); schema != nullptr && schema->Is(kTraitRandom)) {
    std::lock_guard guard(prepared.lock);
    Node& node = *std::find_if(graph.nodes.begin(), graph.nodes.end(),
                               [&](const Node& n) { return n.type == op.type; });
    node.sequence = prepared.sequences.For(device.id(), node);
  }
  std::vector<ValueType> types;
  for (int input : graph.inputs) types.push_back(graph.nodes[static_cast<size_t>(input)].types[0]);
  std::vector<ValueType> described;
  for (size_t i = 0; i < op.results.size(); ++i)
    described.push_back(StoredType(op.results[i], TilesOfResult(op, i)));
  std::shared_ptr<Instance> instance = MakeInstance(device, graph, types, {.described = described});
  std::unordered_map<std::string, std::shared_ptr<Instance>> gone;
  std::lock_guard guard(prepared.lock);
  if (prepared.ops.size() >= prepared.most) gone.swap(prepared.ops);
  prepared.ops[key] = instance;
  return instance;
}

std::vector<ValueType> InferOutputs(const SingleOp& op) {
  std::vector<KnownInput> known;
  for (const OpArgument& input : op.inputs) {
    known.push_back({input.present, input.type.dtype, input.type.shape, input.value, input.value != nullptr});
  }
  while (!known.empty() && !known.back().present) known.pop_back();
  Node node = NodeOf(op);
  std::vector<ValueType> types;
  try {
    Translated translated = TranslateNode(node, known);
    for (int i = 0; i < translated.outputs; ++i) {
      const LocalValue& value = translated.values[static_cast<size_t>(translated.inputs + i)];
      types.push_back({value.dtype, Format::kND, true, value.shape});
    }
  } catch (const NeedsValue& needs) {
    Fail(codes::kInvalidParam, "op-shape-open",
         "the elements of input {} of {} decide the shape of the result; pass them", needs.input, op.type);
  }
  return types;
}

bool IsPrepared(rt::Device& device, const SingleOp& op) {
  PreparedOps& prepared = ThePrepared();
  std::lock_guard guard(prepared.lock);
  return prepared.ops.count(KeyOf(device.id(), op)) != 0;
}

void SetMostKept(size_t count) {
  PreparedOps& prepared = ThePrepared();
  std::lock_guard guard(prepared.lock);
  prepared.most = count;
}

void ForgetPreparedOps() {
  std::unordered_map<std::string, std::shared_ptr<Instance>> gone;
  PreparedOps& prepared = ThePrepared();
  std::lock_guard guard(prepared.lock);
  gone.swap(prepared.ops);
  prepared.sequences = {};
}

}  // namespace belay::graph
