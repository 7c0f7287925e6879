// A step of gradient descent with momentum over lists of tensors.
#include <cstdint>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

struct SgdStep {
  float decay, momentum, rate, kept;  // kept: what is not damped
  bool nesterov, maximize, first;

  // `buffer` may be null: without momentum there is none.
  void Move(float* x, float* buffer, const float* grad, float scale, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      float g = grad[i] / scale;
      if (maximize) g = -g;
      g += decay * x[i];
      if (buffer != nullptr) {
        buffer[i] = first ? g : momentum * buffer[i] + kept * g;
        g = nesterov ? g + momentum * buffer[i] : buffer[i];
      }
      x[i] -= rate * g;
    }
  }
};

struct SgdBody {
  SgdStep how;
  PackedFloats param, grad, buffer;
  int scale_at = -1;
  int64_t scale_offset = 0, count;

  void operator()(const Frame& frame) const {
    const float scale = scale_at < 0 ? 1 : *reinterpret_cast<const float*>(frame.at[scale_at] + scale_offset);
    float *x = param.Begin(frame), *moved = buffer.Begin(frame);
    const float* g = grad.Load(frame);
    ParallelFor(count, 32 * 1024, [&](int64_t begin, int64_t end) {
      how.Move(x + begin, moved == nullptr ? nullptr : moved + begin, g + begin, scale, end - begin);
    });
    param.Finish(frame), buffer.Finish(frame);
  }
};

void CheckSgdList(const OperandList& list, const char* name, const OperandList& params) {
  if (list.size() != params.size()) {
    Fail(tensor::kInvalidArgument, "op-foreach-lists", "{} has {} members; params has {}", name, list.size(),
         params.size());
  }
  for (size_t i = 0; i < list.size(); ++i) {
    CheckSameType(list[i], params[i]);
    CheckShape(list[i], params[i].shape());
  }
}

}  // namespace

void FusedSgd(Plan& plan, DType, const FusedSgdArguments& a) {
  if (a.params.empty())
    Fail(tensor::kInvalidArgument, "op-empty-list", "params is empty; it needs one or more tensors");
  CheckSgdList(a.grads, "grads", a.params);
  CheckSgdList(a.momentum_buffer_list, "momentumBufferList", a.params);
  if (a.grad_scale.present()) CheckOne(a.grad_scale);
  const SgdStep how{static_cast<float>(a.weight_decay),
                    static_cast<float>(a.momentum),
                    static_cast<float>(a.lr),
                    static_cast<float>(1 - a.dampening),
                    a.nesterov,
                    a.maximize,
                    a.is_first_step};
  Sequence parts(plan);
  for (size_t i = 0; i < a.params.size(); ++i) {
    if (a.params[i].tensor->empty()) continue;
    parts.Add([&](Plan& part) {
      SgdBody body{};
      body.how = how, body.count = a.params[i].tensor->count();
      body.param = PackedFloats(a.params[i], Flow::kInOut, part);
      body.grad = PackedFloats(a.grads[i], Flow::kIn, part);
      if (a.momentum != 0)
        body.buffer =
            PackedFloats(a.momentum_buffer_list[i], a.is_first_step ? Flow::kOut : Flow::kInOut, part);
      if (a.grad_scale.present())
        body.scale_at = a.grad_scale.binding, body.scale_offset = tensor::OffsetOf(*a.grad_scale.tensor);
      part.SetCost(200 + static_cast<uint64_t>(body.count) * 2);
      part.SetBody(body);
    });
  }
  parts.FinishApart();
}

}  // namespace belay::ops::kernels
