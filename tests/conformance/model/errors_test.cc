// What functions of models must refuse: wrong files, indexes, sizes, handles, and a wrong order of calls.
// (Null, stale and foreign handles of every function: tests/abi/bad_input.c.)
#include "../support/om_builder.h"
#include "model_fixture.h"

namespace conformance {
namespace {

constexpr uint32_t kUnreadable = 145002;
constexpr uint32_t kNoGear = 145013;
constexpr uint32_t kShape = 145021;
constexpr uint32_t kDamaged = 100006;

class ModelErrors : public ModelTest {
 public:
  void SetUp() override {
    ModelTest::SetUp();
    path_ = Compile(onnx_builder::SixTimes({2, 3}));
    bytes_ = ReadAll(path_);
    text_ = NewFolder() + "/text.om";
    std::ofstream(text_) << "this is no model";
  }
  std::string path_, bytes_, text_;
};

TEST_F(ModelErrors, OfFilesAndBytes) {
  uint32_t id = 0;
  size_t work = 0, weights = 0;
  for (auto [path, code] : {std::pair<std::string, uint32_t>{"/no/such/file", kUnreadable},
                            {"/tmp", kUnreadable},
                            {text_, kNoModel}}) {
    EXPECT_EQ(aclmdlQuerySize(path.c_str(), &work, &weights), code) << path;
    EXPECT_EQ(aclmdlLoadFromFile(path.c_str(), &id), code) << path;
    EXPECT_EQ(aclmdlLoadFromFileWithMem(path.c_str(), &id, nullptr, 0, nullptr, 0), code) << path;
    EXPECT_EQ(aclmdlGetDescFromFile(desc_, path.c_str()), code) << path;
  }
  for (size_t size : {size_t{0}, size_t{1}, size_t{127}, bytes_.size() - 1}) {
    EXPECT_EQ(aclmdlQuerySizeFromMem(bytes_.data(), size, &work, &weights), kNoModel) << size;
    EXPECT_EQ(aclmdlLoadFromMem(bytes_.data(), size, &id), kNoModel) << size;
    EXPECT_EQ(aclmdlLoadFromMemWithMem(bytes_.data(), size, &id, nullptr, 0, nullptr, 0), kNoModel) << size;
    EXPECT_EQ(aclmdlGetDescFromMem(desc_, bytes_.data(), size), kNoModel) << size;
  }
  void* freed = nullptr;
  ASSERT_EQ(aclrtMalloc(&freed, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(freed), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadFromMem(freed, 4096, &id), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("freed"));
  EXPECT_EQ(aclmdlGetNumInputs(desc_), 0u) << "the description was left alone";
  DeviceBuffer one(1);
  EXPECT_EQ(aclmdlLoadFromFileWithMem(path_.c_str(), &id, nullptr, 0, one.at(), 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("weightPtr"));
  EXPECT_EQ(aclmdlLoadFromMemWithMem(bytes_.data(), bytes_.size(), &id, nullptr, 0, one.at(), 1),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(ModelErrors, OfModelsThatAreNotLoaded) {
  uint32_t id = Load(path_);
  ASSERT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  DeviceBuffer x(24), y(24);
  Dataset in(x.buffer()), out(y.buffer());
  aclrtStream stream = NewStream();
  aclmdlExecConfigHandle* config = aclmdlCreateExecConfigHandle();
  aclmdlIODims dims = {};
  for (uint32_t number : {id, id + 1, 0u, ~0u}) {
    EXPECT_EQ(aclmdlGetDesc(desc_, number), kModelIdInvalid);
    EXPECT_EQ(aclmdlExecute(number, in.get(), out.get()), kModelIdInvalid);
    EXPECT_EQ(aclmdlExecuteAsync(number, in.get(), out.get(), stream), kModelIdInvalid);
    EXPECT_EQ(aclmdlExecuteV2(number, in.get(), out.get(), stream, config), kModelIdInvalid);
    EXPECT_EQ(aclmdlExecuteAsyncV2(number, in.get(), out.get(), stream, config), kModelIdInvalid);
    EXPECT_EQ(aclmdlSetDynamicBatchSize(number, in.get(), 0, 1), kModelIdInvalid);
    EXPECT_EQ(aclmdlSetDynamicHWSize(number, in.get(), 0, 1, 1), kModelIdInvalid);
    EXPECT_EQ(aclmdlSetInputDynamicDims(number, in.get(), 0, &dims), kModelIdInvalid);
    EXPECT_EQ(aclmdlUnload(number), kModelIdInvalid);
  }
  EXPECT_EQ(aclmdlDestroyExecConfigHandle(config), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(ModelErrors, OfIndexesAndNames) {
  Load(path_);
  aclmdlIODims dims;
  aclmdlIODimsRange range;
  size_t index = 0;
  EXPECT_EQ(aclmdlGetInputDims(desc_, 1, &dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetInputDimsV2(desc_, 1, &dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetOutputDims(desc_, 1, &dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetCurOutputDims(desc_, 1, &dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetInputDimsRange(desc_, 1, &range), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetInputIndexByName(desc_, "y", &index), ACL_ERROR_INVALID_PARAM) << "an output";
  EXPECT_EQ(aclmdlGetInputIndexByName(desc_, ACL_DYNAMIC_TENSOR_NAME, &index), ACL_ERROR_INVALID_PARAM)
      << "there are no gears";
  EXPECT_EQ(aclmdlGetInputIndexByName(desc_, ACL_DYNAMIC_AIPP_NAME, &index), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetOutputIndexByName(desc_, "x", &index), ACL_ERROR_INVALID_PARAM) << "an input";
  EXPECT_STREQ(aclmdlGetInputNameByIndex(desc_, 1), "");
  EXPECT_STREQ(aclmdlGetOutputNameByIndex(desc_, 1), "");
  EXPECT_EQ(aclmdlGetInputFormat(desc_, 1), ACL_FORMAT_UNDEFINED);
  EXPECT_EQ(aclmdlGetOutputFormat(desc_, 1), ACL_FORMAT_UNDEFINED);
  EXPECT_EQ(aclmdlGetInputDataType(desc_, 1), ACL_DT_UNDEFINED);
  EXPECT_EQ(aclmdlGetOutputDataType(desc_, 1), ACL_DT_UNDEFINED);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 1), 0u);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc_, 1), 0u);
}

TEST_F(ModelErrors, OfADescriptionThatWasNotFilled) {
  aclmdlIODims dims;
  aclmdlBatch batch;
  EXPECT_EQ(aclmdlGetNumInputs(desc_), 0u);
  EXPECT_EQ(aclmdlGetNumOutputs(desc_), 0u);
  EXPECT_EQ(aclmdlGetInputDims(desc_, 0, &dims), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetCurOutputDims(desc_, 0, &dims), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclmdlGetDynamicBatch(desc_, &batch), ACL_SUCCESS);
  EXPECT_EQ(batch.batchCount, 0u);
}

TEST_F(ModelErrors, OfGears) {
  aclmdlHW sizes;
  aclmdlBatch batch;
  size_t count = 9;
  aclmdlIODims dims = {};
  uint32_t fixed = Load(path_);
  DeviceBuffer x(256), gear(8), y(256);
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(gear.buffer());
  ASSERT_EQ(aclmdlGetDynamicBatch(desc_, &batch), ACL_SUCCESS);
  EXPECT_EQ(batch.batchCount, 0u);
  ASSERT_EQ(aclmdlGetDynamicHW(desc_, 0, &sizes), ACL_SUCCESS);
  EXPECT_EQ(sizes.hwCount, 0u);
  ASSERT_EQ(aclmdlGetInputDynamicGearCount(desc_, static_cast<size_t>(-1), &count), ACL_SUCCESS);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(aclmdlSetDynamicBatchSize(fixed, in.get(), 0, 2), kNoGear);
  EXPECT_EQ(aclmdlSetDynamicHWSize(fixed, in.get(), 0, 2, 3), kNoGear);
  dims.dimCount = 2, dims.dims[0] = 2, dims.dims[1] = 3;
  EXPECT_EQ(aclmdlSetInputDynamicDims(fixed, in.get(), 0, &dims), kNoGear);

  uint32_t id = Load(Compile(onnx_builder::SixTimes({-1, 2}), "--dynamic_batch_size=1,4"));
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_ERROR_INVALID_PARAM) << "none was chosen";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("aclmdlSetDynamicBatchSize"));
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), 2, 4), ACL_ERROR_INVALID_PARAM)
      << "there is no such buffer";
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), 0, 4), ACL_ERROR_INVALID_PARAM) << "that is x";
  EXPECT_THAT(LastMessage(), testing::HasSubstr(ACL_DYNAMIC_TENSOR_NAME));
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_ERROR_INVALID_PARAM) << "none was chosen";
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), 1, 0), kNoGear);
  EXPECT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), 1, 3), kNoGear);
  EXPECT_EQ(aclmdlSetDynamicHWSize(id, in.get(), 1, 4, 4), kNoGear);
  EXPECT_EQ(aclmdlGetInputDynamicGearCount(desc_, 1, &count), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetInputDynamicDims(desc_, 0, &dims, 2), ACL_ERROR_INVALID_PARAM);

  uint32_t any = Load(Compile(onnx_builder::SixTimes({-1, -1}), "'--dynamic_dims=1,2;3,4'"));
  dims.dimCount = 1;
  EXPECT_EQ(aclmdlSetInputDynamicDims(any, in.get(), 1, &dims), ACL_ERROR_INVALID_PARAM) << "too few";
  dims.dimCount = 3;
  EXPECT_EQ(aclmdlSetInputDynamicDims(any, in.get(), 1, &dims), ACL_ERROR_INVALID_PARAM) << "too many";
}

TEST_F(ModelErrors, OfGearsInAFile) {
  auto load = [&](const std::string& gears) {
    std::string text =
        R"({"graph":{"name":"g","nodes":[{"name":"x","type":"Data","outputs":1,"types":[{"dtype":"f32","format":2,"shape":[-1,2]}]},)"
        R"({"name":"y","type":"Relu","outputs":1,"inputs":[[0,0]],"types":[{"dtype":"f32","format":2}]}],"inputs":[0],)"
        R"("outputs":[{"name":"y","port":[1,0],"type":{"dtype":"f32","format":2}}]},"options":{},"gears":)" +
        gears + "}";
    std::string file = om_builder::File(text);
    uint32_t id = 0;
    return aclmdlLoadFromMem(file.data(), file.size(), &id);
  };
  std::string many = "[[1]";
  for (int i = 0; i < 200; ++i) many += ",[1]";
  EXPECT_EQ(load(R"({"kind":1,"values":[[1],[2]]})"), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(load(R"({"kind":3,"values":[[1],[2]]})"), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(load(R"({"kind":1,"values":[]})"), kDamaged);
  EXPECT_EQ(load(R"({"kind":1,"values":[[]]})"), kDamaged);
  EXPECT_EQ(load(R"({"kind":1,"values":[[0]]})"), kDamaged);
  EXPECT_EQ(load(R"({"kind":1,"values":[[4294967296]]})"), kDamaged);
  EXPECT_EQ(load(R"({"kind":2,"values":[[1]]})"), kDamaged);
  EXPECT_EQ(load(R"({"kind":3,"values":[[1,2]]})"), kDamaged);
  EXPECT_EQ(load(R"({"kind":1,"values":)" + many + "]}"), kDamaged);
  EXPECT_EQ(load(R"({"kind":7,"values":[[1]]})"), kDamaged);
}

TEST_F(ModelErrors, OfInputsInAFile) {
  auto load = [&](const std::string& nodes, const std::string& inputs) {
    std::string text = R"({"graph":{"name":"g","nodes":[)" + nodes + R"(],"inputs":)" + inputs +
                       R"(,"outputs":[]},"options":{}})";
    std::string file = om_builder::File(text);
    return aclmdlGetDescFromMem(desc_, file.data(), file.size());
  };
  std::string data =
      R"({"name":"x","type":"Data","outputs":1,"types":[{"dtype":"u8","format":2,"shape":[6]}]})";
  EXPECT_EQ(load(data, "[0]"), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(load(data, "[1]"), kDamaged);
  EXPECT_EQ(load(data, "[-1]"), kDamaged);
  EXPECT_EQ(load(R"({"name":"x","type":"Data","outputs":0,"types":[]})", "[0]"), kDamaged)
      << "an input without a type";
  std::string aipp =
      R"(,{"name":"a","type":"Aipp","outputs":1,"types":[{"dtype":"f32","format":2}],"inputs":[[0,0]],"attributes":{)"
      R"("aipp_config":{"s":"aipp_op { aipp_mode: static input_format: RGB888_U8 }"},"features":{"is":[1,3,1,2]}}})";
  EXPECT_EQ(load(data + aipp, "[0]"), 145000u) << "images have four dimensions";
}

TEST_F(ModelErrors, OfMoreSizesThanADescriptionHolds) {
  onnx_builder::Model model;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    names.push_back("x" + std::to_string(i));
    model.inputs.push_back(onnx_builder::Value(names.back(), {-1, 1, 1, 1, 1, 1, 1, 1}));
  }
  model.outputs = {onnx_builder::Value("y", {-1, 1, 1, 1, 1, 1, 1, 1})};
  model.nodes = {onnx_builder::Node("Sum", names, {"y"})};
  std::string two = "2", three = "3";
  for (int i = 1; i < 20; ++i) two += ",2", three += ",3";
  Load(Compile(model.Bytes(), "'--dynamic_dims=" + two + ";" + three + "'"));
  aclmdlIODims dims[2];
  EXPECT_EQ(aclmdlGetInputDynamicDims(desc_, static_cast<size_t>(-1), dims, 2),
            ACL_ERROR_FEATURE_UNSUPPORTED);
}

TEST_F(ModelErrors, OfBuffers) {
  uint32_t id = Load(path_);
  DeviceBuffer x(24), y(24), small(20);
  Dataset in(x.buffer()), out(y.buffer()), none, small_in(small.buffer()), small_out(small.buffer());
  EXPECT_EQ(aclmdlExecute(id, none.get(), out.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("0 buffers"));
  EXPECT_EQ(aclmdlExecute(id, in.get(), none.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlExecute(id, small_in.get(), out.get()), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("24"));
  EXPECT_EQ(aclmdlExecute(id, in.get(), small_out.get()), ACL_ERROR_INVALID_PARAM);
  aclrtStream stream = NewStream();
  EXPECT_EQ(aclmdlExecuteAsync(id, small_in.get(), out.get(), stream), ACL_ERROR_INVALID_PARAM)
      << "found at the call";
  aclDataBuffer* empty = aclCreateDataBuffer(nullptr, 0);
  Dataset empty_in(empty);
  EXPECT_EQ(aclmdlExecute(id, empty_in.get(), out.get()), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclUpdateDataBuffer(empty, nullptr, 24), ACL_SUCCESS);
  for (aclDataBuffer* buffer : {x.buffer(), y.buffer()}) {
    Dataset more(buffer);
    more.Add(empty);
    EXPECT_EQ(aclmdlExecute(id, buffer == x.buffer() ? more.get() : in.get(),
                            buffer == y.buffer() ? more.get() : out.get()),
              ACL_ERROR_INVALID_PARAM)
        << "a buffer too many";
    EXPECT_THAT(LastMessage(), testing::HasSubstr("2 buffers"));
  }
  EXPECT_EQ(aclmdlExecute(id, empty_in.get(), out.get()), ACL_ERROR_INVALID_PARAM) << "null, with 24 bytes";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("null pointer"));
  EXPECT_EQ(aclmdlExecute(id, in.get(), empty_in.get()), ACL_ERROR_INVALID_PARAM) << "null, with 24 bytes";
  EXPECT_EQ(aclmdlExecuteAsync(id, in.get(), empty_in.get(), stream), ACL_ERROR_INVALID_PARAM);
  void* freed = nullptr;
  ASSERT_EQ(aclrtMalloc(&freed, 24, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(freed), ACL_SUCCESS);
  ASSERT_EQ(aclUpdateDataBuffer(empty, freed, 24), ACL_SUCCESS);
  EXPECT_EQ(aclmdlExecute(id, empty_in.get(), out.get()), ACL_ERROR_INVALID_PARAM) << "memory that was freed";
  ASSERT_EQ(aclDestroyDataBuffer(empty), ACL_SUCCESS);
  EXPECT_EQ(aclmdlExecute(id, empty_in.get(), out.get()), ACL_ERROR_RT_INVALID_HANDLE)
      << "a buffer that was destroyed";
  EXPECT_EQ(aclmdlAddDatasetBuffer(in.get(), empty), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlAddDatasetBuffer(in.get(), reinterpret_cast<aclDataBuffer*>(desc_)),
            ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(ModelErrors, OfDescriptionsInDatasets) {
  uint32_t id = Load(Compile(onnx_builder::SixTimes({-1, 2})));
  DeviceBuffer x(24), y(24), odd(23);
  Dataset in(x.buffer()), out(y.buffer()), odd_in(odd.buffer());
  EXPECT_EQ(aclmdlExecute(id, odd_in.get(), out.get()), kShape);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("23 bytes, which is no multiple of 8"));
  auto run = [&](std::vector<int64_t> dims) {
    aclTensorDesc* desc =
        aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_ND);
    EXPECT_EQ(aclmdlSetDatasetTensorDesc(in.get(), desc, 0), ACL_SUCCESS);
    aclError error = aclmdlExecute(id, in.get(), out.get());
    aclDestroyTensorDesc(desc);
    return error;
  };
  EXPECT_EQ(run({3, 2}), ACL_SUCCESS);
  EXPECT_EQ(run({3, 3}), kShape);
  EXPECT_EQ(run({3}), kShape);
  EXPECT_EQ(run({4, 2}), ACL_ERROR_INVALID_PARAM) << "more than the buffer holds";
  EXPECT_EQ(run(std::vector<int64_t>(9, 1)), kShape);
  const int64_t whole[] = {3, 2};
  aclTensorDesc* tiled = aclCreateTensorDesc(ACL_FLOAT, 2, whole, ACL_FORMAT_ND);
  EXPECT_EQ(aclSetTensorFormat(tiled, ACL_FORMAT_FRACTAL_NZ), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetDatasetTensorDesc(in.get(), tiled, 0), ACL_SUCCESS);
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_ERROR_INVALID_PARAM) << "in the tiles of a card";
  aclDestroyTensorDesc(tiled);
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_ERROR_RT_INVALID_HANDLE)
      << "the description was destroyed";
  aclTensorDesc* gone = aclCreateTensorDesc(ACL_FLOAT, 0, nullptr, ACL_FORMAT_ND);
  aclDestroyTensorDesc(gone);
  EXPECT_EQ(aclmdlSetDatasetTensorDesc(in.get(), gone, 0), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclmdlGetDatasetTensorDesc(in.get(), 1), nullptr);
  EXPECT_EQ(aclmdlGetDatasetBuffer(in.get(), 1), nullptr);
}

TEST_F(ModelErrors, OfStreamsAndTheOrderOfCalls) {
  uint32_t id = Load(path_);
  DeviceBuffer x(24), y(24);
  Dataset in(x.buffer()), out(y.buffer());
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  aclrtStream elsewhere = NewStream();
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclmdlExecuteAsync(id, in.get(), out.get(), elsewhere), 107003u) << "a stream of another device";
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(elsewhere), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);

  Gate gate;
  aclrtStream stream = NewStream();
  gate.Close(stream);
  aclmdlExecConfigHandle* config = aclmdlCreateExecConfigHandle();
  int32_t limit = 20;
  ASSERT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &limit, sizeof limit), ACL_SUCCESS);
  EXPECT_EQ(aclmdlExecuteV2(id, in.get(), out.get(), stream, config), 107020u) << "the stream stands still";
  EXPECT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, nullptr, sizeof limit),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_EVENT_SYNC_TIMEOUT, &limit, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_WORK_SIZET, &limit, 4), ACL_ERROR_INVALID_PARAM);
  int32_t negative = -2;
  EXPECT_EQ(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &negative, 4),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlDestroyExecConfigHandle(config), ACL_SUCCESS);
  gate.Open();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(ModelErrors, OfConfigurations) {
  uint32_t id = 0;
  aclmdlConfigHandle* config = aclmdlCreateConfigHandle();
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_ERROR_INVALID_PARAM) << "nothing was set";
  size_t way = ACL_MDL_LOAD_FROM_FILE, wide = sizeof way;
  ASSERT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &way, wide), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_ERROR_INVALID_PARAM) << "no path";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("ACL_MDL_PATH_PTR"));
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &way, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &way, 8), ACL_ERROR_INVALID_PARAM);
  for (int32_t priority : {-1, 8}) {
    EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &priority, 4), ACL_ERROR_INVALID_PARAM);
  }
  const int32_t lowest = 7;
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &lowest, 4), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_MEM_MALLOC_POLICY_SIZET, &way, wide), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_FIFO_SIZET, &way, wide), ACL_ERROR_API_NOT_SUPPORT);
  EXPECT_EQ(aclmdlSetConfigOpt(config, static_cast<aclmdlConfigAttr>(999), &way, wide),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_INPUTQ_NUM_SIZET, &way, wide), ACL_ERROR_API_NOT_SUPPORT);
  EXPECT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, nullptr, wide), ACL_ERROR_INVALID_PARAM);
  const char* missing = "/no/such/file";
  ASSERT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_PATH_PTR, &missing, sizeof missing), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), kUnreadable);
  way = ACL_MDL_LOAD_FROM_MEM;
  ASSERT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &way, wide), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_ERROR_INVALID_PARAM) << "no memory";
  way = ACL_MDL_LOAD_FROM_FILE_WITH_Q;
  ASSERT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &way, wide), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_ERROR_API_NOT_SUPPORT);
  way = 77;
  ASSERT_EQ(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &way, wide), ACL_SUCCESS);
  EXPECT_EQ(aclmdlLoadWithConfig(config, &id), ACL_ERROR_INVALID_PARAM) << "there is no such way";
  EXPECT_EQ(aclmdlDestroyConfigHandle(config), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyConfigHandle(config), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(ModelErrors, AResetDeviceTakesItsModels) {
  uint32_t id = Load(path_);
  ASSERT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  DeviceBuffer x(24), y(24);
  Dataset in(x.buffer()), out(y.buffer());
  EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), kNoModel);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("reset"));
  EXPECT_EQ(aclmdlGetNumInputs(desc_), 1u) << "descriptions belong to no device";
}

}  // namespace
}  // namespace conformance
