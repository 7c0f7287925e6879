// A model file of ONNX as plain data: what the reader library makes of the bytes and the importer turns
// into a graph. Only the reader knows protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::graph::onnx {

// TensorProto.DataType
enum ElementType : int32_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
};

struct TensorData {
  std::string name;
  int32_t type = 0;
  std::vector<int64_t> dims;
  std::string_view raw;       // the elements, little-endian; belongs to the model
  std::vector<float> floats;  // or one of these
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<double> doubles;
  std::vector<uint64_t> uint64s;
  std::vector<std::string> strings;
  std::map<std::string, std::string> external;  // location, offset, length
};

struct GraphData;

// AttributeProto.AttributeType
enum AttributeType : int32_t {
  kAnyAttribute = 0,  // the oldest files do not say
  kFloatAttribute = 1,
  kIntAttribute = 2,
  kStringAttribute = 3,
  kTensorAttribute = 4,
  kGraphAttribute = 5,
  kFloatsAttribute = 6,
  kIntsAttribute = 7,
  kStringsAttribute = 8,
};

struct AttributeData {
  std::string name;
  int32_t type = 0;
  std::string parameter;  // in a function: the attribute of its call that stands here
  double f = 0;
  int64_t i = 0;
  std::string s;
  std::shared_ptr<TensorData> tensor;
  std::shared_ptr<GraphData> graph;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};

struct NodeData {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeData> attributes;
};

struct ValueData {
  std::string name;
  bool is_tensor = true;
  int32_t type = 0;
  bool rank_known = false;
  std::vector<int64_t> dims;  // -1: a name or nothing stands there
};

struct GraphData {
  std::string name;
  std::vector<NodeData> nodes;
  std::vector<TensorData> constants;
  std::vector<ValueData> inputs, outputs;
};

struct FunctionData {
  std::string domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<NodeData> nodes;
  std::vector<std::string> parameters = {};   // attributes that a call gives
  std::vector<AttributeData> defaulted = {};  // and those that it may leave out
};

struct ModelData {
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  // domain -> version; "" is ai.onnx
  GraphData graph;
  std::vector<FunctionData> functions;
  std::shared_ptr<const void> owner;  // of the raw bytes
};

}  // namespace belay::graph::onnx
