// Operators of detection networks.
#include "graph/onnx/importer.h"
#include "graph/onnx/window_attributes.h"

namespace belay::graph::onnx {
namespace {

void RoiAlign(OnnxNode& node) {
  // Before opset 16 there was no shift by half a pixel.
  const char* usual = node.opset() < 16 ? "output_half_pixel" : "half_pixel";
  node.Become("RoiAlign",
              {{"mode", node.String("mode", "avg")},
               {"output_height", node.Int("output_height", 1)},
               {"output_width", node.Int("output_width", 1)},
               {"sampling_ratio", node.Int("sampling_ratio", 0)},
               {"spatial_scale", node.Float("spatial_scale", 1)},
               {"coordinate_transformation_mode", node.String("coordinate_transformation_mode", usual)}});
}

void MaxRoiPool(OnnxNode& node) {
  node.Become("MaxRoiPool", {{"pooled_shape", node.Ints("pooled_shape")},
                             {"spatial_scale", node.Float("spatial_scale", 1)}});
}

void DeformConv(OnnxNode& node) {
  CheckKernelShape(node, 1);
  Attributes attributes = WindowAttributes(node);
  attributes["group"] = node.Int("group", 1);
  attributes["offset_group"] = node.Int("offset_group", 1);
  node.Become("DeformConv", attributes);
}

constexpr ImportRow kDetectRows[] = {
    {"RoiAlign", RoiAlign}, {"MaxRoiPool", MaxRoiPool}, {"DeformConv", DeformConv}};

}  // namespace

std::span<const ImportRow> DetectImports() { return kDetectRows; }

}  // namespace belay::graph::onnx
