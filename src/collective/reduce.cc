#include "collective/reduce.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tensor/convert.h"

namespace belay::coll {
namespace {

using tensor::DType;

// Elements that are folded before the next ones: sums of them stay in the first cache.
constexpr size_t kBlock = 512;

struct Sum {
  template <class T>
  static T Of(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <class T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
      return static_cast<T>(uint32_t{a} * uint32_t{b});
    } else {
      return static_cast<T>(a * b);
    }
  }
};
struct Max {
  template <class T>
  static T Of(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct Min {
  template <class T>
  static T Of(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

// to = a op b, and to = to op b.
struct Loops {
  void (*first)(void* to, const void* a, const void* b, size_t n) = nullptr;
  void (*next)(void* to, const void* b, size_t n) = nullptr;
};

template <class T, class Op>
constexpr Loops LoopsOf() {
  return {[](void* to, const void* a, const void* b, size_t n) {
            auto* __restrict t = static_cast<T*>(to);
            auto* __restrict x = static_cast<const T*>(a);
            auto* __restrict y = static_cast<const T*>(b);
            for (size_t i = 0; i < n; ++i) t[i] = Op::Of(x[i], y[i]);
          },
          [](void* to, const void* b, size_t n) {
            auto* __restrict t = static_cast<T*>(to);
            auto* __restrict y = static_cast<const T*>(b);
            for (size_t i = 0; i < n; ++i) t[i] = Op::Of(t[i], y[i]);
          }};
}

// Sums and products of signed integers have the bits of unsigned ones.
template <class T>
Loops Pick(Reduction op) {
  using Plain =
      typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  switch (op) {
    case Reduction::kSum:
      return LoopsOf<Plain, Sum>();
    case Reduction::kProd:
      return LoopsOf<Plain, Prod>();
    case Reduction::kMax:
      return LoopsOf<T, Max>();
    case Reduction::kMin:
      return LoopsOf<T, Min>();
  }
  return {};
}

bool IsHalf(DType type) { return type == DType::kF16 || type == DType::kBF16; }

Loops LoopsFor(DType type, Reduction op) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return Pick<float>(op);
    case DType::kF64:
      return Pick<double>(op);
    case DType::kI8:
      return Pick<int8_t>(op);
    case DType::kI16:
      return Pick<int16_t>(op);
    case DType::kI32:
      return Pick<int32_t>(op);
    case DType::kI64:
      return Pick<int64_t>(op);
    case DType::kU8:
      return Pick<uint8_t>(op);
    case DType::kU16:
      return Pick<uint16_t>(op);
    case DType::kU32:
      return Pick<uint32_t>(op);
    case DType::kU64:
      return Pick<uint64_t>(op);
    default:
      return {};
  }
}

// One block of 16-bit floats, into `sums`.
void FoldHalves(const Loops& loops, DType type, float* sums, const std::byte* const* ins, size_t in_count,
                size_t at, size_t n) {
  float more[kBlock];
  auto count = static_cast<int64_t>(n);
  tensor::Convert(DType::kF32, sums, type, ins[0] + at, count);
  for (size_t q = 1; q < in_count; ++q) {
    tensor::Convert(DType::kF32, more, type, ins[q] + at, count);
    loops.next(sums, more, n);
  }
}

}  // namespace

bool Reduces(DType type) { return LoopsFor(type, Reduction::kSum).first != nullptr; }

void ReduceInto(DType type, Reduction op, std::byte* const* outs, size_t out_count,
                const std::byte* const* ins, size_t in_count, size_t count) {
  const Loops loops = LoopsFor(type, op);
  const size_t element = tensor::BytesOf(type);
  alignas(64) std::byte block[kBlock * 8];
  alignas(64) float sums[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t n = std::min(kBlock, count - begin);
    const size_t at = begin * element;
    if (in_count == 1) {
      std::memcpy(block, ins[0] + at, n * element);
    } else if (IsHalf(type)) {
      FoldHalves(loops, type, sums, ins, in_count, at, n);
      tensor::Convert(type, block, DType::kF32, sums, static_cast<int64_t>(n));
    } else {
      loops.first(block, ins[0] + at, ins[1] + at, n);
      for (size_t q = 2; q < in_count; ++q) loops.next(block, ins[q] + at, n);
    }
    for (size_t j = 0; j < out_count; ++j) std::memcpy(outs[j] + at, block, n * element);
  }
}

}  // namespace belay::coll
