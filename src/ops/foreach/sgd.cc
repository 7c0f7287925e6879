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

void FusedSgd(Plan& plan, DType, const OperandList& params, const OperandList& grads,
              const OperandList& buffers, const Operand& gradScale, double decay, double momentum,
              double rate, double dampening, bool nesterov, bool maximize, bool first, const OperandList&,
              const OperandList&) {
  if (params.empty())
    Fail(tensor::kInvalidArgument, "op-empty-list", "params is empty; it needs one or more tensors");
  CheckSgdList(grads, "grads", params);
  CheckSgdList(buffers, "momentumBufferList", params);
  if (gradScale.present()) CheckOne(gradScale);
  const SgdStep how{static_cast<float>(decay),
                    static_cast<float>(momentum),
                    static_cast<float>(rate),
                    static_cast<float>(1 - dampening),
                    nesterov,
                    maximize,
                    first};
  Sequence parts(plan);
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].tensor->empty()) continue;
    parts.Add([&](Plan& part) {
      SgdBody body{};
      body.how = how, body.count = params[i].tensor->count();
      body.param = PackedFloats(params[i], Flow::kInOut, part);
      body.grad = PackedFloats(grads[i], Flow::kIn, part);
      if (momentum != 0) body.buffer = PackedFloats(buffers[i], first ? Flow::kOut : Flow::kInOut, part);
      if (gradScale.present())
        body.scale_at = gradScale.binding, body.scale_offset = tensor::OffsetOf(*gradScale.tensor);
      part.SetCost(200 + static_cast<uint64_t>(body.count) * 2);
      part.SetBody(body);
    });
  }
  parts.FinishApart();
}

}  // namespace belay::ops::kernels
