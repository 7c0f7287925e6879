// Steps of Adam, with decoupled weight decay and without.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/foreach/adam_loops.h"
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
  double first, second;  // 1 less the betas to the power of the steps, this one among them
  bool amsgrad, maximize;

  AdamStep Step() const {
    return {.sign = maximize ? -1.0f : 1.0f,
            .rest1 = static_cast<float>(1 - beta1),
            .kept2 = static_cast<float>(beta2),
            .rest2 = static_cast<float>(1 - beta2),
            .epsilon = static_cast<float>(epsilon),
            .size = static_cast<float>(rate / first),
            .root = static_cast<float>(std::sqrt(second)),
            .kept = static_cast<float>(1 - rate * decay)};
  }
};

// A number in memory.
struct Number {
  int binding = -1;
  DType type = DType::kUndefined;
  int64_t offset = 0;

  Number() = default;
  explicit Number(const Operand& operand)
      : binding(operand.binding), type(operand.dtype()), offset(OffsetOf(*operand.tensor)) {}

  double Read(const Frame& frame) const {
    double value;
    tensor::Convert(DType::kF64, &value, type, frame.at[binding] + offset, 1);
    return value;
  }
};

struct AdamTensors {
  PackedFloats var, m, v, largest, grad;
  int64_t count = 0;

  AdamTensors(Plan& plan, const Operand& x, const Operand& mean, const Operand& square, const Operand& most,
              const Operand& gradient)
      : var(x, Flow::kInOut, plan),
        m(mean, Flow::kInOut, plan),
        v(square, Flow::kInOut, plan),
        largest(most, Flow::kInOut, plan),
        grad(gradient, Flow::kIn, plan),
        count(x.tensor->count()) {}

  // step(x, mean, square, most or null, gradient, n)
  template <class Step>
  void Move(const Frame& frame, const Step& step) const {
    float *x = var.Begin(frame), *mean = m.Begin(frame), *square = v.Begin(frame),
          *most = largest.Begin(frame);
    const float* g = grad.Load(frame);
    ParallelFor(count, 32 * 1024, [&](int64_t begin, int64_t end) {
      step(x + begin, mean + begin, square + begin, most == nullptr ? nullptr : most + begin, g + begin,
           end - begin);
    });
    for (const PackedFloats* result : {&var, &m, &v, &largest}) result->Finish(frame);
  }
};

struct AdamBody {
  AdamTensors tensors;
  AdamW how;
  Number step;

  void operator()(const Frame& frame) const {
    AdamW now = how;
    const double steps = step.Read(frame);  // before this one
    now.first = 1 - std::pow(how.beta1, steps + 1), now.second = 1 - std::pow(how.beta2, steps + 1);
    tensors.Move(frame, [step = now.Step()](auto... args) { step.Run(args...); });
  }
};

// What how[i] is of, in memory. The powers are those of the steps before this one.
enum InMemory { kBeta1Power, kBeta2Power, kRate, kDecay, kBeta1, kBeta2, kEpsilon, kNumbers };

struct AdamOfTensorsBody {
  AdamTensors tensors;
  Number numbers[kNumbers];
  bool amsgrad, maximize;

  void operator()(const Frame& frame) const {
    double at[kNumbers];
    for (int i = 0; i < kNumbers; ++i) at[i] = numbers[i].Read(frame);
    const AdamW how{at[kRate],
                    at[kBeta1],
                    at[kBeta2],
                    at[kDecay],
                    at[kEpsilon],
                    1 - at[kBeta1Power] * at[kBeta1],
                    1 - at[kBeta2Power] * at[kBeta2],
                    amsgrad,
                    maximize};
    tensors.Move(frame, [step = how.Step()](auto... args) { step.Run(args...); });
  }
};

// Adam as it was first described, where the root of the second power is in the step's size.
struct PlainAdamBody {
  AdamTensors tensors;
  Number numbers[kNumbers];  // no decay
  bool nesterov;

  void operator()(const Frame& frame) const {
    double at[kNumbers] = {};
    for (int i = 0; i < kNumbers; ++i) {
      if (i != kDecay) at[i] = numbers[i].Read(frame);
    }
    const auto size = static_cast<float>(at[kRate] * std::sqrt(1 - at[kBeta2Power]) / (1 - at[kBeta1Power])),
               beta1 = static_cast<float>(at[kBeta1]), rest1 = static_cast<float>(1 - at[kBeta1]),
               rest2 = static_cast<float>(1 - at[kBeta2]), epsilon = static_cast<float>(at[kEpsilon]);
    tensors.Move(frame, [&](float* x, float* mean, float* square, float*, const float* g, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        mean[i] += rest1 * (g[i] - mean[i]);
        square[i] += rest2 * (g[i] * g[i] - square[i]);
        const float by = nesterov ? mean[i] * beta1 + rest1 * g[i] : mean[i];
        x[i] -= size * by / (std::sqrt(square[i]) + epsilon);
      }
    });
  }
};

void CheckAdam(const Operand& var, const Operand& m, const Operand& v, const Operand& grad) {
  for (const Operand* o : {&m, &v}) {
    CheckShape(*o, var.shape());
    CheckSameType(*o, var);
  }
  CheckShape(grad, var.shape());
}

// The largest squares so far; none where they are not asked for.
Operand LargestOf(const Operand& largest, bool amsgrad, const Operand& var) {
  if (!amsgrad) return {};
  if (!largest.present())
    Fail(tensor::kNullArgument, "op-masked-result", "{} is null; with amsgrad it is needed", largest.name);
  CheckShape(largest, var.shape());
  return largest;
}

uint64_t CostOfStep(const Operand& var) { return 200 + static_cast<uint64_t>(var.tensor->count()) * 2; }

}  // namespace

void ApplyAdamWV2(Plan& plan, DType, const ApplyAdamWV2Arguments& a) {
  CheckAdam(a.var, a.m, a.v, a.grad);
  CheckOne(a.step);
  const Operand largest = LargestOf(a.max_grad_norm, a.amsgrad, a.var);
  if (a.var.tensor->empty()) return;
  plan.SetCost(CostOfStep(a.var));
  plan.SetBody(AdamBody{AdamTensors(plan, a.var, a.m, a.v, largest, a.grad),
                        {.rate = a.lr,
                         .beta1 = a.beta1,
                         .beta2 = a.beta2,
                         .decay = a.weight_decay,
                         .epsilon = a.eps,
                         .first = 1,
                         .second = 1,
                         .amsgrad = a.amsgrad,
                         .maximize = a.maximize},
                        Number(a.step)});
}

void ApplyAdamW(Plan& plan, DType, const ApplyAdamWArguments& a) {
  CheckAdam(a.var, a.m, a.v, a.grad);
  const Operand* numbers[kNumbers] = {&a.beta1_power, &a.beta2_power, &a.lr,     &a.weight_decay,
                                      &a.beta1,       &a.beta2,       &a.epsilon};
  for (const Operand* number : numbers) CheckOne(*number);
  const Operand largest = LargestOf(a.max_grad_norm, a.amsgrad, a.var);
  if (a.var.tensor->empty()) return;
  AdamOfTensorsBody body{AdamTensors(plan, a.var, a.m, a.v, largest, a.grad), {}, a.amsgrad, a.maximize};
  for (int i = 0; i < kNumbers; ++i) body.numbers[i] = Number(*numbers[i]);
  plan.SetCost(CostOfStep(a.var));
  plan.SetBody(body);
}

void ApplyAdam(Plan& plan, DType, const ApplyAdamArguments& a) {
  CheckAdam(a.var, a.m, a.v, a.grad);
  const Operand* numbers[kNumbers] = {&a.beta1_power, &a.beta2_power, &a.lr,     nullptr,
                                      &a.beta1,       &a.beta2,       &a.epsilon};
  PlainAdamBody body{AdamTensors(plan, a.var, a.m, a.v, {}, a.grad), {}, a.use_nesterov};
  for (int i = 0; i < kNumbers; ++i) {
    if (numbers[i] == nullptr) continue;
    CheckOne(*numbers[i]);
    body.numbers[i] = Number(*numbers[i]);
  }
  if (a.var.tensor->empty()) return;
  plan.SetCost(CostOfStep(a.var));
  plan.SetBody(body);
}

}  // namespace belay::ops::kernels
