#include "collective/reduce.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/copy_memory.h"
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

// Says of a loop that what is written is read by the same turn of it, or by none.
#ifdef __clang__
#define BELAY_EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define BELAY_EACH_ALONE _Pragma("GCC ivdep")
#endif

// to[i] = a[i] op b[i]. What is written may be what is read.
using Fold = void (*)(void* to, const void* a, const void* b, size_t n);

template <class T, class Op>
void FoldTwo(void* to, const void* a, const void* b, size_t n) {
  auto* t = static_cast<T*>(to);
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  BELAY_EACH_ALONE for (size_t i = 0; i < n; ++i) t[i] = Op::Of(x[i], y[i]);
}

// Sums and products of signed integers have the bits of unsigned ones.
template <class T>
Fold Pick(Reduction op) {
  using Plain =
      typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  switch (op) {
    case Reduction::kSum:
      return &FoldTwo<Plain, Sum>;
    case Reduction::kProd:
      return &FoldTwo<Plain, Prod>;
    case Reduction::kMax:
      return &FoldTwo<T, Max>;
    case Reduction::kMin:
      return &FoldTwo<T, Min>;
  }
  return nullptr;
}

Fold FoldFor(DType type, Reduction op) {
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
      return nullptr;
  }
}

// One block in f32, into `sums`, of 16-bit floats among others.
void FoldInF32(Fold fold, float* sums, const Operand* ins, size_t in_count, size_t begin, size_t n) {
  float more[kBlock];
  for (size_t q = 0; q < in_count; ++q) {
    const size_t at = begin * tensor::BytesOf(ins[q].type);
    tensor::Convert(DType::kF32, q == 0 ? sums : more, ins[q].type, ins[q].at + at, static_cast<int64_t>(n));
    if (q > 0) fold(sums, sums, more, n);
  }
}

}  // namespace

bool Reduces(DType type) { return FoldFor(type, Reduction::kSum) != nullptr; }

// What is greater or less than others is one of them.
DType PartialType(DType type, Reduction op) {
  const bool rounds = op == Reduction::kSum || op == Reduction::kProd;
  return IsHalf(type) && rounds ? DType::kF32 : type;
}

void ReduceInto(DType type, Reduction op, std::byte* const* outs, size_t out_count, const Operand* ins,
                size_t in_count, size_t count) {
  const Fold fold = FoldFor(type, op);
  const size_t element = tensor::BytesOf(type);
  const bool in_f32 =
      std::any_of(ins, ins + in_count, [](const Operand& in) { return IsHalf(in.type); }) || IsHalf(type);
  alignas(64) std::byte block[kBlock * 8];
  alignas(64) float sums[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t n = std::min(kBlock, count - begin);
    const size_t at = begin * element;
    const std::byte* result = block;
    if (in_count == 1 && ins[0].type == type) {
      result = ins[0].at + at;
    } else if (in_f32) {
      FoldInF32(fold, sums, ins, in_count, begin, n);
      tensor::Convert(type, block, DType::kF32, sums, static_cast<int64_t>(n));
    } else {
      // All but the last into the block, so that only the last can write to what was read.
      const std::byte* left = ins[0].at + at;
      for (size_t q = 1; q + 1 < in_count; ++q, left = block) fold(block, left, ins[q].at + at, n);
      fold(outs[0] + at, left, ins[in_count - 1].at + at, n);
      result = outs[0] + at;
    }
    for (size_t j = 0; j < out_count; ++j) {
      if (outs[j] + at != result) CopyMemory(outs[j] + at, result, n * element);
    }
  }
}

}  // namespace belay::coll
