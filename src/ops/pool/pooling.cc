// The functions of the C interface that pool.
#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/pool/pool.h"
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
    if (kernel < 1 || stride < 1 || p.dilation < 1 || p.before < 0 || p.after < 0) {
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

}  // namespace

void AvgPool2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> kernel,
               std::span<const int64_t> strides, std::span<const int64_t> paddings, bool ceil,
               bool count_padding, int64_t divisor, int64_t, const Operand& out) {
  Batched x(self), y(out);
  PoolArgs args{.kind = PoolKind::kMean, .input = x.operand, .out = y.operand, .places = {}, .spans = {}};
  args.spans = SpansOf(x.operand, {kernel, strides, {}, paddings, paddings, ceil}, y.operand);
  args.count_padding = count_padding, args.divisor = divisor;
  PlanPool(plan, args);
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
  CheckShape(indices, out.shape());
  Batched x(self), y(out), places(indices);
  const Shape shape = y.operand.shape();
  if (size.size() != 2 || shape[2] != size[0] || shape[3] != size[1]) {
    Fail(tensor::kInvalidArgument, "pool-shape", "outputSize is the last two sizes of {} {}", out.name,
         out.shape().ToString());
  }
  PoolArgs args{
      .kind = PoolKind::kMax, .input = x.operand, .out = y.operand, .places = places.operand, .spans = {}};
  for (int d = 2; d < 4; ++d) args.spans.push_back(AdaptiveSpans(x.operand.shape()[d], shape[d]));
  args.places_in_plane = true;
  PlanPool(plan, args);
}

void AdaptiveAvgPool2d(Plan& plan, DType, const Operand& self, std::span<const int64_t> size,
                       const Operand& out) {
  Batched x(self), y(out);
  const Shape shape = y.operand.shape();
  if (size.size() != 2 || shape[2] != size[0] || shape[3] != size[1]) {
    Fail(tensor::kInvalidArgument, "pool-shape", "outputSize is the last two sizes of {} {}", out.name,
         out.shape().ToString());
  }
  PoolArgs args{.kind = PoolKind::kMean, .input = x.operand, .out = y.operand, .places = {}, .spans = {}};
  for (int d = 2; d < 4; ++d) args.spans.push_back(AdaptiveSpans(x.operand.shape()[d], shape[d]));
  PlanPool(plan, args);
}

}  // namespace belay::ops::kernels
