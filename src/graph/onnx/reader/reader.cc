// libbelay_onnx.so: reads the protobuf of ONNX into the plain structures of onnx/model.h. A library of its
// own, so that protobuf is loaded with the first model only and none of its symbols meet a program's.
#include "graph/onnx/reader/reader.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onnx.pb.h"

namespace {

namespace pb = ::onnx;
using namespace belay::graph::onnx;  // NOLINT: this file translates from one to the other
// Without an arena, a message for which there is no room in the list that it belongs to is lost.
using google::protobuf::Arena;

TensorData Tensor(const pb::TensorProto& from) {
  TensorData to;
  to.name = from.name();
  to.type = from.data_type();
  to.dims.assign(from.dims().begin(), from.dims().end());
  to.raw = from.raw_data();
  to.floats.assign(from.float_data().begin(), from.float_data().end());
  to.int32s.assign(from.int32_data().begin(), from.int32_data().end());
  to.int64s.assign(from.int64_data().begin(), from.int64_data().end());
  to.doubles.assign(from.double_data().begin(), from.double_data().end());
  to.uint64s.assign(from.uint64_data().begin(), from.uint64_data().end());
  to.strings.assign(from.string_data().begin(), from.string_data().end());
  if (from.data_location() == pb::TensorProto::EXTERNAL) {
    for (const auto& entry : from.external_data()) to.external[entry.key()] = entry.value();
    to.external.try_emplace("location");
  }
  return to;
}

GraphData Graph(const pb::GraphProto& from);

AttributeData Attribute(const pb::AttributeProto& from) {
  AttributeData to;
  to.name = from.name();
  to.type = from.type();
  to.parameter = from.ref_attr_name();
  to.f = from.f();
  to.i = from.i();
  to.s = from.s();
  if (from.has_t()) to.tensor = std::make_shared<TensorData>(Tensor(from.t()));
  if (from.has_g()) to.graph = std::make_shared<GraphData>(Graph(from.g()));
  to.floats.assign(from.floats().begin(), from.floats().end());
  to.ints.assign(from.ints().begin(), from.ints().end());
  to.strings.assign(from.strings().begin(), from.strings().end());
  return to;
}

NodeData Node(const pb::NodeProto& from) {
  NodeData to;
  to.name = from.name();
  to.type = from.op_type();
  to.domain = from.domain();
  to.inputs.assign(from.input().begin(), from.input().end());
  to.outputs.assign(from.output().begin(), from.output().end());
  for (const auto& attribute : from.attribute()) to.attributes.push_back(Attribute(attribute));
  return to;
}

ValueData Value(const pb::ValueInfoProto& from) {
  ValueData to;
  to.name = from.name();
  to.is_tensor = from.type().has_tensor_type();
  if (!to.is_tensor) return to;
  const auto& tensor = from.type().tensor_type();
  to.type = tensor.elem_type();
  to.rank_known = tensor.has_shape();
  for (const auto& dim : tensor.shape().dim()) to.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return to;
}

GraphData Graph(const pb::GraphProto& from) {
  GraphData to;
  to.name = from.name();
  for (const auto& node : from.node()) to.nodes.push_back(Node(node));
  for (const auto& constant : from.initializer()) to.constants.push_back(Tensor(constant));
  for (const auto& input : from.input()) to.inputs.push_back(Value(input));
  for (const auto& output : from.output()) to.outputs.push_back(Value(output));
  return to;
}

// FunctionProto.attribute_proto, which the description of the format that Debian has does not know.
void ReadDefaults(const std::string& unknown, Arena& arena, std::vector<AttributeData>& to) {
  using google::protobuf::internal::WireFormatLite;
  constexpr uint32_t kAttributeProto = 11 << 3 | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  google::protobuf::io::CodedInputStream fields(reinterpret_cast<const uint8_t*>(unknown.data()),
                                                static_cast<int>(unknown.size()));
  while (const uint32_t tag = fields.ReadTag()) {
    uint32_t size = 0;
    std::string bytes;
    if (tag != kAttributeProto) {
      if (!WireFormatLite::SkipField(&fields, tag)) return;
      continue;
    }
    auto& attribute = *Arena::CreateMessage<pb::AttributeProto>(&arena);
    if (!fields.ReadVarint32(&size) || !fields.ReadString(&bytes, static_cast<int>(size)) ||
        !attribute.ParseFromString(bytes))
      return;
    to.push_back(Attribute(attribute));
  }
}

FunctionData Function(const pb::FunctionProto& from, Arena& arena) {
  FunctionData to;
  to.domain = from.domain();
  to.name = from.name();
  to.inputs.assign(from.input().begin(), from.input().end());
  to.outputs.assign(from.output().begin(), from.output().end());
  for (const auto& node : from.node()) to.nodes.push_back(Node(node));
  to.parameters.assign(from.attribute().begin(), from.attribute().end());
  ReadDefaults(from.unknown_fields(), arena, to.defaulted);
  return to;
}

template <class Message>
bool Parse(Message& message, const char* bytes, size_t size) {
  if (size > INT_MAX) return false;
  google::protobuf::io::ArrayInputStream stream(bytes, static_cast<int>(size));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT_MAX);
  coded.SetRecursionLimit(64);  // graphs inside graphs
  return message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

}  // namespace

bool belay_read_onnx(const char* bytes, size_t size, ModelData* model) try {
  auto arena = std::make_shared<Arena>();
  auto& proto = *Arena::CreateMessage<pb::ModelProto>(arena.get());
  if (!Parse(proto, bytes, size) || !proto.has_graph()) return false;
  model->ir_version = proto.ir_version();
  for (const auto& set : proto.opset_import()) model->opsets[set.domain()] = set.version();
  for (const auto& function : proto.functions()) model->functions.push_back(Function(function, *arena));
  model->graph = Graph(proto.graph());
  model->owner = std::move(arena);
  return true;
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception&) {
  return false;
}

bool belay_read_onnx_tensor(const char* bytes, size_t size, TensorData* tensor,
                            std::shared_ptr<const void>* owner) try {
  auto arena = std::make_shared<Arena>();
  auto& proto = *Arena::CreateMessage<pb::TensorProto>(arena.get());
  if (!Parse(proto, bytes, size)) return false;
  *tensor = Tensor(proto);
  *owner = std::move(arena);
  return true;
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception&) {
  return false;
}
