#include "atc/single_ops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "graph/om/om.h"
#include "graph/single_op_model.h"

namespace atc {
namespace {

using belay::Fail;
using belay::tensor::DType;
using belay::tensor::Format;
using Json = nlohmann::json;
namespace graph = belay::graph;

constexpr int64_t kUnknownRank = -2;  // the only "size" of a shape whose rank is open

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Reads one description; errors say where in it they are.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) Bad("", "is not an object");
  }

  bool Has(const char* field) const { return json_.contains(field); }
  const Json& Get(const char* field) const {
    auto it = json_.find(field);
    if (it == json_.end()) Bad(field, "is missing");
    return *it;
  }
  const Json& Array(const char* field) const {
    const Json& value = Get(field);
    if (!value.is_array()) Bad(field, "is not an array");
    return value;
  }
  std::string Text(const char* field) const {
    const Json& value = Get(field);
    if (!value.is_string()) Bad(field, "is not a text");
    return value.get<std::string>();
  }
  template <class T>
  T As(const char* field, const char* what) const {
    try {
      return Get(field).get<T>();
    } catch (const Json::exception&) {
      Bad(field, fmt::format("is not {}", what));
    }
  }
  std::string Where(const char* field, size_t index) const {
    return fmt::format("{}.{}[{}]", where_, field, index);
  }

  [[noreturn]] void Bad(const std::string& field, const std::string& reason) const {
    Fail(100000, "atc-singleop", "E10001: in the description of single operators, {}{}{} {}", where_,
         field.empty() ? "" : ".", field, reason);
  }

 private:
  const Json& json_;
  std::string where_;
};

DType TypeNamed(const std::string& name, const Reader& reader, const char* field) {
  constexpr std::pair<const char*, DType> kTypes[] = {
      {"bool", DType::kBool},          {"int8", DType::kI8},       {"uint8", DType::kU8},
      {"int16", DType::kI16},          {"uint16", DType::kU16},    {"int32", DType::kI32},
      {"uint32", DType::kU32},         {"int64", DType::kI64},     {"uint64", DType::kU64},
      {"float16", DType::kF16},        {"half", DType::kF16},      {"fp16", DType::kF16},
      {"bfloat16", DType::kBF16},      {"float", DType::kF32},     {"float32", DType::kF32},
      {"double", DType::kF64},         {"complex64", DType::kC64}, {"complex128", DType::kC128},
      {"undefined", DType::kUndefined}};
  for (const auto& [known, type] : kTypes) {
    if (Lower(name) == known) return type;
  }
  reader.Bad(field, fmt::format("is '{}', which is no type", name));
}

Format FormatNamed(const std::string& name, const Reader& reader) {
  constexpr std::pair<const char*, Format> kFormats[] = {
      {"nchw", Format::kNCHW},   {"nhwc", Format::kNHWC},   {"nd", Format::kND},      {"hwcn", Format::kHWCN},
      {"ncdhw", Format::kNCDHW}, {"ndhwc", Format::kNDHWC}, {"reserved", Format::kND}};
  for (const auto& [known, format] : kFormats) {
    if (Lower(name) == known) return format;
  }
  reader.Bad("format",
             fmt::format("is '{}'; operators compute on NCHW, NHWC, ND, HWCN, NCDHW and NDHWC here", name));
}

graph::ValueType TypeOf(const Reader& reader) {
  graph::ValueType type;
  type.dtype = TypeNamed(reader.Text("type"), reader, "type");
  type.format = FormatNamed(reader.Text("format"), reader);
  if (type.dtype == DType::kUndefined) return type;  // an optional input that is not given
  auto sizes = reader.As<std::vector<int64_t>>("shape", "an array of numbers");
  if (sizes.size() == 1 && sizes[0] == kUnknownRank) return type;
  type.rank_known = true;
  if (sizes.size() > belay::tensor::kMaxRank) reader.Bad("shape", "has more than eight sizes");
  for (int64_t size : sizes) {
    if (size < graph::kUnknownDim) reader.Bad("shape", fmt::format("has the size {}", size));
    type.shape.push_back(size);
  }
  return type;
}

template <class T>
void CopyElements(const std::vector<double>& from, graph::HostTensor& to) {
  std::transform(from.begin(), from.end(), to.as<T>(), [](double x) { return static_cast<T>(x); });
}

graph::Constant ValueOf(const Reader& reader, const graph::ValueType& type) {
  auto elements = reader.As<std::vector<double>>("const_value", "an array of numbers");
  if (!type.concrete() || static_cast<int64_t>(elements.size()) != belay::tensor::CountOf(type.shape)) {
    reader.Bad("const_value",
               fmt::format("has {} elements, which do not fill {}", elements.size(), type.ToString()));
  }
  auto value = std::make_shared<graph::HostTensor>(type.dtype, type.shape);
  switch (type.dtype) {
    case DType::kF32:
      CopyElements<float>(elements, *value);
      break;
    case DType::kF64:
      CopyElements<double>(elements, *value);
      break;
    case DType::kI8:
      CopyElements<int8_t>(elements, *value);
      break;
    case DType::kU8:
      CopyElements<uint8_t>(elements, *value);
      break;
    case DType::kI32:
      CopyElements<int32_t>(elements, *value);
      break;
    case DType::kI64:
      CopyElements<int64_t>(elements, *value);
      break;
    case DType::kBool:
      CopyElements<bool>(elements, *value);
      break;
    default:
      reader.Bad("const_value", fmt::format("cannot be given for {}", belay::tensor::NameOf(type.dtype)));
  }
  return value;
}

graph::Attribute AttributeOf(const Reader& reader) {
  std::string type = reader.Text("type");
  if (type == "bool") return reader.As<bool>("value", "true or false");
  if (type == "int") return reader.As<int64_t>("value", "a whole number");
  if (type == "float") return reader.As<double>("value", "a number");
  if (type == "string") return reader.As<std::string>("value", "a text");
  if (type == "data_type") return TypeNamed(reader.Text("value"), reader, "value");
  if (type == "list_int") return reader.As<std::vector<int64_t>>("value", "an array of whole numbers");
  if (type == "list_float") return reader.As<std::vector<double>>("value", "an array of numbers");
  if (type == "list_string") return reader.As<std::vector<std::string>>("value", "an array of texts");
  if (type == "list_bool") {
    auto values = reader.As<std::vector<bool>>("value", "an array of true and false");
    return std::vector<int64_t>(values.begin(), values.end());
  }
  reader.Bad(
      "type",
      fmt::format("is '{}'; bool, int, float, string, data_type and list_ of the first four are possible",
                  type));
}

// "3_2_3_3" for an int32 ND tensor of 3 x 3: numbers of type and format, then the sizes.
std::string NamePart(const graph::ValueType& type) {
  std::string text = fmt::format("{}_{}", static_cast<int>(type.dtype), static_cast<int>(type.format));
  for (int64_t size : type.shape) text += fmt::format("_{}", size);
  return text;
}

std::string DefaultName(size_t index, const graph::SingleOp& op) {
  std::string name = fmt::format("{}_{}", index, op.type);
  for (const graph::OpArgument& input : op.inputs) name += "_" + NamePart(input.type);
  for (const graph::ValueType& result : op.results) name += "_" + NamePart(result);
  return name;
}

DescribedOp ReadOp(const Json& json, size_t index) {
  Reader reader(json, fmt::format("[{}]", index));
  DescribedOp described;
  graph::SingleOp& op = described.op;
  op.type = reader.Text("op");
  const Json& inputs = reader.Array("input_desc");
  for (size_t i = 0; i < inputs.size(); ++i) {
    Reader input(inputs[i], reader.Where("input_desc", i));
    graph::OpArgument& argument = op.inputs.emplace_back();
    argument.type = TypeOf(input);
    argument.present = argument.type.dtype != DType::kUndefined;
    if (input.Has("is_const") && input.As<bool>("is_const", "true or false"))
      argument.value = ValueOf(input, argument.type);
  }
  const Json& outputs = reader.Array("output_desc");
  for (size_t i = 0; i < outputs.size(); ++i)
    op.results.push_back(TypeOf(Reader(outputs[i], reader.Where("output_desc", i))));
  op.outputs = static_cast<int>(op.results.size());
  if (reader.Has("attr")) {
    const Json& attributes = reader.Array("attr");
    for (size_t i = 0; i < attributes.size(); ++i) {
      Reader attribute(attributes[i], reader.Where("attr", i));
      op.attributes[attribute.Text("name")] = AttributeOf(attribute);
    }
  }
  described.name = reader.Has("name") ? reader.Text("name") : DefaultName(index, op);
  if (described.name.empty() || described.name.find('/') != std::string::npos)
    reader.Bad("name", "cannot be the name of a file");
  return described;
}

}  // namespace

std::vector<DescribedOp> ReadSingleOps(const std::string& json) {
  Json list;
  try {
    list = Json::parse(json);
  } catch (const Json::exception& error) {
    Fail(100000, "atc-singleop", "E10001: the description of single operators is no JSON: {}", error.what());
  }
  if (!list.is_array() || list.empty()) {
    Fail(100000, "atc-singleop",
         "E10001: the description of single operators is no array with at least one in it");
  }
  std::vector<DescribedOp> ops;
  for (size_t i = 0; i < list.size(); ++i) ops.push_back(ReadOp(list[i], i));
  return ops;
}

void CompileSingleOps(const std::string& json_path, const std::string& folder) {
  std::ifstream file(json_path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) Fail(100000, "atc-singleop", "E10001: '{}' cannot be read", json_path);
  std::vector<DescribedOp> ops = ReadSingleOps(text.str());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const DescribedOp& described : ops) {
    graph::ModelBytes bytes = graph::WriteModel(graph::SingleOpModel(described.op));
    graph::SaveModel(folder + "/" + described.name + ".om", bytes.data.get(), bytes.size);
  }
}

}  // namespace atc
