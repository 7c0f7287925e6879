#include "graph/onnx/importer.h"

#include <unordered_map>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/onnx/plain_import.h"
#include "graph/onnx/read_model.h"
#include "graph/onnx/scope.h"
#include "graph/op_schema.h"

namespace belay::graph::onnx {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

// How one type of ONNX is imported: by a function, or by a row of spec/.
struct Importer {
  ImportFunction function = nullptr;
  const PlainImport* plain = nullptr;

  void operator()(OnnxNode& node) const { plain != nullptr ? ImportPlain(node, *plain) : function(node); }
};

const std::map<Key, Importer>& Imports() {
  static const auto* table = [] {
    auto* map = new std::map<Key, Importer>;
    for (auto family :
         {ControlImports, StructureImports, ElementwiseImports, ReduceImports, NormImports, IndexImports,
          LayoutImports, SortImports, ResizeImports, ConvImports, MatmulImports, PoolImports, RnnImports,
          QuantImports, DetectImports, SignalImports, RandomImports, ContribImports, AttentionImports}) {
      for (const ImportRow& row : family()) map->emplace(Key{row.domain, row.type}, Importer{row.import});
    }
    for (const PlainImport& row : PlainImports())
      map->emplace(Key{row.domain, row.name}, Importer{nullptr, &row});
    return map;
  }();
  return *table;
}

std::string_view PlainDomain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

int64_t OpsetOf(const ModelData& model, const std::string& domain) {
  auto it = model.opsets.find(domain);
  if (it == model.opsets.end() && PlainDomain(domain).empty()) {
    it = model.opsets.find(domain.empty() ? "ai.onnx" : "");
  }
  return it == model.opsets.end() ? 1 : it->second;
}

ValueType TypeOfValue(const ValueData& value) {
  ValueType type{TypeOf(value.type), Format::kND, value.rank_known, {}};
  if (!value.is_tensor)
    Fail(kUnsupported, "onnx-value-kind",
         "'{}' is no tensor; other kinds of values cannot enter or leave a model", value.name);
  if (type.dtype == DType::kUndefined) {
    Fail(kTypeInvalid, "onnx-type", "input '{}' has element type {}, which is not supported", value.name,
         value.type);
  }
  if (value.dims.size() > tensor::kMaxRank) {
    Fail(kShapeInvalid, "onnx-rank", "input '{}' has {} dimensions; eight are supported", value.name,
         value.dims.size());
  }
  for (int64_t size : value.dims) type.shape.push_back(size < 0 ? kUnknownDim : size);
  return type;
}

// Of an output: only for information, so what cannot be said is left out.
ValueType DeclaredType(const ValueData& value) {
  ValueType type{
      TypeOf(value.type), Format::kND, value.rank_known && value.dims.size() <= tensor::kMaxRank, {}};
  for (size_t i = 0; type.rank_known && i < value.dims.size(); ++i) {
    type.shape.push_back(value.dims[i] < 0 ? kUnknownDim : value.dims[i]);
  }
  return type;
}

void CollectFree(const GraphData& body, std::set<std::string>* free) {
  std::set<std::string> own;
  for (const ValueData& input : body.inputs) own.insert(input.name);
  for (const TensorData& constant : body.constants) own.insert(constant.name);
  auto use = [&](const std::string& name) {
    if (!name.empty() && own.count(name) == 0) free->insert(name);
  };
  for (const NodeData& node : body.nodes) {
    for (const std::string& input : node.inputs) use(input);
    for (const AttributeData& attribute : node.attributes) {
      if (attribute.graph == nullptr) continue;
      std::set<std::string> inner;
      CollectFree(*attribute.graph, &inner);
      for (const std::string& name : inner) use(name);
    }
    own.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const ValueData& output : body.outputs) use(output.name);
}

}  // namespace

std::set<std::string> FreeNames(const GraphData& body) {
  std::set<std::string> free;
  CollectFree(body, &free);
  return free;
}

// --- scope

Port Scope::Find(const std::string& name, const std::string& user) const {
  auto it = ports_.find(name);
  if (it != ports_.end()) return it->second;
  Fail(kFileCorrupt, "onnx-name", "{} reads '{}', which nothing before it computes", user, name);
}

void Scope::Import(const GraphData& data) {
  for (const TensorData& constant : data.constants) {
    Define(constant.name, graph_.AddConstant(constant.name, TensorOf(constant, model_.owner, folder_)));
  }
  for (const ValueData& input : data.inputs) {
    if (Knows(input.name)) continue;  // old models list their constants among the inputs
    Define(input.name, {graph_.AddInput(input.name, TypeOfValue(input))});
  }
  ImportNodes(data.nodes);
  for (const ValueData& output : data.outputs) {
    graph_.outputs.push_back(
        {Find(output.name, "the output of graph '" + data.name + "'"), output.name, DeclaredType(output)});
  }
}

void Scope::ImportNodes(const std::vector<NodeData>& nodes) {
  for (const NodeData& node : nodes) ImportNode(node);
}

void Scope::ImportNode(const NodeData& node) {
  int64_t opset = OpsetOf(model_, node.domain);
  auto it = Imports().find({PlainDomain(node.domain), node.type});
  if (it == Imports().end()) {
    for (const FunctionData& function : model_.functions) {
      if (function.name == node.type && function.domain == node.domain) return ImportFunction(function, node);
    }
    std::string domain(PlainDomain(node.domain).empty() ? "ai.onnx" : node.domain);
    Fail(kUnsupported, "onnx-op-unknown",
         "E16002: node '{}' uses the operator {}::{}::{}, which this version of Belay does not have",
         OnnxNode(*this, node, opset).DisplayName(), domain, opset, node.type);
  }
  OnnxNode imported(*this, node, opset);
  try {
    it->second(imported);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // an attribute with fewer elements than expected
    imported.Refuse(error.what());
  }
  imported.CheckAllRead();
  for (const std::string& output : node.outputs) {
    if (!output.empty() && !Knows(output))
      imported.Refuse("its output '" + output + "' is not computed by this version");
  }
}

void Scope::CheckCall(const FunctionData& function) {
  constexpr size_t kMostNodes = 1 << 18;
  if (std::count(calls_.open.begin(), calls_.open.end(), &function) != 0)
    Fail(kFileCorrupt, "onnx-function", "function '{}' of the model calls itself", function.name);
  calls_.nodes += function.nodes.size() + 1;
  if (calls_.nodes > kMostNodes) {
    Fail(kFileCorrupt, "onnx-function",
         "the functions of the model, each in the place of its calls, have more than {} nodes", kMostNodes);
  }
}

// A function of the model: its nodes, with names of their own.
void Scope::ImportFunction(const FunctionData& function, const NodeData& call) {
  CheckCall(function);
  calls_.open.push_back(&function);
  Scope inner(*this, graph_);
  std::string user = "function " + function.name;
  for (size_t i = 0; i < function.inputs.size() && i < call.inputs.size(); ++i) {
    if (!call.inputs[i].empty()) inner.Define(function.inputs[i], Find(call.inputs[i], user));
  }
  const std::vector<NodeData> nodes = Called(function, call);
  inner.ImportNodes(nodes);
  for (size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i) {
    if (!call.outputs[i].empty()) Define(call.outputs[i], inner.Find(function.outputs[i], user));
  }
  calls_.open.pop_back();
}

// --- nodes

std::string OnnxNode::DisplayName() const {
  if (!data_.name.empty()) return data_.name;
  return data_.outputs.empty() ? data_.type : data_.outputs[0];
}

void OnnxNode::Refuse(const std::string& sentence) const {
  Fail(kGraphInvalid, "onnx-node", "node '{}' ({}, opset {}): {}", DisplayName(), data_.type, opset_,
       sentence);
}

Port OnnxNode::in(int i) {
  if (!has(i)) return {};
  inputs_read_[static_cast<size_t>(i)] = true;
  return scope_.Find(data_.inputs[static_cast<size_t>(i)], "node '" + DisplayName() + "'");
}

std::vector<Port> OnnxNode::inputs() {
  std::vector<Port> ports;
  for (int i = 0; i < input_count(); ++i) ports.push_back(in(i));
  return ports;
}

graph::Constant OnnxNode::constant(int i) {
  Port port = in(i);
  return port.present() ? ConstantOf(scope_.graph().nodes[static_cast<size_t>(port.node)]) : nullptr;
}

ValueType OnnxNode::type_of(int i) {
  Port port = in(i);
  if (!port.present()) return {};
  return scope_.graph().nodes[static_cast<size_t>(port.node)].types[static_cast<size_t>(port.output)];
}

Port OnnxNode::Add(std::string_view type, std::vector<Port> inputs, Attributes attributes, int outputs) {
  while (!inputs.empty() && !inputs.back().present()) inputs.pop_back();
  std::string name = DisplayName();
  if (added_++ > 0) name += "_" + std::to_string(added_ - 1);
  Node node{.name = std::move(name),
            .type = std::string(type),
            .inputs = std::move(inputs),
            .attributes = std::move(attributes),
            .outputs = outputs};
  return {scope_.graph().Add(std::move(node)), 0};
}

Port OnnxNode::Const(graph::Constant value) {
  return scope_.graph().AddConstant(DisplayName() + "_const" + std::to_string(added_++), std::move(value));
}

Port OnnxNode::Ints(std::initializer_list<int64_t> values) {
  return Const(IntsConstant({values.begin(), values.size()}));
}

void OnnxNode::Out(int i, Port port) {
  if (wants(i)) scope_.Define(data_.outputs[static_cast<size_t>(i)], port);
}

void OnnxNode::Become(std::string_view type, std::vector<Port> inputs, Attributes attributes) {
  Port first = Add(type, std::move(inputs), std::move(attributes), output_count());
  for (int i = 0; i < output_count(); ++i) Out(i, OutputOf(first, i));
}

void OnnxNode::Become(std::string_view type, Attributes attributes) {
  Become(type, inputs(), std::move(attributes));
}

std::vector<std::shared_ptr<Graph>> OnnxNode::Bodies(std::initializer_list<std::string_view> attributes,
                                                     std::vector<Port>* captured) {
  std::set<std::string> free;
  for (std::string_view attribute : attributes) {
    const GraphData* body = Subgraph(attribute);
    if (body == nullptr) Refuse("it has no graph '" + std::string(attribute) + "'");
    free.merge(FreeNames(*body));
  }
  std::vector<std::shared_ptr<Graph>> bodies;
  for (std::string_view attribute : attributes) {
    const GraphData& body = *Subgraph(attribute);
    auto graph = std::make_shared<Graph>();
    graph->name = body.name;
    Scope inner(scope_, *graph);
    for (const ValueData& input : body.inputs) inner.Define(input.name, {graph->AddInput(input.name, {})});
    for (const std::string& name : free) {
      inner.Define(name, {graph->AddInput(name, {})});
      if (bodies.empty()) captured->push_back(scope_.Find(name, "the body of node '" + DisplayName() + "'"));
    }
    inner.Import(body);
    bodies.push_back(std::move(graph));
  }
  return bodies;
}

Port SizeOf(OnnxNode& node, Port x, int64_t d) {
  return node.Add("Shape", {x}, {{"dtype", DType::kI64}, {"start", d}, {"end", d + 1}});
}

Port Counting(OnnxNode& node, Port n) {
  const Port zero = node.Const(IntConstant(0)), one = node.Const(IntConstant(1));
  return node.Add("Range", {zero, n, one});
}

Graph Import(const ModelData& model, const std::string& folder) {
  Graph graph;
  graph.name = model.graph.name;
  if (model.opsets.empty()) Fail(kFileCorrupt, "onnx-opset", "E16005: the model imports no operator set");
  FunctionCalls calls;
  Scope scope(model, folder, graph, calls);
  scope.Import(model.graph);
  SortNodes(graph);
  return graph;
}

}  // namespace belay::graph::onnx
