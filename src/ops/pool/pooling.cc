// The functions of the C interface that pool.
#include <algorithm>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/pool/pool.h"
#include "ops/pool/unpool.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {
namespace {

// [c, h, w] as one image.
struct Batched {
  explicit Batched(const Operand& operand, int spatial = 2) : tensor(*operand.tensor), operand(operand) {
    if (tensor.shape.rank() == spatial + 1) {
      Shape shape{1}, strides{0};
      for (int d = 0; d < spatial + 1; ++d) {
        shape.push_back(tensor.shape[d]);
        strides.push_back(tensor.strides[d]);
      }
      tensor.shape = shape, tensor.strides = strides;
    }
    this->operand.tensor = &tensor;
    if (tensor.shape.rank() != spatial + 2) {
      Fail(tensor::kInvalidArgument, "pool-shape", "{} {} has {} or {} dimensions", operand.name,
           operand.shape().ToString(), spatial + 1, spatial + 2);
    }
  }
  Batched(const Batched&) = delete;

  Tensor tensor;
  Operand operand;
};

int64_t Pick(std::span<const int64_t> values, size_t i, int64_t missing) {
  if (values.empty()) return missing;
  return values.size() == 1 ? values[0] : values[std::min(i, values.size() - 1)];
}

struct Windows {
  std::span<const int64_t> kernel, strides, dilations, before, after;
  bool ceil;
};

std::vector<PoolSpans> SpansOf(const Operand& self, const Windows& w, const Operand& out) {
  std::vector<PoolSpans> spans;
  for (size_t i = 0; i + 2 < static_cast<size_t>(self.shape().rank()); ++i) {
    const int d = static_cast<int>(i) + 2;
    const int64_t kernel = Pick(w.kernel, i, 0), stride = Pick(w.strides, i, kernel);
    PoolDimension p{self.shape()[d],    kernel, stride, Pick(w.dilations, i, 1), Pick(w.before, i, 0),
                    Pick(w.after, i, 0)};
    if (!IsWindow(p)) {
      Fail(tensor::kInvalidArgument, "pool-window",
           "a window has a kernel of {}, a stride of {}, a dilation of {} and paddings of {} and {}", kernel,
           stride, p.dilation, p.before, p.after);
    }
    const int64_t size = PoolOutputSize(p, w.ceil);
    if (out.shape()[d] != size) {
      Fail(tensor::kInvalidArgument, "pool-shape", "{} has the shape {}, but there are {} windows", out.name,
           out.shape().ToString(), size);
    }
    spans.push_back(SlidingSpans(p, size));
  }
  return spans;
}

void MeanPool(Plan& plan, const Operand& self, int spatial, const Windows& windows, bool count_padding,
              int64_t divisor, const Operand& out) {
  Batched x(self, spatial), y(out, spatial);
  PoolArgs args{.kind = PoolKind::kMean, .input = x.operand, .out = y.operand, .places = {}, .spans = {}};
  args.spans = SpansOf(x.operand, windows, y.operand);
  args.count_padding = count_padding, args.divisor = divisor;
  PlanPool(plan, args);
}

// The last sizes of out are those that the program says.
void CheckSizes(std::span<const int64_t> size, int spatial, const Operand& out) {
  const Shape shape = out.shape();
  if (shape.rank() >= spatial && std::equal(size.begin(), size.end(), shape.end() - spatial, shape.end()))
    return;
  Fail(tensor::kInvalidArgument, "pool-shape", "outputSize is the last {} sizes of {} {}", spatial, out.name,
       shape.ToString());
}

void AdaptiveMeanPool(Plan& plan, const Operand& self, int spatial, std::span<const int64_t> size,
                      const Operand& out) {
  Batched x(self, spatial), y(out, spatial);
  CheckSizes(size, spatial, y.operand);
  PoolArgs args{.kind = PoolKind::kMean, .input = x.operand, .out = y.operand, .places = {}, .spans = {}};
  for (int d = 2; d < spatial + 2; ++d)
    args.spans.push_back(AdaptiveSpans(x.operand.shape()[d], y.operand.shape()[d]));
  PlanPool(plan, args);
}

void AdaptiveLargest(Plan& plan, const Operand& self, int spatial, std::span<const int64_t> size,
                     const Operand& out, const Operand& indices) {
  CheckShape(indices, out.shape());
  Batched x(self, spatial), y(out, spatial), places(indices, spatial);
  CheckSizes(size, spatial, y.operand);
  PoolArgs args{
      .kind = PoolKind::kMax, .input = x.operand, .out = y.operand, .places = places.operand, .spans = {}};
  for (int d = 2; d < spatial + 2; ++d)
    args.spans.push_back(AdaptiveSpans(x.operand.shape()[d], y.operand.shape()[d]));
  args.places_in_plane = true;
  PlanPool(plan, args);
}

// The steps of a function in three dimensions, which change nothing.
void CheckSteps(std::span<const int64_t> stride, std::span<const int64_t> padding) {
  CheckLength("stride", static_cast<int64_t>(stride.size()), 3);
  CheckLength("padding", static_cast<int64_t>(padding.size()), 3);
  if (std::any_of(stride.begin(), stride.end(), [](int64_t step) { return step < 1; }))
    Fail(tensor::kInvalidArgument, "pool-window", "stride has a number below 1");
}

void CheckPlanes(const Operand& few, const Operand& many, int outer) {
  for (int d = 0; d < outer; ++d) {
    if (few.shape()[d] == many.shape()[d]) continue;
    Fail(tensor::kInvalidArgument, "pool-shape", "{} {} and {} {} have one batch and its channels", few.name,
         few.shape().ToString(), many.name, many.shape().ToString());
  }
}

void MaxUnpool(Plan& plan, const Operand& self, const Operand& indices, int spatial,
               std::span<const int64_t> size, const Operand& out) {
  CheckShape(indices, self.shape());
  CheckSameType(self, out);
  Batched x(self, spatial), places(indices, spatial), y(out, spatial);
  CheckSizes(size, spatial, y.operand);
  CheckPlanes(x.operand, y.operand, 2);
  PlanUnpoolPlanes(plan, x.operand, places.operand, spatial, y.operand);
}

void MaxUnpoolBackward(Plan& plan, const Operand& gradient, const Operand& self, const Operand& indices,
                       int spatial, std::span<const int64_t> size, const Operand& out) {
  CheckShape(indices, self.shape());
  CheckShape(out, self.shape());
  CheckSameType(gradient, self);
  CheckSameType(self, out);
  CheckLength("the shape of gradOutput", gradient.shape().rank(), self.shape().rank());
  Batched from(gradient, spatial), places(indices, spatial), to(out, spatial);
  CheckSizes(size, spatial, from.operand);
  CheckPlanes(to.operand, from.operand, 2);
  PlanPickPlaces(plan, from.operand, places.operand, spatial, to.operand);
}

}  // namespace

void AvgPool2d(Plan& plan, DType, const AvgPool2dArguments& a) {
  MeanPool(plan, a.self, 2, {a.kernel_size, a.strides, {}, a.paddings, a.paddings, a.ceil_mode},
           a.count_include_pad, a.divisor_override, a.out);
}

// pads: top, left, bottom, right.
void MaxPool(Plan& plan, DType, const Operand& self, std::span<const int64_t> kernel,
             std::span<const int64_t> strides, int64_t auto_pad, std::span<const int64_t> pads,
             std::span<const int64_t> dilations, int64_t ceil, const Operand& out) {
  if (auto_pad != 0)
    Fail(tensor::kInvalidArgument, "pool-window", "autoPad is {}; only 0 is supported", auto_pad);
  Batched x(self), y(out);
  auto after = pads.size() == 4 ? pads.subspan(2) : pads;
  auto before = pads.size() == 4 ? pads.first(2) : pads;
  PoolArgs args{.kind = PoolKind::kMax, .input = x.operand, .out = y.operand, .places = {}, .spans = {}};
  args.spans = SpansOf(x.operand, {kernel, strides, dilations, before, after, ceil != 0}, y.operand);
  PlanPool(plan, args);
}

void MaxPool2dWithIndices(Plan& plan, DType, const Operand& self, std::span<const int64_t> kernel,
                          std::span<const int64_t> stride, std::span<const int64_t> padding,
                          std::span<const int64_t> dilation, bool ceil, const Operand& out,
                          const Operand& indices) {
  if (indices.shape() != out.shape()) {
    Fail(tensor::kInvalidArgument, "pool-shape", "{} {} has the shape of {} {}", indices.name,
         indices.shape().ToString(), out.name, out.shape().ToString());
  }
  Batched x(self), y(out), places(indices);
  PoolArgs args{
      .kind = PoolKind::kMax, .input = x.operand, .out = y.operand, .places = places.operand, .spans = {}};
  args.spans = SpansOf(x.operand, {kernel, stride, dilation, padding, padding, ceil}, y.operand);
  args.places_in_plane = true;
  PlanPool(plan, args);
}

void MaxPool3dWithArgmax(Plan& plan, DType, const Operand& self, std::span<const int64_t> kernel,
                         std::span<const int64_t> stride, std::span<const int64_t> padding,
                         std::span<const int64_t> dilation, bool ceil, const Operand& out,
                         const Operand& indices) {
  CheckShape(indices, out.shape());
  Batched x(self, 3), y(out, 3), places(indices, 3);
  PoolArgs args{
      .kind = PoolKind::kMax, .input = x.operand, .out = y.operand, .places = places.operand, .spans = {}};
  args.spans = SpansOf(x.operand, {kernel, stride, dilation, padding, padding, ceil}, y.operand);
  args.places_in_plane = true;
  PlanPool(plan, args);
}

void AdaptiveMaxPool2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> size,
                       const Operand& out, const Operand& indices) {
  AdaptiveLargest(plan, self, 2, size, out, indices);
}

void AdaptiveMaxPool3d(Plan& plan, DType, const Operand& self, std::span<const int64_t> size,
                       const Operand& out, const Operand& indices) {
  AdaptiveLargest(plan, self, 3, size, out, indices);
}

void AvgPool3d(Plan& plan, DType, const Operand& self, std::span<const int64_t> kernel,
               std::span<const int64_t> stride, std::span<const int64_t> padding, bool ceil,
               bool count_padding, int64_t divisor, const Operand& out) {
  MeanPool(plan, self, 3, {kernel, stride, {}, padding, padding, ceil}, count_padding, divisor, out);
}

void AdaptiveAvgPool2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> size,
                       const Operand& out) {
  AdaptiveMeanPool(plan, self, 2, size, out);
}

void AdaptiveAvgPool3d(Plan& plan, DType, const Operand& self, std::span<const int64_t> size,
                       const Operand& out) {
  AdaptiveMeanPool(plan, self, 3, size, out);
}

void MaxUnpool2d(Plan& plan, DType, const Operand& self, const Operand& indices,
                 std::span<const int64_t> size, const Operand& out) {
  MaxUnpool(plan, self, indices, 2, size, out);
}

void MaxUnpool3d(Plan& plan, DType, const Operand& self, const Operand& indices,
                 std::span<const int64_t> size, std::span<const int64_t> stride,
                 std::span<const int64_t> padding, const Operand& out) {
  CheckSteps(stride, padding);
  MaxUnpool(plan, self, indices, 3, size, out);
}

void MaxUnpool2dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self,
                         const Operand& indices, std::span<const int64_t> size, const Operand& out) {
  MaxUnpoolBackward(plan, gradient, self, indices, 2, size, out);
}

void MaxUnpool3dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self,
                         const Operand& indices, std::span<const int64_t> size,
                         std::span<const int64_t> stride, std::span<const int64_t> padding,
                         const Operand& out) {
  CheckSteps(stride, padding);
  MaxUnpoolBackward(plan, gradient, self, indices, 3, size, out);
}

}  // namespace belay::ops::kernels
