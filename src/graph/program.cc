#include "graph/program.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "base/copy_memory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "graph/codes.h"
#include "graph/translation.h"

namespace belay::graph {
namespace {

char* Behind(char* base, int64_t offset) {
  return reinterpret_cast<char*>(reinterpret_cast<intptr_t>(base) + static_cast<intptr_t>(offset));
}

}  // namespace

ModelPort PortOf(std::string name, const ValueType& type) {
  ModelPort port{std::move(name), type, 0};
  if (type.concrete()) port.bytes = PackedBytes(type.dtype, CountOf(type.shape));
  return port;
}

std::vector<ModelPort> InputPorts(const Graph& graph) {
  std::vector<ModelPort> ports;
  for (int input : graph.inputs) {
    const Node& node = graph.nodes[static_cast<size_t>(input)];
    ports.push_back(PortOf(node.name, node.types[0]));
  }
  return ports;
}

std::vector<ModelPort> OutputPorts(const Graph& graph) {
  std::vector<ModelPort> ports;
  for (const GraphOutput& output : graph.outputs) {
    const Node& node = graph.nodes[static_cast<size_t>(output.port.node)];
    const ValueType& type = node.types[static_cast<size_t>(output.port.output)];
    ports.push_back(PortOf(output.name, type.rank_known ? type : output.declared));
  }
  return ports;
}

// Builds a program node by node. A storage is a stretch of memory; several values may be views of one.
class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& graph, Program& program) : graph_(graph), program_(program) {}

  void Build() {
    constexpr size_t kMostPorts = UINT16_MAX - kFirstPortBase;
    if (const size_t ports = graph_.inputs.size() + graph_.outputs.size(); ports > kMostPorts) {
      Fail(kGraphInvalid, "graph-ports", "graph '{}' has {} inputs and outputs; at most {} are supported",
           graph_.name, ports, kMostPorts);
    }
    values_.resize(graph_.nodes.size());
    TranslateAhead();
    for (size_t i = 0; i < graph_.inputs.size(); ++i) AddInput(i);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) AddNode(n);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) AddOutput(i);
    ShareInPlace();
    PlaceWork();
    AddEdges();
    PlaceBindings();
    program_.weight_bytes_ = ConstantBytes(graph_);
  }

 private:
  struct Storage {
    enum Kind : uint8_t { kWork, kConstant, kPort } kind = kWork;
    uint64_t bytes = 0;
    Constant constant;          // kConstant
    Place place;                // of kConstant and kPort from the start, of kWork when planned
    int first = -1, last = -1;  // kernels that touch it
  };
  struct Value {
    DType dtype;
    Shape shape;
    int storage;
    Constant constant;
  };
  // A binding of a kernel before places are known.
  struct Use {
    int storage;
    bool writes;
  };

  int NewStorage(uint64_t bytes) {
    storages_.push_back({Storage::kWork, bytes, nullptr, {}, -1, -1});
    return static_cast<int>(storages_.size()) - 1;
  }

  int NewConstant(Constant constant) {
    auto [it, fresh] = constants_.try_emplace(constant.get(), 0);
    if (fresh) {
      it->second = NewStorage(constant->bytes());
      storages_.back().kind = Storage::kConstant;
      storages_.back().constant = std::move(constant);
    }
    return it->second;
  }

  int NewPort(size_t number, uint64_t bytes) {
    int storage = NewStorage(bytes);
    MakePort(storage, number);
    return storage;
  }
  void MakePort(int storage, size_t number) {
    Storage& s = storages_[static_cast<size_t>(storage)];
    s.kind = Storage::kPort;
    s.place = {static_cast<uint16_t>(kFirstPortBase + number), true, 0};
  }

  void AddInput(size_t index) {
    auto node = static_cast<size_t>(graph_.inputs[index]);
    const ValueType& type = graph_.nodes[node].types[0];
    program_.inputs_.push_back(PortOf(graph_.nodes[node].name, type));
    values_[node] = {{type.dtype, type.shape, NewPort(index, program_.inputs_.back().bytes), nullptr}};
  }

  Value* Find(const Port& port) {
    if (!port.present()) return nullptr;
    return &values_[static_cast<size_t>(port.node)][static_cast<size_t>(port.output)];
  }

  // Kernels are generated on all cores. What fails here is translated again in its turn, and says why.
  void TranslateAhead() {
    ahead_.resize(graph_.nodes.size());
    ParallelFor(static_cast<int64_t>(ahead_.size()), 1, [this](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) TranslateAhead(static_cast<size_t>(n));
    });
  }

  void TranslateAhead(size_t n) {
    const Node& node = graph_.nodes[n];
    if (node.type == kDataType || ConstantOf(node) != nullptr) return;
    std::vector<KnownInput> known;
    for (const Port& port : node.inputs) {
      if (!port.present()) {
        known.push_back({});
        continue;
      }
      const Node& from = graph_.nodes[static_cast<size_t>(port.node)];
      const ValueType& type = from.types[static_cast<size_t>(port.output)];
      if (!type.concrete()) return;
      Constant value = ConstantOf(from);
      known.push_back({true, type.dtype, type.shape, value, value != nullptr});
    }
    try {
      ahead_[n] = TranslateNode(node, known);
    } catch (const Error&) {
    } catch (const NeedsValue&) {
    }
  }

  void AddNode(size_t n) {
    const Node& node = graph_.nodes[n];
    if (node.type == kDataType) return;
    if (Constant constant = ConstantOf(node)) {
      values_[n] = {{constant->dtype(), constant->shape(), -1, constant}};
      return;
    }
    std::vector<KnownInput> known;
    for (const Port& port : node.inputs) {
      const Value* value = Find(port);
      known.push_back(value == nullptr ? KnownInput{}
                                       : KnownInput{true, value->dtype, value->shape, value->constant,
                                                    value->constant != nullptr});
    }
    Translated translated = ahead_[n] ? std::move(*ahead_[n]) : TranslateNode(node, known);
    std::vector<Value> locals = AddValues(node, translated);
    for (Step& step : translated.steps) AddKernel(node, std::move(step), locals);
    values_[n].assign(locals.begin() + translated.inputs,
                      locals.begin() + translated.inputs + translated.outputs);
  }

  std::vector<Value> AddValues(const Node& node, const Translated& translated) {
    std::vector<Value> locals(translated.values.size());
    for (size_t i = 0; i < locals.size(); ++i) {
      const LocalValue& local = translated.values[i];
      bool is_input = static_cast<int>(i) < translated.inputs;
      if (is_input) {
        if (const Value* value = Find(node.inputs[i])) locals[i] = *value;
        continue;
      }
      locals[i] = {local.dtype, local.shape, -1, local.given};
      if (local.given == nullptr && local.same_memory_as < 0) {
        locals[i].storage = NewStorage(PackedBytes(local.dtype, CountOf(local.shape)));
      }
    }
    for (size_t i = 0; i < locals.size(); ++i) Alias(translated, i, locals);
    return locals;
  }

  // What shares memory with another value: also with an intermediate behind it.
  void Alias(const Translated& translated, size_t i, std::vector<Value>& locals) {
    int source = translated.values[i].same_memory_as;
    if (source < 0) return;
    while (translated.values[static_cast<size_t>(source)].same_memory_as >= 0) {
      source = translated.values[static_cast<size_t>(source)].same_memory_as;
    }
    Value& from = locals[static_cast<size_t>(source)];
    locals[i].storage = StorageOf(from);
    if (from.constant != nullptr) {
      locals[i].constant = std::make_shared<HostTensor>(locals[i].dtype, locals[i].shape, from.constant);
    }
  }

  // Constants get their storage when something needs them in memory.
  int StorageOf(Value& value) {
    if (value.storage < 0) value.storage = NewConstant(value.constant);
    return value.storage;
  }

  void AddKernel(const Node& node, Step step, std::vector<Value>& locals) {
    auto number = static_cast<int>(program_.kernels_.size());
    std::vector<Use> uses;
    for (size_t b = 0; b < step.values.size(); ++b) {
      int local = step.values[b];
      if (local < 0) {
        uses.push_back({-1, false});
        continue;
      }
      int storage = StorageOf(locals[static_cast<size_t>(local)]);
      Touch(storage, number);
      uses.push_back({storage, ops::Writes(step.plan->binding(static_cast<int>(b)).access)});
    }
    if (uint64_t bytes = step.plan->workspace_bytes(); bytes != 0) {
      uses.push_back({NewStorage(bytes), true});
      Touch(uses.back().storage, number);
    }
    uses_.push_back(std::move(uses));
    program_.kernels_.push_back({std::move(step.plan), node.name, node.type, {}, {}, {}});
  }

  void Touch(int storage, int kernel) {
    Storage& s = storages_[static_cast<size_t>(storage)];
    if (s.first < 0) s.first = kernel;
    s.last = kernel;
  }

  // A result is computed where the caller wants it, unless it lies somewhere already.
  void AddOutput(size_t index) {
    const GraphOutput& output = graph_.outputs[index];
    Value value = *Find(output.port);
    size_t number = graph_.inputs.size() + index;
    program_.outputs_.push_back(PortOf(output.name, {value.dtype, Format::kND, true, value.shape}));
    int storage = StorageOf(value);
    bool is_work = storages_[static_cast<size_t>(storage)].kind == Storage::kWork;
    if (is_work) return MakePort(storage, number);
    if (value.constant == nullptr && CountOf(value.shape) == 0) return;
    CopyTo(NewPort(number, program_.outputs_.back().bytes), value);
  }

  void CopyTo(int target, const Value& value) {
    Node node{.name = "copy to " + program_.outputs_.back().name, .type = "Identity"};
    auto bytes = static_cast<int64_t>(PackedBytes(value.dtype, CountOf(value.shape)));
    Tensor from, to;
    from.dtype = to.dtype = DType::kU8;
    from.shape = to.shape = {bytes};
    from.strides = to.strides = {1};
    from.storage_count = to.storage_count = bytes;
    ops::PlanRef plan = ops::NewPlan("copy");
    int source = plan->Bind(&from, ops::Access::kRead, "from", 0, 0);
    int destination = plan->Bind(&to, ops::Access::kWrite, "to", 1, 0);
    plan->SetCost(static_cast<uint64_t>(bytes) / 8);
    plan->SetBody([=](const ops::Frame& frame) {
      CopyMemory(frame.at[destination], frame.at[source], static_cast<size_t>(bytes));
    });
    std::vector<Value> locals{value, {DType::kU8, to.shape, target, nullptr}};
    AddKernel(node, {std::move(plan), {0, 1}}, locals);
  }

  // A result that may lie on what is read for the last time does: a residual that is added to, an activation.
  void ShareInPlace() {
    std::vector<int> moved(storages_.size(), -1);
    for (size_t k = 0; k < uses_.size(); ++k) {
      for (Use& use : uses_[k]) {
        if (use.storage >= 0 && moved[static_cast<size_t>(use.storage)] >= 0)
          use.storage = moved[static_cast<size_t>(use.storage)];
      }
      const int result = OnlyResult(k);
      const int place = result < 0 ? -1 : PlaceFor(static_cast<int>(k), result);
      if (place < 0) continue;
      Storage& taken = storages_[static_cast<size_t>(place)];
      Storage& gone = storages_[static_cast<size_t>(result)];
      taken.last = gone.last;
      gone.first = gone.last = -1;
      moved[static_cast<size_t>(result)] = place;
      for (Use& use : uses_[k]) {
        if (use.storage == result) use.storage = place;
      }
    }
  }

  // The storage that the kernel writes, if it is one. (The workspace follows the bindings.)
  int OnlyResult(size_t k) const {
    int result = -1;
    const auto bindings = static_cast<size_t>(program_.kernels_[k].plan->binding_count());
    for (size_t b = 0; b < bindings; ++b) {
      const Use& use = uses_[k][b];
      if (!use.writes || use.storage < 0) continue;
      if (result >= 0 && result != use.storage) return -1;
      result = use.storage;
    }
    return result;
  }

  // A storage that this kernel reads through one binding, nobody reads later, and its result may lie on.
  int PlaceFor(int k, int result) const {
    const std::vector<Use>& uses = uses_[static_cast<size_t>(k)];
    const Storage& mine = storages_[static_cast<size_t>(result)];
    if (mine.kind != Storage::kWork || mine.first != k) return -1;
    const ops::Plan& plan = *program_.kernels_[static_cast<size_t>(k)].plan;
    for (int b = 0; b < plan.binding_count(); ++b) {
      const int read = uses[static_cast<size_t>(b)].storage;
      if (read < 0 || read == result || !plan.may_lie_on(b)) continue;
      const Storage& other = storages_[static_cast<size_t>(read)];
      auto same = [read](const Use& use) { return use.storage == read; };
      const bool last = other.kind == Storage::kWork && other.last == k && other.bytes == mine.bytes;
      if (last && std::count_if(uses.begin(), uses.end(), same) == 1) return read;
    }
    return -1;
  }

  void PlaceWork() {
    std::vector<Lifetime> lifetimes;
    std::vector<size_t> owners;
    for (size_t i = 0; i < storages_.size(); ++i) {
      Storage& s = storages_[i];
      if (s.kind == Storage::kConstant) {
        s.place = {kConstantBase, true, reinterpret_cast<intptr_t>(s.constant->data())};
        program_.constants_.push_back(s.constant);
      } else if (s.kind == Storage::kWork && s.first >= 0) {
        lifetimes.push_back({s.bytes, s.first, s.last});
        owners.push_back(i);
      }
    }
    program_.memory_ = PlanMemory(lifetimes);
    for (size_t i = 0; i < owners.size(); ++i) {
      storages_[owners[i]].place = {kWorkBase, true, static_cast<int64_t>(program_.memory_.offsets[i])};
    }
  }

  // Whoever reads comes after who wrote, whoever writes after who read; and who takes over a stretch of
  // memory after all who used it for something else.
  void AddEdges() {
    std::vector<std::vector<uint32_t>> users(storages_.size());
    std::vector<int> writer(storages_.size(), -1);
    for (size_t k = 0; k < uses_.size(); ++k) {
      std::vector<uint32_t>& after = program_.kernels_[k].after;
      for (const Use& use : uses_[k]) {
        if (use.storage < 0) continue;
        auto s = static_cast<size_t>(use.storage);
        if (use.writes) {
          if (users[s].empty()) TakeOver(use.storage, users, after);
          after.insert(after.end(), users[s].begin(), users[s].end());
          writer[s] = static_cast<int>(k);
        } else if (writer[s] >= 0) {
          after.push_back(static_cast<uint32_t>(writer[s]));
        }
      }
      // Who comes after a writer comes after all who were before it.
      for (const Use& use : uses_[k]) {
        if (use.storage >= 0 && use.writes) users[static_cast<size_t>(use.storage)].clear();
      }
      for (const Use& use : uses_[k]) {
        if (use.storage >= 0) users[static_cast<size_t>(use.storage)].push_back(static_cast<uint32_t>(k));
      }
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
      std::erase(after, static_cast<uint32_t>(k));
    }
  }

  void TakeOver(int storage, const std::vector<std::vector<uint32_t>>& users, std::vector<uint32_t>& after) {
    const Storage& mine = storages_[static_cast<size_t>(storage)];
    if (mine.kind != Storage::kWork) return;
    auto begin = mine.place.offset, end = begin + static_cast<int64_t>(mine.bytes);
    std::erase_if(owners_, [&](int other) {
      const Storage& theirs = storages_[static_cast<size_t>(other)];
      auto other_begin = theirs.place.offset, other_end = other_begin + static_cast<int64_t>(theirs.bytes);
      if (other_end <= begin || other_begin >= end) return false;
      const auto& used_by = users[static_cast<size_t>(other)];
      after.insert(after.end(), used_by.begin(), used_by.end());
      return begin <= other_begin && other_end <= end;
    });
    owners_.push_back(storage);
  }

  void PlaceBindings() {
    for (size_t k = 0; k < uses_.size(); ++k) {
      Kernel& kernel = program_.kernels_[k];
      auto bindings = static_cast<size_t>(kernel.plan->binding_count());
      for (size_t b = 0; b < uses_[k].size(); ++b) {
        const Use& use = uses_[k][b];
        Place place = use.storage < 0 ? Place{} : storages_[static_cast<size_t>(use.storage)].place;
        if (b < bindings) {
          kernel.bindings.push_back(place);
        } else {
          kernel.workspace = place;
        }
      }
    }
  }

  const Graph& graph_;
  Program& program_;
  std::vector<std::optional<Translated>> ahead_;  // of the nodes
  std::vector<std::vector<Value>> values_;        // of each node's outputs
  std::vector<Storage> storages_;
  std::unordered_map<const HostTensor*, int> constants_;
  std::vector<std::vector<Use>> uses_;  // of each kernel
  std::vector<int> owners_;             // storages that hold a stretch of the work memory
};

Program::Program(const Graph& graph) { ProgramBuilder(graph, *this).Build(); }

void Program::Run(const Kernel& kernel, char* const* bases) {
  constexpr size_t kOnStack = 16;
  char* few[kOnStack];
  std::vector<char*> many;
  char** at = few;
  if (kernel.bindings.size() > kOnStack) {
    many.resize(kernel.bindings.size());
    at = many.data();
  }
  for (size_t i = 0; i < kernel.bindings.size(); ++i) {
    const Place& place = kernel.bindings[i];
    at[i] = place.used ? Behind(bases[place.base], place.offset) : nullptr;
  }
  kernel.plan->Run({at, kernel.workspace.used ? Behind(bases[kWorkBase], kernel.workspace.offset) : nullptr});
}

}  // namespace belay::graph
