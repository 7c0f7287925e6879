// Preprocessing of images: static by the model, dynamic by parameters of each execution.
#include <array>

#include "model_fixture.h"

namespace conformance {
namespace {

constexpr uint32_t kNoAipp = 145015;
constexpr uint32_t kStaticAipp = 145016;

std::string Conf(const std::string& text) {
  std::string path = NewFolder() + "/aipp.cfg";
  std::ofstream(path) << text;
  return "--insert_op_conf=" + path;
}

// y = relu(x): shows what the network gets, as long as that is positive.
std::string Relu(const std::vector<int64_t>& dims) {
  onnx_builder::Model model;
  model.inputs = {onnx_builder::Value("x", dims)};
  model.outputs = {onnx_builder::Value("y", dims)};
  model.nodes = {onnx_builder::Node("Relu", {"x"}, {"y"})};
  return model.Bytes();
}

struct Parameters {
  explicit Parameters(uint64_t batch) : get(aclmdlCreateAIPP(batch)) {}
  ~Parameters() { EXPECT_EQ(aclmdlDestroyAIPP(get), ACL_SUCCESS); }
  aclmdlAIPP* get;
};

class AippModel : public ModelTest {
 public:
  // Runs the model on these images.
  std::vector<float> Run(uint32_t id, const std::vector<uint8_t>& images) {
    DeviceBuffer x(images.size()), y(aclmdlGetOutputSizeByIndex(desc_, 0));
    std::copy(images.begin(), images.end(), x.at());
    Dataset in(x.buffer()), out(y.buffer());
    EXPECT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << LastMessage();
    return {y.floats(), y.floats() + y.bytes() / 4};
  }
  std::vector<int64_t> Dims(aclError (*get)(const aclmdlDesc*, size_t, aclmdlIODims*)) {
    aclmdlIODims dims;
    EXPECT_EQ(get(desc_, 0, &dims), ACL_SUCCESS);
    return {dims.dims, dims.dims + dims.dimCount};
  }
};

TEST_F(AippModel, AStaticOneTakesTheImage) {
  uint32_t id = Load(Compile(Relu({1, 3, 2, 4}), Conf(R"(aipp_op {
    aipp_mode: static
    input_format: YUV420SP_U8
    csc_switch: true
    matrix_r0c0: 256 matrix_r0c1: 0 matrix_r0c2: 359
    matrix_r1c0: 256 matrix_r1c1: -88 matrix_r1c2: -183
    matrix_r2c0: 256 matrix_r2c1: 454 matrix_r2c2: 0
    input_bias_0: 0 input_bias_1: 128 input_bias_2: 128
    var_reci_chn_0: 0.5 min_chn_1: 10
  })")));
  EXPECT_EQ(aclmdlGetNumInputs(desc_), 1u);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 0), 12u) << "4 x 2 of Y, and half as much of U and V";
  EXPECT_EQ(aclmdlGetInputDataType(desc_, 0), ACL_UINT8);
  EXPECT_EQ(aclmdlGetInputFormat(desc_, 0), ACL_FORMAT_NHWC);
  EXPECT_THAT(Dims(aclmdlGetInputDims), testing::ElementsAre(1, 2, 4, 3));
  EXPECT_THAT(Dims(aclmdlGetInputDimsV2), testing::ElementsAre(1, 3, 4, 1));
  aclmdlIODimsRange range;
  ASSERT_EQ(aclmdlGetInputDimsRange(desc_, 0, &range), ACL_SUCCESS);
  EXPECT_EQ(range.range[1][0], 2) << "of pixels, as aclmdlGetInputDims tells";
  EXPECT_EQ(range.range[3][1], 3);
  std::vector<float> y = Run(id, {100, 101, 102, 103, 104, 105, 106, 107, 128, 128, 128, 200});
  EXPECT_EQ(y[0], 50.0f) << "R of a grey pixel, halved";
  EXPECT_EQ(y[8], 90.0f) << "G less 10";
  EXPECT_EQ(y[16], 100.0f) << "B";
  EXPECT_EQ(y[2], 101.0f) << "V of 200 makes R 102 + (72 * 359 >> 8), halved";
  EXPECT_EQ(y[10], 40.0f) << "and G 102 - 52 less 10";
}

TEST_F(AippModel, CropsPadsAndSwaps) {
  uint32_t id = Load(Compile(Relu({1, 3, 3, 2}), Conf(R"(aipp_op { aipp_mode: static input_format: RGB888_U8
    src_image_size_w: 3 src_image_size_h: 3 crop: true load_start_pos_w: 1 load_start_pos_h: 2 crop_size_w: 2 crop_size_h: 1
    padding: true top_padding_size: 2 padding_value: 7 rbuv_swap_switch: true })")));
  ASSERT_EQ(aclmdlGetInputSizeByIndex(desc_, 0), 27u);
  std::vector<uint8_t> image(27);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<uint8_t>(i);
  std::vector<float> y = Run(id, image);
  EXPECT_THAT(y, testing::ElementsAre(7, 7, 7, 7, 23, 26, 7, 7, 7, 7, 22, 25, 7, 7, 7, 7, 21, 24));
}

TEST_F(AippModel, GearsOfABatchAndOfSizes) {
  std::string conf = Conf("aipp_op { aipp_mode: static input_format: XRGB8888_U8 }");
  uint32_t id = Load(Compile(Relu({-1, 3, 1, 1}), conf + " --dynamic_batch_size=1,2"));
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 0), 8u);
  DeviceBuffer x(8), gear(8), y(24);
  for (int i = 0; i < 8; ++i) x.at()[i] = static_cast<uint8_t>(i);
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(gear.buffer());
  size_t at = 0;
  ASSERT_EQ(aclmdlGetInputIndexByName(desc_, ACL_DYNAMIC_TENSOR_NAME, &at), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetDynamicBatchSize(id, in.get(), at, 2), ACL_SUCCESS);
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(y.floats()[0], 1.0f) << "X is left out";
  EXPECT_EQ(y.floats()[5], 7.0f);
  aclAippInfo info;
  ASSERT_EQ(aclmdlGetFirstAippInfo(id, 0, &info), ACL_SUCCESS);
  EXPECT_EQ(info.shapeCount, 2u);
  EXPECT_EQ(info.outDims[1].srcSize, 8u);
  EXPECT_EQ(info.outDims[1].aippOutSize, 24u);

  id = Load(Compile(Relu({1, 1, -1, -1}), Conf("aipp_op { aipp_mode: static input_format: YUV400_U8 }") +
                                              " \"--dynamic_image_size=1,2;2,3\""));
  ASSERT_EQ(aclmdlGetInputIndexByName(desc_, ACL_DYNAMIC_TENSOR_NAME, &at), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetDynamicHWSize(id, in.get(), at, 2, 3), ACL_SUCCESS);
  ASSERT_EQ(aclmdlExecute(id, in.get(), out.get()), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(y.floats()[5], 5.0f);
}

TEST_F(AippModel, TellsAboutAStaticOne) {
  uint32_t id = Load(Compile(Relu({2, 3, 4, 6}), Conf(R"(aipp_op { aipp_mode: static input_format: RGB888_U8
    src_image_size_w: 8 src_image_size_h: 4 crop: true load_start_pos_w: 2 crop_size_w: 6 crop_size_h: 4 mean_chn_1: 9 min_chn_2: 0.5 matrix_r2c1: -3 })")));
  aclAippInfo info;
  std::memset(&info, 0xff, sizeof info);
  ASSERT_EQ(aclmdlGetFirstAippInfo(id, 0, &info), ACL_SUCCESS);
  EXPECT_EQ(info.inputFormat, ACL_RGB888_U8);
  EXPECT_EQ(info.srcImageSizeW, 8);
  EXPECT_EQ(info.cropSwitch, 1);
  EXPECT_EQ(info.loadStartPosW, 2);
  EXPECT_EQ(info.cropSizeW, 6);
  EXPECT_EQ(info.paddingSwitch, 0);
  EXPECT_EQ(info.meanChn1, 9);
  EXPECT_EQ(info.minChn2, 0.5f);
  EXPECT_EQ(info.varReciChn3, 1.0f);
  EXPECT_EQ(info.matrixR0C0, 298);
  EXPECT_EQ(info.matrixR2C1, -3);
  EXPECT_EQ(info.outputBias0, 16);
  EXPECT_EQ(info.srcFormat, ACL_FORMAT_NCHW);
  EXPECT_EQ(info.srcDatatype, ACL_FLOAT);
  EXPECT_EQ(info.srcDimNum, 4u);
  EXPECT_EQ(info.shapeCount, 1u);
  EXPECT_EQ(info.outDims[0].srcDims.dims[2], 8);
  EXPECT_EQ(info.outDims[0].srcSize, 192u);
  EXPECT_EQ(info.outDims[0].aippOutdims.dims[1], 3);
  EXPECT_EQ(info.outDims[0].aippOutSize, 576u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(info.aippExtend), ~uintptr_t{0}) << "the program's own";
  aclmdlInputAippType type;
  size_t attached = 0;
  ASSERT_EQ(aclmdlGetAippType(id, 0, &type, &attached), ACL_SUCCESS);
  EXPECT_EQ(type, ACL_DATA_WITH_STATIC_AIPP);
  EXPECT_EQ(attached, ACL_INVALID_NODE_INDEX);
  Parameters parameters(2);
  DeviceBuffer x(192);
  Dataset in(x.buffer());
  EXPECT_EQ(aclmdlSetAIPPByInputIndex(id, in.get(), 0, parameters.get), kStaticAipp);
  EXPECT_EQ(aclmdlSetInputAIPP(id, in.get(), 0, parameters.get), kNoAipp);
}

TEST_F(AippModel, ConfigurationsThatDoNotFitAreErrorsOfAtc) {
  auto says = [](const std::string& conf, const std::string& more = "") {
    Compiled compiled = RunAtc(Relu({1, 3, 4, 6}), conf + more);
    EXPECT_NE(compiled.status, 0);
    return compiled.text;
  };
  EXPECT_THAT(says("--insert_op_conf=/no/such/file"), testing::HasSubstr("/no/such/file"));
  EXPECT_THAT(says(Conf("aipp_op { aipp_mode: static input_format: RGB888_U8 colour: 1 }")),
              testing::HasSubstr("colour"));
  EXPECT_THAT(says(Conf("aipp_op { aipp_mode: static input_format: YUV400_U8 }")),
              testing::HasSubstr("channels"));
  EXPECT_THAT(says(Conf("aipp_op { aipp_mode: static input_format: RGB888_U8 }"),
                   " --input_shape=x:-1,3,4,6 --dynamic_dims='1;2'"),
              testing::HasSubstr("exclude"));
}

class DynamicAipp : public AippModel {
 public:
  void SetUp() override {
    AippModel::SetUp();
    id_ = Load(Compile(Relu({2, 3, 2, 2}), Conf("aipp_op { aipp_mode: dynamic max_src_image_size: 64 }")));
  }
  // RGB images of 4 x 2, of which each gives two columns.
  void SetColumns(aclmdlAIPP* parameters, int32_t first, int32_t second) {
    ASSERT_EQ(aclmdlSetAIPPInputFormat(parameters, ACL_RGB888_U8), ACL_SUCCESS);
    ASSERT_EQ(aclmdlSetAIPPSrcImageSize(parameters, 4, 2), ACL_SUCCESS);
    ASSERT_EQ(aclmdlSetAIPPCropParams(parameters, 1, first, 0, 2, 2, 0), ACL_SUCCESS);
    ASSERT_EQ(aclmdlSetAIPPCropParams(parameters, 1, second, 0, 2, 2, 1), ACL_SUCCESS);
  }
  uint32_t id_ = 0;
};

TEST_F(DynamicAipp, EachExecutionAndImageHasItsParameters) {
  ASSERT_EQ(aclmdlGetNumInputs(desc_), 2u);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, 0), 64u);
  size_t index = 0, bytes = 0;
  ASSERT_EQ(aclmdlGetInputIndexByName(desc_, ACL_DYNAMIC_AIPP_NAME, &index), ACL_SUCCESS);
  ASSERT_EQ(aclmdlGetAippDataSize(2, &bytes), ACL_SUCCESS);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc_, index), bytes);
  DeviceBuffer x(64), data(bytes), y(96);
  for (int i = 0; i < 48; ++i) x.at()[i] = static_cast<uint8_t>(i);
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(data.buffer());
  Parameters parameters(2);
  SetColumns(parameters.get, 0, 2);
  ASSERT_EQ(aclmdlSetAIPPRbuvSwapSwitch(parameters.get, 1), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetAIPPDtcPixelMean(parameters.get, 1, 0, 0, 0, 0), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetAIPPDtcPixelMin(parameters.get, 0, 0.5f, 0, 0, 0), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetAIPPPixelVarReci(parameters.get, 1, 1, 2, 1, 1), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetInputAIPP(id_, in.get(), index, parameters.get), ACL_SUCCESS) << LastMessage();
  ASSERT_EQ(aclmdlExecute(id_, in.get(), out.get()), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(y.floats()[0], 1.0f) << "B of the first pixel is 2, less the mean 1";
  EXPECT_EQ(y.floats()[4], 0.5f);
  EXPECT_EQ(y.floats()[8], 0.0f);
  EXPECT_EQ(y.floats()[12], 32.0f) << "the second image begins at byte 24, its region 6 bytes on";
  EXPECT_EQ(y.floats()[20], 60.0f) << "R is 30, doubled";
  SetColumns(parameters.get, 1, 1);
  ASSERT_EQ(aclmdlSetAIPPByInputIndex(id_, in.get(), 0, parameters.get), ACL_SUCCESS);
  ASSERT_EQ(aclmdlExecute(id_, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(y.floats()[0], 4.0f);
}

TEST_F(DynamicAipp, ConvertsColoursAndPads) {
  Parameters parameters(2);
  ASSERT_EQ(aclmdlSetAIPPInputFormat(parameters.get, ACL_XRGB8888_U8), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetAIPPSrcImageSize(parameters.get, 2, 2), ACL_SUCCESS);
  for (uint64_t i = 0; i < 2; ++i)
    ASSERT_EQ(aclmdlSetAIPPCropParams(parameters.get, 1, 0, 0, 1, 2, i), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetAIPPAxSwapSwitch(parameters.get, 1), ACL_SUCCESS);
  ASSERT_EQ(aclmdlSetAIPPCscParams(parameters.get, 1, 256, 0, 0, 0, 128, 0, 0, 0, 256, 5, 0, 0, 99, 99, 99),
            ACL_SUCCESS);
  for (uint64_t i = 0; i < 2; ++i)
    ASSERT_EQ(aclmdlSetAIPPPaddingParams(parameters.get, 1, 0, 0, 1, 0, i), ACL_SUCCESS);
  for (uint64_t i = 0; i < 2; ++i)
    ASSERT_EQ(aclmdlSetAIPPScfParams(parameters.get, 0, 0, 0, 0, 0, i), ACL_SUCCESS);
  DeviceBuffer x(64), data(aclmdlGetInputSizeByIndex(desc_, 1)), y(96);
  for (int i = 0; i < 16; ++i) x.at()[i] = static_cast<uint8_t>(10 * i);
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(data.buffer());
  ASSERT_EQ(aclmdlSetInputAIPP(id_, in.get(), 1, parameters.get), ACL_SUCCESS) << LastMessage();
  ASSERT_EQ(aclmdlExecute(id_, in.get(), out.get()), ACL_SUCCESS) << LastMessage();
  EXPECT_EQ(y.floats()[0], 0.0f) << "put on the left";
  EXPECT_EQ(y.floats()[1], 5.0f) << "R 0 and the bias";
  EXPECT_EQ(y.floats()[3], 85.0f) << "R 80 and the bias";
  EXPECT_EQ(y.floats()[5], 5.0f) << "half of G 10";
  EXPECT_EQ(y.floats()[9], 20.0f) << "B";
}

TEST_F(DynamicAipp, TellsWhereItsParametersGo) {
  aclmdlInputAippType type;
  size_t attached = 0;
  ASSERT_EQ(aclmdlGetAippType(id_, 0, &type, &attached), ACL_SUCCESS);
  EXPECT_EQ(type, ACL_DATA_WITH_DYNAMIC_AIPP);
  EXPECT_EQ(attached, 1u);
  ASSERT_EQ(aclmdlGetAippType(id_, 1, &type, &attached), ACL_SUCCESS);
  EXPECT_EQ(type, ACL_DYNAMIC_AIPP_NODE);
  EXPECT_EQ(attached, ACL_INVALID_NODE_INDEX);
  aclAippInfo info;
  ASSERT_EQ(aclmdlGetFirstAippInfo(id_, 0, &info), ACL_SUCCESS);
  EXPECT_EQ(info.inputFormat, 0);
  EXPECT_EQ(info.srcFormat, ACL_FORMAT_NCHW);
  EXPECT_EQ(info.outDims[0].aippOutSize, 96u);
}

TEST_F(DynamicAipp, RefusesParametersThatDoNotFit) {
  DeviceBuffer x(64), data(aclmdlGetInputSizeByIndex(desc_, 1)), small(8);
  Dataset in(x.buffer()), short_in(x.buffer());
  in.Add(data.buffer());
  short_in.Add(small.buffer());
  Parameters two(2), one(1);
  SetColumns(two.get, 0, 2);
  EXPECT_EQ(aclmdlSetInputAIPP(id_, in.get(), 1, one.get), ACL_ERROR_INVALID_PARAM)
      << "the network takes two images";
  EXPECT_EQ(aclmdlSetInputAIPP(id_, in.get(), 0, two.get), kNoAipp);
  EXPECT_EQ(aclmdlSetInputAIPP(id_, in.get(), 2, two.get), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPByInputIndex(id_, in.get(), 1, two.get), kNoAipp);
  EXPECT_EQ(aclmdlSetInputAIPP(id_ + 1, in.get(), 1, two.get), kModelIdInvalid);
  EXPECT_EQ(aclmdlSetInputAIPP(id_, short_in.get(), 1, two.get), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetInputAIPP(id_, in.get(), 1, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclmdlSetAIPPCropParams(two.get, 1, 3, 0, 2, 2, 1), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetInputAIPP(id_, in.get(), 1, two.get), ACL_ERROR_INVALID_PARAM)
      << "the region is outside";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("image 1"));
  ASSERT_EQ(aclmdlSetAIPPSrcImageSize(two.get, 64, 2), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetInputAIPP(id_, in.get(), 1, two.get), ACL_ERROR_INVALID_PARAM)
      << "larger than max_src_image_size";
}

TEST_F(DynamicAipp, ParametersThatWereNotSetAreAnErrorOfTheExecution) {
  DeviceBuffer x(64), data(aclmdlGetInputSizeByIndex(desc_, 1)), y(96);
  std::memset(data.at(), 0, data.bytes());
  Dataset in(x.buffer()), out(y.buffer());
  in.Add(data.buffer());
  EXPECT_NE(aclmdlExecute(id_, in.get(), out.get()), ACL_SUCCESS);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("aclmdlSetInputAIPP"));
}

TEST_F(AippModel, RefusesBadValues) {
  EXPECT_EQ(aclmdlCreateAIPP(0), nullptr);
  EXPECT_EQ(aclmdlCreateAIPP(~uint64_t{0}), nullptr);
  size_t bytes = 0;
  EXPECT_EQ(aclmdlGetAippDataSize(0, &bytes), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetAippDataSize(1, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlDestroyAIPP(nullptr), ACL_ERROR_INVALID_PARAM);
  Parameters p(1);
  EXPECT_EQ(aclmdlSetAIPPInputFormat(p.get, static_cast<aclAippInputFormat>(0)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPInputFormat(p.get, ACL_RAW10), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(aclmdlSetAIPPRbuvSwapSwitch(p.get, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPAxSwapSwitch(p.get, -1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPCscParams(p.get, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(p.get, 0, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(p.get, 4, -4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(p.get, 1, 4), ACL_ERROR_INVALID_PARAM) << "2 to 4096";
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(p.get, 4098, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(p.get, 4, 4097), ACL_ERROR_INVALID_PARAM) << "1 to 4096";
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(p.get, 4096, 4096), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetAIPPSrcImageSize(p.get, 2, 1), ACL_SUCCESS);
  EXPECT_EQ(aclmdlSetAIPPCropParams(p.get, 1, 4096, 0, 2, 2, 0), ACL_ERROR_INVALID_PARAM) << "0 to 4095";
  EXPECT_EQ(aclmdlSetAIPPCropParams(p.get, 1, 0, -1, 2, 2, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPCropParams(p.get, 1, 0, 0, 0, 2, 0), ACL_ERROR_INVALID_PARAM) << "1 to 4096";
  EXPECT_EQ(aclmdlSetAIPPCropParams(p.get, 1, 0, 0, 2, 4097, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPCropParams(p.get, 0, -1, -1, 0, 0, 0), ACL_SUCCESS) << "not looked at";
  EXPECT_EQ(aclmdlSetAIPPScfParams(p.get, 1, 4, 4, 2, 2, 0), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(aclmdlSetAIPPScfParams(p.get, 0, 4, 4, 2, 2, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPCropParams(p.get, 2, 0, 0, 2, 2, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPCropParams(p.get, 1, 0, 0, 2, 2, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPPaddingParams(p.get, 1, 33, 0, 0, 0, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPPaddingParams(p.get, 1, 0, 0, 0, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPPaddingParams(p.get, 0, -1, 33, -1, 33, 0), ACL_SUCCESS) << "not looked at";
  EXPECT_EQ(aclmdlSetAIPPDtcPixelMean(p.get, 0, 0, 0, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPDtcPixelMean(p.get, 0, 256, 0, 0, 0), ACL_ERROR_INVALID_PARAM) << "0 to 255";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("dtcPixelMeanChn1"));
  EXPECT_EQ(aclmdlSetAIPPDtcPixelMean(p.get, -1, 0, 0, 0, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPDtcPixelMin(p.get, 0, 0, 0, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPDtcPixelMin(p.get, 0, 0, -0.5f, 0, 0), ACL_ERROR_INVALID_PARAM) << "0 to 255";
  EXPECT_EQ(aclmdlSetAIPPDtcPixelMin(p.get, 0, 0, 0, NAN, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPPixelVarReci(p.get, 0, 0, 0, 0, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlSetAIPPPixelVarReci(p.get, 1, 1, 1, 65505, 0), ACL_ERROR_INVALID_PARAM) << "to 65504";
  EXPECT_EQ(aclmdlSetAIPPPixelVarReci(p.get, -65504, 1, 1, 65504, 0), ACL_SUCCESS);
  aclmdlAIPP* gone = aclmdlCreateAIPP(1);
  ASSERT_EQ(aclmdlDestroyAIPP(gone), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyAIPP(gone), 107017u);
  EXPECT_EQ(aclmdlSetAIPPRbuvSwapSwitch(gone, 1), 107017u);
  EXPECT_EQ(aclmdlSetAIPPRbuvSwapSwitch(reinterpret_cast<aclmdlAIPP*>(desc_), 1), 107017u)
      << "a handle of another kind";
}

TEST_F(AippModel, AModelWithoutAnyHasNone) {
  uint32_t id = Load(Compile(Relu({1, 3, 2, 2})));
  aclmdlInputAippType type;
  size_t attached = 0;
  ASSERT_EQ(aclmdlGetAippType(id, 0, &type, &attached), ACL_SUCCESS);
  EXPECT_EQ(type, ACL_DATA_WITHOUT_AIPP);
  EXPECT_EQ(aclmdlGetAippType(id, 1, &type, &attached), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetAippType(id + 1, 0, &type, &attached), kModelIdInvalid);
  EXPECT_EQ(aclmdlGetAippType(id, 0, nullptr, &attached), ACL_ERROR_INVALID_PARAM);
  aclAippInfo info;
  EXPECT_EQ(aclmdlGetFirstAippInfo(id, 0, &info), kNoAipp);
  EXPECT_EQ(aclmdlGetFirstAippInfo(id, 3, &info), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetFirstAippInfo(id, 0, nullptr), ACL_ERROR_INVALID_PARAM);
}

}  // namespace
}  // namespace conformance
