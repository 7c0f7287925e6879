#include "ops/float_copy.h"

#include <cstring>

#include "tensor/views.h"

namespace belay::ops {

FloatCopy::FloatCopy(const Operand& operand) : binding_(operand.binding) {
  const Tensor packed = tensor::PackedOf(DType::kF32, operand.shape());
  load_ = LoopNest(operand.shape(), {Operand{&packed}, operand});
  store_ = LoopNest(operand.shape(), {operand, Operand{&packed}});
  load_lane_ = Lane(operand.dtype(), DType::kF32, load_.step(1));
  store_lane_ = Lane(operand.dtype(), DType::kF32, store_.step(0));
}

void FloatCopy::Load(float* to, const Frame& frame) const {
  char* base[2] = {reinterpret_cast<char*>(to), frame.at[binding_] + load_.offset(1)};
  load_.WalkAll(
      base,
      [this](char** at, int64_t n) {
        for (int64_t i = 0; i < n; i += kBlock) {
          const int64_t count = std::min(kBlock, n - i);
          char* into = at[0] + i * static_cast<int64_t>(sizeof(float));
          const void* block = load_lane_.Load(into, at[1] + i * load_.step(1), count);
          if (block != into) std::memcpy(into, block, static_cast<size_t>(count) * sizeof(float));
        }
      },
      [] {});
}

void FloatCopy::Store(const Frame& frame, const float* from) const {
  char* base[2] = {frame.at[binding_] + store_.offset(0), const_cast<char*>(reinterpret_cast<const char*>(from))};
  store_.WalkAll(
      base,
      [this](char** at, int64_t n) {
        alignas(64) float gathered[kBlock];
        for (int64_t i = 0; i < n; i += kBlock) {
          const int64_t count = std::min(kBlock, n - i);
          tensor::Gather(gathered, at[1] + i * store_.step(1), store_.step(1), count, sizeof(float));
          store_lane_.Store(at[0] + i * store_.step(0), gathered, count, false);
        }
      },
      [] {});
}

}  // namespace belay::ops
