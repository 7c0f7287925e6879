// The steps of the documentation page on running a graph asynchronously with device memory, in the page's
// order and spelling; the page leaves out the graph itself and the sizes.
#include <cmath>
#include <iostream>

#include "acl.h"
#include "acl_rt.h"
#include "all_ops.h"
#include "ge_api.h"
#include "graph.h"

using namespace ge;

static const uint32_t graph_id = 0;
static const size_t size = 4 * 4 * sizeof(float);

static int Failed(const char* what) {
  const char* text = aclGetRecentErrMsg();
  std::cout << what << " failed: " << (text == nullptr ? "" : text) << std::endl;
  return 1;
}

static Graph ConvGraph() {
  TensorDesc desc(Shape({1, 1, 4, 4}), FORMAT_NCHW, DT_FLOAT),
      filter_desc(Shape({1, 1, 1, 1}), FORMAT_NCHW, DT_FLOAT);
  auto data = op::Data("data").set_attr_index(0);
  data.update_input_desc_x(desc);
  data.update_output_desc_y(desc);
  float three = 3;
  auto filter = op::Const("filter").set_attr_value(
      Tensor(filter_desc, reinterpret_cast<uint8_t*>(&three), sizeof three));
  filter.update_output_desc_y(filter_desc);
  auto conv = op::Conv2D("conv")
                  .set_input_x(data)
                  .set_input_filter(filter)
                  .set_attr_strides({1, 1, 1, 1})
                  .set_attr_pads({0, 0, 0, 0});
  conv.set_attr_data_format("NCHW");
  Graph graph("conv_graph");
  std::vector<Operator> inputs{data}, outputs{conv};
  graph.SetInputs(inputs).SetOutputs(outputs);
  return graph;
}

int main() {
  std::map<AscendString, AscendString> config = {{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "1"}};
  Status ret = ge::GEInitialize(config);
  if (ret != SUCCESS) return Failed("GEInitialize");
  Graph conv_graph = ConvGraph();
  std::map<AscendString, AscendString> options;
  ge::Session* session = new Session(options);
  ret = session->AddGraph(graph_id, conv_graph);
  if (ret != SUCCESS) return Failed("AddGraph");
  const char* aclConfigPath = nullptr;
  aclError retInit = aclInit(aclConfigPath);
  if (retInit != ACL_ERROR_NONE) return Failed("aclInit");
  TensorDesc desc(Shape({1, 1, 4, 4}), FORMAT_NCHW, DT_FLOAT);
  std::vector<Tensor> input{Tensor(desc)}, output{Tensor(desc)};
  ret = session->BuildGraph(graph_id, input);
  if (ret != SUCCESS) return Failed("BuildGraph");

  int32_t deviceId = 0;
  retInit = aclrtSetDevice(deviceId);
  aclrtStream stream = nullptr;
  aclError aclRet = aclrtCreateStream(&stream);
  void* hostPtrA = NULL;
  aclRet = aclrtMallocHost(&hostPtrA, size);
  void* devPtrB = NULL;
  aclRet = aclrtMalloc(&devPtrB, size, ACL_MEM_MALLOC_HUGE_FIRST);
  void* devPtrC = NULL;
  aclRet = aclrtMalloc(&devPtrC, size, ACL_MEM_MALLOC_HUGE_FIRST);
  for (int i = 0; i < 16; ++i) static_cast<float*>(hostPtrA)[i] = static_cast<float>(i);
  aclrtMemcpy(devPtrB, size, hostPtrA, size, ACL_MEMCPY_HOST_TO_DEVICE);
  auto keep = [](uint8_t*) {};
  input[0].SetData(static_cast<uint8_t*>(devPtrB), size, keep);
  output[0].SetData(static_cast<uint8_t*>(devPtrC), size, keep);

  ret = session->RunGraphWithStreamAsync(graph_id, stream, input, output);
  if (ret != SUCCESS) return Failed("RunGraphWithStreamAsync");
  aclRet = aclrtSynchronizeStream(stream);
  aclrtMemcpy(hostPtrA, size, devPtrC, size, ACL_MEMCPY_DEVICE_TO_HOST);
  for (int i = 0; i < 16; ++i) {
    if (static_cast<float*>(hostPtrA)[i] != 3.0f * static_cast<float>(i)) return Failed("the result");
  }
  ret = static_cast<Status>(aclrtFree(devPtrB) | aclrtFree(devPtrC) | aclrtFreeHost(hostPtrA));
  if (ret != SUCCESS) return Failed("aclrtFree");
  ret = ge::GEFinalize();  // the session is still there, as on the page
  aclRet = aclFinalize();
  if (ret != SUCCESS || aclRet != ACL_ERROR_NONE || retInit != ACL_ERROR_NONE) return Failed("the end");
  delete session;
  std::cout << "right" << std::endl;
  return 0;
}
