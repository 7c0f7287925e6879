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

inline const std::map<std::string, ShapedNode, std::less<>>& ShapedNodes() {
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
  static const auto* nodes = new std::map<std::string, ShapedNode, std::less<>>{
      {"Conv2D", {{image, Mixed({3, 2, 3, 3}), Mixed({3})}, windows}},
      {"Conv3D", {{volume, Mixed({3, 2, 2, 2, 2})}, windows3}},
      {"ConvTranspose", {{image, Mixed({2, 3, 3, 3})}, {{"strides", one2}}}},
      {"Conv2DTransposeD", {{Mixed({1, 3, 3, 3}), Mixed({3, 2, 3, 3})}, sized}},
      {"Conv2DTranspose", {{Ints({1, 2, 5, 5}), Mixed({1, 3, 3, 3}), Mixed({3, 2, 3, 3})}, windows}},
      {"Conv2DBackpropInput", {{Ints({1, 2, 5, 5}), Mixed({3, 2, 3, 3}), Mixed({1, 3, 3, 3})}, windows}},
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
inline const std::map<std::string, ShapedNode, std::less<>>& ShapedTrainingNodes() {
  const Constant each3 = Mixed({2, 3, 4}), matrix = Mixed({2, 3});
  const Constant steps = Mixed({3, 1, 4}), each = Mixed({3, 1, 2}), state = Mixed({1, 1, 2});
  const Constant kept = Reals({2, 3}, {1, 0, 1, 1, 0, 1}, DType::kU8);
  const Attributes dropped{{"alpha", 0.5}, {"input_keep_prob", 0.5}};
  static const auto* nodes = new std::map<std::string, ShapedNode, std::less<>>{
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

// Null where there is none.
inline const ShapedNode* FindShapedNode(std::string_view type) {
  for (const auto* nodes : {&ShapedNodes(), &ShapedTrainingNodes()}) {
    if (const auto it = nodes->find(type); it != nodes->end()) return &it->second;
  }
  return nullptr;
}

}  // namespace belay::graph::samples
