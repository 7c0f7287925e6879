// What tests of sessions share: a graph y = relu(x + c), and tensors of floats.
#pragma once

#include <all_ops.h>
#include <ge/ge_api.h>

#include <cstring>

#include "conformance/runtime_fixture.h"

namespace conformance {

using GeOptions = std::map<ge::AscendString, ge::AscendString>;

inline std::string GeError() { return ge::GEGetErrorMsgV2().GetString(); }

inline ge::TensorDesc FloatDesc(const std::vector<int64_t>& dims) {
  return ge::TensorDesc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
}

inline ge::Tensor Floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return ge::Tensor(FloatDesc(dims), reinterpret_cast<const uint8_t*>(values.data()),
                    values.size() * sizeof(float));
}

inline std::vector<float> ValuesOf(const ge::Tensor& tensor) {
  std::vector<float> values(tensor.GetSize() / sizeof(float));
  std::memcpy(values.data(), tensor.GetData(), tensor.GetSize());
  return values;
}

inline ge::op::Data Input(const char* name, const std::vector<int64_t>& dims, int64_t index = 0) {
  ge::op::Data data(name);
  data.set_attr_index(index);
  data.update_input_desc_x(FloatDesc(dims));
  data.update_output_desc_y(FloatDesc(dims));
  return data;
}

inline ge::op::Const Constant(const char* name, const std::vector<int64_t>& dims,
                              const std::vector<float>& values) {
  ge::op::Const constant(name);
  constant.set_attr_value(Floats(dims, values));
  constant.update_output_desc_y(FloatDesc(dims));
  return constant;
}

// The operators go out of scope here, as they do in programs.
inline ge::Graph AddAndRelu(const std::vector<int64_t>& dims, float constant) {
  ge::Graph graph("add_and_relu");
  auto x = Input("x", dims);
  auto add = ge::op::Add("add").set_input_x1(x).set_input_x2(Constant("c", {1}, {constant}));
  auto relu = ge::op::Relu("relu").set_input_x(add);
  graph.SetInputs({x}).SetOutputs({relu});
  return graph;
}

}  // namespace conformance
