// The functions of the C interface that convolve.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/conv/conv.h"
#include "ops/conv/weight_gradient.h"
#include "ops/gradient/checks.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/reduce/reduce.h"
#include "ops/sequence.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {
namespace {

// One number stands for every dimension.
std::vector<int64_t> SpreadOver(std::span<const int64_t> values, int count, int64_t missing) {
  if (values.empty()) return std::vector<int64_t>(static_cast<size_t>(count), missing);
  if (values.size() == 1) return std::vector<int64_t>(static_cast<size_t>(count), values[0]);
  return {values.begin(), values.end()};
}

// How the windows of a call go over the input, one number for each spatial dimension.
class Windows {
 public:
  Windows(const Operand& input, std::span<const int64_t> stride, std::span<const int64_t> padding,
          std::span<const int64_t> dilation, std::span<const int64_t> output_padding = {}) {
    const int spatial = input.shape().rank() - 2;
    if (spatial < 1) {
      Fail(tensor::kInvalidArgument, "conv-shape", "{} {} has no spatial dimension", input.name,
           input.shape().ToString());
    }
    strides_ = SpreadOver(stride, spatial, 1), dilations_ = SpreadOver(dilation, spatial, 1);
    pads_ = SpreadOver(padding, spatial, 0), behind_ = SpreadOver(output_padding, spatial, 0);
  }

  // Good for as long as the windows are.
  ConvArgs Args(const Operand& input, const Operand& weight, const Operand& bias, const Operand& out,
                int64_t groups, bool transposed) const {
    return {.input = input,
            .weight = weight,
            .bias = bias,
            .residual = {},
            .out = out,
            .strides = strides_,
            .dilations = dilations_,
            .before = pads_,
            .after = pads_,
            .groups = groups,
            .transposed = transposed,
            .output_padding = transposed ? std::span<const int64_t>(behind_) : std::span<const int64_t>()};
  }

 private:
  std::vector<int64_t> strides_, dilations_, pads_, behind_;
};

// Two numbers for each of the two dimensions of an image stand for one where they are equal. Which of them is
// meant for the side behind is not told.
std::vector<int64_t> OneForEach(const Operand& input, std::span<const int64_t> padding, bool transposed) {
  if (padding.size() != 4 || input.shape().rank() != 4 || transposed) return {padding.begin(), padding.end()};
  if (padding[0] != padding[1] || padding[2] != padding[3]) {
    Fail(tensor::kInvalidArgument, "conv-shape",
         "padding is [{}, {}, {}, {}]; the two numbers of a dimension that differ are not supported",
         padding[0], padding[1], padding[2], padding[3]);
  }
  return {padding[0], padding[2]};
}

void CheckMathType(int64_t type) {
  constexpr int64_t kUseHf32 = 3;
  if (type < 0 || type > kUseHf32) {
    Fail(tensor::kInvalidArgument, "op-cube-math-type", "cubeMathType is {}; it is 0, 1, 2 or 3", type);
  }
}

}  // namespace

void Convolution(Plan& plan, DType, const ConvolutionArguments& a) {
  CheckMathType(a.cube_math_type);
  const Windows windows(a.input, a.stride, OneForEach(a.input, a.padding, a.transposed), a.dilation,
                        a.output_padding);
  PlanConv(plan, windows.Args(a.input, a.weight, a.bias, a.output, a.groups, a.transposed));
}

void ConvDepthwise2d(Plan& plan, DType compute, const ConvDepthwise2dArguments& a) {
  const Shape w = a.weight.shape();
  if (w.rank() != 4 || a.self.shape().rank() != 4 || a.kernel_size.size() != 2 || a.kernel_size[0] != w[2] ||
      a.kernel_size[1] != w[3]) {
    Fail(tensor::kInvalidArgument, "conv-shape",
         "{} {} and {} {} have four dimensions, and kernelSize is the last two of the weights", a.self.name,
         a.self.shape().ToString(), a.weight.name, w.ToString());
  }
  Convolution(plan, compute,
              {.input = a.self,
               .weight = a.weight,
               .bias = a.bias,
               .stride = a.stride,
               .padding = a.padding,
               .dilation = a.dilation,
               .transposed = false,
               .output_padding = {},
               .groups = a.self.shape()[1],
               .output = a.out,
               .cube_math_type = a.cube_math_type});
}

namespace {

// The results that are wanted, and the convolution whose gradients they are.
struct ConvGradients {
  ConvArgs forward;  // its result is the gradient that is given
  Operand input, weight, bias;
};

// A convolution's gradient is that of its transpose, and the other way round.
void AddInputGradient(Sequence& parts, const ConvGradients& g) {
  ConvArgs back = g.forward;
  back.input = g.forward.out, back.out = g.input, back.transposed = !g.forward.transposed;
  parts.Add([&](Plan& part) { PlanConv(part, back); });
}

// A transposed convolution moves what a convolution with the same weights has gathered: input and result
// change places.
void AddWeightGradient(Sequence& parts, const ConvGradients& g, bool nothing) {
  ConvArgs from = g.forward;
  if (from.transposed) std::swap(from.input, from.out);
  from.transposed = false;
  parts.Add([&](Plan& part) {
    nothing ? Zero(part, g.weight.dtype(), g.weight) : PlanWeightGradient(part, from, g.weight);
  });
}

void AddBiasGradient(Sequence& parts, const ConvGradients& g) {
  const Operand& grad = g.forward.out;
  const uint32_t all = (1u << grad.shape().rank()) - 1;
  parts.Add([&](Plan& part) { PlanReduce(part, {}, DType::kF32, grad, all & ~2u, g.bias); });
}

}  // namespace

void ConvolutionBackward(Plan& plan, DType, const ConvolutionBackwardArguments& a) {
  CheckMathType(a.cube_math_type);
  const Windows windows(a.input, a.stride, a.padding, a.dilation, a.output_padding);
  const ConvArgs forward = windows.Args(a.input, a.weight, {}, a.grad_output, a.groups, a.transposed);
  CheckedGeometry(forward);
  Operand results[] = {a.grad_input, a.grad_weight, a.grad_bias};
  SelectResults(a.output_mask, results);
  const ConvGradients wanted{forward, results[0], results[1], results[2]};
  if (wanted.input.present()) CheckShape(wanted.input, a.input.shape());
  if (wanted.weight.present()) CheckShape(wanted.weight, a.weight.shape());
  if (wanted.bias.present()) CheckShape(wanted.bias, {a.grad_output.shape()[1]});
  const bool nothing = a.grad_output.tensor->empty() || a.input.tensor->empty() || a.weight.tensor->empty();
  Sequence parts(plan);
  if (wanted.input.present() && !wanted.input.tensor->empty()) {
    nothing ? parts.Add([&](Plan& part) { Zero(part, a.input.dtype(), wanted.input); })
            : AddInputGradient(parts, wanted);
  }
  if (wanted.weight.present() && !wanted.weight.tensor->empty()) AddWeightGradient(parts, wanted, nothing);
  if (wanted.bias.present()) AddBiasGradient(parts, wanted);
  parts.Finish();
}

namespace {

// Three dimensions in another order, which may not be copied.
struct Turned {
  Tensor view;
  Operand operand;

  Turned(const Operand& whole, const int (&order)[3])
      : view(*whole.tensor), operand{&view, nullptr, whole.binding, whole.name} {
    if (whole.shape().rank() != 3) {
      Fail(tensor::kInvalidArgument, "conv-shape", "{} {} has three dimensions", whole.name,
           whole.shape().ToString());
    }
    for (int d = 0; d < 3; ++d) {
      view.shape[d] = whole.tensor->shape[order[d]];
      view.strides[d] = whole.tensor->strides[order[d]];
    }
  }
  Turned(const Turned&) = delete;
  Turned& operator=(const Turned&) = delete;
};

// Of [time, batch, channels], and of weights [taps, from, to], as Convolution has them.
constexpr int kTimeLast[] = {1, 2, 0}, kTapsLast[] = {2, 1, 0};

}  // namespace

void ConvTbc(Plan& plan, DType compute, const Operand& self, const Operand& weight, const Operand& bias,
             int64_t pad, const Operand& output, int64_t math_type) {
  const Turned x(self, kTimeLast), w(weight, kTapsLast), y(output, kTimeLast);
  const int64_t one[] = {1}, pads[] = {pad};
  Convolution(plan, compute,
              {.input = x.operand,
               .weight = w.operand,
               .bias = bias,
               .stride = one,
               .padding = pads,
               .dilation = one,
               .transposed = false,
               .output_padding = {},
               .groups = 1,
               .output = y.operand,
               .cube_math_type = math_type});
}

void ConvTbcBackward(Plan& plan, DType compute, const ConvTbcBackwardArguments& a) {
  CheckShape(a.bias, {a.weight.shape().rank() == 0 ? 0 : a.weight.shape().back(0)});
  const Turned g(a.self, kTimeLast), x(a.input, kTimeLast), w(a.weight, kTapsLast),
      to_x(a.grad_input, kTimeLast), to_w(a.grad_weight, kTapsLast);
  const int64_t one[] = {1}, pads[] = {a.pad};
  const uint8_t all[] = {1, 1, 1};
  ConvolutionBackward(plan, compute,
                      {.grad_output = g.operand,
                       .input = x.operand,
                       .weight = w.operand,
                       .bias_sizes = {},
                       .stride = one,
                       .padding = pads,
                       .dilation = one,
                       .transposed = false,
                       .output_padding = {},
                       .groups = 1,
                       .output_mask = all,
                       .cube_math_type = a.cube_math_type,
                       .grad_input = to_x.operand,
                       .grad_weight = to_w.operand,
                       .grad_bias = a.grad_bias});
}

}  // namespace belay::ops::kernels
