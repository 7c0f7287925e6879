// From ONNX to a graph of GE operators. Each ONNX operator has an import function, which is given its
// node and adds nodes of GE types; the families' tables list them.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir.h"
#include "graph/onnx/model.h"

namespace belay::graph::onnx {

class Scope;

// One node of the model while it is imported.
class OnnxNode {
 public:
  OnnxNode(Scope& scope, const NodeData& data, int64_t opset)
      : scope_(scope),
        data_(data),
        opset_(opset),
        attributes_read_(data.attributes.size()),
        inputs_read_(data.inputs.size()) {}

  const std::string& type() const { return data_.type; }
  int64_t opset() const { return opset_; }  // of the node's domain
  int input_count() const { return static_cast<int>(data_.inputs.size()); }
  int output_count() const { return static_cast<int>(data_.outputs.size()); }
  bool has(int i) const { return i < input_count() && !data_.inputs[static_cast<size_t>(i)].empty(); }
  bool wants(int i) const { return i < output_count() && !data_.outputs[static_cast<size_t>(i)].empty(); }
  // An absent port where there is no such input.
  Port in(int i);
  std::vector<Port> inputs();
  // The input's elements where the model holds them; null for others.
  Constant constant(int i);
  // The type of an input, as far as the model tells.
  ValueType type_of(int i);

  // What is read of the node is noted; a part that nobody reads is refused at the end (CheckAllRead). An
  // attribute of another kind is refused at once.
  bool HasAttribute(std::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t missing) const;
  double Float(std::string_view name, double missing) const;
  std::string String(std::string_view name, std::string missing) const;
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> missing = {}) const;
  std::vector<double> Floats(std::string_view name, std::vector<double> missing = {}) const;
  std::vector<std::string> Strings(std::string_view name) const;
  Constant Value(std::string_view name) const;  // null when it is not there
  const GraphData* Subgraph(std::string_view name) const;

  // Attributes that change no result here, whatever they say; the caller's comment says why.
  void WithoutEffect(std::initializer_list<std::string_view> names) const;
  void InputsWithoutEffect(std::initializer_list<int> inputs) const;
  // Refuses other values than the one of what is computed here.
  void Only(std::string_view name, int64_t value) const;
  void Only(std::string_view name, const std::string& value) const;
  // Throws Error that names an attribute or an input that no one has asked for.
  void CheckAllRead() const;

  // Adds a node of the graph; its first output.
  Port Add(std::string_view type, std::vector<Port> inputs, Attributes attributes = {}, int outputs = 1);
  Port Const(graph::Constant value);
  Port Ints(std::initializer_list<int64_t> values);
  static Port OutputOf(Port port, int output) { return {port.node, output}; }
  // Says what output i of the ONNX node is.
  void Out(int i, Port port);
  // A node of the type with the inputs as they are, whose outputs are the ONNX node's.
  void Become(std::string_view type, Attributes attributes = {});
  void Become(std::string_view type, std::vector<Port> inputs, Attributes attributes = {});

  // A body as a graph of its own. What it reads from outside becomes inputs behind its own ones, whose
  // ports are appended to `captured`; bodies of one node share them.
  std::vector<std::shared_ptr<Graph>> Bodies(std::initializer_list<std::string_view> attributes,
                                             std::vector<Port>* captured);

  [[noreturn]] void Refuse(const std::string& sentence) const;
  std::string DisplayName() const;

 private:
  const AttributeData* Find(std::string_view name) const;
  // Of one of two kinds, of which the second is another way to write the first.
  const AttributeData* Find(std::string_view name, AttributeType kind, AttributeType also) const;

  Scope& scope_;
  const NodeData& data_;
  int64_t opset_;
  int added_ = 0;
  mutable std::vector<bool> attributes_read_, inputs_read_;
};

using ImportFunction = void (*)(OnnxNode& node);

inline constexpr const char* kContribDomain = "com.microsoft";  // onnxruntime's own operators

struct ImportRow {
  const char* type;
  ImportFunction import;
  const char* domain = "";
};

// The tables of the families, each in the file of that name.
std::span<const ImportRow> ControlImports();
std::span<const ImportRow> StructureImports();
std::span<const ImportRow> ElementwiseImports();
std::span<const ImportRow> ReduceImports();
std::span<const ImportRow> NormImports();
std::span<const ImportRow> IndexImports();
std::span<const ImportRow> LayoutImports();
std::span<const ImportRow> SortImports();
std::span<const ImportRow> ResizeImports();
std::span<const ImportRow> ConvImports();
std::span<const ImportRow> MatmulImports();
std::span<const ImportRow> PoolImports();
std::span<const ImportRow> RnnImports();
std::span<const ImportRow> QuantImports();
std::span<const ImportRow> DetectImports();
std::span<const ImportRow> SignalImports();
std::span<const ImportRow> RandomImports();
std::span<const ImportRow> ContribImports();
std::span<const ImportRow> AttentionImports();

// The size of dimension d of x, as one element; and 0, 1, 2, ... below a number.
Port SizeOf(OnnxNode& node, Port x, int64_t d);
Port Counting(OnnxNode& node, Port n);

// `folder` is where external data lies; empty: there is none. Throws Error that names node, operator,
// domain and opset.
Graph Import(const ModelData& model, const std::string& folder);

}  // namespace belay::graph::onnx
