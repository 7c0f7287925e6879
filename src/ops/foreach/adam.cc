// A step of Adam with decoupled weight decay.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "tensor/codes.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

struct AdamW {
  double rate, beta1, beta2, decay, epsilon;
  bool amsgrad, maximize;
};

struct AdamBody {
  PackedFloats var, m, v, largest, grad;
  AdamW how;
  int step;
  DType step_type;
  int64_t step_offset, count;

  void operator()(const Frame& frame) const {
    double steps;
    tensor::Convert(DType::kF64, &steps, step_type, frame.at[step] + step_offset, 1);
    // `step` counts the steps before this one.
    const double first = 1 - std::pow(how.beta1, steps + 1), second = 1 - std::pow(how.beta2, steps + 1);
    const auto size = static_cast<float>(how.rate / first), root = static_cast<float>(std::sqrt(second));
    float *x = var.Begin(frame), *mean = m.Begin(frame), *square = v.Begin(frame),
          *most = largest.Begin(frame);
    const float* g = grad.Load(frame);
    ParallelFor(count, 32 * 1024, [&](int64_t begin, int64_t end) {
      Step(x + begin, mean + begin, square + begin, how.amsgrad ? most + begin : nullptr, g + begin,
           end - begin, size, root);
    });
    for (const PackedFloats* result : {&var, &m, &v, &largest}) result->Finish(frame);
  }

  void Step(float* x, float* mean, float* square, float* most, const float* g, int64_t n, float size,
            float root) const {
    const float kept = static_cast<float>(1 - how.rate * how.decay), sign = how.maximize ? -1.0f : 1.0f;
    const auto beta2 = static_cast<float>(how.beta2), rest1 = static_cast<float>(1 - how.beta1),
               rest2 = static_cast<float>(1 - how.beta2), epsilon = static_cast<float>(how.epsilon);
    for (int64_t i = 0; i < n; ++i) {
      const float gradient = sign * g[i];
      mean[i] += rest1 * (gradient - mean[i]);
      square[i] = beta2 * square[i] + rest2 * gradient * gradient;
      float by = square[i];
      if (most != nullptr) by = most[i] = std::max(most[i], square[i]);
      x[i] = x[i] * kept - size * (mean[i] / (std::sqrt(by) / root + epsilon));
    }
  }
};

}  // namespace

void ApplyAdamWV2(Plan& plan, DType, const Operand& var, const Operand& m, const Operand& v,
                  const Operand& maxGradNorm, const Operand& grad, const Operand& step, double lr,
                  double beta1, double beta2, double weightDecay, double eps, bool amsgrad, bool maximize,
                  const Operand&, const Operand&, const Operand&, const Operand&) {
  for (const Operand* o : {&m, &v}) {
    CheckShape(*o, var.shape());
    CheckSameType(*o, var);
  }
  CheckShape(grad, var.shape());
  CheckOne(step);
  if (amsgrad) {
    if (!maxGradNorm.present()) {
      Fail(tensor::kNullArgument, "op-masked-result", "{} is null; with amsgrad it is needed",
           maxGradNorm.name);
    }
    CheckShape(maxGradNorm, var.shape());
  }
  if (var.tensor->empty()) return;
  const auto in_out = [&](const Operand& o) { return PackedFloats(o, Flow::kInOut, plan); };
  AdamBody body{in_out(var),
                in_out(m),
                in_out(v),
                amsgrad ? in_out(maxGradNorm) : PackedFloats(),
                PackedFloats(grad, Flow::kIn, plan),
                {lr, beta1, beta2, weightDecay, eps, amsgrad, maximize},
                step.binding,
                step.dtype(),
                OffsetOf(*step.tensor),
                var.tensor->count()};
  plan.SetCost(200 + static_cast<uint64_t>(var.tensor->count()) * 2);
  plan.SetBody(body);
}

}  // namespace belay::ops::kernels
