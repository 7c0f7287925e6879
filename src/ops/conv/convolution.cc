// The functions of the C interface that convolve.
#include "base/error.h"
#include "ops/conv/conv.h"
#include "ops/kernels.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {
namespace {

// One number stands for every dimension.
std::vector<int64_t> Spread(std::span<const int64_t> values, int count, int64_t missing) {
  if (values.empty()) return std::vector<int64_t>(static_cast<size_t>(count), missing);
  if (values.size() == 1) return std::vector<int64_t>(static_cast<size_t>(count), values[0]);
  return {values.begin(), values.end()};
}

void CheckMathType(int64_t type) {
  constexpr int64_t kUseHf32 = 3;
  if (type < 0 || type > kUseHf32) {
    Fail(tensor::kInvalidArgument, "op-cube-math-type", "cubeMathType is {}; it is 0, 1, 2 or 3", type);
  }
}

}  // namespace

void Convolution(Plan& plan, DType, const Operand& input, const Operand& weight, const Operand& bias,
                 std::span<const int64_t> stride, std::span<const int64_t> padding,
                 std::span<const int64_t> dilation, bool transposed, std::span<const int64_t>, int64_t groups,
                 const Operand& output, int64_t math_type) {
  CheckMathType(math_type);
  const int spatial = input.shape().rank() - 2;
  if (spatial < 1) {
    Fail(tensor::kInvalidArgument, "conv-shape", "{} {} has no spatial dimension", input.name,
         input.shape().ToString());
  }
  const auto strides = Spread(stride, spatial, 1), dilations = Spread(dilation, spatial, 1);
  // Output padding shows in the size of the result, which the caller has already made.
  const auto pads = Spread(padding, spatial, 0);
  PlanConv(plan, {.input = input,
                  .weight = weight,
                  .bias = bias,
                  .residual = {},
                  .out = output,
                  .strides = strides,
                  .dilations = dilations,
                  .before = pads,
                  .after = pads,
                  .groups = groups,
                  .transposed = transposed});
}

void ConvDepthwise2d(Plan& plan, DType compute, const Operand& self, const Operand& weight,
                     std::span<const int64_t> kernel_size, const Operand& bias,
                     std::span<const int64_t> stride, std::span<const int64_t> padding,
                     std::span<const int64_t> dilation, const Operand& out, int64_t math_type) {
  const Shape w = weight.shape();
  if (w.rank() != 4 || self.shape().rank() != 4 || kernel_size.size() != 2 || kernel_size[0] != w[2] ||
      kernel_size[1] != w[3]) {
    Fail(tensor::kInvalidArgument, "conv-shape",
         "{} {} and {} {} have four dimensions, and kernelSize is the last two of the weights", self.name,
         self.shape().ToString(), weight.name, w.ToString());
  }
  Convolution(plan, compute, self, weight, bias, stride, padding, dilation, false, {}, self.shape()[1], out,
              math_type);
}

}  // namespace belay::ops::kernels
