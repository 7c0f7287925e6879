// Models: atc's file through aclmdl*.
#include <sstream>
#include <thread>

#include "model_fixture.h"

namespace conformance {
namespace {

using Model = ModelTest;

void Fill(DeviceBuffer& buffer, int count) {
  for (int i = 0; i < count; ++i) buffer.floats()[i] = static_cast<float>(i);
}

TEST_F(Model, RunsAndWaits) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({2, 3})));
  DeviceBuffer x(24), y(24);
  Fill(x, 6);
  Dataset in(x.buffer()), out(y.buffer());
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << aclGetRecentErrMsg();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.floats()[i], 6.0f * static_cast<float>(i));
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), kModelIdInvalid);
  EXPECT_EQ(aclmdlUnload(id), kModelIdInvalid);
}

TEST_F(Model, RunsOnAStreamAfterItsDatasetsAreGone) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({4})));
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  DeviceBuffer x(16), y(16);
  Fill(x, 4);
  {
    Dataset in(x.buffer()), out(y.buffer());
    ASSERT_EQ(aclmdlExecuteAsync(id, in.get(), out.get(), stream), ACL_SUCCESS);
  }
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS) << "what is queued still runs";
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[3], 18.0f);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

// t = a transposed, s = a + b, and b as it is.
std::string ThreeResults() {
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("a", {2, 3}), onnx_builder::Value("b", {2, 3})};
  model.outputs = {onnx_builder::Value("t", {3, 2}), onnx_builder::Value("s", {2, 3}),
                   onnx_builder::Value("c", {2, 3})};
  model.nodes = {onnx_builder::Node("Transpose", {"a"}, {"t"}), onnx_builder::Node("Add", {"a", "b"}, {"s"}),
                 onnx_builder::Node("Identity", {"b"}, {"c"})};
  return model.Bytes();
}

TEST_F(Model, ResultsMayLieWhereInputsLie) {
  uint32_t id = Load(Compile(ThreeResults()));
  DeviceBuffer a(24), b(24), c(24);
  Fill(a, 6);
  for (int i = 0; i < 6; ++i) b.floats()[i] = static_cast<float>(10 * i);
  Dataset in(a.buffer()), out(b.buffer());  // t on b, s on a
  in.Add(b.buffer());
  out.Add(a.buffer());
  out.Add(c.buffer());
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << aclGetRecentErrMsg();
  const float transposed[] = {0, 3, 1, 4, 2, 5};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(b.floats()[i], transposed[i]);
    EXPECT_EQ(a.floats()[i], static_cast<float>(11 * i));
    EXPECT_EQ(c.floats()[i], static_cast<float>(10 * i));
  }
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Model, ResultsThatOverlapAreRefused) {
  uint32_t id = Load(Compile(ThreeResults()));
  DeviceBuffer a(24), b(24), c(48);
  aclDataBuffer* late = aclCreateDataBuffer(c.floats() + 5, 24);
  Dataset in(a.buffer()), out(c.buffer());
  in.Add(b.buffer());
  out.Add(late);
  DeviceBuffer rest(24);
  out.Add(rest.buffer());
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(std::string(aclGetRecentErrMsg()), ::testing::HasSubstr("model-outputs-overlap"));
  EXPECT_EQ(aclDestroyDataBuffer(late), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Model, DescribesItself) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({2, 3})));
  EXPECT_EQ(aclmdlGetNumInputs(desc_), 1u);
  EXPECT_EQ(aclmdlGetNumOutputs(desc_), 1u);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 0), 24u);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc_, 0), 24u);
  EXPECT_STREQ(aclmdlGetInputNameByIndex(desc_, 0), "x");
  EXPECT_STREQ(aclmdlGetOutputNameByIndex(desc_, 0), "y");
  EXPECT_EQ(aclmdlGetInputDataType(desc_, 0), ACL_FLOAT);
  EXPECT_EQ(aclmdlGetOutputDataType(desc_, 0), ACL_FLOAT);
  EXPECT_EQ(aclmdlGetInputFormat(desc_, 0), ACL_FORMAT_ND);
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetOutputDims(desc_, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dimCount, 2u);
  EXPECT_EQ(dims.dims[1], 3);
  EXPECT_STREQ(dims.name, "y");
  size_t index = 9;
  EXPECT_EQ(aclmdlGetInputIndexByName(desc_, "x", &index), ACL_SUCCESS);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(aclmdlGetOutputIndexByName(desc_, "z", &index), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetInputDims(desc_, 1, &dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 7), 0u);
  EXPECT_EQ(aclmdlGetTensorRealName(desc_, "nobody"), nullptr);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

// The pages of aclmdlGetInputDims and kin: a name of more than 127 bytes is told as another, and
// aclmdlGetTensorRealName gives the name for both.
TEST_F(Model, LongNamesAreToldByOthers) {
  const std::string fits(127, 'f'), long_in(128, 'x'), long_out = std::string(200, 'y') + "_end";
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value(fits, {2}), onnx_builder::Value(long_in, {2})};
  model.outputs = {onnx_builder::Value(long_out, {2})};
  model.nodes = {onnx_builder::Node("Add", {fits, long_in}, {long_out})};
  const uint32_t id = Load(Compile(model.Bytes()));
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetInputDims(desc_, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.name, fits);
  const std::string known = "acl_modelId_" + std::to_string(id);
  for (auto* get : {aclmdlGetInputDims, aclmdlGetInputDimsV2}) {
    ASSERT_EQ(get(desc_, 1, &dims), ACL_SUCCESS);
    EXPECT_EQ(dims.name, known + "_input_1");
  }
  EXPECT_STREQ(aclmdlGetTensorRealName(desc_, dims.name), long_in.c_str());
  EXPECT_STREQ(aclmdlGetTensorRealName(desc_, long_in.c_str()), long_in.c_str());
  for (auto* get : {aclmdlGetOutputDims, aclmdlGetCurOutputDims}) {
    ASSERT_EQ(get(desc_, 0, &dims), ACL_SUCCESS);
    EXPECT_EQ(dims.name, known + "_output_0");
  }
  EXPECT_STREQ(aclmdlGetTensorRealName(desc_, dims.name), aclmdlGetOutputNameByIndex(desc_, 0));
  EXPECT_EQ(aclmdlGetTensorRealName(desc_, (known + "_input_0").c_str()), nullptr) << "it has its own name";
}

TEST_F(Model, LoadsFromMemoryAndWithMemory) {
  std::string path = Compile(onnx_builder::SixTimes({1000}));
  size_t work = 0, weights = 0;
  ASSERT_EQ(aclmdlQuerySize(path.c_str(), &work, &weights), ACL_SUCCESS);
  ASSERT_GT(work, 0u);
  ASSERT_GT(weights, 0u);
  DeviceBuffer work_memory(work), weight_memory(weights), x(4000), y(4000);
  Fill(x, 1000);
  std::string bytes = ReadAll(path);
  uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromMemWithMem(bytes.data(), bytes.size(), &id, work_memory.floats(), work,
                                     weight_memory.floats(), weights),
            ACL_SUCCESS);
  bytes.assign(bytes.size(), 'x');
  Dataset in(x.buffer()), out(y.buffer());
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[999], 5994.0f);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(
      aclmdlLoadFromFileWithMem(path.c_str(), &id, work_memory.floats(), work, weight_memory.floats(), 1),
      ACL_ERROR_INVALID_PARAM);
}

TEST_F(Model, MemoryThatWasGivenMustLive) {
  std::string path = Compile(onnx_builder::SixTimes({4}));
  DeviceBuffer x(16), y(16);
  Dataset in(x.buffer()), out(y.buffer());
  for (const char* which : {"workPtr", "weightPtr"}) {
    const bool is_work = which == std::string("workPtr");
    void* memory = nullptr;
    uint32_t id = 0;
    ASSERT_EQ(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclmdlLoadFromFileWithMem(path.c_str(), &id, is_work ? memory : nullptr, is_work ? 4096 : 0,
                                        is_work ? nullptr : memory, is_work ? 0 : 4096),
              ACL_SUCCESS);
    EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_ERROR_INVALID_PARAM);
    EXPECT_THAT(LastMessage(), testing::HasSubstr(which));
    EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  }
}

TEST_F(Model, LoadsByConfiguration) {
  std::string path = Compile(onnx_builder::SixTimes({1}));
  aclmdlConfigHandle* config = aclmdlCreateConfigHandle();
  uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_ERROR_INVALID_PARAM) << "no way of loading was chosen";
  size_t type = ACL_MDL_LOAD_FROM_FILE;
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, 3), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_ERROR_INVALID_PARAM) << "no path";
  const char* text = path.c_str();
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_PATH_PTR, &text, sizeof text), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyConfigHandle(config), ACL_SUCCESS);
}

TEST_F(Model, WrongFilesAreRefused) {
  uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromFile("/nowhere/model.om", &id), 145002u);
  EXPECT_EQ(aclmdlLoadFromFile(nullptr, &id), ACL_ERROR_INVALID_PARAM);
  std::string path = Compile(onnx_builder::SixTimes({5}));
  std::string bytes = ReadAll(path);
  for (size_t cut : {size_t{0}, size_t{10}, size_t{127}, size_t{200}, bytes.size() - 1}) {
    EXPECT_NE(aclmdlLoadFromMem(bytes.data(), cut, &id), ACL_SUCCESS) << cut;
  }
  for (size_t at = 0; at < 400 && at < bytes.size(); at += 3) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    bool used = at < 80 || (at >= 128 && changed[at] != bytes[at]);
    if (!used) continue;
    EXPECT_EQ(aclmdlLoadFromMem(changed.data(), changed.size(), &id), kNoModel) << at;
  }
  std::string vendor = "IMOD and more";
  EXPECT_EQ(aclmdlLoadFromMem(vendor.data(), vendor.size(), &id), kNoModel);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("atc"));
}

TEST_F(Model, WrongBuffersAreRefused) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({4})));
  DeviceBuffer x(16), y(16), small(8);
  Dataset in(x.buffer()), out(y.buffer()), none, short_one(small.buffer());
  EXPECT_EQ(aclmdlExecute(id, none.get(), out.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlExecute(id, short_one.get(), out.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("16 bytes"));
  EXPECT_EQ(aclmdlExecute(id, in.get(), short_one.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlExecute(id, nullptr, out.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlExecute(id + 77, in.get(), out.get()), kModelIdInvalid);
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Model, HostMemoryIsRefused) {
  std::string path = Compile(onnx_builder::SixTimes({4}));
  uint32_t id = Load(path), other = 0;
  DeviceBuffer x(16), y(16), weights(4096);
  float on_host[4] = {};
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 16), ACL_SUCCESS);
  Dataset in(x.buffer()), out(y.buffer());
  for (void* memory : {static_cast<void*>(on_host), pinned}) {
    aclDataBuffer* buffer = aclCreateDataBuffer(memory, 16);
    Dataset wrong(buffer);
    EXPECT_EQ(aclmdlExecute(id, wrong.get(), out.get()), ACL_ERROR_INVALID_PARAM);
    EXPECT_THAT(LastMessage(), testing::HasSubstr("copy to memory from aclrtMalloc first"));
    EXPECT_EQ(aclmdlExecute(id, in.get(), wrong.get()), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  }
  EXPECT_EQ(aclmdlLoadFromFileWithMem(path.c_str(), &other, on_host, 16, weights.floats(), 4096),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Model, BatchGears) {
  uint32_t id =
      Load(Compile(onnx_builder::SixTimes({-1, 2}), "--input_shape='x:-1,2' --dynamic_batch_size=1,4"));
  ASSERT_EQ(aclmdlGetNumInputs(desc_), 2u);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 0), 32u) << "the largest";
  aclmdlBatch batch;
  ASSERT_EQ(aclmdlGetDynamicBatch(desc_, &batch), ACL_SUCCESS);
  EXPECT_EQ(batch.batchCount, 2u);
  EXPECT_EQ(batch.batch[1], 4u);
  size_t index = 0;
  ASSERT_EQ(aclmdlGetInputIndexByName(desc_, ACL_DYNAMIC_TENSOR_NAME, &index), ACL_SUCCESS);
  EXPECT_EQ(index, 1u);
  DeviceBuffer x(32), y(32), gear(4);
  Fill(x, 8);
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(gear.buffer());
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_ERROR_INVALID_PARAM) << "none was chosen";
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), index, 3), 145013u);
  ASSERT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), index, 1), ACL_SUCCESS);
  y.floats()[2] = -1;
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[1], 6.0f);
  EXPECT_EQ(y.floats()[2], -1.0f) << "beyond the batch";
  ASSERT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), index, 4), ACL_SUCCESS);
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[7], 42.0f);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Model, OpenSizesFollowTheBuffersOrTheirDescriptions) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({-1, 2})));
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 0), 0u);
  DeviceBuffer x(24), y(24);
  Fill(x, 6);
  Dataset in(x.buffer()), out(y.buffer());
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << aclGetRecentErrMsg();
  EXPECT_EQ(y.floats()[5], 30.0f);
  aclTensorDesc* got = aclmdlGetDatasetTensorDesc(out.get(), 0);
  ASSERT_NE(got, nullptr);
  int64_t rows = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(got, 0, &rows), ACL_SUCCESS);
  EXPECT_EQ(rows, 3);
  int64_t dims[] = {2, 2};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  ASSERT_EQ(aclmdlSetDatasetTensorDesc(in.get(), desc, 0), ACL_SUCCESS);
  y.floats()[5] = -1;
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[5], -1.0f);
  EXPECT_EQ(aclmdlSetDatasetTensorDesc(in.get(), desc, 3), ACL_ERROR_INVALID_PARAM);
  aclDestroyTensorDesc(desc);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Model, RunsTheSizesOfItsRanges) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({-1, 2}), "'--input_shape=x:2~3,2'"));
  aclmdlIODimsRange range;
  ASSERT_EQ(aclmdlGetInputDimsRange(desc_, 0, &range), ACL_SUCCESS);
  ASSERT_EQ(range.rangeCount, 2u);
  EXPECT_EQ(range.range[0][0], 2);
  EXPECT_EQ(range.range[0][1], 3);
  EXPECT_EQ(range.range[1][0], 2);
  EXPECT_EQ(range.range[1][1], 2);
  DeviceBuffer one(8), three(24), four(32), y(32);
  Fill(three, 6);
  Dataset in(three.buffer()), out(y.buffer());
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << aclGetRecentErrMsg();
  EXPECT_EQ(y.floats()[5], 30.0f);
  for (DeviceBuffer* rows : {&one, &four}) {
    Dataset beyond(rows->buffer());
    EXPECT_EQ(aclmdlExecute(id, beyond.get(), out.get()), 145021u);
    EXPECT_THAT(LastMessage(), testing::HasSubstr("2~3 in dimension 0"));
  }
}

TEST_F(Model, OpenSizesWithoutARangeHaveNoBounds) {
  Load(Compile(onnx_builder::SixTimes({-1, 2})));
  aclmdlIODimsRange range;
  ASSERT_EQ(aclmdlGetInputDimsRange(desc_, 0, &range), ACL_SUCCESS);
  EXPECT_EQ(range.range[0][0], 0);
  EXPECT_EQ(range.range[0][1], -1);
}

TEST_F(Model, DescribesItselfWithoutBeingLoaded) {
  std::string path = Compile(onnx_builder::SixTimes({2, 3}));
  std::string bytes = ReadAll(path);
  ASSERT_EQ(aclmdlGetDescFromFile(desc_, path.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc_, 0), 24u);
  aclmdlDesc* other = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDescFromMem(other, bytes.data(), bytes.size()), ACL_SUCCESS);
  EXPECT_STREQ(aclmdlGetOutputNameByIndex(other, 0), "y");
  EXPECT_EQ(aclmdlGetOutputFormat(other, 0), ACL_FORMAT_ND);
  aclmdlIODims dims;
  ASSERT_EQ(aclmdlGetInputDimsV2(other, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dims[0], 2);
  ASSERT_EQ(aclmdlGetCurOutputDims(other, 0, &dims), ACL_SUCCESS);
  EXPECT_EQ(dims.dims[1], 3);
  EXPECT_EQ(aclmdlGetCurOutputDims(other, 1, &dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetDescFromMem(other, bytes.data(), 20), kNoModel);
  EXPECT_EQ(aclmdlDestroyDesc(other), ACL_SUCCESS);
  size_t work = 0, weights = 0;
  EXPECT_EQ(aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), &work, &weights), ACL_SUCCESS);
  EXPECT_GT(work, 0u);
  EXPECT_EQ(aclmdlQuerySizeFromMem(bytes.data(), 20, &work, &weights), kNoModel);
}

// A convolution with 1.1 million weights, which the compiler packs.
std::string OneConvolution(const std::vector<int64_t>& dims) {
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("x", dims)};
  model.outputs = {onnx_builder::Value("y", {})};
  model.constants = {onnx_builder::Floats("w", {512, 240, 3, 3}, std::vector<float>(512 * 240 * 9, 0.5f))};
  model.nodes = {onnx_builder::Node("Conv", {"x", "w"}, {"y"})};
  return model.Bytes();
}

TEST_F(Model, SizesOfWeightsAreTold) {
  for (const char* options : {"", "--input_shape=x:-1,240,8,8 --dynamic_batch_size=1,2"}) {
    std::string path = Compile(OneConvolution({1, 240, 8, 8}), options);
    size_t work = 0, weights = 0;
    ASSERT_EQ(aclmdlQuerySize(path.c_str(), &work, &weights), ACL_SUCCESS);
    EXPECT_GE(weights, size_t{512} * 240 * 9 * 4);
    EXPECT_LE(weights, size_t{512} * 240 * 16 * 4 + 4096);
  }
}

// The fields that the queries fill in, as text.
std::string Told(aclmdlDesc* desc) {
  std::ostringstream told;
  auto tell = [&](const aclmdlIODims& dims) {
    told << dims.name;
    for (size_t i = 0; i < dims.dimCount; ++i) told << ' ' << dims.dims[i];
  };
  aclmdlIODims dims;
  for (size_t i = 0; i < aclmdlGetNumInputs(desc); ++i) {
    if (aclmdlGetInputDims(desc, i, &dims) == ACL_SUCCESS) tell(dims);
    told << " in " << aclmdlGetInputSizeByIndex(desc, i) << ' ' << aclmdlGetInputDataType(desc, i) << ' '
         << aclmdlGetInputFormat(desc, i) << ' ' << aclmdlGetInputNameByIndex(desc, i) << '\n';
  }
  for (size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i) {
    if (aclmdlGetOutputDims(desc, i, &dims) == ACL_SUCCESS) tell(dims);
    told << " out " << aclmdlGetOutputSizeByIndex(desc, i) << ' ' << aclmdlGetOutputDataType(desc, i) << ' '
         << aclmdlGetOutputFormat(desc, i) << ' ' << aclmdlGetOutputNameByIndex(desc, i) << '\n';
  }
  return told.str();
}

TEST_F(Model, AFileIsDescribedAsTheLoadedModelIs) {
  for (const char* options : {"", "--input_shape=x:-1,240,8,8 --dynamic_batch_size=1,2",
                              "--input_shape=x:-1,240,-1,-1", "--output_type=FP16"}) {
    std::string path = Compile(OneConvolution({1, 240, 8, 8}), options);
    ASSERT_EQ(aclmdlGetDescFromFile(desc_, path.c_str()), ACL_SUCCESS) << LastMessage();
    std::string of_file = Told(desc_);
    uint32_t id = Load(path);
    ASSERT_EQ(aclmdlGetDesc(desc_, id), ACL_SUCCESS);
    EXPECT_EQ(of_file, Told(desc_)) << options;
    EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  }
}

// y = relu(conv(x) + 3), and beside it z = -x.
std::string ConvolutionAndMore() {
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("x", {1, 2, 4, 4})};
  model.outputs = {onnx_builder::Value("y", {}), onnx_builder::Value("z", {})};
  model.constants = {onnx_builder::Floats("w", {4, 2, 1, 1}, std::vector<float>(8, 0.5f)),
                     onnx_builder::Floats("b", {1, 4, 1, 1}, std::vector<float>(4, 3))};
  model.nodes = {onnx_builder::Node("Conv", {"x", "w"}, {"conv"}), onnx_builder::Node("Neg", {"x"}, {"z"}),
                 onnx_builder::Node("Add", {"conv", "b"}, {"sum"}),
                 onnx_builder::Node("Relu", {"sum"}, {"y"})};
  return model.Bytes();
}

TEST_F(Model, TellsWhatWasFused) {
  const char* origins = "_datadump_original_op_names";
  ASSERT_EQ(aclmdlGetDescFromFile(desc_, Compile(ConvolutionAndMore()).c_str()), ACL_SUCCESS);
  EXPECT_STREQ(aclmdlGetOpAttr(desc_, "node_conv", origins), "[9]node_conv[8]node_sum[6]node_y");
  EXPECT_STREQ(aclmdlGetOpAttr(desc_, "node_z", origins), "");
  EXPECT_STREQ(aclmdlGetOpAttr(desc_, "no such operator", origins), "");
  EXPECT_STREQ(aclmdlGetOpAttr(desc_, "node_conv", "pads"), "");
  EXPECT_EQ(aclmdlGetOpAttr(desc_, nullptr, origins), nullptr);
  EXPECT_EQ(aclmdlGetOpAttr(desc_, "node_conv", nullptr), nullptr);
}

TEST_F(Model, SizesAreToldWithoutRoomForTheModel) {
  const std::vector<int64_t> dims{1 << 18, 4};
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("x", dims)};
  model.outputs = {onnx_builder::Value("y", dims)};
  model.nodes = {onnx_builder::Node("Softmax", {"x"}, {"once"}),
                 onnx_builder::Node("Softmax", {"once"}, {"twice"}),
                 onnx_builder::Node("Add", {"once", "twice"}, {"y"})};
  std::string path = Compile(model.Bytes());
  std::vector<void*> blocks;
  size_t free = 0, total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  for (size_t size = free; size >= 1 << 20; size /= 2) {
    for (void* block; aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS;)
      blocks.push_back(block);
  }
  uint32_t id = 0;
  EXPECT_NE(aclmdlLoadFromFile(path.c_str(), &id), ACL_SUCCESS);
  size_t work = 0, weights = 0;
  EXPECT_EQ(aclmdlQuerySize(path.c_str(), &work, &weights), ACL_SUCCESS);
  EXPECT_GE(work, size_t{4} << 20);
  EXPECT_EQ(aclmdlGetDescFromFile(desc_, path.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc_, 0), size_t{4} << 20);
  for (void* block : blocks) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST_F(Model, RunsWithAConfiguration) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({4})));
  aclrtStream stream = NewStream();
  aclmdlExecConfigHandle* config = aclmdlCreateExecConfigHandle();
  int32_t limit = 5000;
  EXPECT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &limit, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &limit, sizeof limit), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetExecConfigOpt(config, static_cast<aclmdlExecConfigAttr>(99), &limit, sizeof limit),
            ACL_ERROR_INVALID_PARAM);
  DeviceBuffer x(16), y(16);
  Fill(x, 4);
  Dataset in(x.buffer()), out(y.buffer());
  ASSERT_EQ(aclmdlExecuteV2(id, in.get(), out.get(), stream, config), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[3], 18.0f);
  y.floats()[3] = 0;
  ASSERT_EQ(aclmdlExecuteAsyncV2(id, in.get(), out.get(), stream, config), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[3], 18.0f);
  EXPECT_EQ(aclmdlExecuteAsyncV2(id + 5, in.get(), out.get(), stream, config), kModelIdInvalid);
  EXPECT_EQ(aclmdlDestroyExecConfigHandle(config), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyExecConfigHandle(config), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Model, ImageGears) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({1, -1, -1}),
                             "--input_shape='x:1,-1,-1' --dynamic_image_size='2,3;4,5'"));
  aclmdlHW sizes;
  ASSERT_EQ(aclmdlGetDynamicHW(desc_, static_cast<size_t>(-1), &sizes), ACL_SUCCESS);
  ASSERT_EQ(sizes.hwCount, 2u);
  EXPECT_EQ(sizes.hw[1][0], 4u);
  EXPECT_EQ(sizes.hw[1][1], 5u);
  DeviceBuffer x(80), y(80), gear(8);
  Fill(x, 20);
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(gear.buffer());
  EXPECT_EQ(aclmdlSetDynamicHWSize(id, in.get(), 1, 9, 9), 145013u);
  ASSERT_EQ(aclmdlSetDynamicHWSize(id, in.get(), 1, 4, 5), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), 1, 4), 145013u) << "the model has gears of another kind";
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[19], 114.0f);
}

TEST_F(Model, GearsOfAnySizes) {
  uint32_t id = Load(
      Compile(onnx_builder::SixTimes({-1, 2, -1}), "--input_shape='x:-1,2,-1' --dynamic_dims='1,2;3,1'"));
  size_t count = 0;
  EXPECT_EQ(aclmdlGetInputDynamicGearCount(desc_, 0, &count), ACL_ERROR_INVALID_PARAM)
      << "-1, as gears are the model's";
  ASSERT_EQ(aclmdlGetInputDynamicGearCount(desc_, static_cast<size_t>(-1), &count), ACL_SUCCESS);
  ASSERT_EQ(count, 2u);
  aclmdlIODims gears[2];
  EXPECT_EQ(aclmdlGetInputDynamicDims(desc_, static_cast<size_t>(-1), gears, 1), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclmdlGetInputDynamicDims(desc_, static_cast<size_t>(-1), gears, 2), ACL_SUCCESS);
  EXPECT_EQ(gears[1].dimCount, 3u);
  EXPECT_EQ(gears[1].dims[0], 3);
  EXPECT_EQ(gears[1].dims[1], 2);
  aclmdlIODimsRange range;
  ASSERT_EQ(aclmdlGetInputDimsRange(desc_, 0, &range), ACL_SUCCESS);
  EXPECT_EQ(range.rangeCount, 3u);
  EXPECT_EQ(range.range[1][0], 2);
  EXPECT_EQ(range.range[2][1], -1);
  DeviceBuffer x(24), y(24), gear(8);
  Fill(x, 6);
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(gear.buffer());
  ASSERT_EQ(aclmdlSetInputDynamicDims(id, in.get(), 1, &gears[1]), ACL_SUCCESS);
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[5], 30.0f);
  gears[1].dims[0] = 7;
  EXPECT_EQ(aclmdlSetInputDynamicDims(id, in.get(), 1, &gears[1]), 145013u);
}

TEST_F(Model, SeveralThreadsRunOneModel) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({64})));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([id, t] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      DeviceBuffer x(256), y(256);
      Dataset in(x.buffer()), out(y.buffer());
      for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 64; ++i) x.floats()[i] = static_cast<float>(t * 1000 + round + i);
        ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS);
        for (int i = 0; i < 64; ++i) ASSERT_EQ(y.floats()[i], 6 * x.floats()[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Model, HandlesAreChecked) {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  EXPECT_EQ(aclmdlAddDatasetBuffer(dataset, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetDatasetNumBuffers(dataset), 0u);
  EXPECT_EQ(aclmdlGetDatasetBuffer(dataset, 0), nullptr);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_ERROR_RT_INVALID_HANDLE) << "stale";
  EXPECT_EQ(aclmdlGetNumInputs(reinterpret_cast<aclmdlDesc*>(dataset)), 0u);
  EXPECT_EQ(aclmdlDestroyDesc(nullptr), ACL_ERROR_INVALID_PARAM);
}

}  // namespace
}  // namespace conformance
