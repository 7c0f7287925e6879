// Operators that resize images or read them at other places.
#include <algorithm>
#include <cmath>

#include "graph/ops/axes.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/resize/grid_sample.h"
#include "ops/resize/resample.h"
#include "tensor/convert.h"

namespace belay::graph::translate {
namespace {

using ops::AxisResize;
using ops::Coordinates;

Coordinates CoordinatesNamed(const Translation& node, const std::string& name) {
  if (name == "half_pixel") return Coordinates::kHalfPixel;
  if (name == "half_pixel_symmetric") return Coordinates::kHalfPixelSymmetric;
  if (name == "pytorch_half_pixel") return Coordinates::kTorchHalfPixel;
  if (name == "align_corners") return Coordinates::kAlignCorners;
  if (name == "asymmetric") return Coordinates::kAsymmetric;
  if (name == "tf_crop_and_resize") return Coordinates::kCropAndResize;
  if (name == "tf_half_pixel_for_nn") return Coordinates::kHalfPixelForNearest;
  node.Refuse("there is no coordinate transformation '" + name + "'");
}

ops::Rounding RoundingNamed(const Translation& node, const std::string& name) {
  if (name == "round_prefer_floor") return ops::Rounding::kPreferFloor;
  if (name == "round_prefer_ceil") return ops::Rounding::kPreferCeil;
  if (name == "floor") return ops::Rounding::kFloor;
  if (name == "ceil") return ops::Rounding::kCeil;
  node.Refuse("there is no rounding '" + name + "'");
}

std::vector<AxisResize> Unchanged(const Shape& shape) {
  std::vector<AxisResize> axes;
  for (int64_t size : shape)
    axes.push_back({.in = size, .out = size, .coordinates = Coordinates::kAsymmetric});
  return axes;
}

void SetScales(const Translation& node, std::vector<AxisResize>& resized, const std::vector<double>& scales) {
  if (scales.size() != resized.size()) node.Refuse("scales needs a number for each axis");
  for (size_t i = 0; i < resized.size(); ++i) {
    if (!(scales[i] > 0) || scales[i] > 1e9) node.Refuse("a scale is not positive, or beyond reason");
    resized[i].scale = scales[i];
    resized[i].out = tensor::ToInteger(static_cast<double>(resized[i].in) * scales[i]);
  }
}

void SetSizes(const Translation& node, std::vector<AxisResize>& resized, const std::vector<int64_t>& sizes) {
  if (sizes.size() != resized.size()) node.Refuse("sizes needs a number for each axis");
  std::string policy = node.String("keep_aspect_ratio_policy");
  double least = 0, most = 0;
  for (size_t i = 0; i < resized.size(); ++i) {
    AxisResize& axis = resized[i];
    axis.out = sizes[i];
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    least = i == 0 ? axis.scale : std::min(least, axis.scale);
    most = std::max(most, axis.scale);
  }
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller") node.Refuse("there is no policy '" + policy + "'");
  for (AxisResize& axis : resized) {
    axis.scale = policy == "not_larger" ? least : most;
    axis.out = tensor::ToInteger(std::floor(axis.scale * static_cast<double>(axis.in) + 0.5));
  }
}

bool Given(const Translation& node, int input) { return node.has(input) && node.in(input).count() != 0; }

// The region of tf_crop_and_resize: all starts, then all ends.
void SetRegion(const Translation& node, std::vector<AxisResize>& resized) {
  if (resized.empty() || resized[0].coordinates != Coordinates::kCropAndResize) return;
  std::vector<double> roi = node.value(1).Reals();
  if (roi.size() != 2 * resized.size()) node.Refuse("roi needs two numbers for each axis");
  for (size_t i = 0; i < resized.size(); ++i) {
    resized[i].start = roi[i];
    resized[i].end = roi[resized.size() + i];
  }
}

std::vector<AxisResize> AxesOf(Translation& node) {
  const Shape& shape = node.shape(0);
  std::vector<AxisResize> all = Unchanged(shape), resized;
  std::vector<int64_t> axes = node.Ints("axes");
  if (axes.empty()) axes = ops::IdentityMap(shape.rank());
  Coordinates coordinates = CoordinatesNamed(node, node.String("coordinate_transformation_mode"));
  for (int64_t axis : axes) {
    resized.push_back({.in = shape[node.Axis(axis, shape.rank())], .coordinates = coordinates});
  }
  if (Given(node, 3)) {
    SetSizes(node, resized, node.ints(3));
  } else if (Given(node, 2)) {
    SetScales(node, resized, node.value(2).Reals());
  } else {
    node.Refuse("neither scales nor sizes are given");
  }
  SetRegion(node, resized);
  for (size_t i = 0; i < axes.size(); ++i)
    all[static_cast<size_t>(node.Axis(axes[i], shape.rank()))] = resized[i];
  for (const AxisResize& axis : all) {
    if (axis.out < 0) node.Refuse("a size is negative");
    if (axis.in == 0 && axis.out != 0) node.Refuse("a dimension without elements cannot grow");
  }
  return all;
}

void Nearest(Translation& node, const std::vector<AxisResize>& axes, ops::Rounding rounding,
             double extrapolation) {
  std::vector<ops::AxisMap> maps;
  for (const AxisResize& axis : axes) maps.push_back(ops::NearestOf(axis, rounding));
  unsigned char fill[16] = {};
  if (!tensor::CanConvert(node.dtype(0), DType::kF64)) node.Refuse("this type cannot be resized");
  tensor::Convert(node.dtype(0), fill, DType::kF64, &extrapolation, 1);
  OutRearranged(node, node.in(0), maps, fill);
}

void Smooth(Translation& node, const std::vector<AxisResize>& axes, const ops::Filter& filter,
            double extrapolation) {
  std::vector<ops::AxisTaps> taps;
  Shape shape;
  for (const AxisResize& axis : axes) {
    bool same = axis.in == axis.out && axis.coordinates == Coordinates::kAsymmetric && axis.scale == 1;
    taps.push_back(ops::TapsOf(axis, same ? ops::Filter{} : filter));
    shape.push_back(axis.out);
  }
  Tensor out = node.Out(0, node.dtype(0), shape);
  node.Step("Resize", [&](ops::Plan& plan) {
    ops::PlanResample(plan, ReadFrom(plan, node.in(0), "x"), WrittenTo(plan, out, "y"), std::move(taps),
                      extrapolation);
  });
}

// The two sizes of the image to `size`, in the way of TensorFlow.
std::vector<AxisResize> ImageAxes(Translation& node, const std::vector<int64_t>& size, bool nearest) {
  const Shape& shape = node.shape(0);
  if (shape.rank() != 4 || size.size() != 2)
    node.Refuse("four dimensions and a size of two numbers are needed");
  std::vector<AxisResize> axes = Unchanged(shape);
  int first = node.String("data_format") == "NHWC" ? 1 : 2;
  for (size_t i = 0; i < 2; ++i) {
    AxisResize& axis = axes[static_cast<size_t>(first) + i];
    if (axis.in == 0 || size[i] < 1) node.Refuse("the image or the size is empty");
    axis.out = size[i];
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    if (node.Bool("align_corners")) axis.coordinates = Coordinates::kAlignCorners;
    if (node.Bool("half_pixel_centers")) {
      axis.coordinates = nearest ? Coordinates::kHalfPixelForNearest : Coordinates::kHalfPixel;
    }
  }
  return axes;
}

void NearestNeighbor(Translation& node, const std::vector<int64_t>& size) {
  bool align = node.Bool("align_corners");
  Nearest(node, ImageAxes(node, size, true), align ? ops::Rounding::kPreferCeil : ops::Rounding::kFloor, 0);
}

}  // namespace

void Resize(Translation& node) {
  std::string mode = node.String("mode");
  std::vector<AxisResize> axes = AxesOf(node);
  double extrapolation = node.Float("extrapolation_value");
  if (mode == "nearest")
    return Nearest(node, axes, RoundingNamed(node, node.String("nearest_mode")), extrapolation);
  if (mode != "linear" && mode != "cubic") node.Refuse("there is no mode '" + mode + "'");
  ops::Filter filter{.cubic = mode == "cubic",
                     .antialias = node.Int("antialias") != 0,
                     .exclude_outside = node.Int("exclude_outside") != 0,
                     .coefficient = node.Float("cubic_coeff_a")};
  Smooth(node, axes, filter, extrapolation);
}

void ResizeNearestNeighborV2(Translation& node) { NearestNeighbor(node, node.ints(1)); }
void ResizeNearestNeighborV2D(Translation& node) { NearestNeighbor(node, node.Ints("size")); }
void ResizeBilinearV2(Translation& node) { Smooth(node, ImageAxes(node, node.ints(1), false), {}, 0); }
void ResizeBilinearV2D(Translation& node) { Smooth(node, ImageAxes(node, node.Ints("size"), false), {}, 0); }

void GridSampler2D(Translation& node) {
  std::string mode = node.String("interpolation_mode"), padding = node.String("padding_mode");
  auto sample = mode == "nearest"                      ? ops::SampleMode::kNearest
                : mode == "bicubic" || mode == "cubic" ? ops::SampleMode::kCubic
                                                       : ops::SampleMode::kLinear;
  auto pad = padding == "border"       ? ops::SamplePadding::kBorder
             : padding == "reflection" ? ops::SamplePadding::kReflection
                                       : ops::SamplePadding::kZeros;
  const Shape& x = node.shape(0);
  const Shape& grid = node.shape(1);
  if (x.rank() < 3 || grid.rank() != x.rank()) node.Refuse("x and grid do not fit together");
  Shape shape{x[0], x[1]};
  for (int d = 1; d + 1 < grid.rank(); ++d) shape.push_back(grid[d]);
  Tensor places = node.Cast(node.in(1), node.dtype(0));
  Tensor out = node.Out(0, node.dtype(0), shape);
  bool align = node.Bool("align_corners");
  node.Step("GridSample", [&](ops::Plan& plan) {
    ops::PlanGridSample(plan, ReadFrom(plan, node.in(0), "x"), ReadFrom(plan, places, "grid"), sample, pad,
                        align, WrittenTo(plan, out, "y"));
  });
}

namespace {

// The last dimensions to `sizes`. Scales that are given are those of the coordinates, 0 where there is none.
std::vector<AxisResize> LastAxes(Translation& node, const std::vector<int64_t>& sizes,
                                 const std::vector<double>& scales, Coordinates coordinates) {
  const Shape& shape = node.shape(0);
  if (sizes.empty() || static_cast<int>(sizes.size()) > shape.rank())
    node.Refuse("there is a size for each of the last dimensions");
  std::vector<AxisResize> axes = Unchanged(shape);
  for (size_t i = 0; i < sizes.size(); ++i) {
    AxisResize& axis = axes[axes.size() - sizes.size() + i];
    if (axis.in == 0 || sizes[i] < 1) node.Refuse("x or the size is empty");
    axis.out = sizes[i];
    const bool given = i < scales.size() && scales[i] > 0;
    axis.scale = given ? scales[i] : static_cast<double>(axis.out) / static_cast<double>(axis.in);
    axis.coordinates = coordinates;
  }
  return axes;
}

// Three sizes, or three factors instead of them.
std::vector<int64_t> VolumeSizes(Translation& node) {
  std::vector<int64_t> sizes = node.Ints("output_size");
  const std::vector<double> scales = node.Floats("scales");
  const Shape& shape = node.shape(0);
  if (shape.rank() != 5) node.Refuse("x has five dimensions");
  for (size_t i = 0; sizes.size() < 3 && scales.size() == 3 && i < 3; ++i)
    sizes.push_back(tensor::ToInteger(static_cast<double>(shape[static_cast<int>(i) + 2]) * scales[i]));
  if (sizes.size() != 3) node.Refuse("output_size is three numbers");
  return sizes;
}

}  // namespace

void ResizeD(Translation& node) {
  const std::string mode = node.String("mode");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    node.Refuse("there is no mode '" + mode + "'");
  const auto coordinates = CoordinatesNamed(node, node.String("coordinate_transformation_mode"));
  if (coordinates == Coordinates::kCropAndResize) node.Refuse("regions are not resized");
  const std::vector<AxisResize> axes = LastAxes(node, node.Ints("sizes"), node.Floats("scales"), coordinates);
  const double extrapolation = node.Float("extrapolation_value");
  if (mode == "nearest")
    return Nearest(node, axes, RoundingNamed(node, node.String("nearest_mode")), extrapolation);
  const ops::Filter filter{.cubic = mode == "cubic",
                           .exclude_outside = node.Int("exclude_outside") != 0,
                           .coefficient = node.Float("cubic_coeff_a")};
  Smooth(node, axes, filter, extrapolation);
}

void UpsampleNearest3d(Translation& node) {
  Nearest(node, LastAxes(node, VolumeSizes(node), node.Floats("scales"), Coordinates::kAsymmetric),
          ops::Rounding::kFloor, 0);
}

void UpsampleTrilinear3d(Translation& node) {
  const bool align = node.Bool("align_corners");
  const auto coordinates = align ? Coordinates::kAlignCorners : Coordinates::kHalfPixel;
  Smooth(node, LastAxes(node, VolumeSizes(node), node.Floats("scales"), coordinates), {}, 0);
}

}  // namespace belay::graph::translate
