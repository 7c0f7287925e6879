// The aclnn functions that resize the last dimensions of a tensor to a given size.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/rearranged.h"
#include "ops/resize/resample.h"
#include "ops/resize/upsample.h"
#include "tensor/codes.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

void CheckSize(const Operand& self, std::span<const int64_t> size, int rank, const Operand& out) {
  CheckSameType(self, out);
  CheckLength("outputSize", static_cast<int64_t>(size.size()), rank);
  const Shape& shape = self.tensor->shape;
  if (shape.rank() != rank + 2) {
    Fail(kInvalidArgument, "op-resize-rank", "{} has shape {}; {} dimensions are needed", self.name,
         shape.ToString(), rank + 2);
  }
  Shape wanted{shape[0], shape[1]};
  for (int64_t n : size) {
    if (n < 1) Fail(kInvalidArgument, "op-resize-size", "outputSize names a size of {}", n);
    wanted.push_back(n);
  }
  for (int d = 2; d < shape.rank(); ++d) {
    if (shape[d] == 0) Fail(kInvalidArgument, "op-resize-size", "{} has no elements to resize", self.name);
  }
  CheckShape(out, wanted);
}

void Nearest(Plan& plan, const Operand& self, std::span<const int64_t> size, std::span<const double> scales,
             const Operand& out, bool exact = false) {
  CheckSize(self, size, static_cast<int>(size.size()), out);
  PlanRearranged(plan, self, out, NearestMaps(self.shape(), out.shape(), scales, exact), nullptr);
}

void Smooth(Plan& plan, const Operand& self, std::span<const int64_t> size, bool align,
            std::span<const double> scales, const Filter& filter, const Operand& out) {
  CheckSize(self, size, static_cast<int>(size.size()), out);
  PlanResample(plan, self, out, SmoothTaps(self.shape(), out.shape(), align, scales, filter), 0);
}

}  // namespace

namespace {

// A filter that grows with the step from centre to centre stands on these even where corners are aligned,
// which only decide the step, and a size that stays is not resized, either.
void Widen(AxisResize& axis, bool align) {
  axis.coordinates = Coordinates::kHalfPixel;
  if (axis.in == axis.out) axis.scale = 1;
  if (!align || axis.in == axis.out) return;
  const bool still = axis.in == 1 || axis.out == 1;
  axis.scale = still ? std::numeric_limits<double>::infinity()
                     : static_cast<double>(axis.out - 1) / static_cast<double>(axis.in - 1);
}

}  // namespace

// out[i] = self[floor(i * in / out)]; exact: self[floor((i + 1/2) * in / out)]
std::vector<AxisMap> NearestMaps(const Shape& from, const Shape& to, std::span<const double> scales,
                                 bool exact) {
  std::vector<AxisMap> maps;
  for (int d = 0; d < to.rank(); ++d) {
    int64_t in = from[d], n = to[d];
    double given = d >= 2 && !scales.empty() ? scales[static_cast<size_t>(d - 2)] : 0;
    auto step = static_cast<float>(given > 0 ? 1 / given : static_cast<double>(in) / static_cast<double>(n));
    AxisMap map;
    for (int64_t i = 0; i < n; ++i) {
      const double at = exact ? (static_cast<double>(i) + 0.5) * static_cast<double>(step)
                              : static_cast<double>(static_cast<float>(i) * step);
      map.push_back(d < 2 ? i : std::min(tensor::ToInteger(static_cast<float>(at)), in - 1));
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

// Between two neighbours a size that stays is not resized, whatever its scale: as in torch.
std::vector<AxisTaps> SmoothTaps(const Shape& in, const Shape& out, bool align,
                                 std::span<const double> scales, const Filter& filter) {
  std::vector<AxisTaps> taps;
  for (int d = 0; d < out.rank(); ++d) {
    AxisResize axis{.in = in[d], .out = out[d]};
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    if (d >= 2 && !align && scales[static_cast<size_t>(d - 2)] > 0)
      axis.scale = scales[static_cast<size_t>(d - 2)];
    axis.coordinates = align ? Coordinates::kAlignCorners : Coordinates::kHalfPixel;
    if (!filter.cubic && axis.in == axis.out) axis.scale = 1;
    if (d < 2) axis.coordinates = Coordinates::kAsymmetric;
    if (d >= 2 && filter.antialias) Widen(axis, align);
    taps.push_back(TapsOf(axis, filter));
  }
  return taps;
}

namespace kernels {

void UpsampleNearest1d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                       const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 1);
  Nearest(plan, self, outputSize, {}, out);
}
void UpsampleNearest1dV2(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                         double scale, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 1);
  Nearest(plan, self, outputSize, {&scale, 1}, out);
}
void UpsampleNearest2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                       const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 2);
  Nearest(plan, self, outputSize, {}, out);
}
void UpsampleNearest2dV2(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                         double scaleH, double scaleW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 2);
  const double scales[] = {scaleH, scaleW};
  Nearest(plan, self, outputSize, scales, out);
}
void UpsampleNearestExact1d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                            double scales, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 1);
  const double ratios[] = {scales};
  Nearest(plan, self, outputSize, ratios, out, true);
}
void UpsampleNearestExact2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                            double scalesH, double scalesW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 2);
  const double ratios[] = {scalesH, scalesW};
  Nearest(plan, self, outputSize, ratios, out, true);
}
void UpsampleNearest3d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                       double scalesD, double scalesH, double scalesW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 3);
  const double ratios[] = {scalesD, scalesH, scalesW};
  Nearest(plan, self, outputSize, ratios, out);
}
void UpsampleNearestExact3d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                            double scalesD, double scalesH, double scalesW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 3);
  const double ratios[] = {scalesD, scalesH, scalesW};
  Nearest(plan, self, outputSize, ratios, out, true);
}
void UpsampleLinear1d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                      bool alignCorners, double scales, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 1);
  Smooth(plan, self, outputSize, alignCorners, {&scales, 1}, {}, out);
}
void UpsampleBilinear2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                        bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 2);
  const double scales[] = {scalesH, scalesW};
  Smooth(plan, self, outputSize, alignCorners, scales, {}, out);
}
void UpsampleBicubic2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                       bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 2);
  const double scales[] = {scalesH, scalesW};
  Smooth(plan, self, outputSize, alignCorners, scales, {.cubic = true}, out);
}
void UpsampleBilinear2dAA(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                          bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 2);
  const double scales[] = {scalesH, scalesW};
  Smooth(plan, self, outputSize, alignCorners, scales, AntialiasFilter(false), out);
}
void UpsampleBicubic2dAA(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                         bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 2);
  const double scales[] = {scalesH, scalesW};
  Smooth(plan, self, outputSize, alignCorners, scales, AntialiasFilter(true), out);
}
void UpsampleTrilinear3d(Plan& plan, DType, const Operand& self, std::span<const int64_t> outputSize,
                         bool alignCorners, double scalesD, double scalesH, double scalesW,
                         const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(outputSize.size()), 3);
  const double scales[] = {scalesD, scalesH, scalesW};
  Smooth(plan, self, outputSize, alignCorners, scales, {}, out);
}

}  // namespace kernels
}  // namespace belay::ops
