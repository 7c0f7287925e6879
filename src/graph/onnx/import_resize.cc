// Resizing of images.
#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

void Resize(OnnxNode& node) {
  if (node.opset() < 11) {
    Attributes old{{"coordinate_transformation_mode", std::string("asymmetric")},
                   {"mode", node.String("mode", "nearest")},
                   {"nearest_mode", std::string("floor")}};
    return node.Become("Resize", std::vector<Port>{node.in(0), Port(), node.in(1)}, std::move(old));
  }
  node.Become("Resize", {{"coordinate_transformation_mode",
                          node.String("coordinate_transformation_mode", "half_pixel")},
                         {"cubic_coeff_a", node.Float("cubic_coeff_a", -0.75)},
                         {"exclude_outside", node.Int("exclude_outside", 0)},
                         {"extrapolation_value", node.Float("extrapolation_value", 0)},
                         {"mode", node.String("mode", "nearest")},
                         {"nearest_mode", node.String("nearest_mode", "round_prefer_floor")},
                         {"antialias", node.Int("antialias", 0)},
                         {"axes", node.Ints("axes")},
                         {"keep_aspect_ratio_policy", node.String("keep_aspect_ratio_policy", "stretch")}});
}

Constant Reals(const std::vector<double>& values) {
  auto tensor = std::make_shared<HostTensor>(DType::kF64, Shape{static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor->as<double>());
  return tensor;
}

// Scales are an attribute before opset 9. "linear" was spelled "bilinear" at first.
void Upsample(OnnxNode& node) {
  std::string mode = node.String("mode", "nearest");
  Attributes attributes{{"coordinate_transformation_mode", std::string("asymmetric")},
                        {"mode", mode == "bilinear" ? "linear" : mode},
                        {"nearest_mode", std::string("floor")}};
  Port scales = node.opset() < 9 ? node.Const(Reals(node.Floats("scales"))) : node.in(1);
  node.Become("Resize", std::vector<Port>{node.in(0), Port(), scales}, std::move(attributes));
}

void GridSample(OnnxNode& node) {
  node.Become("GridSampler2D", {{"interpolation_mode", node.String("mode", "bilinear")},
                                {"padding_mode", node.String("padding_mode", "zeros")},
                                {"align_corners", node.Int("align_corners", 0) != 0}});
}

void AffineGrid(OnnxNode& node) {
  node.Become("AffineGrid", {{"align_corners", node.Int("align_corners", 0) != 0}});
}

constexpr ImportRow kResizeRows[] = {
    {"Resize", Resize}, {"Upsample", Upsample}, {"GridSample", GridSample}, {"AffineGrid", AffineGrid}};

}  // namespace

std::span<const ImportRow> ResizeImports() { return kResizeRows; }

}  // namespace belay::graph::onnx
