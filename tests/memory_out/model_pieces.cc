// Models: loading, describing, executing; with one size, gears and open sizes.
#include <acl/acl_mdl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "piece.h"
#include "support/onnx_builder.h"

namespace {

using memory_out::Run;

// What atc makes of an ONNX model; the file is gone again.
std::string CompileBytes(const std::string& onnx, const std::string& options) {
  std::string base = "/tmp/memory_out_" + std::to_string(getpid());
  std::ofstream(base + ".onnx", std::ios::binary) << onnx;
  std::string command = std::string(BELAY_ATC) + " --framework=5 --model=" + base + ".onnx --output=" + base +
                        " " + options + " >/dev/null";
  if (std::system(command.c_str()) != 0) return "";
  std::ifstream file(base + ".om", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (const char* end : {".onnx", ".om"}) std::remove((base + end).c_str());
  return bytes;
}

std::string Compile(const std::vector<int64_t>& dims, const std::string& options) {
  return CompileBytes(onnx_builder::SixTimes(dims), options);
}

// Bytes by bytes: a convolution, and a product of what it gives. All weights are 1.
std::string QuantisedNetwork() {
  using namespace onnx_builder;  // NOLINT: a few lines
  Model model;
  model.inputs = {Value("x", {1, 16, 4, 4})};
  model.outputs = {Value("y", {1, 8})};
  model.constants = {Floats("one", {}, {1}),
                     Tensor("zero", {}, std::vector<uint8_t>{0}, kUint8),
                     Tensor("still", {}, std::vector<int8_t>{0}, kInt8),
                     Tensor("w", {16, 16, 1, 1}, std::vector<int8_t>(256, 1), kInt8),
                     Int64s("flat", {1, 256}),
                     Tensor("b", {256, 8}, std::vector<int8_t>(2048, 1), kInt8)};
  model.nodes = {
      Node("QuantizeLinear", {"x", "one", "zero"}, {"q"}),
      Node("QLinearConv", {"q", "one", "zero", "w", "one", "still", "one", "zero"}, {"c"}),
      Node("Reshape", {"c", "flat"}, {"r"}),
      Node("MatMulInteger", {"r", "b", "zero", "still"}, {"i"}),
      Node("Cast", {"i"}, {"y"}, {IntAttribute("to", kFloat)}),
  };
  return model.Bytes();
}

const std::string& Quantised() {
  memory_out::Exempt exempt;
  static const auto* bytes = new std::string(CompileBytes(QuantisedNetwork(), ""));
  return *bytes;
}

const std::string& Fixed() {
  memory_out::Exempt exempt;
  static const auto* bytes = new std::string(Compile({2, 3}, ""));
  return *bytes;
}
const std::string& Gears() {
  memory_out::Exempt exempt;
  static const auto* bytes =
      new std::string(Compile({-1, 2}, "--input_shape='x:-1,2' --dynamic_batch_size=1,4"));
  return *bytes;
}
const std::string& Open() {
  memory_out::Exempt exempt;
  static const auto* bytes = new std::string(Compile({-1, 2}, ""));
  return *bytes;
}

// Device memory in a dataset.
void AddBuffer(Run& run, aclmdlDataset* dataset, void* data, size_t bytes) {
  TRY_MADE(buffer, aclCreateDataBuffer(data, bytes));
  int code = aclmdlAddDatasetBuffer(dataset, buffer);
  if (code != ACL_SUCCESS) AT_END(aclDestroyDataBuffer(buffer));
  TRY(code);
}
int Destroy(aclmdlDataset* dataset) {
  while (aclmdlGetDatasetNumBuffers(dataset) > 0) {
    size_t last = aclmdlGetDatasetNumBuffers(dataset) - 1;
    for (size_t i = 0; i <= last; ++i) aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, i));
    break;
  }
  return aclmdlDestroyDataset(dataset);
}

struct Data {
  float* x() const { return static_cast<float*>(memory); }
  float* y() const { return x() + 64; }
  void* memory = nullptr;
};

void Describe(Run& run, uint32_t id) {
  TRY_MADE(desc, aclmdlCreateDesc());
  AT_END(aclmdlDestroyDesc(desc));
  TRY(aclmdlGetDesc(desc, id));
  RIGHT(aclmdlGetNumInputs(desc) >= 1);
  aclmdlIODims dims;
  TRY(aclmdlGetOutputDims(desc, 0, &dims));
}

template <class Use>
void WithData(Run& run, size_t bytes, Use use) {
  Data data;
  TRY(aclrtMalloc(&data.memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(data.memory));
  for (int i = 0; i < 8; ++i) data.x()[i] = static_cast<float>(i), data.y()[i] = 0;
  TRY_MADE(in, aclmdlCreateDataset());
  AT_END(Destroy(in));
  TRY_MADE(out, aclmdlCreateDataset());
  AT_END(Destroy(out));
  AddBuffer(run, in, data.x(), bytes);
  if (run.failed()) return;
  AddBuffer(run, out, data.y(), bytes);
  if (run.failed()) return;
  use(data, in, out);
}

}  // namespace

PREPARE(model, Fixed);
PIECE(model) {
  const std::string& bytes = Fixed();
  uint32_t id = 0;
  TRY(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
  AT_END(aclmdlUnload(id));
  Describe(run, id);
  if (run.failed()) return;
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStreamForce(stream));
  WithData(run, 24, [&](const Data& data, aclmdlDataset* in, aclmdlDataset* out) {
    TRY(aclmdlExecute(id, in, out));
    RIGHT(data.y()[5] == 30);
    data.y()[5] = 0;
    TRY(aclmdlExecuteAsync(id, in, out, stream));
    TRY(aclrtSynchronizeStream(stream));
    RIGHT(data.y()[5] == 30);
  });
}

PREPARE(model_of_bytes, Quantised);
PIECE(model_of_bytes) {
  const std::string& bytes = Quantised();
  uint32_t id = 0;
  TRY(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
  AT_END(aclmdlUnload(id));
  Data data;
  TRY(aclrtMalloc(&data.memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(data.memory));
  for (int i = 0; i < 256; ++i) data.x()[i] = 1;
  TRY_MADE(in, aclmdlCreateDataset());
  AT_END(Destroy(in));
  TRY_MADE(out, aclmdlCreateDataset());
  AT_END(Destroy(out));
  AddBuffer(run, in, data.x(), 1024);
  if (!run.failed()) AddBuffer(run, out, data.x() + 256, 32);
  if (run.failed()) return;
  TRY(aclmdlExecute(id, in, out));
  RIGHT(data.x()[256 + 7] == 4096);
}

PREPARE(model_with_gears, Gears);
PIECE(model_with_gears) {
  const std::string& bytes = Gears();
  uint32_t id = 0;
  TRY(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
  AT_END(aclmdlUnload(id));
  WithData(run, 32, [&](const Data& data, aclmdlDataset* in, aclmdlDataset* out) {
    AddBuffer(run, in, data.x() + 128, 4);
    if (run.failed()) return;
    for (uint64_t batch : {1u, 4u}) {
      TRY(aclmdlSetDynamicBatchSize(id, in, 1, batch));
      TRY(aclmdlExecute(id, in, out));
      RIGHT(data.y()[2 * batch - 1] == 6 * static_cast<float>(2 * batch - 1));
    }
  });
}

PREPARE(model_with_open_sizes, Open);
PIECE(model_with_open_sizes) {
  const std::string& bytes = Open();
  uint32_t id = 0;
  TRY(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
  AT_END(aclmdlUnload(id));
  WithData(run, 32, [&](const Data& data, aclmdlDataset* in, aclmdlDataset* out) {
    for (int64_t rows : {2, 4}) {
      const int64_t dims[] = {rows, 2};
      TRY_MADE(desc, aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND));
      AT_END((aclDestroyTensorDesc(desc), 0));
      TRY(aclmdlSetDatasetTensorDesc(in, desc, 0));
      TRY(aclmdlExecute(id, in, out));
      RIGHT(data.y()[2 * rows - 1] == 6 * static_cast<float>(2 * rows - 1));
    }
  });
}

PREPARE(model_by_configuration, Fixed);
PIECE(model_by_configuration) {
  const std::string& bytes = Fixed();
  TRY_MADE(config, aclmdlCreateConfigHandle());
  AT_END(aclmdlDestroyConfigHandle(config));
  size_t type = ACL_MDL_LOAD_FROM_MEM, size = bytes.size();
  const void* data = bytes.data();
  TRY(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  TRY(aclmdlSetConfigOpt(config, ACL_MDL_MEM_ADDR_PTR, &data, sizeof data));
  TRY(aclmdlSetConfigOpt(config, ACL_MDL_MEM_SIZET, &size, sizeof size));
  uint32_t id = 0, bundle = 0;
  TRY(aclmdlLoadWithConfig(config, &id));
  AT_END(aclmdlUnload(id));
  TRY(aclmdlBundleLoadFromMem(bytes.data(), bytes.size(), &bundle));
  AT_END(aclmdlBundleUnload(bundle));
}
