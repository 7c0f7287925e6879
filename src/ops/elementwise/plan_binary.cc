#include <cstring>

#include "ops/elementwise/binary.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"

namespace belay::ops {
namespace {

BinaryLoop LoopFor(const BinaryLoops& loops, DType compute) {
  switch (ComputeType(compute)) {
    case DType::kF32:
      return loops.f32;
    case DType::kF64:
      return loops.f64;
    case DType::kI64:
      return loops.i64;
    default:
      return loops.i32;
  }
}

struct BinaryBody {
  LoopNest nest;
  Lane lanes[3];  // out, left, right
  BinaryLoop loop;
  BinaryAttributes attributes;
  int bindings[3];        // -1: the constant
  uint64_t constants[2];  // scalar operands in the compute type
  bool stream;
  bool direct;

  void operator()(const Frame& frame) const {
    char* base[3];
    for (int k = 0; k < 3; ++k) {
      base[k] = bindings[k] >= 0
                    ? frame.at[bindings[k]] + nest.offset(k)
                    : reinterpret_cast<char*>(const_cast<uint64_t*>(&constants[k - 1]));
    }
    if (direct) {
      nest.WalkAll(
          base, [this](char** at, int64_t n) { loop(at[0], at[1], at[2], attributes, n); }, [] {});
    } else {
      nest.WalkAll(
          base, [this](char** at, int64_t n) { Row(at, n); },
          [this] {
            if (stream) StreamFence();
          });
    }
  }

  void Row(char** at, int64_t n) const {
    alignas(64) char buffers[3][kBlock * 8];
    const void* in[2] = {};
    for (int64_t i = 0; i < n; i += kBlock) {
      int64_t m = n - i < kBlock ? n - i : kBlock;
      for (int k = 0; k < 2; ++k) {
        const Lane& lane = lanes[k + 1];
        if (lane.repeats() && i != 0) continue;  // the buffer still holds the value
        in[k] = lane.Load(buffers[k], at[k + 1] + i * lane.step(), m);
      }
      char* dst = at[0] + i * lanes[0].step();
      if (lanes[0].direct() && !stream) {
        loop(dst, in[0], in[1], attributes, m);
      } else {
        loop(buffers[2], in[0], in[1], attributes, m);
        lanes[0].Store(dst, buffers[2], m, stream);
      }
    }
  }
};

// The scalar in the compute type, by way of the type that the tensors are computed in where that is
// an integer type: there a scalar wraps as an element would.
uint64_t Constant(const Scalar& scalar, DType compute) {
  uint64_t value = 0;
  Convert(ComputeType(compute), &value, scalar.dtype(), scalar.data(), 1);
  return value;
}

void SetOperand(BinaryBody& body, int k, const Operand& operand, DType compute) {
  body.bindings[k] = operand.binding;
  if (operand.tensor != nullptr) {
    body.lanes[k] = Lane(operand.dtype(), compute, body.nest.step(k));
  } else {
    body.constants[k - 1] = Constant(*operand.scalar, compute);
    body.lanes[k] = Lane(ComputeType(compute), ComputeType(compute), 0);
  }
}

}  // namespace

void PlanBinary(Plan& plan, const BinaryLoops& loops, DType compute, const Operand& self,
                const Operand& other, const Scalar* alpha, const Operand& out) {
  if (out.tensor->empty()) return;
  BinaryBody body;
  body.nest = LoopNest(out.tensor->shape, {out, self, other});
  body.loop = LoopFor(loops, compute);
  if (alpha != nullptr) body.attributes = {alpha->ToDouble(), alpha->ToInt()};
  SetOperand(body, 0, out, compute);
  SetOperand(body, 1, self, compute);
  SetOperand(body, 2, other, compute);
  bool in_place = out.binding == self.binding || out.binding == other.binding ||
                  out.tensor->data == self.tensor->data ||
                  (other.tensor != nullptr && out.tensor->data == other.tensor->data);
  auto bytes = body.nest.count() * static_cast<int64_t>(BytesOf(out.dtype()));
  body.stream = !in_place && bytes >= kStreamBytes &&
                body.lanes[0].step() == static_cast<int64_t>(BytesOf(out.dtype()));
  body.direct =
      !body.stream && body.lanes[0].direct() && body.lanes[1].direct() && body.lanes[2].direct();
  plan.SetCost(20 + static_cast<uint64_t>(body.nest.count()) / 4);
  plan.SetBody(body);
}

}  // namespace belay::ops
