#include "graph/single_op_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "graph/codes.h"
#include "graph/described.h"
#include "graph/op_schema.h"
#include "runtime/context.h"

namespace belay::graph {
namespace {

constexpr int kOpNotFound = codes::kOpNotFound;
constexpr int kFolders = 3;  // the folder itself, those in it, and those in them

struct Loaded {
  std::mutex lock;
  std::unordered_map<std::string, std::vector<SingleOp>> ops;  // by type
  bool has_folder = false;
};
Loaded& TheLoaded() { return PerProcess<Loaded>::Get(); }

bool ServesType(const ValueType& built, const ValueType& asked) {
  if (built.dtype != asked.dtype || built.format != asked.format) return false;
  if (!built.rank_known) return true;
  if (!asked.rank_known || built.shape.rank() != asked.shape.rank()) return false;
  return std::equal(built.shape.begin(), built.shape.end(), asked.shape.begin(),
                    [](int64_t have, int64_t want) { return have == kUnknownDim || have == want; });
}

bool SameElements(const HostTensor& a, const HostTensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool ServesArgument(const OpArgument& built, const OpArgument& asked) {
  if (built.present != asked.present || (built.value == nullptr) != (asked.value == nullptr)) return false;
  if (!built.present) return true;
  return ServesType(built.type, asked.type) &&
         (built.value == nullptr || SameElements(*built.value, *asked.value));
}

// Arguments without the absent ones at the end, which a caller may leave out.
std::span<const OpArgument> Given(const SingleOp& op) {
  size_t count = op.inputs.size();
  while (count > 0 && !op.inputs[count - 1].present) --count;
  return {op.inputs.data(), count};
}

// The value, or what the operator has when none is given.
std::optional<Attribute> ValueOf(const SingleOp& op, const AttributeSchema& schema) {
  const Node node = NodeOf(op);
  if (schema.required && node.attributes.find(schema.name) == node.attributes.end()) return std::nullopt;
  Attribute value = AttributeOf(node, schema);
  const auto* whole = std::get_if<int64_t>(&value);
  return schema.kind == AttributeKind::kFloat && whole != nullptr ? static_cast<double>(*whole) : value;
}

bool SameValue(const std::optional<Attribute>& a, const std::optional<Attribute>& b) {
  const auto* first = a ? std::get_if<Constant>(&*a) : nullptr;
  const auto* second = b ? std::get_if<Constant>(&*b) : nullptr;
  if (first == nullptr || second == nullptr || *first == nullptr || *second == nullptr) return a == b;
  return SameElements(**first, **second);
}

bool SameAttributes(const SingleOp& built, const SingleOp& asked) {
  const OpSchema* schema = FindOp(built.type);
  if (schema == nullptr) return false;
  return std::all_of(schema->attributes.begin(), schema->attributes.end(),
                     [&](const AttributeSchema& attribute) {
                       return SameValue(ValueOf(built, attribute), ValueOf(asked, attribute));
                     });
}

// How an operator is told from others of its type, for messages: "Add(ACL_FLOAT [2, 3], ACL_FLOAT [3])".
std::string Signature(const SingleOp& op) {
  std::vector<std::string> arguments;
  for (const OpArgument& input : Given(op)) {
    std::string text = input.present ? input.type.ToString() : "-";
    arguments.push_back(input.value == nullptr ? text : text + " constant");
  }
  std::vector<std::string> results;
  for (const ValueType& result : op.results) results.push_back(result.ToString());
  return fmt::format("{}({}) -> {}", op.type, fmt::join(arguments, ", "), fmt::join(results, ", "));
}

void CheckResults(const SingleOp& op) {
  if (static_cast<int>(op.results.size()) != op.outputs) {
    Fail(kGraphInvalid, "op-results", "{} has {} outputs, but {} are described", op.type, op.outputs,
         op.results.size());
  }
  bool open = std::any_of(op.inputs.begin(), op.inputs.end(),
                          [](const OpArgument& input) { return input.present && !input.type.concrete(); });
  if (open) return;  // checked when it is called, with the sizes that it is called with
  SingleOp fitted = op;
  FitTypes(op.type, op.results, fitted.attributes);
  std::vector<ValueType> types = InferOutputs(fitted);
  for (size_t i = 0; i < types.size(); ++i) NeedAsDescribed(op.type, op.results, i, types[i]);
}

void LoadFile(const std::filesystem::path& path) {
  try {
    LoadSingleOp(SingleOpOf(ReadModelFile(path.string())));
  } catch (const Error& error) {
    Fail(error.code(), error.id(), "'{}': {}", path.string(), error.sentence());
  }
}

}  // namespace

ModelFile SingleOpModel(const SingleOp& op) {
  if (FindOp(op.type) == nullptr) {
    Fail(kUnsupported, "graph-op-unknown", "there is no operator '{}' in this version", op.type);
  }
  CheckResults(op);
  ModelFile file{GraphOf(op), {}, {{kSingleOpOption, op.type}}};
  for (size_t i = 0; i < op.results.size(); ++i) file.graph.outputs[i].declared = op.results[i];
  return file;
}

SingleOp SingleOpOf(const ModelFile& file) {
  Graph graph = file.graph;
  SortNodes(graph);  // which also refuses edges that lead nowhere
  auto type = file.options.find(kSingleOpOption);
  auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& candidate) {
    return type != file.options.end() && candidate.type == type->second;
  });
  if (node == graph.nodes.end() || static_cast<size_t>(node->outputs) != graph.outputs.size()) {
    Fail(kModelLoad, "op-model",
         "the model is not that of a single operator; networks are loaded with aclmdlLoadFromFile");
  }
  SingleOp op{node->type, {}, node->outputs, node->attributes};
  for (const Port& port : node->inputs) {
    OpArgument& input = op.inputs.emplace_back(OpArgument{port.present(), {}, nullptr});
    if (!port.present()) continue;
    const Node& source = graph.nodes[static_cast<size_t>(port.node)];
    if (source.types.empty())
      Fail(kModelLoad, "op-model", "the model does not tell the type of input '{}'", source.name);
    input.value = ConstantOf(source);
    input.type = source.types[0];
  }
  for (const GraphOutput& output : graph.outputs) op.results.push_back(output.declared);
  return op;
}

void LoadSingleOp(SingleOp op) {
  Loaded& loaded = TheLoaded();
  std::lock_guard guard(loaded.lock);
  std::vector<SingleOp>& same = loaded.ops[op.type];
  bool there =
      std::any_of(same.begin(), same.end(), [&](const SingleOp& other) { return Serves(other, op); });
  if (!there) same.push_back(std::move(op));
}

void LoadSingleOps(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder)) {
    Fail(kFileUnreadable, "op-model-dir", "'{}' is no folder; name the one that atc --singleop wrote to",
         folder);
  }
  Loaded& loaded = TheLoaded();
  {
    std::lock_guard guard(loaded.lock);
    if (loaded.has_folder) {
      Fail(codes::kRepeatInitialize, "op-model-dir-again",
           "aclopSetModelDir may be called once; load further operators with aclopLoad");
    }
  }
  std::error_code error;  // folders that may not be read are passed over
  const auto memory = [&] {
    if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  };
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
  for (memory(); entry != end; entry.increment(error), memory()) {
    if (entry.depth() + 1 >= kFolders) entry.disable_recursion_pending();
    std::error_code unknown;
    if (entry->is_regular_file(unknown) && entry->path().extension() == ".om") LoadFile(entry->path());
  }
  std::lock_guard guard(loaded.lock);
  loaded.has_folder = true;
}

void NeedLoaded(rt::Device& device, const SingleOp& op) {
  Loaded& loaded = TheLoaded();
  std::string nearest;
  {
    std::lock_guard guard(loaded.lock);
    if (loaded.ops.empty()) return;
    auto same = loaded.ops.find(op.type);
    if (same != loaded.ops.end()) {
      for (const SingleOp& built : same->second) {
        if (Serves(built, op)) return;
        nearest = Signature(built);
      }
    }
  }
  if (IsPrepared(device, op)) return;
  Fail(kOpNotFound, "op-not-loaded", "no model was loaded for {}; {}", Signature(op),
       nearest.empty() ? "compile one with atc --singleop"
                       : "there is one for " + nearest + ", perhaps with other attributes");
}

void ForgetLoadedOps() {
  Loaded& loaded = TheLoaded();
  std::lock_guard guard(loaded.lock);
  loaded.ops.clear();
  loaded.has_folder = false;
}

bool Serves(const SingleOp& built, const SingleOp& asked) {
  auto have = Given(built), want = Given(asked);
  return built.type == asked.type && built.outputs == asked.outputs &&
         std::equal(have.begin(), have.end(), want.begin(), want.end(), ServesArgument) &&
         std::equal(built.results.begin(), built.results.end(), asked.results.begin(), asked.results.end(),
                    ServesType) &&
         SameAttributes(built, asked);
}

}  // namespace belay::graph
