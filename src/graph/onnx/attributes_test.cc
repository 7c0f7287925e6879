// Attributes of ONNX nodes: each one of every operator is honoured or refused, and so is each that the
// operator does not have. The operators are those of onnx_schemas.inc in all their versions, and those of
// com.microsoft.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

using testing::HasSubstr;

constexpr const char* kMicrosoft = "com.microsoft";

struct Schema {
  const char* type;
  int64_t opset;
  int inputs, outputs;
  const char* attributes;
  const char* domain = "";
};

constexpr Schema kSchemas[] = {
#include "graph/onnx/onnx_schemas.inc"
};

// Those that onnxruntime's tools write, from its documentation.
constexpr Schema kContributed[] = {
    {"QLinearAdd", 1, 8, 1, "", kMicrosoft},
    {"QLinearMul", 1, 8, 1, "", kMicrosoft},
    {"QLinearSigmoid", 1, 5, 1, "", kMicrosoft},
    {"QLinearLeakyRelu", 1, 5, 1, "alpha:FLOAT=0.01", kMicrosoft},
    {"QLinearSoftmax", 1, 5, 1, "axis:INT=-1 opset:INT!", kMicrosoft},
    {"QLinearGlobalAveragePool", 1, 5, 1, "channels_last:INT=0", kMicrosoft},
    {"QLinearAveragePool", 1, 5, 1,
     "auto_pad:STRING=NOTSET ceil_mode:INT=0 channels_last:INT=0 count_include_pad:INT=0 kernel_shape:INTS! pads:INTS "
     "strides:INTS",
     kMicrosoft},
    {"QLinearConcat", 1, 8, 1, "axis:INT!", kMicrosoft},
    {"QLinearWhere", 1, 9, 1, "", kMicrosoft},
    {"QGemm", 1, 6, 1, "alpha:FLOAT=1.0 transA:INT=0 transB:INT=0", kMicrosoft},
    {"MatMulIntegerToFloat", 1, 4, 1, "", kMicrosoft},
    {"DynamicQuantizeMatMul", 1, 3, 1, "", kMicrosoft},
    {"FusedMatMul", 1, 2, 1, "alpha:FLOAT=1.0 transA:INT=0 transB:INT=0 transBatchA:INT=0 transBatchB:INT=0",
     kMicrosoft},
    {"Gelu", 1, 1, 1, "", kMicrosoft},
    {"BiasGelu", 1, 2, 1, "", kMicrosoft},
    {"FastGelu", 1, 1, 1, "", kMicrosoft},
    {"QuickGelu", 1, 1, 1, "alpha:FLOAT=1.702", kMicrosoft},
    {"QuantizeLinear", 1, 3, 1, "axis:INT=1", kMicrosoft},
    {"DequantizeLinear", 1, 3, 1, "axis:INT=1", kMicrosoft},
    {"SkipLayerNormalization", 1, 3, 1, "epsilon:FLOAT=1e-12", kMicrosoft},
    {"SkipSimplifiedLayerNormalization", 1, 3, 1, "epsilon:FLOAT=1e-12", kMicrosoft},
    {"EmbedLayerNormalization", 1, 7, 2, "epsilon:FLOAT=1e-12 mask_index_type:INT=0", kMicrosoft},
    {"Attention", 1, 2, 1,
     "do_rotary:INT=0 mask_filter_value:FLOAT num_heads:INT! past_present_share_buffer:INT qkv_hidden_sizes:INTS "
     "rotary_embedding_dim:INT scale:FLOAT unidirectional:INT=0",
     kMicrosoft},
    {"MultiHeadAttention", 1, 3, 1, "mask_filter_value:FLOAT num_heads:INT! scale:FLOAT unidirectional:INT=0",
     kMicrosoft},
    {"GroupQueryAttention", 1, 7, 1,
     "do_rotary:INT=0 k_quant_type:STRING=NONE kv_cache_bit_width:INT kv_num_heads:INT! local_window_size:INT=-1 "
     "num_heads:INT! qk_output:INT=0 rotary_interleaved:INT=0 scale:FLOAT smooth_softmax:INT=-1 softcap:FLOAT "
     "v_quant_type:STRING=NONE",
     kMicrosoft},
    {"RotaryEmbedding", 1, 4, 1,
     "interleaved:INT=0 is_packed_batching:INT=0 num_heads:INT=0 rotary_embedding_dim:INT=0 scale:FLOAT=1.0",
     kMicrosoft},
    {"DynamicQuantizeLSTM", 1, 7, 1,
     "activation_alpha:FLOATS activation_beta:FLOATS activations:STRINGS clip:FLOAT direction:STRING=forward "
     "hidden_size:INT input_forget:INT=0",
     kMicrosoft},
    {"SimplifiedLayerNormalization", 1, 2, 1, "axis:INT=-1 epsilon:FLOAT=1e-05 stash_type:INT=1"},
};

struct Wanted {
  std::string name, kind, fallback;
  bool required, has_fallback;
};

std::vector<Wanted> AttributesOf(const Schema& schema) {
  std::vector<Wanted> attributes;
  std::istringstream words(schema.attributes);
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':'), equals = word.find('=');
    Wanted& wanted = attributes.emplace_back();
    wanted.name = word.substr(0, colon);
    wanted.kind = word.substr(colon + 1, equals == std::string::npos ? equals : equals - colon - 1);
    wanted.has_fallback = equals != std::string::npos;
    if (wanted.has_fallback) wanted.fallback = word.substr(equals + 1);
    wanted.required = wanted.kind.back() == '!';
    if (wanted.required) wanted.kind.pop_back();
  }
  return attributes;
}

std::shared_ptr<GraphData> Body() {
  auto body = std::make_shared<GraphData>();
  body->name = "body";
  body->inputs = {{"i", true, kFloat, false, {}}, {"c", true, kFloat, false, {}}};
  body->outputs = {body->inputs[1], body->inputs[1]};
  return body;
}

// Number `which` of the values that the tests give; `text` is a default, which stands in the place of all.
AttributeData Value(const std::string& name, const std::string& kind, int which,
                    const std::string* text = nullptr) {
  static const std::map<std::string, int32_t> kKinds{
      {"FLOAT", kFloatAttribute},   {"INT", kIntAttribute},
      {"STRING", kStringAttribute}, {"TENSOR", kTensorAttribute},
      {"GRAPH", kGraphAttribute},   {"FLOATS", kFloatsAttribute},
      {"INTS", kIntsAttribute},     {"STRINGS", kStringsAttribute},
      {"SPARSE_TENSOR", 11},        {"TYPE_PROTO", 13}};
  AttributeData value;
  value.name = name;
  value.type = kKinds.at(kind);
  static const char* const kWords[] = {"LEFT",       "RIGHT", "mean", "sum", "linear",
                                       "SAME_UPPER", "DCR",   "CRD",  "Tanh"};
  value.i = text != nullptr ? std::strtoll(text->c_str(), nullptr, 10) : which;
  value.f = text != nullptr ? std::strtod(text->c_str(), nullptr) : which + 0.5;
  value.s = text != nullptr ? *text : kWords[which];
  value.tensor = std::make_shared<TensorData>();
  value.tensor->type = kFloat;
  value.tensor->dims = {1};
  value.tensor->floats = {static_cast<float>(which) + 2};
  value.graph = Body();
  value.floats.assign(static_cast<size_t>(which) + 1, which);
  value.ints.assign(2, which);
  value.strings.assign(1, kWords[which]);
  if (text == nullptr) return value;
  std::istringstream parts(*text);
  value.ints.clear(), value.strings.clear();
  for (std::string part; std::getline(parts, part, ',');) {
    value.strings.push_back(part);
    value.ints.push_back(std::strtoll(part.c_str(), nullptr, 10));
  }
  return value;
}

std::string TextOf(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        std::ostringstream text;
        text.precision(6);
        if constexpr (std::is_same_v<T, DType>) {
          text << static_cast<int>(value);
        } else if constexpr (std::is_same_v<T, Constant>) {
          text << static_cast<int>(value->dtype()) << value->shape().ToString();
          for (double each : value->Reals()) text << " " << each;
        } else if constexpr (std::is_same_v<T, std::shared_ptr<Graph>>) {
          text << value->nodes.size();
        } else if constexpr (requires { value.size(); } && !std::is_same_v<T, std::string>) {
          for (const auto& each : value) text << " " << each;
        } else if constexpr (std::is_same_v<T, double>) {
          text << static_cast<float>(value);  // as it stands in a file
        } else {
          text << value;
        }
        return text.str();
      },
      attribute);
}

// All that decides what is computed.
std::string TextOf(const Graph& graph) {
  std::ostringstream text;
  for (const Node& node : graph.nodes) {
    text << node.type << node.outputs << "(";
    for (const Port& input : node.inputs) text << " " << input.node << ":" << input.output;
    for (const auto& [name, value] : node.attributes) text << " " << name << "=" << TextOf(value);
    text << ")\n";
  }
  for (const GraphOutput& output : graph.outputs)
    text << output.port.node << ":" << output.port.output << "\n";
  return text.str();
}

// One node of one operator: floats of any shape go in, and the outputs that it must have come out.
class OneNode {
 public:
  explicit OneNode(const Schema& schema) : schema_(schema) {
    model_.opsets = {{"", schema.opset}, {"com.microsoft", 1}};
    NodeData& node = model_.graph.nodes.emplace_back();
    node.name = "n";
    node.type = schema.type;
    node.domain = schema.domain;
    for (int i = 0; i < schema.inputs; ++i) {
      node.inputs.push_back("x" + std::to_string(i));
      model_.graph.inputs.push_back({node.inputs.back(), true, kFloat, true, ShapeOf(i)});
    }
    for (int i = 0; i < std::max(schema.outputs, 1); ++i) {
      node.outputs.push_back("y" + std::to_string(i));
      model_.graph.outputs.push_back({node.outputs.back(), true, kFloat, false, {}});
    }
    for (const Wanted& wanted : AttributesOf(schema)) {
      if (wanted.required) node.attributes.push_back(Value(wanted.name, wanted.kind, 1));
    }
  }

  // In the place of one that is there.
  void Set(AttributeData value) {
    std::erase_if(Attributes(), [&](const AttributeData& old) { return old.name == value.name; });
    Attributes().push_back(std::move(value));
  }

  // The graph as text, or "refused: " and why.
  std::string Imported() const {
    try {
      return TextOf(Import(model_, ""));
    } catch (const Error& error) {
      return "refused: " + std::string(error.id()) + " " + error.sentence();
    }
  }

 private:
  // As many sizes as the few importers want that look at them.
  std::vector<int64_t> ShapeOf(int input) const {
    const std::string_view type = schema_.type;
    if (type.ends_with("Normalization") && input > 0) return {3};
    if (type == "Attention" && schema_.domain == std::string_view(kMicrosoft) && input == 1) return {3, 9};
    if (type == "RotaryEmbedding" && schema_.domain == std::string_view())
      return input == 0 ? std::vector<int64_t>{3, 3, 3, 8} : std::vector<int64_t>{3, 3, 4};
    if (type == "RotaryEmbedding")
      return input < 2 ? std::vector<int64_t>{3, 3, 8} : std::vector<int64_t>{3, 2};
    if (type == "GroupQueryAttention" || type == "MultiHeadAttention") return {3, 3, 12};
    return {3, 3, 3, 3};
  }
  std::vector<AttributeData>& Attributes() { return model_.graph.nodes[0].attributes; }

  const Schema& schema_;
  ModelData model_;
};

bool Refused(const std::string& text) { return text.starts_with("refused: "); }
// The operators of the importer.
std::vector<Schema> Schemas() {
  std::vector<Schema> known;
  for (const auto& list : {std::span<const Schema>(kSchemas), std::span<const Schema>(kContributed)}) {
    for (const Schema& schema : list) {
      if (!OneNode(schema).Imported().starts_with("refused: onnx-op-unknown")) known.push_back(schema);
    }
  }
  return known;
}

// Whether values of the attribute are told apart or refused, but for one: an attribute that is only there for
// its default has that.
bool Counts(const Schema& schema, const Wanted& wanted, const std::string& base, int first, int last) {
  int silent = 0;
  for (int which = first; which <= last; ++which) {
    OneNode node(schema);
    node.Set(Value(wanted.name, wanted.kind, which));
    const std::string text = node.Imported();
    if (!Refused(text) && text != base) return true;
    silent += Refused(text) ? 0 : 1;
  }
  return silent <= 1;
}

// Why an attribute may change nothing.
const char* WhyWithoutEffect(const Schema& schema, const std::string& name) {
  const std::string type = schema.type;
  if (name == "consumed_inputs") return "a plan for memory";
  if (name == "kernel_shape") return "the weights say it, and must agree";
  if (name == "saturate" || name == "round_mode") return "of floats of 8 bits, which are refused";
  if (name == "broadcast" && schema.opset < 7) return "shapes that need none are as they are";
  if (name == "axis" && schema.opset < 7 && schema.inputs == 2) return "of broadcast";
  if (name == "output_sequence" || name == "is_test") return "the results that are wanted say it";
  if (name == "ratio" && type == "Dropout") return "nothing trains before opset 12";
  if (name == "type" && type == "Optional") return "the value that is there says it";
  if (name == "num_heads" && type == "RotaryEmbedding" && schema.domain == std::string_view())
    return "the input has a dimension for them";
  if (name == "dtype" && type == "SequenceEmpty") return "no element is of that type";
  if (name == "storage_order") return "of indices, which are not wanted here";
  if (name == "accuracy_level") return "the least precision; there is more";
  if (name == "mask_filter_value") return "there is no mask";
  if (name == "axis" && type == "RMSNormalization") return "the scale says it, and must agree";
  if (name == "num_heads" && type == "RotaryEmbedding") return "the tables say it, and must agree";
  if (name == "num_outputs") return "the outputs say it, and must agree";
  if (name == "opset" && type == "QLinearSoftmax") return "all before 13 are the same";
  if ((name == "rotary_embedding_dim" && type == "Attention") || name == "rotary_interleaved")
    return "of do_rotary";
  return nullptr;
}

// Defaults of the standard that are written in another way.
bool IsOtherwiseWritten(const Schema& schema, const std::string& name) {
  const std::string type = schema.type;
  return (type == "Clip" && schema.opset == 6) || (type == "GridSample" && name == "mode") ||
         (type == "RNN" && name == "activations") || (type == "GRU" && schema.opset == 1);
}

TEST(OnnxAttributes, EveryOneOfEveryOperatorIsHonouredOrRefused) {
  const std::vector<Schema> schemas = Schemas();
  EXPECT_GT(schemas.size(), 280u);
  for (const Schema& schema : schemas) {
    const std::string base = OneNode(schema).Imported();
    for (const Wanted& wanted : AttributesOf(schema)) {
      SCOPED_TRACE(std::string(schema.type) + ", opset " + std::to_string(schema.opset) + ": " + wanted.name);
      if (Refused(base) || wanted.kind == "GRAPH") continue;
      if (WhyWithoutEffect(schema, wanted.name) == nullptr) {
        EXPECT_TRUE(Counts(schema, wanted, base, 0, 5)) << "its values are not told apart";
      }
      if (!wanted.has_fallback || IsOtherwiseWritten(schema, wanted.name)) continue;
      OneNode node(schema);
      node.Set(Value(wanted.name, wanted.kind, 1, &wanted.fallback));
      EXPECT_EQ(node.Imported(), base) << "its default is not that of the standard";
    }
  }
}

TEST(OnnxAttributes, OfAnotherKindAreRefused) {
  for (const Schema& schema : Schemas()) {
    for (const Wanted& wanted : AttributesOf(schema)) {
      SCOPED_TRACE(std::string(schema.type) + ", opset " + std::to_string(schema.opset) + ": " + wanted.name);
      const char* why = WhyWithoutEffect(schema, wanted.name);
      if (why != nullptr && wanted.name != "kernel_shape") continue;
      OneNode node(schema);
      node.Set(Value(wanted.name, wanted.kind == "STRINGS" ? "INTS" : "STRINGS", 1));
      EXPECT_THAT(node.Imported(), HasSubstr("refused: onnx-"));
    }
  }
}

TEST(OnnxAttributes, ThatAnOperatorDoesNotHaveAreHonouredOrRefused) {
  std::map<std::string, std::string> names{{"no_such_attribute", "INT"}};
  for (const Schema& schema : kSchemas) {
    for (const Wanted& wanted : AttributesOf(schema)) names.emplace(wanted.name, wanted.kind);
  }
  for (const Schema& schema : Schemas()) {
    std::set<std::string> own;
    for (const Wanted& wanted : AttributesOf(schema)) own.insert(wanted.name);
    const std::string base = OneNode(schema).Imported();
    if (Refused(base)) continue;
    for (const auto& [name, kind] : names) {
      if (own.count(name) != 0 || name == "consumed_inputs") continue;
      if (WhyWithoutEffect(schema, name) != nullptr) continue;
      EXPECT_TRUE(Counts(schema, {name, kind, "", false, false}, base, 0, 1))
          << schema.type << ", opset " << schema.opset << ": " << name << " changes nothing";
    }
    OneNode node(schema);
    node.Set(Value("no_such_attribute", "INT", 1));
    EXPECT_THAT(node.Imported(), HasSubstr("refused: onnx-attribute")) << schema.type;
  }
}

}  // namespace
}  // namespace belay::graph::onnx
