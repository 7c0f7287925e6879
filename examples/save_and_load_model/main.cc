// A model compiled into a file in C++, then loaded and run as programs do with the files that atc makes:
// twice the input, plus one, with as many rows as each run wants.
#include <cstdio>
#include <map>
#include <vector>

#include "../check.h"
#include "all_ops.h"
#include "ge/ge_ir_build.h"

namespace {

constexpr int64_t kColumns = 4;

ge::op::Const Number(const char* name, float value) {
  ge::TensorDesc desc(ge::Shape(std::vector<int64_t>{1}), ge::FORMAT_ND, ge::DT_FLOAT);
  ge::op::Const constant(name);
  constant.set_attr_value(ge::Tensor(desc, reinterpret_cast<const uint8_t*>(&value), sizeof value));
  constant.update_output_desc_y(desc);
  return constant;
}

ge::Graph TwicePlusOne() {
  ge::TensorDesc rows(ge::Shape({-1, kColumns}), ge::FORMAT_ND, ge::DT_FLOAT);
  auto x = ge::op::Data("x").set_attr_index(0);
  x.update_input_desc_x(rows);
  x.update_output_desc_y(rows);
  auto twice = ge::op::Mul("twice").set_input_x1(x).set_input_x2(Number("two", 2));
  auto y = ge::op::Add("y").set_input_x1(twice).set_input_x2(Number("one", 1));
  ge::Graph graph("twice_plus_one");
  graph.SetInputs({x}).SetOutputs({y});
  return graph;
}

void Compile(const char* file) {
  std::map<ge::AscendString, ge::AscendString> global, options;
  options["input_shape"] = "x:-1,4";
  options["ge.dynamicBatchSize"] = "1,2,8";  // the numbers of rows that runs may have
  CHECK(ge::aclgrphBuildInitialize(global));
  ge::ModelBufferData model;
  CHECK(ge::aclgrphBuildModel(TwicePlusOne(), options, model));
  CHECK(ge::aclgrphSaveModel(file, model));  // adds ".om"
  ge::aclgrphBuildFinalize();
}

// A buffer on the device for each input or output of the model.
aclmdlDataset* Buffers(aclmdlDesc* desc, size_t count, size_t (*bytes)(aclmdlDesc*, size_t)) {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  for (size_t i = 0; i < count; ++i) {
    void* memory = nullptr;
    CHECK(aclrtMalloc(&memory, bytes(desc, i), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(memory, bytes(desc, i))));
  }
  return dataset;
}

void Free(aclmdlDataset* dataset) {
  for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); ++i) {
    aclDataBuffer* buffer = aclmdlGetDatasetBuffer(dataset, i);
    CHECK(aclrtFree(aclGetDataBufferAddr(buffer)));
    CHECK(aclDestroyDataBuffer(buffer));
  }
  CHECK(aclmdlDestroyDataset(dataset));
}

void Run(uint32_t model, aclmdlDesc* desc, aclmdlDataset* in, aclmdlDataset* out, uint64_t rows) {
  std::vector<float> values(rows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const size_t bytes = values.size() * sizeof(float);
  void* x = aclGetDataBufferAddr(aclmdlGetDatasetBuffer(in, 0));
  void* y = aclGetDataBufferAddr(aclmdlGetDatasetBuffer(out, 0));
  CHECK(aclrtMemcpy(x, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  size_t gear = 0;  // the model has one more input, which holds the number of rows
  CHECK(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &gear));
  CHECK(aclmdlSetDynamicBatchSize(model, in, gear, rows));
  CHECK(aclmdlExecute(model, in, out));
  CHECK(aclrtMemcpy(values.data(), bytes, y, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  std::printf("%d row%s:", static_cast<int>(rows), rows == 1 ? " " : "s");
  for (float value : values) std::printf(" %g", value);
  std::printf("\n");
}

}  // namespace

int main() {
  Compile("twice_plus_one");
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  uint32_t model = 0;
  CHECK(aclmdlLoadFromFile("twice_plus_one.om", &model));
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, model));
  aclmdlDataset* in = Buffers(desc, aclmdlGetNumInputs(desc), aclmdlGetInputSizeByIndex);
  aclmdlDataset* out = Buffers(desc, aclmdlGetNumOutputs(desc), aclmdlGetOutputSizeByIndex);
  Run(model, desc, in, out, 1);
  Run(model, desc, in, out, 2);
  Free(in);
  Free(out);
  CHECK(aclmdlDestroyDesc(desc));
  CHECK(aclmdlUnload(model));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
