// ONNX bytes to a graph, to a model in memory, to results: the way that onnxruntime's provider goes.
#include <acl/acl_mdl.h>
#include <ge/ge_api_types.h>
#include <ge/ge_ir_build.h>
#include <parser/caffe_parser.h>
#include <parser/onnx_parser.h>
#include <parser/tensorflow_parser.h>

#include <fstream>

#include "conformance/runtime_fixture.h"
#include "support/onnx_builder.h"
#include "support/temp_folder.h"

namespace conformance {
namespace {

using testing::HasSubstr;
using Options = std::map<ge::AscendString, ge::AscendString>;

class Onnx : public RuntimeTest {
 protected:
  void TearDown() override {
    ge::aclgrphBuildFinalize();
    RuntimeTest::TearDown();
  }
  static ge::Graph Parsed(const std::string& bytes) {
    ge::Graph graph("parsed");
    EXPECT_EQ(ge::aclgrphParseONNXFromMem(bytes.data(), bytes.size(), {}, graph), ge::GRAPH_SUCCESS)
        << LastMessage();
    return graph;
  }
  static ge::ModelBufferData Built(const ge::Graph& graph, const Options& options) {
    ge::ModelBufferData model;
    EXPECT_EQ(ge::aclgrphBuildModel(graph, options, model), ge::GRAPH_SUCCESS) << LastMessage();
    return model;
  }
};

void* NewBuffer(aclmdlDataset* dataset, size_t bytes) {
  void* data = nullptr;
  EXPECT_EQ(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(data, bytes)), ACL_SUCCESS);
  return data;
}

void Destroy(aclmdlDataset* dataset) {
  EXPECT_EQ(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, 0)), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_SUCCESS);
}

TEST_F(Onnx, AModelInMemoryIsParsedBuiltLoadedAndRun) {
  Options global = {{"ge.socVersion", aclrtGetSocName()}};
  ge::Graph graph = Parsed(onnx_builder::SixTimes({-1, 2}));
  ASSERT_EQ(ge::aclgrphBuildInitialize(global), ge::GRAPH_SUCCESS);
  ge::ModelBufferData model = Built(graph, {{"input_shape", "x:3,2"}});
  uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromMem(model.data.get(), model.length, &id), ACL_SUCCESS) << LastMessage();
  aclmdlDataset *in = aclmdlCreateDataset(), *out = aclmdlCreateDataset();
  float* x = static_cast<float*>(NewBuffer(in, 6 * sizeof(float)));
  float* y = static_cast<float*>(NewBuffer(out, 6 * sizeof(float)));
  std::vector<float> values = {1, 2, 3, 4, 5, -6}, result(6);
  ASSERT_EQ(aclrtMemcpy(x, 24, values.data(), 24, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(aclmdlExecute(id, in, out), ACL_SUCCESS) << LastMessage();
  ASSERT_EQ(aclrtMemcpy(result.data(), 24, y, 24, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_THAT(result, testing::ElementsAre(6, 12, 18, 24, 30, -36));
  Destroy(in);
  Destroy(out);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

TEST_F(Onnx, AnOperatorThatIsNotThereIsNamed) {
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("x", {2})};
  model.outputs = {onnx_builder::Value("y", {2})};
  model.nodes = {onnx_builder::Node("Frobnicate", {"x"}, {"y"})};
  std::string bytes = model.Bytes();
  ge::Graph graph;
  EXPECT_EQ(ge::aclgrphParseONNXFromMem(bytes.data(), bytes.size(), {}, graph), ge::GRAPH_FAILED);
  EXPECT_THAT(LastMessage(), HasSubstr("Frobnicate"));
}

TEST_F(Onnx, BytesThatAreNoModelAreRefused) {
  ge::Graph graph("g");
  EXPECT_EQ(ge::aclgrphParseONNXFromMem("\xff\xff\xff", 3, {}, graph), ge::GRAPH_FAILED);
  EXPECT_EQ(ge::aclgrphParseONNXFromMem(nullptr, 3, {}, graph), ge::GRAPH_PARAM_INVALID);
  EXPECT_EQ(ge::aclgrphParseONNX("/no/such/file.onnx", {}, graph), ge::GRAPH_FAILED);
  EXPECT_EQ(ge::aclgrphParseONNX(nullptr, {}, graph), ge::GRAPH_PARAM_INVALID);
}

TEST_F(Onnx, OtherFormatsAreRefused) {
  ge::Graph graph("g");
  EXPECT_NE(ge::aclgrphParseTensorFlow("m.pb", graph), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphParseTensorFlow("m.pb", {}, graph), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphParseCaffe("m.prototxt", "m.caffemodel", graph), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphParseCaffe("m.prototxt", "m.caffemodel", {}, graph), ge::GRAPH_SUCCESS);
  EXPECT_THAT(LastMessage(), HasSubstr("ONNX"));
}

TEST_F(Onnx, AnUnknownOptionIsNamed) {
  ge::ModelBufferData model;
  ge::Graph graph = Parsed(onnx_builder::SixTimes({2}));
  EXPECT_EQ(ge::aclgrphBuildModel(graph, Options{{"ge.frob", "1"}}, model), ge::GRAPH_PARAM_INVALID);
  EXPECT_THAT(LastMessage(), HasSubstr("ge.frob"));
  Options global = {{"ge.frob", "1"}};
  EXPECT_EQ(ge::aclgrphBuildInitialize(global), ge::GRAPH_PARAM_INVALID);
  std::string bytes = onnx_builder::SixTimes({2});
  EXPECT_EQ(ge::aclgrphParseONNXFromMem(bytes.data(), bytes.size(), {{"frob", "1"}}, graph),
            ge::GRAPH_PARAM_INVALID);
}

// What the compiled graph takes and gives, as "input type: output types".
std::string TypesIn(const ge::ModelBufferData& model) {
  aclmdlDesc* desc = aclmdlCreateDesc();
  EXPECT_EQ(aclmdlGetDescFromMem(desc, model.data.get(), model.length), ACL_SUCCESS) << LastMessage();
  std::string types = std::to_string(aclmdlGetInputDataType(desc, 0)) + ":";
  for (size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i)
    types += " " + std::to_string(aclmdlGetOutputDataType(desc, i));
  EXPECT_EQ(aclmdlDestroyDesc(desc), ACL_SUCCESS);
  return types;
}

TEST_F(Onnx, TheParserChoosesOutputsAndTakesInputsInHalves) {
  namespace option = ge::ir_option;
  const std::string bytes = onnx_builder::SixTimes({2});
  auto parsed = [&](const Options& options) {
    ge::Graph graph("parsed");
    EXPECT_EQ(ge::aclgrphParseONNXFromMem(bytes.data(), bytes.size(), options, graph), ge::GRAPH_SUCCESS)
        << LastMessage();
    return graph;
  };
  const Options all = {{option::OUTPUT, "named"},
                       {option::INPUT_FP16_NODES, "x"},
                       {option::OUT_NODES, "y;x"},
                       {option::IS_INPUT_ADJUST_HW_LAYOUT, "false"},
                       {option::IS_OUTPUT_ADJUST_HW_LAYOUT, "false,false"},
                       {option::ENABLE_SCOPE_FUSION_PASSES, "p"},
                       {option::INPUT_DATA_NAMES, "x"}};
  ge::Graph graph = parsed(all);
  ge::AscendString name;
  ASSERT_EQ(graph.GetName(name), ge::GRAPH_SUCCESS);
  EXPECT_STREQ(name.GetString(), "named");
  EXPECT_EQ(TypesIn(Built(graph, {})), "1: 0 0") << "FLOAT16 in, FLOAT out twice";
  for (const auto& [key, value] : Options{{option::INPUT_FP16_NODES, "none"},
                                          {option::OUT_NODES, "none:0"},
                                          {option::IS_INPUT_ADJUST_HW_LAYOUT, "true"},
                                          {option::IS_OUTPUT_ADJUST_HW_LAYOUT, "true"}}) {
    EXPECT_EQ(ge::aclgrphParseONNXFromMem(bytes.data(), bytes.size(), {{key, value}}, graph),
              ge::GRAPH_PARAM_INVALID)
        << key.GetString();
    EXPECT_THAT(LastMessage(), HasSubstr(value.GetString()));
  }
}

TEST_F(Onnx, TypesOfInputsAndOutputsAreOptionsOfTheCompiler) {
  namespace option = ge::ir_option;
  const ge::Graph graph = Parsed(onnx_builder::SixTimes({2}));
  EXPECT_EQ(TypesIn(Built(graph, {})), "0: 0");
  EXPECT_EQ(TypesIn(Built(graph, {{option::INPUT_FP16_NODES, "x"}})), "1: 0");
  EXPECT_EQ(TypesIn(Built(graph, {{option::OUTPUT_TYPE, "FP16"}})), "0: 1");
  EXPECT_EQ(TypesIn(Built(graph, {{option::OUT_NODES, "x:0"}, {option::OUTPUT_TYPE, "x:0:UINT8"}})), "0: 4");
  EXPECT_EQ(TypesIn(Built(graph, {{option::INPUT_SHAPE, "x:2"}, {option::OUTPUT_TYPE, "INT8"}})), "0: 2");
  ge::ModelBufferData model;
  for (const auto& [key, value] : Options{
           {option::INPUT_FP16_NODES, "none"}, {option::OUT_NODES, "none:0"}, {option::OUTPUT_TYPE, "FP8"}}) {
    EXPECT_EQ(ge::aclgrphBuildModel(graph, Options{{key, value}}, model), ge::GRAPH_PARAM_INVALID);
    EXPECT_THAT(LastMessage(), HasSubstr(value.GetString()));
  }
}

TEST_F(Onnx, ImagesArePreprocessedByAnOption) {
  TempFolder folder;
  std::string conf = folder / "aipp.cfg";
  std::ofstream(conf) << "aipp_op { aipp_mode: static input_format: RGB888_U8 }";
  ge::ModelBufferData model =
      Built(Parsed(onnx_builder::SixTimes({1, 3, 4, 5})), {{"ge.insertOpFile", conf.c_str()}});
  aclmdlDesc* desc = aclmdlCreateDesc();
  ASSERT_EQ(aclmdlGetDescFromMem(desc, model.data.get(), model.length), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 60u);
  EXPECT_EQ(aclmdlGetInputDataType(desc, 0), ACL_UINT8);
  EXPECT_EQ(aclmdlDestroyDesc(desc), ACL_SUCCESS);
  ge::Graph graph = Parsed(onnx_builder::SixTimes({2}));
  EXPECT_EQ(ge::aclgrphBuildModel(graph, Options{{"ge.insertOpFile", conf.c_str()}}, model),
            ge::GRAPH_PARAM_INVALID)
      << "no images";
}

TEST_F(Onnx, SeveralGraphsMakeABundle) {
  std::vector<ge::GraphWithOptions> graphs = {
      {Parsed(onnx_builder::SixTimes({3})), {}},
      {Parsed(onnx_builder::SixTimes({-1, 2})), {{"input_shape", "x:4,2"}}}};
  ge::ModelBufferData model;
  ASSERT_EQ(ge::aclgrphBundleBuildModel(graphs, model), ge::GRAPH_SUCCESS) << LastMessage();
  TempFolder folder;
  std::string base = folder / "bundle";
  ASSERT_EQ(ge::aclgrphBundleSaveModel(base.c_str(), model), ge::GRAPH_SUCCESS);
  uint32_t bundles[2] = {};
  ASSERT_EQ(aclmdlBundleLoadFromMem(model.data.get(), model.length, &bundles[0]), ACL_SUCCESS)
      << LastMessage();
  ASSERT_EQ(aclmdlBundleLoadFromFile((base + ".om").c_str(), &bundles[1]), ACL_SUCCESS) << LastMessage();
  for (uint32_t bundle : bundles) {
    uint32_t id = 0;
    aclmdlDesc* desc = aclmdlCreateDesc();
    ASSERT_EQ(aclmdlBundleGetModelId(bundle, 1, &id), ACL_SUCCESS);
    ASSERT_EQ(aclmdlGetDesc(desc, id), ACL_SUCCESS);
    EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 32u) << "each has its own options";
    EXPECT_EQ(aclmdlDestroyDesc(desc), ACL_SUCCESS);
    EXPECT_EQ(aclmdlBundleUnload(bundle), ACL_SUCCESS);
  }
  EXPECT_NE(ge::aclgrphBundleBuildModel({}, model), ge::GRAPH_SUCCESS);
  graphs[0].build_options["ge.frob"] = "1";
  EXPECT_EQ(ge::aclgrphBundleBuildModel(graphs, model), ge::GRAPH_PARAM_INVALID);
  EXPECT_NE(ge::aclgrphBundleSaveModel(base.c_str(), ge::ModelBufferData{}), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphBundleSaveModel(nullptr, model), ge::GRAPH_SUCCESS);
}

TEST_F(Onnx, AnEmptyGraphIsNotBuilt) {
  ge::ModelBufferData model;
  EXPECT_NE(ge::aclgrphBuildModel(ge::Graph(), Options{}, model), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphBuildModel(ge::Graph("g"), Options{}, model), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphBuildModel(std::vector<ge::Graph>(2), Options{}, model), ge::GRAPH_SUCCESS);
}

TEST_F(Onnx, SavingAddsTheSuffix) {
  ge::ModelBufferData model = Built(Parsed(onnx_builder::SixTimes({2})), {});
  TempFolder folder;
  std::string base = folder / "saved";
  ASSERT_EQ(ge::aclgrphSaveModel(base.c_str(), model), ge::GRAPH_SUCCESS);
  uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromFile((base + ".om").c_str(), &id), ACL_SUCCESS);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  EXPECT_EQ(ge::aclgrphSaveModel("/no/such/folder/m", model), ge::GRAPH_FAILED);
  EXPECT_EQ(ge::aclgrphSaveModel("", model), ge::GRAPH_PARAM_INVALID);
  EXPECT_EQ(ge::aclgrphSaveModel(folder / "", model), ge::GRAPH_PARAM_INVALID);
  EXPECT_THAT(LastMessage(), HasSubstr("names no file"));
  EXPECT_NE(ge::aclgrphSaveModel(base.c_str(), ge::ModelBufferData{}), ge::GRAPH_SUCCESS);
}

TEST_F(Onnx, FinalizeForgetsTheOptionsOfTheProcess) {
  Options global = {{"ge.exec.precision_mode_v2", "origin"}};
  Options other = {{"ge.exec.precision_mode", "must_keep_origin_dtype"}};  // only one of the two may be set
  ge::Graph graph = Parsed(onnx_builder::SixTimes({2}));
  ge::ModelBufferData model;
  ASSERT_EQ(ge::aclgrphBuildInitialize(global), ge::GRAPH_SUCCESS);
  EXPECT_NE(ge::aclgrphBuildModel(graph, other, model), ge::GRAPH_SUCCESS);
  ge::aclgrphBuildFinalize();
  EXPECT_EQ(ge::aclgrphBuildModel(graph, other, model), ge::GRAPH_SUCCESS) << LastMessage();
  ge::aclgrphBuildFinalize();  // may be called at any time
}

}  // namespace
}  // namespace conformance
