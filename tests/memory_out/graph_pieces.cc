// The graph interface. Its classes are C++ of the program: without memory they may also throw std::bad_alloc.
#include <acl/acl_mdl.h>
#include <all_ops.h>
#include <ge/ge_api.h>
#include <ge/ge_ir_build.h>
#include <parser/onnx_parser.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "piece.h"
#include "support/onnx_builder.h"

namespace {

using memory_out::Run;
using Options = std::map<ge::AscendString, ge::AscendString>;

ge::TensorDesc Desc(int64_t size) { return ge::TensorDesc(ge::Shape({size}), ge::FORMAT_ND, ge::DT_FLOAT); }

ge::Tensor FloatTensor(const std::vector<float>& values) {
  return ge::Tensor(Desc(static_cast<int64_t>(values.size())),
                    reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
}

// y = relu(x + 1)
ge::Graph AddAndRelu() {
  ge::op::Data x("x");
  x.set_attr_index(0);
  x.update_input_desc_x(Desc(2));
  x.update_output_desc_y(Desc(2));
  ge::op::Const one("one");
  one.set_attr_value(FloatTensor({1}));
  one.update_output_desc_y(Desc(1));
  auto add = ge::op::Add("add").set_input_x1(x).set_input_x2(one);
  auto relu = ge::op::Relu("relu").set_input_x(add);
  ge::Graph graph("add_and_relu");
  graph.SetInputs({x}).SetOutputs({relu});
  return graph;
}

bool Is(const ge::Tensor& tensor, float first, float second) {
  float values[2] = {};
  if (tensor.GetSize() != sizeof values) return false;
  std::memcpy(values, tensor.GetData(), sizeof values);
  return values[0] == first && values[1] == second;
}

}  // namespace

PIECE(session) {
  Options options;
  TRY_GE(ge::GEInitialize(options));
  AT_END((ge::GEFinalize(), 0));
  ge::Session session(options);
  TRY_GE(session.AddGraph(1, AddAndRelu()));
  std::vector<ge::Tensor> inputs = {FloatTensor({1, -5})}, outputs;
  TRY_GE(session.RunGraph(1, inputs, outputs));
  RIGHT(outputs.size() == 1 && Is(outputs[0], 2, 0));
}

PIECE(built_model) {
  ge::ModelBufferData model;
  TRY_GE(ge::aclgrphBuildModel(AddAndRelu(), Options(), model));
  uint32_t id = 0;
  TRY(aclmdlLoadFromMem(model.data.get(), model.length, &id));
  AT_END(aclmdlUnload(id));
}

PIECE(onnx) {
  static const std::string* bytes = [] {
    memory_out::Exempt exempt;
    return new std::string(onnx_builder::SixTimes({2}));
  }();
  ge::Graph graph("parsed");
  TRY_GE(ge::aclgrphParseONNXFromMem(bytes->data(), bytes->size(), {}, graph));
  ge::ModelBufferData model;
  TRY_GE(ge::aclgrphBuildModel(graph, Options(), model));
}
