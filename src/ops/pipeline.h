// How values get from memory to a kernel and back. Kernels are written for four compute types and
// packed arrays only; a Lane converts one operand's elements to and from that, a block at a time,
// so every type and stride works with every kernel. An operand that is already packed and of the
// compute type is not copied at all.
#pragma once

#include <cstdint>

#include "tensor/convert.h"
#include "tensor/dtype.h"

namespace belay::ops {

using tensor::DType;

inline constexpr int64_t kBlock = 512;  // elements; a few blocks fit in the first-level cache

// The type in which kernels compute values of `type`: f32, f64, i32, i64 or c64. Integers wrap modulo
// 2^n, so a narrower or unsigned result is the low bits of it.
constexpr DType ComputeType(DType type) {
  switch (type) {
    case DType::kF64:
      return DType::kF64;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kI64:
    case DType::kU64:
    case DType::kU32:
      return DType::kI64;
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
      return DType::kC64;
    default:
      return DType::kI32;
  }
}

// One operand between memory and a kernel that computes for `promoted`.
class Lane {
 public:
  Lane() = default;
  Lane(DType memory, DType promoted, int64_t step);

  // Nothing to convert and nothing to gather: the kernel may use the operand's own memory.
  bool direct() const { return direct_; }
  bool repeats() const { return step_ == 0; }

  // n <= kBlock elements from `src` as a packed array of the compute type: `buffer`, or `src`
  // itself.
  const void* Load(void* buffer, const char* src, int64_t n) const {
    return direct_ ? src : LoadSlow(buffer, src, n);
  }
  // n <= kBlock elements of the compute type to `dst`. With `stream` past the cache.
  void Store(char* dst, const void* packed, int64_t n, bool stream) const;

  int64_t step() const { return step_; }
  DType promoted() const { return promoted_; }

 private:
  const void* LoadSlow(void* buffer, const char* src, int64_t n) const;

  DType memory_ = DType::kUndefined;
  DType promoted_ = DType::kUndefined;
  DType compute_ = DType::kUndefined;
  bool direct_ = false;
  bool packed_ = false;
  bool two_steps_ = false;  // by way of the promoted type, which rounds or wraps
  int64_t step_ = 0;        // bytes
};

// A copy of `bytes` bytes that leaves the destination out of the cache where the machine can.
void StreamCopy(void* dst, const void* src, size_t bytes);
// Makes this core's streamed bytes visible; each core that streamed calls it before the work is
// done.
void StreamFence();

// Results from this size on are written past the cache.
inline constexpr int64_t kStreamBytes = int64_t{32} << 20;

}  // namespace belay::ops
