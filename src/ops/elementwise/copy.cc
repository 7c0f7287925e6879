// Cast, copy and fill: one value in, one value out, whatever the types and strides.
#include <cstring>

#include "base/error.h"
#include "ops/elementwise/repeated_copy.h"
#include "ops/kernels.h"
#include "ops/layout/moves.h"
#include "ops/layout/shuffled.h"
#include "ops/layout/transposed.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "tensor/codes.h"
#include "tensor/promote.h"

namespace belay::ops {
namespace {

using tensor::Convert;
using tensor::Gather;
using tensor::Scatter;

struct CopyBody {
  LoopNest nest;  // out, in
  DType to, from;
  int64_t to_size, from_size;
  int bindings[2];
  bool stream;
  bool same_view;

  void operator()(const Frame& frame) const {
    char* base[2] = {frame.at[bindings[0]] + nest.offset(0), frame.at[bindings[1]] + nest.offset(1)};
    if (base[0] == base[1] && same_view) return;  // onto itself
    nest.WalkAll(
        base, [this](char** at, int64_t n) { Row(at[0], at[1], n); },
        [this] {
          if (stream) StreamFence();
        });
  }

  void Row(char* dst, const char* src, int64_t n) const {
    if (to == from && to != DType::kBool && !stream) {
      return MoveRow(dst, nest.step(0), src, nest.step(1), n, to_size);
    }
    constexpr int64_t kManyOfOne = 16;
    if (nest.step(1) == 0 && n >= kManyOfOne && !stream) {
      alignas(16) char value[16];
      Convert(to, value, from, src, 1);
      return MoveRow(dst, nest.step(0), value, 0, n, to_size);
    }
    bool packed_in = nest.step(1) == from_size;
    bool packed_out = nest.step(0) == to_size;
    constexpr int64_t kFewTruths = 64;
    if (to == from && n < kFewTruths) return Truths(dst, src, n);
    if (packed_in && packed_out && !stream) return Convert(to, dst, from, src, n);
    for (int64_t i = 0; i < n; i += kBlock) {
      Block(dst + i * nest.step(0), src + i * nest.step(1), n - i < kBlock ? n - i : kBlock, packed_in,
            packed_out);
    }
  }

  // Bytes other than 0 become 1, without a call for a short row; eight at a time where they are packed.
  void Truths(char* dst, const char* src, int64_t n) const {
    constexpr uint64_t kOnes = 0x0101010101010101;
    int64_t i = 0;
    for (uint64_t bytes; nest.step(0) == 1 && nest.step(1) == 1 && i + 8 <= n; i += 8) {
      std::memcpy(&bytes, src + i, 8);
      bytes = (((bytes & ~(kOnes << 7)) + kOnes * 0x7f) | bytes) >> 7 & kOnes;
      std::memcpy(dst + i, &bytes, 8);
    }
    for (; i < n; ++i) dst[i * nest.step(0)] = src[i * nest.step(1)] != 0;
  }

  void Block(char* dst, const char* src, int64_t n, bool packed_in, bool packed_out) const {
    alignas(64) char gathered[kBlock * 16];
    alignas(64) char converted[kBlock * 16];
    const void* from_memory = src;
    if (!packed_in) {
      Gather(gathered, src, nest.step(1), n, static_cast<size_t>(from_size));
      from_memory = gathered;
    }
    if (packed_out && !stream) return Convert(to, dst, from, from_memory, n);
    const void* result = from_memory;
    if (to != from || to == DType::kBool) {
      Convert(to, converted, from, from_memory, n);
      result = converted;
    }
    if (packed_out) {
      StreamCopy(dst, result, static_cast<size_t>(n * to_size));
    } else {
      Scatter(dst, nest.step(0), result, n, static_cast<size_t>(to_size));
    }
  }
};

struct FillBody {
  LoopNest nest;
  unsigned char value[16];
  int64_t size;
  int binding;
  bool stream;

  void operator()(const Frame& frame) const {
    char* base[1] = {frame.at[binding] + nest.offset(0)};
    nest.WalkAll(
        base, [this](char** at, int64_t n) { Row(at[0], n); },
        [this] {
          if (stream) StreamFence();
        });
  }

  void Row(char* dst, int64_t n) const {
    alignas(64) char block[kBlock * 16];
    int64_t m = n < kBlock ? n : kBlock;
    Gather(block, value, 0, m, static_cast<size_t>(size));
    for (int64_t i = 0; i < n; i += m) {
      int64_t k = n - i < m ? n - i : m;
      char* to = dst + i * nest.step(0);
      if (nest.step(0) != size) {
        Scatter(to, nest.step(0), block, k, static_cast<size_t>(size));
      } else if (stream) {
        StreamCopy(to, block, static_cast<size_t>(k * size));
      } else {
        std::memcpy(to, block, static_cast<size_t>(k * size));
      }
    }
  }
};

bool WorthStreaming(const LoopNest& nest, int64_t size) {
  return nest.count() * size >= kStreamBytes && nest.step(0) == size;
}

// A vector seen in another shape of as many elements.
Tensor InShape(const Tensor& vector, const Shape& shape) {
  Tensor view = vector;
  view.shape = shape;
  view.strides = tensor::PackedStrides(shape);
  const int64_t step = vector.shape.rank() == 0 ? 1 : vector.strides[0];
  for (int d = 0; d < shape.rank(); ++d) view.strides[d] *= step;
  return view;
}

void PlanCopy(Plan& plan, const Operand& src, const Operand& out) {
  const bool same_view = IsSameView(src, out);
  if (same_view) plan.MayLieOn(src.binding);
  if (out.tensor->empty() || PlanTransposed(plan, src, out) || PlanRepeatedCopy(plan, src, out)) return;
  if (src.shape() == out.shape() && PlanShuffledCopy(plan, src, out)) return;
  CopyBody body;
  body.nest = LoopNest(out.tensor->shape, {out, src});
  body.to = out.dtype();
  body.from = src.dtype();
  body.to_size = static_cast<int64_t>(BytesOf(body.to));
  body.from_size = static_cast<int64_t>(BytesOf(body.from));
  body.bindings[0] = out.binding;
  body.bindings[1] = src.binding;
  body.same_view = same_view;
  body.stream = src.tensor->data != out.tensor->data && WorthStreaming(body.nest, body.to_size);
  if (!body.stream) body.nest.MakeRowsLong();
  plan.SetCost(20 + static_cast<uint64_t>(body.nest.count()) / 4);
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void Cast(Plan& plan, DType, const Operand& self, DType, const Operand& out) { PlanCopy(plan, self, out); }

void Copy(Plan& plan, DType, const Operand& src, const Operand& out) {
  if (BroadcastsTo(src.shape(), out.shape())) return PlanCopy(plan, src, out);
  const bool flat = src.shape().rank() <= 1;  // of the two that rules::CopiedOnto lets through
  const Tensor view = flat ? InShape(*src.tensor, out.shape()) : InShape(*out.tensor, src.shape());
  const Operand viewed{&view, nullptr, flat ? src.binding : out.binding, flat ? src.name : out.name};
  flat ? PlanCopy(plan, viewed, out) : PlanCopy(plan, src, viewed);
}

void Fill(Plan& plan, DType, const Scalar& value, const Operand& out) {
  if (tensor::PromoteScalar(out.dtype(), value.dtype()) == DType::kUndefined) {
    Fail(tensor::kInvalidArgument, "op-promote", "value ({}) and {} ({}) have no common type",
         NameOf(value.dtype()), out.name, NameOf(out.dtype()));
  }
  if (out.tensor->empty()) return;
  FillBody body;
  body.nest = LoopNest(out.tensor->shape, {out});
  body.size = static_cast<int64_t>(BytesOf(out.dtype()));
  Convert(out.dtype(), body.value, value.dtype(), value.data(), 1);
  body.binding = out.binding;
  body.stream = WorthStreaming(body.nest, body.size);
  plan.SetCost(20 + static_cast<uint64_t>(body.nest.count()) / 8);
  plan.SetBody(body);
}

void Zero(Plan& plan, DType compute, const Operand& out) {
  const int64_t zero = 0;
  Fill(plan, compute, Scalar(&zero, DType::kI64), out);
}

void One(Plan& plan, DType compute, const Operand& out) {
  const int64_t one = 1;
  Fill(plan, compute, Scalar(&one, DType::kI64), out);
}

}  // namespace kernels
}  // namespace belay::ops
