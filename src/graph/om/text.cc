#include "graph/om/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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

// A whole number that the type holds; the library would cut off what does not fit.
template <class Number>
Number NumberFrom(const Json& text) {
  bool fits = text.is_number_unsigned()
                  ? std::in_range<Number>(text.get<uint64_t>())
                  : text.is_number_integer() && std::in_range<Number>(text.get<int64_t>());
  if (!fits) Damaged("a number is no whole number, or too large");
  return text.get<Number>();
}

template <class Number>
std::vector<Number> ListFrom(const Json& text) {
  if (!text.is_array()) Damaged("a list is missing");
  std::vector<Number> numbers;
  for (const Json& number : text) numbers.push_back(NumberFrom<Number>(number));
  return numbers;
}

const char* TypeText(DType dtype) { return tensor::InfoOf(dtype).name; }

DType TypeFrom(const Json& text) {
  const auto& name = text.get_ref<const std::string&>();
  return name == "?" ? DType::kUndefined : tensor::DTypeNamed(name.c_str());
}

Shape ShapeFrom(const Json& text) {
  auto dims = ListFrom<int64_t>(text);
  if (dims.size() > tensor::kMaxRank) Damaged("a shape has more than eight sizes");
  return Shape::Of(dims.data(), static_cast<int>(dims.size()));
}

Json ShapeText(const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); }

Json TypeOfValueText(const ValueType& type) {
  Json text{{"dtype", TypeText(type.dtype)}, {"format", static_cast<int>(type.format)}};
  if (type.rank_known) text["shape"] = ShapeText(type.shape);
  return text;
}

ValueType TypeOfValueFrom(const Json& text) {
  ValueType type{
      TypeFrom(text.at("dtype")), static_cast<Format>(NumberFrom<int>(text.at("format"))), false, {}};
  if (text.contains("shape")) {
    type.rank_known = true;
    type.shape = ShapeFrom(text["shape"]);
  }
  return type;
}

Json PortText(const Port& port) { return Json::array({port.node, port.output}); }
Port PortFrom(const Json& text) { return {NumberFrom<int>(text.at(0)), NumberFrom<int>(text.at(1))}; }

// Numbers that JSON has no word for are written as text.
Json RealText(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}
double RealFrom(const Json& text) {
  if (text.is_number()) return text.get<double>();
  const auto& word = text.get_ref<const std::string&>();
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
  Json text{{"graph", GraphText(file.graph)}, {"options", file.options}};
  if (file.gears.kind != Gears::kNone) {
    text["gears"] = {{"kind", static_cast<int>(file.gears.kind)}, {"values", file.gears.values}};
  }
  return text;
}

Json Writer::GraphText(const Graph& graph) {
  Json nodes = Json::array(), outputs = Json::array();
  for (const Node& node : graph.nodes) nodes.push_back(NodeText(node));
  for (const GraphOutput& output : graph.outputs) {
    outputs.push_back(
        {{"name", output.name}, {"port", PortText(output.port)}, {"type", TypeOfValueText(output.declared)}});
  }
  return {{"name", graph.name},
          {"nodes", std::move(nodes)},
          {"inputs", graph.inputs},
          {"outputs", std::move(outputs)}};
}

Json Writer::NodeText(const Node& node) {
  Json text{{"name", node.name}, {"type", node.type}, {"outputs", node.outputs}};
  Json inputs = Json::array(), types = Json::array(), attributes = Json::object();
  for (const Port& port : node.inputs) inputs.push_back(PortText(port));
  for (const ValueType& type : node.types) types.push_back(TypeOfValueText(type));
  for (const auto& [name, value] : node.attributes) attributes[name] = AttributeText(value);
  if (!inputs.empty()) text["inputs"] = std::move(inputs);
  if (!attributes.empty()) text["attributes"] = std::move(attributes);
  if (!node.after.empty()) text["after"] = node.after;
  text["types"] = std::move(types);
  return text;
}

Json Writer::AttributeText(const Attribute& attribute) {
  struct Visitor {
    Writer& writer;
    Json operator()(int64_t v) const { return {{"i", v}}; }
    Json operator()(double v) const { return {{"f", RealText(v)}}; }
    Json operator()(bool v) const { return {{"b", v}}; }
    Json operator()(const std::string& v) const { return {{"s", v}}; }
    Json operator()(DType v) const { return {{"t", TypeText(v)}}; }
    Json operator()(const std::vector<int64_t>& v) const { return {{"is", v}}; }
    Json operator()(const std::vector<double>& v) const {
      Json list = Json::array();
      for (double x : v) list.push_back(RealText(x));
      return {{"fs", std::move(list)}};
    }
    Json operator()(const std::vector<std::string>& v) const { return {{"ss", v}}; }
    Json operator()(const Constant& v) const { return {{"c", writer.ConstantText(v)}}; }
    Json operator()(const std::shared_ptr<Graph>& v) const {
      return {{"g", v == nullptr ? Json() : writer.GraphText(*v)}};
    }
  };
  return std::visit(Visitor{*this}, attribute);
}

Json Writer::ConstantText(const Constant& constant) {
  if (constant == nullptr) return nullptr;
  auto [it, fresh] = offsets_.try_emplace(constant.get(), data_bytes_);
  if (fresh) {
    pieces_.push_back({constant, data_bytes_});
    data_bytes_ += (constant->bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }
  return {
      {"dtype", TypeText(constant->dtype())}, {"shape", ShapeText(constant->shape())}, {"at", it->second}};
}

// --- reading

ModelFile Reader::Read(const Json& text) {
  ModelFile file;
  file.graph = ReadGraph(text.at("graph"), 0);
  file.options = text.at("options").get<std::map<std::string, std::string>>();
  if (text.contains("gears")) {
    int kind = NumberFrom<int>(text["gears"].at("kind"));
    if (kind < Gears::kNone || kind > Gears::kDims) Damaged("unknown gears");
    file.gears.kind = static_cast<Gears::Kind>(kind);
    for (const Json& gear : text["gears"].at("values")) file.gears.values.push_back(ListFrom<int64_t>(gear));
    CheckGears(file);
  }
  return file;
}

Graph Reader::ReadGraph(const Json& text, int depth) {
  if (depth > kMostDepth) Damaged("graphs are nested too deeply");
  Graph graph;
  graph.name = text.at("name").get<std::string>();
  for (const Json& node : text.at("nodes")) graph.nodes.push_back(ReadNode(node, depth));
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
  for (const Json& output : text.at("outputs")) {
    graph.outputs.push_back({PortFrom(output.at("port")), output.at("name").get<std::string>(),
                             TypeOfValueFrom(output.at("type"))});
    if (!graph.outputs.back().port.present()) Damaged("an output comes from nowhere");
  }
  SortNodes(graph);  // also checks every port
  return graph;
}

Node Reader::ReadNode(const Json& text, int depth) {
  Node node{.name = text.at("name").get<std::string>(), .type = text.at("type").get<std::string>()};
  node.outputs = NumberFrom<int>(text.at("outputs"));
  for (const Json& type : text.at("types")) node.types.push_back(TypeOfValueFrom(type));
  if (node.outputs < 0 || node.types.size() != static_cast<size_t>(node.outputs))
    Damaged("outputs without types");
  if (text.contains("inputs")) {
    for (const Json& port : text["inputs"]) node.inputs.push_back(PortFrom(port));
  }
  if (text.contains("after")) node.after = ListFrom<int>(text["after"]);
  if (text.contains("attributes")) {
    for (const auto& [name, value] : text["attributes"].items())
      node.attributes[name] = ReadAttribute(value, depth);
  }
  return node;
}

Attribute Reader::ReadAttribute(const Json& text, int depth) {
  if (!text.is_object() || text.size() != 1) Damaged("an attribute without a kind");
  const std::string& kind = text.begin().key();
  const Json& value = text.begin().value();
  if (kind == "i") return NumberFrom<int64_t>(value);
  if (kind == "f") return RealFrom(value);
  if (kind == "b") return value.get<bool>();
  if (kind == "s") return value.get<std::string>();
  if (kind == "t") return TypeFrom(value);
  if (kind == "is") return ListFrom<int64_t>(value);
  if (kind == "ss") return value.get<std::vector<std::string>>();
  if (kind == "c") return value.is_null() ? Constant() : ReadConstant(value);
  if (kind == "fs") {
    std::vector<double> numbers;
    for (const Json& number : value) numbers.push_back(RealFrom(number));
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
