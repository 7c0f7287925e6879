#include "graph/om/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/om/format.h"

namespace belay::graph::om {
namespace {

constexpr int kMostDepth = 32;  // graphs inside graphs

[[noreturn]] void Damaged(const char* what) {
  Fail(kFileCorrupt, "om-text", "the model file is damaged: {}", what);
}

// A whole number that the type holds.
template <class Number>
Number NumberFrom(const Json& text) {
  const std::optional<Number> number = text.Whole<Number>();
  if (!number) Damaged("a number is no whole number, or too large");
  return *number;
}

template <class Number>
std::vector<Number> ListFrom(const Json& text) {
  if (!text.is_list()) Damaged("a list is missing");
  std::vector<Number> numbers;
  for (const Json& number : text.list()) numbers.push_back(NumberFrom<Number>(number));
  return numbers;
}

const char* TypeText(DType dtype) { return tensor::InfoOf(dtype).name; }

DType TypeFrom(const Json& text) {
  const std::string& name = text.text();
  return name == "?" ? DType::kUndefined : tensor::DTypeNamed(name.c_str());
}

Shape ShapeFrom(const Json& text) {
  auto dims = ListFrom<int64_t>(text);
  if (dims.size() > tensor::kMaxRank) Damaged("a shape has more than eight sizes");
  return Shape::Of(dims.data(), static_cast<int>(dims.size()));
}

Json ShapeText(const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); }

Json TypeOfValueText(const ValueType& type) {
  Json::Members text{{"dtype", TypeText(type.dtype)}, {"format", static_cast<int>(type.format)}};
  if (type.rank_known) text["shape"] = ShapeText(type.shape);
  return text;
}

ValueType TypeOfValueFrom(const Json& text) {
  ValueType type{
      TypeFrom(text.at("dtype")), static_cast<Format>(NumberFrom<int>(text.at("format"))), false, {}};
  if (const Json* shape = text.Find("shape")) {
    type.rank_known = true;
    type.shape = ShapeFrom(*shape);
  }
  return type;
}

Json PortText(const Port& port) { return Json::List{port.node, port.output}; }
Port PortFrom(const Json& text) { return {NumberFrom<int>(text.at(0)), NumberFrom<int>(text.at(1))}; }

// Numbers that JSON has no word for are written as text.
Json RealText(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}
double RealFrom(const Json& text) {
  if (text.is_number()) return text.real();
  const std::string& word = text.text();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return word == "inf" ? HUGE_VAL : -HUGE_VAL;
}

}  // namespace

// Each gear has a number for whatever it decides; there are as many as atc makes at most.
void CheckGears(const ModelFile& file) {
  constexpr size_t kMostGears = 100;
  size_t open = 0;
  for (int input : file.graph.inputs) {
    const Shape& shape = file.graph.nodes[static_cast<size_t>(input)].types[0].shape;
    open += static_cast<size_t>(std::count(shape.begin(), shape.end(), kUnknownDim));
  }
  size_t numbers = file.gears.kind == Gears::kBatch ? 1 : file.gears.kind == Gears::kImage ? 2 : open;
  bool fits =
      file.gears.kind != Gears::kNone && !file.gears.values.empty() && file.gears.values.size() <= kMostGears;
  for (const std::vector<int64_t>& gear : file.gears.values) {
    fits &= gear.size() == numbers &&
            std::all_of(gear.begin(), gear.end(), [](int64_t size) { return size > 0 && size <= INT32_MAX; });
  }
  if (!fits) Damaged("the gears do not fit the inputs");
}

// --- writing

Json Writer::Write(const ModelFile& file) {
  Json::Members options;
  for (const auto& [name, value] : file.options) options.emplace(name, value);
  Json::Members text;
  text.emplace("graph", GraphText(file.graph));
  text.emplace("options", std::move(options));
  if (file.gears.kind != Gears::kNone) {
    text["gears"] = Json::Members{{"kind", static_cast<int>(file.gears.kind)}, {"values", file.gears.values}};
  }
  return text;
}

Json Writer::GraphText(const Graph& graph) {
  Json::List nodes, outputs;
  for (const Node& node : graph.nodes) nodes.push_back(NodeText(node));
  for (const GraphOutput& output : graph.outputs) {
    Json::Members text{
        {"name", output.name}, {"port", PortText(output.port)}, {"type", TypeOfValueText(output.declared)}};
    outputs.emplace_back(std::move(text));
  }
  Json::Members text{{"name", graph.name}, {"inputs", graph.inputs}};
  text.emplace("nodes", std::move(nodes));
  text.emplace("outputs", std::move(outputs));
  return text;
}

Json Writer::NodeText(const Node& node) {
  Json::Members text{{"name", node.name}, {"type", node.type}, {"outputs", node.outputs}};
  Json::List inputs, types;
  Json::Members attributes;
  for (const Port& port : node.inputs) inputs.push_back(PortText(port));
  for (const ValueType& type : node.types) types.push_back(TypeOfValueText(type));
  for (const auto& [name, value] : node.attributes) attributes.emplace(name, AttributeText(value));
  if (!inputs.empty()) text.emplace("inputs", std::move(inputs));
  if (!attributes.empty()) text.emplace("attributes", std::move(attributes));
  if (!node.after.empty()) text["after"] = node.after;
  text.emplace("types", std::move(types));
  return text;
}

Json Writer::AttributeText(const Attribute& attribute) {
  struct Visitor {
    Writer& writer;
    static Json Of(const char* kind, Json value) {
      Json::Members text;
      text.emplace(kind, std::move(value));
      return text;
    }
    Json operator()(int64_t v) const { return Of("i", v); }
    Json operator()(double v) const { return Of("f", RealText(v)); }
    Json operator()(bool v) const { return Of("b", v); }
    Json operator()(const std::string& v) const { return Of("s", v); }
    Json operator()(DType v) const { return Of("t", TypeText(v)); }
    Json operator()(const std::vector<int64_t>& v) const { return Of("is", v); }
    Json operator()(const std::vector<double>& v) const {
      Json::List list;
      for (double x : v) list.push_back(RealText(x));
      return Of("fs", std::move(list));
    }
    Json operator()(const std::vector<std::string>& v) const { return Of("ss", v); }
    Json operator()(const Constant& v) const { return Of("c", writer.ConstantText(v)); }
    Json operator()(const std::shared_ptr<Graph>& v) const {
      return Of("g", v == nullptr ? Json() : writer.GraphText(*v));
    }
  };
  return std::visit(Visitor{*this}, attribute);
}

Json Writer::ConstantText(const Constant& constant) {
  if (constant == nullptr) return {};
  auto [it, fresh] = offsets_.try_emplace(constant.get(), data_bytes_);
  if (fresh) {
    pieces_.push_back({constant, data_bytes_});
    data_bytes_ += (constant->bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }
  return Json::Members{
      {"dtype", TypeText(constant->dtype())}, {"shape", ShapeText(constant->shape())}, {"at", it->second}};
}

// --- reading

ModelFile Reader::Read(const Json& text) {
  ModelFile file;
  file.graph = ReadGraph(text.at("graph"), 0);
  for (const auto& [name, value] : text.at("options").members()) file.options[name] = value.text();
  if (const Json* gears = text.Find("gears")) {
    int kind = NumberFrom<int>(gears->at("kind"));
    if (kind < Gears::kNone || kind > Gears::kDims) Damaged("unknown gears");
    file.gears.kind = static_cast<Gears::Kind>(kind);
    for (const Json& gear : gears->at("values").list()) file.gears.values.push_back(ListFrom<int64_t>(gear));
    CheckGears(file);
  }
  return file;
}

Graph Reader::ReadGraph(const Json& text, int depth) {
  if (depth > kMostDepth) Damaged("graphs are nested too deeply");
  Graph graph;
  graph.name = text.at("name").text();
  for (const Json& node : text.at("nodes").list()) graph.nodes.push_back(ReadNode(node, depth));
  graph.inputs = ListFrom<int>(text.at("inputs"));
  const std::set<int> inputs(graph.inputs.begin(), graph.inputs.end());
  const auto data = std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                  [](const Node& node) { return node.type == kDataType; });
  if (inputs.size() != graph.inputs.size() || static_cast<size_t>(data) != inputs.size())
    Damaged("Data nodes and inputs differ");
  for (int input : graph.inputs) {
    bool known = input >= 0 && static_cast<size_t>(input) < graph.nodes.size();
    const Node* node = known ? &graph.nodes[static_cast<size_t>(input)] : nullptr;
    if (node == nullptr || node->type != kDataType || node->outputs != 1) Damaged("an input is no Data node");
  }
  for (const Json& output : text.at("outputs").list()) {
    graph.outputs.push_back(
        {PortFrom(output.at("port")), output.at("name").text(), TypeOfValueFrom(output.at("type"))});
    if (!graph.outputs.back().port.present()) Damaged("an output comes from nowhere");
  }
  SortNodes(graph);  // also checks every port
  return graph;
}

Node Reader::ReadNode(const Json& text, int depth) {
  Node node{.name = text.at("name").text(), .type = text.at("type").text()};
  node.outputs = NumberFrom<int>(text.at("outputs"));
  for (const Json& type : text.at("types").list()) node.types.push_back(TypeOfValueFrom(type));
  if (node.outputs < 0 || node.types.size() != static_cast<size_t>(node.outputs))
    Damaged("outputs without types");
  if (const Json* inputs = text.Find("inputs")) {
    for (const Json& port : inputs->list()) node.inputs.push_back(PortFrom(port));
  }
  if (const Json* after = text.Find("after")) node.after = ListFrom<int>(*after);
  if (const Json* attributes = text.Find("attributes")) {
    for (const auto& [name, value] : attributes->members())
      node.attributes[name] = ReadAttribute(value, depth);
  }
  return node;
}

Attribute Reader::ReadAttribute(const Json& text, int depth) {
  if (!text.is_object() || text.members().size() != 1) Damaged("an attribute without a kind");
  const auto& [kind, value] = *text.members().begin();
  if (kind == "i") return NumberFrom<int64_t>(value);
  if (kind == "f") return RealFrom(value);
  if (kind == "b") return value.boolean();
  if (kind == "s") return value.text();
  if (kind == "t") return TypeFrom(value);
  if (kind == "is") return ListFrom<int64_t>(value);
  if (kind == "ss") {
    std::vector<std::string> words;
    for (const Json& word : value.list()) words.push_back(word.text());
    return words;
  }
  if (kind == "c") return value.is_null() ? Constant() : ReadConstant(value);
  if (kind == "fs") {
    std::vector<double> numbers;
    for (const Json& number : value.list()) numbers.push_back(RealFrom(number));
    return numbers;
  }
  if (kind != "g") Damaged("an attribute of an unknown kind");
  return value.is_null() ? std::shared_ptr<Graph>() : std::make_shared<Graph>(ReadGraph(value, depth + 1));
}

Constant Reader::ReadConstant(const Json& text) {
  DType dtype = TypeFrom(text.at("dtype"));
  Shape shape = ShapeFrom(text.at("shape"));
  auto offset = NumberFrom<uint64_t>(text.at("at"));
  auto count = tensor::CheckedCount({shape.begin(), shape.end()});
  for (int64_t size : shape) {
    if (size < 0) Damaged("a constant has a negative size");
  }
  if (dtype == DType::kUndefined || !count || *count > int64_t{1} << 40)
    Damaged("a constant of an impossible size");
  size_t bytes = PackedBytes(dtype, *count);
  if (offset % kAlignment != 0 || offset > data_.size() || data_.size() - offset < bytes) {
    Damaged("a constant lies outside the file");
  }
  return std::make_shared<HostTensor>(dtype, shape, data_.data() + offset, owner_);
}

}  // namespace belay::graph::om
