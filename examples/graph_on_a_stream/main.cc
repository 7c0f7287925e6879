// A graph of three operators, built in C++, compiled, and run on a stream with device memory.
#include <cstdio>
#include <cstring>
#include <vector>

#include "../check.h"
#include "all_ops.h"
#include "ge/ge_api.h"

namespace {

constexpr int kSide = 4;
constexpr size_t kBytes = kSide * kSide * sizeof(float);

ge::TensorDesc Desc(const std::vector<int64_t>& dims) {
  return ge::TensorDesc(ge::Shape(dims), ge::FORMAT_NCHW, ge::DT_FLOAT);
}

ge::op::Const Constant(const char* name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  ge::op::Const constant(name);
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  constant.set_attr_value(ge::Tensor(Desc(dims), bytes, values.size() * sizeof(float)));
  constant.update_output_desc_y(Desc(dims));
  return constant;
}

// y = relu(conv(x) - 50): each element becomes the sum of itself and its neighbours, less 50.
ge::Graph Neighbours() {
  ge::op::Data x("x");
  x.set_attr_index(0);
  x.update_input_desc_x(Desc({1, 1, kSide, kSide}));
  x.update_output_desc_y(Desc({1, 1, kSide, kSide}));
  auto conv = ge::op::Conv2D("conv")
                  .set_input_x(x)
                  .set_input_filter(Constant("ones", {1, 1, 3, 3}, std::vector<float>(9, 1.0f)))
                  .set_attr_strides({1, 1, 1, 1})
                  .set_attr_pads({1, 1, 1, 1})
                  .set_attr_dilations({1, 1, 1, 1})
                  .set_attr_data_format("NCHW");
  auto less = ge::op::Sub("less").set_input_x1(conv).set_input_x2(Constant("fifty", {1}, {50.0f}));
  auto relu = ge::op::Relu("relu").set_input_x(less);
  ge::Graph graph("neighbours");
  graph.SetInputs({x}).SetOutputs({relu});
  return graph;
}

// Device memory as a tensor; the tensor does not own it.
ge::Tensor OnDevice(void* memory) {
  ge::TensorDesc desc = Desc({1, 1, kSide, kSide});
  desc.SetPlacement(ge::kPlacementDevice);
  ge::Tensor tensor(desc);
  CHECK(tensor.SetData(static_cast<uint8_t*>(memory), kBytes, [](uint8_t*) {}));
  return tensor;
}

}  // namespace

int main() {
  std::map<ge::AscendString, ge::AscendString> config = {{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "0"}};
  CHECK(ge::GEInitialize(config));
  auto* session = new ge::Session(std::map<ge::AscendString, ge::AscendString>());
  CHECK(session->AddGraph(0, Neighbours()));
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  CHECK(session->CompileGraph(0));

  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  void *host = nullptr, *in = nullptr, *out = nullptr;
  CHECK(aclrtMallocHost(&host, kBytes));
  CHECK(aclrtMalloc(&in, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&out, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  auto* values = static_cast<float*>(host);
  for (int i = 0; i < kSide * kSide; ++i) values[i] = static_cast<float>(i);

  // All on one stream: in, run, out. The host only waits at the end.
  std::vector<ge::Tensor> inputs = {OnDevice(in)}, outputs = {OnDevice(out)};
  CHECK(aclrtMemcpyAsync(in, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(session->RunGraphWithStreamAsync(0, stream, inputs, outputs));
  CHECK(aclrtMemcpyAsync(host, kBytes, out, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(aclrtSynchronizeStream(stream));
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) std::printf("%6.1f", values[row * kSide + column]);
    std::printf("\n");
  }

  CHECK(aclrtFree(in));
  CHECK(aclrtFree(out));
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtDestroyStream(stream));
  delete session;
  CHECK(ge::GEFinalize());
  CHECK(aclFinalize());
  return 0;
}
