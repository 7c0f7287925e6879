// Preprocessing of images in front of models: parameters of dynamic AIPP, and what a model has.
#include "base/codes.h"
#include "graph/aipp/parameters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "acl/acl_mdl.h"
#include "api/convert.h"
#include "api/handlers.h"
#include "base/error.h"
#include "graph/model.h"
#include "runtime/device_writes.h"
#include "runtime/memory.h"
#include "runtime/observer.h"

namespace belay::api {
namespace {

using graph::AippInput;
using graph::AippParameters;
using graph::Model;
using graph::ValueType;
using ops::ImageRegion;

constexpr uint64_t kMostImages = 1 << 16;
constexpr int32_t kMostPixels = 4096;  // of a row, and of a column

bool Switch(int8_t value, const char* name) {
  if (value != 0 && value != 1)
    Fail(codes::kInvalidParam, "aipp-switch", "{} is {}; it is 0 or 1", name, value);
  return value == 1;
}

ImageRegion& RegionAt(AippParameters& parameters, uint64_t index) {
  if (index < parameters.regions.size()) return parameters.regions[index];
  Fail(codes::kInvalidParam, "aipp-batch-index", "batchIndex is {}; the parameters are for {} images", index,
       parameters.regions.size());
}

template <class T>
T Within(T value, T least, T most, const char* name) {
  if (value >= least && value <= most) return value;
  Fail(codes::kInvalidParam, "aipp-value", "{} is {}; it is from {} to {}", name, value, least, most);
}

// One value for each channel.
template <class T>
std::array<T, 4> Channels(const std::array<T, 4>& values, T least, T most, const char* name) {
  for (size_t i = 0; i < values.size(); ++i)
    Within(values[i], least, most, (name + std::to_string(i)).c_str());
  return values;
}

size_t InputAt(const Model& model, size_t index) {
  if (index < model.file().graph.inputs.size()) return index;
  Fail(codes::kInvalidParam, "model-index", "there is no input {}; the model has {}", index,
       model.file().graph.inputs.size());
}

AippInput NeedAipp(const Model& model, size_t index) {
  if (auto found = graph::AippAt(model.file().graph, index)) return *found;
  Fail(codes::kGeAippNotExist, "aipp-none",
       "input {} has no AIPP; the model was built without --insert_op_conf for it", index);
}

// Puts the parameters where the network's extra input reads them.
void SetParameters(const AippInput& input, const graph::Dataset& dataset, const AippParameters& parameters) {
  if (input.params < 0)
    Fail(codes::kGeAippModeInvalid, "aipp-static",
         "the model was built with static AIPP, whose parameters are fixed");
  std::vector<std::byte> bytes = parameters.BytesFor(input);
  auto index = static_cast<size_t>(input.params);
  if (index >= dataset.items.size())
    Fail(codes::kInvalidParam, "dataset-index", "there is no buffer {}; the dataset has {}", index,
         dataset.items.size());
  auto& buffer = Need<tensor::DataBuffer>(AsHandle<aclDataBuffer*>(dataset.items[index].buffer),
                                          "a buffer of the dataset");
  if (buffer.data == nullptr || buffer.bytes < bytes.size()) {
    Fail(codes::kInvalidParam, "aipp-buffer",
         "the buffer of the dynamic AIPP input has {} bytes; it needs {} (aclmdlGetInputSizeByIndex)",
         buffer.bytes, bytes.size());
  }
  rt::CheckRange(buffer.data, bytes.size(), "the buffer of the dynamic AIPP input");
  if (rt::Observers::any()) [[unlikely]]
    rt::TellHostWrites(buffer.data, bytes.size());
  rt::DeviceWrites writes;
  std::memcpy(rt::View(buffer.data, bytes.size()), bytes.data(), bytes.size());
}

void FillAippDims(const std::string& name, const std::vector<int64_t>& sizes, aclmdlIODims* dims) {
  std::strncpy(dims->name, name.c_str(), sizeof dims->name - 1);
  dims->dimCount = sizes.size();
  std::copy(sizes.begin(), sizes.end(), dims->dims);
}

// Images and features for one set of sizes.
void FillShapes(const AippInput& input, const std::string& name, const ValueType& images, aclAippDims* dims) {
  const tensor::Shape& from = images.shape;
  FillAippDims(name, {from.begin(), from.end()}, &dims->srcDims);
  dims->srcSize = static_cast<size_t>(CountOf(from));
  std::vector<int64_t> to = input.features;
  if (!input.config.dynamic) to[0] = from[0];
  if (to[2] < 0 || to[3] < 0) to[2] = from[1], to[3] = from[2];
  dims->aippOutSize = BytesOf(input.dtype) * static_cast<size_t>(to[0] * to[1] * to[2] * to[3]);
  if (input.format == tensor::Format::kNHWC) to = {to[0], to[2], to[3], to[1]};
  FillAippDims(name, to, &dims->aippOutdims);
}

void FillStatic(const ops::ImageSource& s, const ImageRegion& r, aclAippInfo* info) {
  info->inputFormat = static_cast<aclAippInputFormat>(s.format);
  info->srcImageSizeW = s.w, info->srcImageSizeH = s.h;
  info->cropSwitch = r.crop;
  info->loadStartPosW = r.crop_x, info->loadStartPosH = r.crop_y;
  info->cropSizeW = r.crop_w, info->cropSizeH = r.crop_h;
  info->paddingSwitch = r.padding;
  info->leftPaddingSize = r.left, info->rightPaddingSize = r.right;
  info->topPaddingSize = r.top, info->bottomPaddingSize = r.bottom;
  info->cscSwitch = s.convert, info->rbuvSwapSwitch = s.swap_rb, info->axSwapSwitch = s.swap_ax;
  info->matrixR0C0 = s.matrix[0], info->matrixR0C1 = s.matrix[1], info->matrixR0C2 = s.matrix[2];
  info->matrixR1C0 = s.matrix[3], info->matrixR1C1 = s.matrix[4], info->matrixR1C2 = s.matrix[5];
  info->matrixR2C0 = s.matrix[6], info->matrixR2C1 = s.matrix[7], info->matrixR2C2 = s.matrix[8];
  info->outputBias0 = s.output_bias[0], info->outputBias1 = s.output_bias[1],
  info->outputBias2 = s.output_bias[2];
  info->inputBias0 = s.input_bias[0], info->inputBias1 = s.input_bias[1], info->inputBias2 = s.input_bias[2];
  info->meanChn0 = r.mean[0], info->meanChn1 = r.mean[1], info->meanChn2 = r.mean[2],
  info->meanChn3 = r.mean[3];
  info->minChn0 = r.least[0], info->minChn1 = r.least[1], info->minChn2 = r.least[2],
  info->minChn3 = r.least[3];
  info->varReciChn0 = r.factor[0], info->varReciChn1 = r.factor[1];
  info->varReciChn2 = r.factor[2], info->varReciChn3 = r.factor[3];
}

}  // namespace

aclmdlAIPP* aclmdlCreateAIPP(uint64_t batchSize) {
  if (batchSize == 0 || batchSize > kMostImages)
    Fail(codes::kInvalidParam, "aipp-batch", "batchSize is {}; it is from 1 to {}", batchSize, kMostImages);
  return AsHandle<aclmdlAIPP*>(
      graph::g_aipp_parameters.Create(AippParameters{{}, std::vector<ImageRegion>(batchSize)}));
}
void aclmdlDestroyAIPP(const AippParameters& parameters) {
  graph::g_aipp_parameters.Destroy(graph::g_aipp_parameters.HandleOf(&parameters));
}
void aclmdlGetAippDataSize(uint64_t batchSize, size_t* size) {
  if (batchSize == 0 || batchSize > kMostImages)
    Fail(codes::kInvalidParam, "aipp-batch", "batchSize is {}; it is from 1 to {}", batchSize, kMostImages);
  *size = ops::ImageBatchBytes(batchSize);
}

void aclmdlSetAIPPInputFormat(AippParameters& parameters, aclAippInputFormat inputFormat) {
  if (inputFormat < ACL_YUV420SP_U8 || inputFormat > ACL_RAW24)
    Fail(codes::kInvalidParam, "aipp-format", "there is no input format {}", static_cast<int>(inputFormat));
  if (inputFormat > ACL_YUV400_U8) {
    Fail(codes::kFeatureUnsupported, "aipp-format",
         "input format {} is not supported; YUV420SP_U8, XRGB8888_U8, RGB888_U8 and YUV400_U8 are",
         static_cast<int>(inputFormat));
  }
  parameters.source.format = static_cast<ops::ImageFormat>(inputFormat);
}
void aclmdlSetAIPPCscParams(AippParameters& parameters, int8_t cscSwitch, int16_t cscMatrixR0C0,
                            int16_t cscMatrixR0C1, int16_t cscMatrixR0C2, int16_t cscMatrixR1C0,
                            int16_t cscMatrixR1C1, int16_t cscMatrixR1C2, int16_t cscMatrixR2C0,
                            int16_t cscMatrixR2C1, int16_t cscMatrixR2C2, uint8_t cscOutputBiasR0,
                            uint8_t cscOutputBiasR1, uint8_t cscOutputBiasR2, uint8_t cscInputBiasR0,
                            uint8_t cscInputBiasR1, uint8_t cscInputBiasR2) {
  parameters.source.convert = Switch(cscSwitch, "cscSwitch");
  parameters.source.matrix = {cscMatrixR0C0, cscMatrixR0C1, cscMatrixR0C2, cscMatrixR1C0, cscMatrixR1C1,
                              cscMatrixR1C2, cscMatrixR2C0, cscMatrixR2C1, cscMatrixR2C2};
  parameters.source.output_bias = {cscOutputBiasR0, cscOutputBiasR1, cscOutputBiasR2};
  parameters.source.input_bias = {cscInputBiasR0, cscInputBiasR1, cscInputBiasR2};
}
void aclmdlSetAIPPRbuvSwapSwitch(AippParameters& parameters, int8_t rbuvSwapSwitch) {
  parameters.source.swap_rb = Switch(rbuvSwapSwitch, "rbuvSwapSwitch");
}
void aclmdlSetAIPPAxSwapSwitch(AippParameters& parameters, int8_t axSwapSwitch) {
  parameters.source.swap_ax = Switch(axSwapSwitch, "axSwapSwitch");
}
void aclmdlSetAIPPSrcImageSize(AippParameters& parameters, int32_t srcImageSizeW, int32_t srcImageSizeH) {
  const int32_t w = Within(srcImageSizeW, 2, kMostPixels, "srcImageSizeW");
  parameters.source.h = Within(srcImageSizeH, 1, kMostPixels, "srcImageSizeH");
  parameters.source.w = w;
}
void aclmdlSetAIPPScfParams(AippParameters& parameters, int8_t scfSwitch, int32_t, int32_t, int32_t, int32_t,
                            uint64_t batchIndex) {
  RegionAt(parameters, batchIndex);
  if (Switch(scfSwitch, "scfSwitch"))
    Fail(codes::kFeatureUnsupported, "aipp-resize",
         "AIPP cannot resize images; resize them before, or in the network");
}
void aclmdlSetAIPPCropParams(AippParameters& parameters, int8_t cropSwitch, int32_t cropStartPosW,
                             int32_t cropStartPosH, int32_t cropSizeW, int32_t cropSizeH,
                             uint64_t batchIndex) {
  ImageRegion& region = RegionAt(parameters, batchIndex);
  const bool crop = Switch(cropSwitch, "cropSwitch");
  if (crop) {  // else they have no meaning
    Within(cropStartPosW, 0, kMostPixels - 1, "cropStartPosW");
    Within(cropStartPosH, 0, kMostPixels - 1, "cropStartPosH");
    Within(cropSizeW, 1, kMostPixels, "cropSizeW");
    Within(cropSizeH, 1, kMostPixels, "cropSizeH");
  }
  region.crop = crop;
  region.crop_x = cropStartPosW, region.crop_y = cropStartPosH;
  region.crop_w = cropSizeW, region.crop_h = cropSizeH;
}
void aclmdlSetAIPPPaddingParams(AippParameters& parameters, int8_t paddingSwitch, int32_t paddingSizeTop,
                                int32_t paddingSizeBottom, int32_t paddingSizeLeft, int32_t paddingSizeRight,
                                uint64_t batchIndex) {
  constexpr int32_t kMostPadding = 32;
  ImageRegion& region = RegionAt(parameters, batchIndex);
  const bool pad = Switch(paddingSwitch, "paddingSwitch");
  if (pad) {  // else they have no meaning
    Within(paddingSizeTop, 0, kMostPadding, "paddingSizeTop");
    Within(paddingSizeBottom, 0, kMostPadding, "paddingSizeBottom");
    Within(paddingSizeLeft, 0, kMostPadding, "paddingSizeLeft");
    Within(paddingSizeRight, 0, kMostPadding, "paddingSizeRight");
  }
  region.padding = pad;
  region.top = paddingSizeTop, region.bottom = paddingSizeBottom;
  region.left = paddingSizeLeft, region.right = paddingSizeRight;
}
void aclmdlSetAIPPDtcPixelMean(AippParameters& parameters, int16_t dtcPixelMeanChn0, int16_t dtcPixelMeanChn1,
                               int16_t dtcPixelMeanChn2, int16_t dtcPixelMeanChn3, uint64_t batchIndex) {
  RegionAt(parameters, batchIndex).mean = Channels<int32_t>(
      {dtcPixelMeanChn0, dtcPixelMeanChn1, dtcPixelMeanChn2, dtcPixelMeanChn3}, 0, 255, "dtcPixelMeanChn");
}
void aclmdlSetAIPPDtcPixelMin(AippParameters& parameters, float dtcPixelMinChn0, float dtcPixelMinChn1,
                              float dtcPixelMinChn2, float dtcPixelMinChn3, uint64_t batchIndex) {
  RegionAt(parameters, batchIndex).least = Channels<float>(
      {dtcPixelMinChn0, dtcPixelMinChn1, dtcPixelMinChn2, dtcPixelMinChn3}, 0, 255, "dtcPixelMinChn");
}
void aclmdlSetAIPPPixelVarReci(AippParameters& parameters, float dtcPixelVarReciChn0,
                               float dtcPixelVarReciChn1, float dtcPixelVarReciChn2,
                               float dtcPixelVarReciChn3, uint64_t batchIndex) {
  constexpr float kMostHalf = 65504;
  RegionAt(parameters, batchIndex).factor =
      Channels<float>({dtcPixelVarReciChn0, dtcPixelVarReciChn1, dtcPixelVarReciChn2, dtcPixelVarReciChn3},
                      -kMostHalf, kMostHalf, "dtcPixelVarReciChn");
}

void aclmdlSetInputAIPP(uint32_t modelId, graph::Dataset& dataset, size_t index,
                        const AippParameters& parameters) {
  std::shared_ptr<Model> model = graph::FindModel(modelId);
  auto images = graph::ImagesFor(model->file().graph, InputAt(*model, index));
  if (!images)
    Fail(codes::kGeAippNotExist, "aipp-none",
         "input {} takes no parameters of dynamic AIPP; aclmdlGetAippType tells which one does", index);
  SetParameters(NeedAipp(*model, *images), dataset, parameters);
}
void aclmdlSetAIPPByInputIndex(uint32_t modelId, graph::Dataset& dataset, size_t index,
                               const AippParameters& parameters) {
  std::shared_ptr<Model> model = graph::FindModel(modelId);
  SetParameters(NeedAipp(*model, InputAt(*model, index)), dataset, parameters);
}

void aclmdlGetAippType(uint32_t modelId, size_t index, aclmdlInputAippType* type,
                       size_t* dynamicAttachedDataIndex) {
  std::shared_ptr<Model> model = graph::FindModel(modelId);
  const graph::Graph& graph = model->file().graph;
  auto aipp = graph::AippAt(graph, InputAt(*model, index));
  bool dynamic = aipp && aipp->params >= 0;
  *dynamicAttachedDataIndex = dynamic ? static_cast<size_t>(aipp->params) : ACL_INVALID_NODE_INDEX;
  *type = dynamic                          ? ACL_DATA_WITH_DYNAMIC_AIPP
          : aipp                           ? ACL_DATA_WITH_STATIC_AIPP
          : graph::ImagesFor(graph, index) ? ACL_DYNAMIC_AIPP_NODE
                                           : ACL_DATA_WITHOUT_AIPP;
}

void aclmdlGetFirstAippInfo(uint32_t modelId, size_t index, aclAippInfo* aippInfo) {
  std::shared_ptr<Model> model = graph::FindModel(modelId);
  AippInput input = NeedAipp(*model, InputAt(*model, index));
  aclAippExtendInfo* extend = aippInfo->aippExtend;
  *aippInfo = {};
  aippInfo->aippExtend = extend;
  if (!input.config.dynamic) FillStatic(input.config.source, input.config.region, aippInfo);
  aippInfo->srcFormat = static_cast<aclFormat>(input.format);
  aippInfo->srcDatatype = static_cast<aclDataType>(input.dtype);
  aippInfo->srcDimNum = input.features.size();
  const graph::Graph& graph = model->file().graph;
  const std::string& name = graph.nodes[static_cast<size_t>(graph.inputs[index])].name;
  const auto& gears = model->file().gears.values;
  if (gears.empty()) {
    aippInfo->shapeCount = 1;
    return FillShapes(input, name, model->DeclaredTypes()[index], &aippInfo->outDims[0]);
  }
  for (const auto& gear : gears)
    FillShapes(input, name, model->TypesOfGear(gear)[index], &aippInfo->outDims[aippInfo->shapeCount++]);
}

}  // namespace belay::api
