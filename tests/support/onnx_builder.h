// Builds small ONNX models for tests, byte by byte: the few fields of the protobuf format that they need.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace onnx_builder {

// A message under construction: fields of protobuf's wire format.
class Message {
 public:
  Message& Int(int field, int64_t value) {
    Tag(field, 0);
    Varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& Bytes(int field, const std::string& bytes) {
    Tag(field, 2);
    Varint(bytes.size());
    text_ += bytes;
    return *this;
  }
  Message& Float(int field, float value) {
    Tag(field, 5);
    char raw[4];
    std::memcpy(raw, &value, 4);
    text_.append(raw, 4);
    return *this;
  }
  Message& Sub(int field, const Message& message) { return Bytes(field, message.text_); }
  const std::string& text() const { return text_; }

 private:
  void Tag(int field, int type) { Varint(static_cast<uint64_t>(field) << 3 | static_cast<unsigned>(type)); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

enum Type { kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kBool = 9, kFloat16 = 10 };

// A size of -1 is left open.
inline Message Value(const std::string& name, const std::vector<int64_t>& dims, Type type = kFloat) {
  Message shape;
  for (int64_t size : dims) shape.Sub(1, size < 0 ? Message().Bytes(2, "n") : Message().Int(1, size));
  return Message().Bytes(1, name).Sub(2, Message().Sub(1, Message().Int(1, type).Sub(2, shape)));
}

template <class T>
Message Tensor(const std::string& name, const std::vector<int64_t>& dims, const std::vector<T>& values,
               Type type) {
  Message tensor;
  for (int64_t size : dims) tensor.Int(1, size);
  std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return tensor.Int(2, type).Bytes(8, name).Bytes(9, raw);
}
inline Message Floats(const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<float>& values) {
  return Tensor(name, dims, values, kFloat);
}
inline Message Int64s(const std::string& name, const std::vector<int64_t>& values) {
  return Tensor(name, {static_cast<int64_t>(values.size())}, values, kInt64);
}

inline Message IntAttribute(const std::string& name, int64_t value) {
  return Message().Bytes(1, name).Int(3, value).Int(20, 2);
}
inline Message IntsAttribute(const std::string& name, const std::vector<int64_t>& values) {
  Message attribute = Message().Bytes(1, name);
  for (int64_t value : values) attribute.Int(8, value);
  return attribute.Int(20, 7);
}

inline Message Node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<Message>& attributes = {}) {
  Message node;
  for (const std::string& input : inputs) node.Bytes(1, input);
  for (const std::string& output : outputs) node.Bytes(2, output);
  node.Bytes(3, outputs.empty() ? type : "node_" + outputs[0]).Bytes(4, type);
  for (const Message& attribute : attributes) node.Sub(5, attribute);
  return node;
}

struct Model {
  std::vector<Message> nodes, constants, inputs, outputs;
  int64_t opset = 13;

  std::string Bytes() const {
    Message graph;
    for (const Message& node : nodes) graph.Sub(1, node);
    graph.Bytes(2, "test");
    for (const Message& constant : constants) graph.Sub(5, constant);
    for (const Message& input : inputs) graph.Sub(11, input);
    for (const Message& output : outputs) graph.Sub(12, output);
    return Message().Int(1, 8).Sub(7, graph).Sub(8, Message().Bytes(1, "").Int(2, opset)).text();
  }
};

// y = (x + x) * 3, for x of these sizes.
inline std::string SixTimes(const std::vector<int64_t>& dims) {
  Model model;
  model.inputs = {Value("x", dims)};
  model.outputs = {Value("y", dims)};
  model.constants = {Floats("three", {}, {3})};
  model.nodes = {Node("Add", {"x", "x"}, {"sum"}), Node("Mul", {"sum", "three"}, {"y"})};
  return model.Bytes();
}

}  // namespace onnx_builder
