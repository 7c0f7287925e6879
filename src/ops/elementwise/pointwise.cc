#include "ops/elementwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "tensor/codes.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

PointwiseLoop LoopFor(const PointwiseLoops& loops, DType compute) {
  switch (ComputeType(compute)) {
    case DType::kF32:
      return loops.f32;
    case DType::kF64:
      return loops.f64;
    case DType::kI64:
      return compute == DType::kU64 ? loops.u64 : loops.i64;
    case DType::kC64:
      return compute == DType::kC64 ? loops.c64 : nullptr;
    default:
      return loops.i32;
  }
}

// The loop over bytes, where operands and result are rows of them; else null.
PointwiseLoop LoopOfBytes(const PointwiseLoops& loops, DType compute, const LoopNest& nest,
                          const Operand& out, std::initializer_list<Operand> in) {
  const PointwiseLoop loop = compute == DType::kBool ? loops.truth
                             : compute == DType::kU8 ? loops.u8
                                                     : nullptr;
  const bool fits = out.dtype() == compute || (loops.gives_truths && out.dtype() == DType::kBool);
  if (loop == nullptr || nest.step(0) != 1 || !fits) return nullptr;
  int k = 0;
  for (const Operand& operand : in) {
    if (operand.tensor == nullptr || operand.dtype() != compute || nest.step(++k) != 1) return nullptr;
  }
  return loop;
}

struct PointwiseBody {
  static constexpr int64_t kTogether = 1024;  // elements

  Lane lanes[1 + kMostInputs];  // of out, then of the operands
  PointwiseLoop loop;
  LoopAttributes attributes;
  int16_t bindings[1 + kMostInputs];  // -1: the constant
  uint64_t constants[kMostInputs];    // scalar operands in the compute type
  int8_t inputs;
  bool stream;
  bool direct;
  uint8_t repeated = 0;  // operands whose one short row serves all rows; a bit each
  LoopNest nest;         // the same; last, because most of it is mostly empty

  void operator()(const Frame& frame) const {
    char* base[1 + kMostInputs];
    for (int k = 0; k <= inputs; ++k) {
      base[k] = bindings[k] >= 0 ? frame.at[bindings[k]] + nest.offset(k)
                                 : reinterpret_cast<char*>(const_cast<uint64_t*>(&constants[k - 1]));
    }
    if (repeated != 0) {
      RowsTogether(base);
    } else if (direct) {
      nest.WalkAll(
          base,
          [this](char** at, int64_t n) {
            const void* in[kMostInputs] = {};
            for (int k = 0; k < inputs; ++k) in[k] = at[k + 1];
            loop(at[0], in, attributes, n);
          },
          [] {});
    } else {
      nest.WalkAll(
          base, [this](char** at, int64_t n) { Row(at, n); },
          [this] {
            if (stream) StreamFence();
          });
    }
  }

  // Rows of a few channels would cost a call each: what repeats is written out for many rows at a time.
  void RowsTogether(char* const* base) const {
    const int64_t row = nest.row(), rows = nest.count() / row, together = kTogether / row;
    ParallelFor(rows, std::max<int64_t>(1, LoopNest::kGrain / row), [&](int64_t begin, int64_t end) {
      alignas(64) char written[kMostInputs][kTogether * 8];
      const void* in[kMostInputs] = {};
      for (int k = 0; k < inputs; ++k) {
        const int64_t bytes = row * nest.step(k + 1);
        for (int64_t r = 0; Repeats(k) && r < std::min(together, end - begin); ++r) {
          std::memcpy(written[k] + r * bytes, base[k + 1], static_cast<size_t>(bytes));
        }
        if (Repeats(k)) in[k] = written[k];
      }
      for (int64_t r = begin; r < end; r += together) {
        for (int k = 0; k < inputs; ++k) {
          if (!Repeats(k)) in[k] = base[k + 1] + r * row * nest.step(k + 1);
        }
        loop(base[0] + r * row * nest.step(0), in, attributes, std::min(together, end - r) * row);
      }
    });
  }

  bool Repeats(int k) const { return (repeated >> k & 1) != 0; }

  // Sets `repeated` where that helps.
  void FindRepeatedRows() {
    if (!direct || !nest.has_two_levels() || nest.row() > kTogether / 4 || !nest.rows_follow(0)) return;
    uint8_t found = 0;
    for (int k = 0; k < inputs; ++k) {
      if (nest.repeats_row(k + 1)) {
        found = static_cast<uint8_t>(found | 1u << k);
      } else if (!nest.rows_follow(k + 1)) {
        return;
      }
    }
    repeated = found;
  }

  void Row(char** at, int64_t n) const {
    alignas(64) char buffers[1 + kMostInputs][kBlock * 8];
    const void* in[kMostInputs] = {};
    for (int64_t i = 0; i < n; i += kBlock) {
      int64_t m = n - i < kBlock ? n - i : kBlock;
      for (int k = 0; k < inputs; ++k) {
        const Lane& lane = lanes[k + 1];
        if (lane.repeats() && i != 0) continue;  // the buffer still holds the value
        in[k] = lane.Load(buffers[k], at[k + 1] + i * lane.step(), m);
      }
      char* dst = at[0] + i * lanes[0].step();
      if (lanes[0].direct() && !stream) {
        loop(dst, in, attributes, m);
      } else {
        loop(buffers[kMostInputs], in, attributes, m);
        lanes[0].Store(dst, buffers[kMostInputs], m, stream);
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

void CheckFits(const Operand& operand, const Operand& out) {
  if (operand.tensor == nullptr || BroadcastsTo(operand.tensor->shape, out.tensor->shape)) [[likely]]
    return;
  Fail(tensor::kInvalidArgument, "op-broadcast",
       "{} has the shape {}, which does not broadcast to the result's, {}", operand.name,
       operand.shape().ToString(), out.shape().ToString());
}

void SetOperand(PointwiseBody& body, int k, const Operand& operand, DType compute) {
  body.bindings[k] = static_cast<int16_t>(operand.binding);
  if (operand.tensor != nullptr) {
    body.lanes[k] = Lane(operand.dtype(), compute, body.nest.step(k));
  } else {
    body.constants[k - 1] = Constant(*operand.scalar, compute);
    body.lanes[k] = Lane(ComputeType(compute), ComputeType(compute), 0);
  }
}

LoopNest NestOf(const Operand& out, std::initializer_list<Operand> in) {
  const Operand* i = in.begin();
  const Shape& shape = out.tensor->shape;
  switch (in.size()) {
    case 1:
      return LoopNest(shape, {out, i[0]});
    case 2:
      return LoopNest(shape, {out, i[0], i[1]});
    default:
      return LoopNest(shape, {out, i[0], i[1], i[2]});
  }
}

}  // namespace

LoopAttributes::LoopAttributes(std::initializer_list<double> values) {
  int k = 0;
  for (double value : values) {
    real[k] = value;
    integer[k++] = tensor::ToInteger(value);
  }
}

LoopAttributes::LoopAttributes(std::initializer_list<const Scalar*> values) {
  int k = 0;
  for (const Scalar* value : values) {
    real[k] = value->ToDouble();
    imaginary[k] = value->Imaginary();
    integer[k++] = value->ToInt();
  }
}

void PlanPointwise(Plan& plan, const PointwiseLoops& loops, DType compute, std::initializer_list<Operand> in,
                   const LoopAttributes& attributes, const Operand& out) {
  PointwiseBody body;
  body.loop = LoopFor(loops, compute);
  if (body.loop == nullptr) {
    Fail(tensor::kInvalidArgument, "op-dtype", "{} does not compute {}", plan.function(), NameOf(compute));
  }
  for (const Operand& operand : in) CheckFits(operand, out);
  if (out.tensor->empty()) return;
  body.nest = NestOf(out, in);
  body.attributes = attributes;
  body.inputs = static_cast<int8_t>(in.size());
  SetOperand(body, 0, out, compute);
  body.direct = body.lanes[0].direct();
  bool in_place = false;
  int k = 0;
  for (const Operand& operand : in) {
    SetOperand(body, ++k, operand, compute);
    body.direct = body.direct && body.lanes[k].direct();
    if (IsSameView(operand, out)) plan.MayLieOn(operand.binding);
    in_place = in_place || (operand.tensor != nullptr &&
                            (out.binding == operand.binding || out.tensor->data == operand.tensor->data));
  }
  auto bytes = body.nest.count() * static_cast<int64_t>(BytesOf(out.dtype()));
  body.stream = !in_place && bytes >= kStreamBytes &&
                body.lanes[0].step() == static_cast<int64_t>(BytesOf(out.dtype()));
  if (const PointwiseLoop bytes_loop = LoopOfBytes(loops, compute, body.nest, out, in);
      bytes_loop != nullptr && !body.stream) {
    body.loop = bytes_loop;
    body.direct = true;
  }
  body.direct = body.direct && !body.stream;
  body.FindRepeatedRows();
  plan.SetCost(20 + static_cast<uint64_t>(body.nest.count()) / 4);
  plan.SetBody(body);
}

}  // namespace belay::ops
