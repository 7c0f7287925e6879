// Nodes of the operators for which chance hardly ever finds inputs that fit one another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/interpreter.h"
#include "graph/ops/node_samples.h"

namespace belay::graph::samples {

struct ShapedNode {
  std::vector<Constant> inputs;
  Attributes attributes = {};
};

// -1.25 to 1.25, in an order that looks like chance.
inline Constant Mixed(const Shape& shape) {
  auto tensor = std::make_shared<HostTensor>(DType::kF32, shape);
  for (int64_t i = 0; i < tensor->count(); ++i)
    tensor->as<float>()[i] = static_cast<float>((i * 7 + 3) % 11 - 5) / 4;
  return tensor;
}

using ShapedNodeMap = std::map<std::string, ShapedNode, std::less<>>;

inline const ShapedNodeMap& ShapedNodes() {
  using Numbers = std::vector<int64_t>;
  const Numbers one2{1, 1}, one4{1, 1, 1, 1}, one5{1, 1, 1, 1, 1}, none4{0, 0, 0, 0}, none6{0, 0, 0, 0, 0, 0};
  const std::string nchw = "NCHW", ncdhw = "NCDHW";
  const Constant image = Mixed({1, 2, 5, 5}), volume = Mixed({1, 2, 4, 4, 4});
  const Constant each3 = Mixed({2, 3, 4}), matrix = Mixed({2, 3}), one = Reals({1}, {0.5});
  const Constant place = Ints({0, 2}), places = Ints({2, 1}, {0, 2});
  const Constant x = Mixed({3, 1, 4}), w = Mixed({1, 2, 4}), r = Mixed({1, 2, 2});
  const Constant steps = Mixed({3, 1, 4}), each = Mixed({3, 1, 2}), state = Mixed({1, 1, 2});
  const Attributes windows{{"strides", one4}, {"pads", none4}, {"dilations", one4}, {"data_format", nchw}};
  Attributes sized = windows;
  sized["input_size"] = Numbers{1, 2, 5, 5};
  const Attributes windows3{{"strides", one5}, {"pads", none6}, {"dilations", one5}, {"data_format", ncdhw}};
  const Attributes hidden{{"hidden_size", int64_t{2}}};
  static const auto* nodes = new ShapedNodeMap{
      {"Conv2D", {{image, Mixed({3, 2, 3, 3}), Mixed({3})}, windows}},
      {"Conv3D", {{volume, Mixed({3, 2, 2, 2, 2})}, windows3}},
      {"ConvTranspose", {{image, Mixed({2, 3, 3, 3})}, {{"strides", one2}}}},
      {"Conv2DTransposeD", {{Mixed({1, 3, 3, 3}), Mixed({3, 2, 3, 3})}, sized}},
      {"Conv2DTranspose", {{Ints({1, 2, 5, 5}), Mixed({1, 3, 3, 3}), Mixed({3, 2, 3, 3})}, windows}},
      {"Conv2DBackpropInput", {{Ints({1, 2, 5, 5}), Mixed({3, 2, 3, 3}), Mixed({1, 3, 3, 3})}, windows}},
      {"Conv2DBackpropFilter", {{image, Ints({3, 2, 3, 3}), Mixed({1, 3, 3, 3})}, windows}},
      {"Conv2DBackpropInputD", {{Mixed({3, 2, 3, 3}), Mixed({1, 3, 3, 3})}, sized}},
      {"Conv3DTranspose",
       {{Ints({1, 2, 4, 4, 4}), Mixed({1, 3, 3, 3, 3}), Mixed({3, 2, 2, 2, 2})}, windows3}},
      {"RoiAlign", {{image, Reals({1, 4}, {0, 0, 3, 3}), Ints({0})}, {{"output_height", int64_t{2}}}}},
      {"MaxRoiPool", {{image, Reals({1, 5}, {0, 0, 0, 3, 3})}, {{"pooled_shape", Numbers{2, 2}}}}},
      {"DeformConv", {{image, Mixed({3, 2, 3, 3}), Mixed({1, 18, 3, 3})}}},
      {"ScatterElements", {{Mixed({4, 2}), Ints({1, 2}, {0, 3}), Mixed({1, 2})}}},
      {"ScatterNdUpdate", {{Mixed({4, 2}), places, Mixed({2, 2})}}},
      {"ScatterNdAdd", {{Mixed({4, 2}), places, Mixed({2, 2})}}},
      {"ScatterUpdate", {{Mixed({4, 2}), place, Mixed({2, 2})}}},
      {"TensorScatterUpdate", {{Mixed({4, 2}), places, Mixed({2, 2})}}},
      {"TensorScatterMin", {{Mixed({4, 2}), places, Mixed({2, 2})}}},
      {"TensorScatterAdd", {{Mixed({4, 2}), places, Mixed({2, 2})}}},
      {"TensorScatterMax", {{Mixed({4, 2}), places, Mixed({2, 2})}}},
      {"ScatterNd", {{places, Mixed({2, 2}), Ints({4, 2})}}},
      {"Scatter", {{Mixed({2, 4, 2}), place, Mixed({2, 1, 2})}, {{"axis", int64_t{1}}}}},
      {"InplaceIndexAdd", {{Mixed({4, 2}), place, Mixed({2, 2})}, {{"axis", int64_t{0}}}}},
      {"MirrorPad", {{Mixed({3, 3}), Ints({2, 2}, {1, 1, 0, 1})}, {{"mode", std::string("REFLECT")}}}},
      {"Col2Im", {{Mixed({1, 8, 9}), Ints({4, 4}), Ints({2, 2})}}},
      {"RotaryMul", {{Mixed({1, 2, 3, 4}), Mixed({1, 1, 3, 4}), Mixed({1, 1, 3, 4})}}},
      {"AddLayerNormGrad", {{each3, each3, each3, Mixed({2, 3, 1}), Mixed({2, 3, 1}), Mixed({4}), each3}}},
      {"SyncBatchNormGatherStats",
       {{Mixed({2, 3}), Mixed({2, 3}), Ints({2}, {2, 4}), Mixed({3}), Mixed({3})}}},
      {"SyncBatchNormGatherStatsWithCounts",
       {{Mixed({2, 3}), Mixed({2, 3}), Mixed({2, 3}), Mixed({2, 3}), Mixed({1, 3}), Mixed({1, 3})}}},
      {"ApplyAdamD", {{matrix, matrix, matrix, one, one, one, one, one, one, matrix}}},
      {"ApplyAdamW", {{matrix, matrix, matrix, one, one, one, one, one, one, one, matrix, nullptr}}},
      {"GroupNorm", {{Mixed({2, 4, 3}), Mixed({4}), Mixed({4})}, {{"num_groups", int64_t{2}}}}},
      {"MaxPool3D",
       {{volume},
        {{"ksize", Numbers{1, 1, 2, 2, 2}},
         {"strides", one5},
         {"padding", std::string("VALID")},
         {"data_format", ncdhw}}}},
      {"ResizeBilinearV2D", {{image}, {{"size", Numbers{3, 7}}}}},
      {"ResizeNearestNeighborV2D", {{image}, {{"size", Numbers{3, 7}}}}},
      {"Cross", {{Mixed({2, 3}), Mixed({2, 3})}}},
      {"CdistGrad", {{each3, each3, each3, each3}}},
      {"FusedMatMul", {{Mixed({3, 4}), Mixed({4, 6}), Mixed({6}), Mixed({3, 6})}}},
      {"AffineGrid", {{Mixed({1, 2, 3}), Ints({1, 2, 3, 4})}}},
      {"UpsampleNearest3d", {{volume}, {{"output_size", Numbers{2, 6, 5}}}}},
      {"UpsampleTrilinear3d", {{volume}, {{"output_size", Numbers{2, 6, 5}}}}},
      {"RNN", {{x, w, r}, hidden}},
      {"GRU", {{x, Mixed({1, 6, 4}), Mixed({1, 6, 2})}, hidden}},
      {"LSTM", {{x, Mixed({1, 8, 4}), Mixed({1, 8, 2})}, hidden}},
      {"DynamicRNN", {{steps, Mixed({6, 8}), Mixed({8}), nullptr, state, state}}},
      {"DynamicRNNGrad",
       {{steps, Mixed({6, 8}), Mixed({8}), each, state, state, each, each, each, state, state, each, each,
         each, each, each}}},
      {"DynamicGRUV2", {{steps, Mixed({4, 6}), Mixed({2, 6}), Mixed({6}), Mixed({6}), nullptr, state}}},
      {"DynamicGRUV2Grad",
       {{steps, Mixed({4, 6}), Mixed({2, 6}), each, state, each, each, state, each, each, each, each}}},
      {"NonMaxSuppressionV7",
       {{Reals({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), Reals({1, 1, 2}, {0.5, 0.75}), Ints({2})}}},
  };
  return *nodes;
}

// The same of what only programs that train call.
inline const ShapedNodeMap& TrainingNodes() {
  const Constant each3 = Mixed({2, 3, 4}), matrix = Mixed({2, 3});
  const Constant steps = Mixed({3, 1, 4}), each = Mixed({3, 1, 2}), state = Mixed({1, 1, 2});
  const Constant kept = Reals({2, 3}, {1, 0, 1, 1, 0, 1}, DType::kU8);
  const Attributes dropped{{"alpha", 0.5}, {"input_keep_prob", 0.5}};
  static const auto* nodes = new ShapedNodeMap{
      {"DeepNorm", {{each3, each3, Mixed({4}), Mixed({4})}}},
      {"DeepNormGrad", {{each3, each3, each3, Mixed({4}), Mixed({2, 3, 1}), Mixed({2, 3, 1})}}},
      {"CTCLossV2", {{Mixed({3, 2, 4}), Ints({2, 1}, {1, 2}), Ints({2}, {3, 2}), Ints({2}, {1, 1})}}},
      {"CTCLossV2Grad",
       {{Mixed({2}), Mixed({3, 2, 4}), Ints({2, 1}, {1, 2}), Ints({2}, {3, 2}), Ints({2}, {1, 1}), Mixed({2}),
         Mixed({2, 3, 8})}}},
      {"AxpyWithSoftmaxAndDropOutDoMask", {{matrix, matrix, kept}, dropped}},
      {"DropoutWithMulsAndSoftmaxGrad", {{matrix, kept, matrix}, dropped}},
      {"DynamicRNNV2", {{steps, Mixed({4, 8}), Mixed({2, 8}), Mixed({8}), nullptr, state, state}}},
      {"DynamicRNNV2Grad",
       {{steps, Mixed({4, 8}), Mixed({2, 8}), each, state, state, each, each, each, state, state, each, each,
         each, each, each}}},
  };
  return *nodes;
}

// What boxes and regions have in common.
inline const ShapedNodeMap& OverlapNodes() {
  using Numbers = std::vector<int64_t>;
  const Numbers one4{1, 1, 1, 1}, none4{0, 0, 0, 0};
  const Constant image = Mixed({1, 2, 5, 5}), region = Reals({1, 5}, {0, 0, 0, 3, 3}), rows = Mixed({3, 4}),
                 columns = Mixed({4, 3});
  const Attributes bins{{"spatial_scale", 1.0}, {"pooled_height", int64_t{2}}, {"pooled_width", int64_t{2}}};
  Attributes of_image = bins;
  of_image["xdiff_shape"] = Numbers{1, 2, 5, 5};
  const Attributes taps{{"strides", one4}, {"pads", none4}, {"ksize", Numbers{2, 2}}};
  static const auto* nodes = new ShapedNodeMap{
      {"ROIAlign", {{image, region}, bins}},
      {"ROIAlignGrad", {{Mixed({1, 2, 2, 2}), region}, of_image}},
      {"PSROIPoolingV2",
       {{Mixed({1, 8, 5, 5}), Reals({1, 5, 1}, {0, 0, 0, 3, 3})},
        {{"spatial_scale", 1.0}, {"output_dim", int64_t{2}}, {"group_size", int64_t{2}}}}},
      {"PSROIPoolingGradV2D",
       {{Mixed({1, 2, 2, 2}), Reals({1, 5, 1}, {0, 0, 0, 3, 3})},
        {{"spatial_scale", 1.0},
         {"output_dim", int64_t{2}},
         {"group_size", int64_t{2}},
         {"input_size", Numbers{5, 4}}}}},
      {"DeformableOffsets", {{Mixed({1, 3, 3, 2}), Mixed({1, 2, 2, 12})}, taps}},
      {"DeformableOffsetsGrad", {{Mixed({1, 4, 4, 2}), Mixed({1, 3, 3, 2}), Mixed({1, 2, 2, 12})}, taps}},
      {"Iou", {{rows, rows}, {{"eps", 0.5}}}},
      {"GIoU", {{columns, columns}, {{"trans", true}, {"is_cross", true}}}},
      {"DIoU", {{columns, columns}, {{"trans", true}, {"is_cross", true}}}},
      {"CIoU", {{columns, columns}, {{"trans", true}, {"is_cross", true}}}},
      {"GIoUGrad", {{Mixed({3}), columns, columns}, {{"trans", true}}}},
      {"DIoUGrad", {{Mixed({3}), columns, columns}, {{"trans", true}}}},
      {"CIoUGrad", {{Mixed({3}), columns, columns}, {{"trans", true}}}},
  };
  return *nodes;
}

// Which boxes are chosen, what networks learn of them, and what torch_npu calls by name.
inline const ShapedNodeMap& BoxNodes() {
  using Numbers = std::vector<int64_t>;
  const Constant matrix = Mixed({2, 3}), each3 = Mixed({2, 3, 4}), one = Reals({1}, {0.5}),
                 rows = Mixed({3, 4}), turned = Mixed({1, 5, 2});
  static const auto* nodes = new ShapedNodeMap{
      {"RotatedIou", {{turned, Mixed({1, 5, 3})}}},
      {"RotatedOverlaps", {{turned, Mixed({1, 5, 3})}}},
      {"RotatedBoxEncode", {{turned, turned}}},
      {"RotatedBoxDecode", {{turned, turned}}},
      {"BoundingBoxEncode", {{rows, rows}}},
      {"BoundingBoxDecode", {{rows, rows}}},
      {"YoloBoxesEncode", {{rows, rows, Ints({1, 2, 1})}}},
      {"AnchorResponseFlags",
       {{rows},
        {{"featmap_size", Numbers{3, 4}}, {"strides", Numbers{1, 1}}, {"num_base_anchors", int64_t{2}}}}},
      {"GridAssignPositive",
       {{Mixed({3}), Mixed({2, 3}), Ints({1, 0, 1}), Mixed({3}), Ints({0, 1, 1}), Mixed({2}), Ints({0, 2}),
         Ints({2})},
        {{"pos_iou_thr", 0.5}, {"min_pos_iou", 0.0}, {"gt_max_assign_all", true}}}},
      {"NMSWithMask", {{Mixed({4, 5})}}},
      {"NonMaxSuppressionV4", {{rows, Mixed({3}), Ints({2}), one, Reals({1}, {-9})}}},
      {"BatchMultiClassNonMaxSuppression",
       {{Mixed({2, 3, 1, 4}), Mixed({2, 3, 2})},
        {{"score_threshold", 0.0},
         {"iou_threshold", 0.5},
         {"max_size_per_class", int64_t{2}},
         {"max_total_size", int64_t{3}}}}},
      {"RotatedNMS",
       {{Mixed({3, 5}), Mixed({3}), Ints({0})}, {{"iou_threshold", 0.5}, {"score_threshold", -9.0}}}},
      {"MaskedFillRange", {{matrix, Ints({1, 2}, {0, 1}), Ints({1, 2}, {2, 3}), one}}},
      {"RandomChoiceWithMask", {{Reals({2, 2}, {1, 0, 1, 1}, DType::kBool)}, {{"count", int64_t{2}}}}},
      {"StrideAdd",
       {{each3, each3},
        {{"x1_c1_offset", int64_t{0}}, {"x2_c1_offset", int64_t{0}}, {"c1_len", int64_t{1}}}}},
      {"SignBitsUnpack",
       {{Reals({4}, {1, 200, 3, 4}, DType::kU8)}, {{"size", int64_t{2}}, {"dtype", DType::kF32}}}},
      {"IFMR",
       {{each3, Reals({1}, {-1.25}), Reals({1}, {1.25}), Ints({9, 24})},
        {{"min_percentile", 0.999},
         {"max_percentile", 0.999},
         {"search_range", std::vector<double>{0.7, 1.3}},
         {"search_step", 0.01},
         {"with_offset", true}}}},
  };
  return *nodes;
}

// Null where there is none.
inline const ShapedNode* FindShapedNode(std::string_view type) {
  for (const ShapedNodeMap* nodes : {&ShapedNodes(), &TrainingNodes(), &OverlapNodes(), &BoxNodes()}) {
    if (auto it = nodes->find(type); it != nodes->end()) return &it->second;
  }
  return nullptr;
}

}  // namespace belay::graph::samples
