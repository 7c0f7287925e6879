// Gradients of what is linear along each dimension on its own: resizing, padding, means of windows. Each is
// the same map turned around.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/images.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/rearranged.h"
#include "ops/parts.h"
#include "ops/pool/pool.h"
#include "ops/resize/resample.h"
#include "ops/resize/upsample.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;
using Ints = std::span<const int64_t>;

// One element of a result takes from another, so much of it.
struct Tap {
  int64_t to, from;
  double weight;
};

// What gives each element of the operand its gradient: the taps by where they take from.
AxisTaps Turned(int64_t in, int64_t out, std::vector<Tap> taps) {
  std::stable_sort(taps.begin(), taps.end(), [](const Tap& a, const Tap& b) { return a.from < b.from; });
  AxisTaps turned{.in = out, .out = in, .begin = {0}, .index = {}, .weight = {}, .outside = {}};
  turned.outside.resize(static_cast<size_t>(in), false);
  size_t k = 0;
  for (int64_t i = 0; i < in; ++i) {
    for (; k < taps.size() && taps[k].from == i; ++k) {
      turned.index.push_back(taps[k].to);
      turned.weight.push_back(taps[k].weight);
    }
    turned.begin.push_back(static_cast<int64_t>(k));
  }
  return turned;
}

AxisTaps Turned(const AxisTaps& axis) {
  std::vector<Tap> taps;
  for (int64_t i = 0; i < axis.out; ++i) {
    const auto at = static_cast<size_t>(i);
    for (auto k = static_cast<size_t>(axis.begin[at]); k < static_cast<size_t>(axis.begin[at + 1]); ++k) {
      taps.push_back({i, axis.index[k], axis.weight[k]});
    }
  }
  return Turned(axis.in, axis.out, std::move(taps));
}

AxisTaps Turned(int64_t in, const AxisMap& map) {
  std::vector<Tap> taps;
  for (size_t i = 0; i < map.size(); ++i) {
    if (map[i] != kNoSource) taps.push_back({static_cast<int64_t>(i), map[i], 1});
  }
  return Turned(in, static_cast<int64_t>(map.size()), std::move(taps));
}

// Of means; `share` of a window stands for 1 divided by its count.
AxisTaps Turned(int64_t in, const PoolSpans& spans, bool count_padding, double share) {
  std::vector<Tap> taps;
  for (size_t i = 0; i < spans.size(); ++i) {
    const PoolSpan& span = spans[i];
    const auto count = static_cast<double>(count_padding ? span.padded : span.count);
    for (int64_t k = 0; k < span.count; ++k) {
      taps.push_back({static_cast<int64_t>(i), span.first + k * span.step, share != 0 ? share : 1 / count});
    }
  }
  return Turned(in, static_cast<int64_t>(spans.size()), std::move(taps));
}

AxisTaps Kept(int64_t size) { return Turned(size, IdentityMap(size)); }

// --- resizing ---

// Of a result with its channels last in its order, too: the pages have both.
Shape InputSize(Ints input_size, const Operand& out) {
  Shape said = Shape::Of(input_size.data(), static_cast<int>(input_size.size()));
  if (HasChannelsLast(*out.tensor) && said != out.shape()) BringChannelsForward(said, said.rank());
  return said;
}

Shape CheckedResize(const Operand& gradient, Ints output_size, Ints input_size, const Operand& out) {
  const auto rank = static_cast<int64_t>(output_size.size());
  CheckLength("inputSize", static_cast<int64_t>(input_size.size()), rank + 2);
  const Shape said = InputSize(input_size, out);
  CheckShape(out, said);
  Shape wanted{said[0], said[1]};
  for (size_t d = 0; d < output_size.size(); ++d) {
    if (output_size[d] < 1 || said[static_cast<int>(d) + 2] < 1) {
      Fail(kInvalidArgument, "op-resize-size", "a size of {} is resized to {}", said[static_cast<int>(d) + 2],
           output_size[d]);
    }
    wanted.push_back(output_size[d]);
  }
  CheckShape(gradient, wanted);
  return wanted;
}

void NearestBackward(Plan& plan, const Operand& gradient, Ints output_size, Ints input_size,
                     std::span<const double> scales, bool exact, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(output_size.size()), static_cast<int64_t>(scales.size()));
  const Shape to = CheckedResize(gradient, output_size, input_size, out);
  std::vector<AxisTaps> taps;
  const std::vector<AxisMap> maps = NearestMaps(out.shape(), to, scales, exact);
  for (int d = 0; d < to.rank(); ++d) taps.push_back(Turned(out.shape()[d], maps[static_cast<size_t>(d)]));
  PlanResample(plan, gradient, out, std::move(taps), 0);
}

void SmoothBackward(Plan& plan, const Operand& gradient, Ints output_size, Ints input_size, bool align,
                    std::span<const double> scales, const Filter& filter, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(output_size.size()), static_cast<int64_t>(scales.size()));
  const Shape to = CheckedResize(gradient, output_size, input_size, out);
  std::vector<AxisTaps> taps;
  for (const AxisTaps& axis : SmoothTaps(out.shape(), to, align, scales, filter))
    taps.push_back(Turned(axis));
  PlanResample(plan, gradient, out, std::move(taps), 0);
}

// --- padding ---

void PadBackward(Plan& plan, const Operand& gradient, const Operand& self, int rank, Ints padding,
                 PadMode mode, const Operand& out) {
  const Shape& shape = self.tensor->shape;
  CheckLength("padding", static_cast<int64_t>(padding.size()), 2 * rank);
  CheckShape(out, shape);
  CheckSameType(gradient, self);
  if (shape.rank() < rank + 1 || shape.rank() > rank + 2) {
    Fail(kInvalidArgument, "op-pad-pairs", "{} paddings do not fit {} dimensions: {} or {} are needed",
         padding.size(), shape.rank(), rank + 1, rank + 2);
  }
  std::vector<AxisTaps> taps;
  Shape wanted;
  for (int d = 0; d < shape.rank(); ++d) {
    const auto at = static_cast<size_t>(2 * (shape.rank() - 1 - d));
    if (at >= padding.size()) {
      taps.push_back(Kept(shape[d]));
    } else {
      if (mode == PadMode::kReflect && std::max(padding[at], padding[at + 1]) >= shape[d]) {
        Fail(kInvalidArgument, "op-pad",
             "a dimension of {} elements cannot be padded by {} and {}: reflection needs less", shape[d],
             padding[at], padding[at + 1]);
      }
      taps.push_back(Turned(shape[d], PaddedMap(shape[d], padding[at], padding[at + 1], mode)));
    }
    wanted.push_back(taps.back().in);
  }
  CheckShape(gradient, wanted);
  if (IsComplex(self.dtype())) {
    return OverParts(plan, gradient, out, [&](Plan& part, DType, const Operand& from, const Operand& to) {
      PlanResample(part, from, to, taps, 0);
    });
  }
  PlanResample(plan, gradient, out, std::move(taps), 0);
}

// --- means ---

struct Means {
  Ints kernel, stride, padding;
  bool ceil, count_padding;
  int64_t divisor;
};

int64_t Picked(Ints values, size_t i, int64_t missing) {
  if (values.empty()) return missing;
  return values[std::min(i, values.size() - 1)];
}

PoolSpans SpansOf(int64_t size, size_t i, const Means& means) {
  const int64_t kernel = Picked(means.kernel, i, 0), stride = Picked(means.stride, i, kernel);
  const int64_t padding = Picked(means.padding, i, 0);
  const PoolDimension d{size, kernel, stride, 1, padding, padding};
  if (!IsWindow(d) || padding > kernel / 2) {
    Fail(
        kInvalidArgument, "pool-window",
        "a window has a kernel of {}, a stride of {} and a padding of {}; the padding is at most half the kernel",
        kernel, stride, padding);
  }
  return SlidingSpans(d, PoolOutputSize(d, means.ceil));
}

void CheckPooled(const Operand& gradient, const Operand& self, int rank, const Operand& out) {
  const Shape& shape = self.tensor->shape;
  CheckShape(out, shape);
  CheckSameType(gradient, self);
  if (shape.rank() < rank + 1 || shape.rank() > rank + 2 || gradient.shape().rank() != shape.rank()) {
    Fail(kInvalidArgument, "pool-shape", "{} {} and {} {} have {} or {} dimensions", gradient.name,
         gradient.shape().ToString(), self.name, shape.ToString(), rank + 1, rank + 2);
  }
}

void MeansBackward(Plan& plan, const Operand& gradient, const Operand& self, int rank, const Means& means,
                   const Operand& out) {
  CheckPooled(gradient, self, rank, out);
  const Shape& shape = self.tensor->shape;
  std::vector<AxisTaps> taps;
  const int first = shape.rank() - rank;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d < first) {
      taps.push_back(Kept(shape[d]));
      continue;
    }
    const double share = means.divisor == 0 ? 0 : d == first ? 1 / static_cast<double>(means.divisor) : 1;
    taps.push_back(Turned(shape[d], SpansOf(shape[d], static_cast<size_t>(d - first), means),
                          means.count_padding, share));
  }
  Shape wanted;
  for (const AxisTaps& axis : taps) wanted.push_back(axis.in);
  CheckShape(gradient, wanted);
  PlanResample(plan, gradient, out, std::move(taps), 0);
}

void AdaptiveBackward(Plan& plan, const Operand& gradient, const Operand& self, int rank,
                      const Operand& out) {
  CheckPooled(gradient, self, rank, out);
  const Shape& shape = self.tensor->shape;
  std::vector<AxisTaps> taps;
  Shape wanted;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool pooled = d >= shape.rank() - rank;
    const int64_t size = gradient.shape()[d];
    taps.push_back(pooled ? Turned(shape[d], AdaptiveSpans(shape[d], size), false, 0) : Kept(shape[d]));
    wanted.push_back(pooled ? size : shape[d]);
  }
  CheckShape(gradient, wanted);
  PlanResample(plan, gradient, out, std::move(taps), 0);
}

}  // namespace

namespace kernels {

void UpsampleNearest1dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                               double scales, const Operand& out) {
  NearestBackward(plan, gradient, outputSize, inputSize, {&scales, 1}, false, out);
}
void UpsampleNearest2dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                               double scalesH, double scalesW, const Operand& out) {
  const double scales[] = {scalesH, scalesW};
  NearestBackward(plan, gradient, outputSize, inputSize, scales, false, out);
}
void UpsampleNearestExact1dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize,
                                    Ints inputSize, double scales, const Operand& out) {
  const double ratios[] = {scales};
  NearestBackward(plan, gradient, outputSize, inputSize, ratios, true, out);
}
void UpsampleNearestExact2dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize,
                                    Ints inputSize, double scalesH, double scalesW, const Operand& out) {
  const double ratios[] = {scalesH, scalesW};
  NearestBackward(plan, gradient, outputSize, inputSize, ratios, true, out);
}
void UpsampleNearest3dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                               double scalesD, double scalesH, double scalesW, const Operand& out) {
  const double ratios[] = {scalesD, scalesH, scalesW};
  NearestBackward(plan, gradient, outputSize, inputSize, ratios, false, out);
}
void UpsampleNearestExact3dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize,
                                    Ints inputSize, double scalesD, double scalesH, double scalesW,
                                    const Operand& out) {
  const double ratios[] = {scalesD, scalesH, scalesW};
  NearestBackward(plan, gradient, outputSize, inputSize, ratios, true, out);
}
void UpsampleLinear1dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                              bool alignCorners, double scales, const Operand& out) {
  SmoothBackward(plan, gradient, outputSize, inputSize, alignCorners, {&scales, 1}, {}, out);
}
void UpsampleBilinear2dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                                bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  const double scales[] = {scalesH, scalesW};
  SmoothBackward(plan, gradient, outputSize, inputSize, alignCorners, scales, {}, out);
}
void UpsampleBicubic2dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                               bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  const double scales[] = {scalesH, scalesW};
  SmoothBackward(plan, gradient, outputSize, inputSize, alignCorners, scales, {.cubic = true}, out);
}
void UpsampleBilinear2dAABackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                                  bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  const double scales[] = {scalesH, scalesW};
  SmoothBackward(plan, gradient, outputSize, inputSize, alignCorners, scales, AntialiasFilter(false), out);
}
void UpsampleBicubic2dAAGrad(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                             bool alignCorners, double scalesH, double scalesW, const Operand& out) {
  const double scales[] = {scalesH, scalesW};
  SmoothBackward(plan, gradient, outputSize, inputSize, alignCorners, scales, AntialiasFilter(true), out);
}
void UpsampleTrilinear3dBackward(Plan& plan, DType, const Operand& gradient, Ints outputSize, Ints inputSize,
                                 bool alignCorners, double scalesD, double scalesH, double scalesW,
                                 const Operand& out) {
  const double scales[] = {scalesD, scalesH, scalesW};
  SmoothBackward(plan, gradient, outputSize, inputSize, alignCorners, scales, {}, out);
}

void ReflectionPad1dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self, Ints padding,
                             const Operand& out) {
  PadBackward(plan, gradient, self, 1, padding, PadMode::kReflect, out);
}
void ReflectionPad2dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self, Ints padding,
                             const Operand& out) {
  PadBackward(plan, gradient, self, 2, padding, PadMode::kReflect, out);
}
void ReflectionPad3dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self, Ints padding,
                             const Operand& out) {
  PadBackward(plan, gradient, self, 3, padding, PadMode::kReflect, out);
}
void ReplicationPad1dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self, Ints padding,
                              const Operand& out) {
  PadBackward(plan, gradient, self, 1, padding, PadMode::kEdge, out);
}
void ReplicationPad2dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self, Ints padding,
                              const Operand& out) {
  PadBackward(plan, gradient, self, 2, padding, PadMode::kEdge, out);
}

void ReplicationPad3dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self, Ints padding,
                              const Operand& out) {
  PadBackward(plan, gradient, self, 3, padding, PadMode::kEdge, out);
}

void AvgPool2dBackward(Plan& plan, DType, const AvgPool2dBackwardArguments& a) {
  MeansBackward(plan, a.grad_output, a.self, 2,
                {a.kernel_size, a.stride, a.padding, a.ceil_mode, a.count_include_pad, a.divisor_override},
                a.out);
}
void AvgPool3dBackward(Plan& plan, DType, const AvgPool3dBackwardArguments& a) {
  MeansBackward(plan, a.grad_output, a.self, 3,
                {a.kernel_size, a.stride, a.padding, a.ceil_mode, a.count_include_pad, a.divisor_override},
                a.out);
}
void AdaptiveAvgPool2dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self,
                               const Operand& out) {
  AdaptiveBackward(plan, gradient, self, 2, out);
}
void AdaptiveAvgPool3dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self,
                               const Operand& out) {
  AdaptiveBackward(plan, gradient, self, 3, out);
}

}  // namespace kernels
}  // namespace belay::ops
