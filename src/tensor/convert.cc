#include "tensor/convert.h"

// Built once per instruction set and chosen at run time. The plain loops below are what the compiler
// vectorises well; only f16 needs instructions that it does not know.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/convert.cc"
#include "base/copy_memory.h"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef BELAY_TENSOR_CONVERT_ONCE
#define BELAY_TENSOR_CONVERT_ONCE
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tensor/half.h"

namespace belay::tensor {

using ConvertLoop = void (*)(void* dst, const void* src, int64_t n);

// Order of the rows and columns of the loop table.
inline constexpr DType kPlainTypes[] = {DType::kF32, DType::kF64, DType::kI8,  DType::kI16,
                                        DType::kI32, DType::kI64, DType::kU8,  DType::kU16,
                                        DType::kU32, DType::kU64, DType::kBool};
inline constexpr int kPlainCount = 11;

struct LoopTable {
  ConvertLoop loop[kPlainCount][kPlainCount];  // [to][from]
};

}  // namespace belay::tensor
#endif

HWY_BEFORE_NAMESPACE();
namespace belay::tensor {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct BoolByte {
  uint8_t value;
};

template <class To, class From>
inline To ConvertOne(From x) {
  if constexpr (std::is_same_v<To, BoolByte>) {
    if constexpr (std::is_same_v<From, BoolByte>) {
      return {static_cast<uint8_t>(x.value != 0)};
    } else {
      return {static_cast<uint8_t>(x != 0)};
    }
  } else if constexpr (std::is_same_v<From, BoolByte>) {
    return static_cast<To>(x.value != 0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From kPastHigh = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    // Without branches, and by way of i32 where that is wide enough: so it becomes vectors.
    using Wide = std::conditional_t<(sizeof(To) < 4), int32_t, To>;
    if constexpr (sizeof(To) < 4) {  // both ends are numbers of either type
      constexpr From kHigh = static_cast<From>(std::numeric_limits<To>::max());
      const From least = x > kLow ? x : kLow, clamped = least < kHigh ? least : kHigh;  // of NaN kLow
      return static_cast<To>(static_cast<int32_t>(x != x ? From{0} : clamped));
    }
    const bool high = x >= kPastHigh, low = x < kLow;
    const From inside = high || low || x != x ? From{0} : x;
    const To value = static_cast<To>(static_cast<Wide>(inside));
    return high ? std::numeric_limits<To>::max() : low ? std::numeric_limits<To>::min() : value;
  } else {
    return static_cast<To>(x);
  }
}

#if HWY_ARCH_X86
// Without AVX-512 there are vectors of f64 and i64, but no way from one to the other. The halves of a number
// come as f64 2^52 + low and 2^84 + 2^63 + high 2^32, whose sum is rounded once.
inline double DoubleOfWhole(int64_t x) {
  const auto bits = static_cast<uint64_t>(x);
  const auto low = std::bit_cast<double>((bits & 0xffffffff) | 0x4330000000000000);
  const auto high = std::bit_cast<double>((bits >> 32) ^ 0x4530000080000000);
  return (high - std::bit_cast<double>(uint64_t{0x4530000080100000})) + low;
}

// By way of i32, where all of a few numbers are of that size.
template <class From>
void ToWhole(int64_t* to, const From* from, int64_t n) {
  constexpr int64_t kFew = 64;
  constexpr From kSize = From{1 << 30} * 2 - 128;
  for (int64_t i = 0; i < n; i += kFew) {
    const int64_t m = std::min(kFew, n - i);
    int beyond = 0;
    for (int64_t k = i; k < i + m; ++k) beyond |= std::fabs(from[k]) < kSize ? 0 : 1;
    if (beyond == 0) {
      for (int64_t k = i; k < i + m; ++k) to[k] = static_cast<int32_t>(from[k]);
    } else {
      for (int64_t k = i; k < i + m; ++k) to[k] = ConvertOne<int64_t>(from[k]);
    }
  }
}
#endif

template <class To, class From>
void Loop(void* dst, const void* src, int64_t n) {
  auto* to = static_cast<To*>(dst);
  const auto* from = static_cast<const From*>(src);
#if HWY_ARCH_X86
  if constexpr (std::is_same_v<To, double> && std::is_same_v<From, int64_t>) {
    for (int64_t i = 0; i < n; ++i) to[i] = DoubleOfWhole(from[i]);
    return;
  }
  if constexpr (std::is_same_v<To, int64_t> && std::is_floating_point_v<From>) return ToWhole(to, from, n);
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = ConvertOne<To, From>(from[i]);
}

template <class To, class... From>
constexpr void FillRow(ConvertLoop* row) {
  int i = 0;
  ((row[i++] = &Loop<To, From>), ...);
}
template <class... T>
constexpr LoopTable MakeTable() {
  LoopTable table{};
  int i = 0;
  (FillRow<T, T...>(table.loop[i++]), ...);
  return table;
}
constexpr LoopTable kLoops = MakeTable<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                       uint32_t, uint64_t, BoolByte>();

const LoopTable* Loops() { return &kLoops; }

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
// These targets convert in hardware, with subnormals and ties as the standard wants.
HWY_ATTR void HalfToFloat(float* dst, const uint16_t* src, int64_t n) {
  const hn::ScalableTag<float> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> narrow;
  const auto step = static_cast<int64_t>(hn::Lanes(wide));
  const auto* from = reinterpret_cast<const hwy::float16_t*>(src);
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, from + i)), wide, dst + i);
  }
  for (; i < n; ++i) dst[i] = ToFloat(Half{src[i]});
}
HWY_ATTR void FloatToHalf(uint16_t* dst, const float* src, int64_t n) {
  const hn::ScalableTag<float> wide;
  const hn::Rebind<hwy::float16_t, decltype(wide)> narrow;
  const auto step = static_cast<int64_t>(hn::Lanes(wide));
  auto* to = reinterpret_cast<hwy::float16_t*>(dst);
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    hn::StoreU(hn::DemoteTo(narrow, hn::LoadU(wide, src + i)), narrow, to + i);
  }
  for (; i < n; ++i) dst[i] = ToHalf(src[i]).bits;
}
#else
void HalfToFloat(float* dst, const uint16_t* src, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = ToFloat(Half{src[i]});
}
void FloatToHalf(uint16_t* dst, const float* src, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = ToHalf(src[i]).bits;
}
#endif

HWY_ATTR void BFloat16ToFloat(float* dst, const uint16_t* src, int64_t n) {
  const hn::ScalableTag<float> wide;
  const hn::RebindToUnsigned<decltype(wide)> bits;
  const hn::Rebind<uint16_t, decltype(wide)> narrow;
  const auto step = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    const auto high = hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(narrow, src + i)));
    hn::StoreU(hn::BitCast(wide, high), wide, dst + i);
  }
  for (; i < n; ++i) dst[i] = ToFloat(BFloat16{src[i]});
}
// As ToBFloat16.
HWY_ATTR void FloatToBFloat16(uint16_t* dst, const float* src, int64_t n) {
  const hn::ScalableTag<float> wide;
  const hn::RebindToUnsigned<decltype(wide)> bits;
  const hn::RebindToSigned<decltype(wide)> whole;
  const hn::Rebind<uint16_t, decltype(wide)> narrow;
  const auto step = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    const auto x = hn::LoadU(wide, src + i);
    const auto u = hn::BitCast(bits, x), high = hn::ShiftRight<16>(u);
    const auto half = hn::Add(hn::Set(bits, 0x7fff), hn::And(high, hn::Set(bits, 1)));
    const auto quiet = hn::Or(high, hn::Set(bits, 0x40));
    const auto nan = hn::RebindMask(bits, hn::IsNaN(x));
    const auto rounded = hn::IfThenElse(nan, quiet, hn::ShiftRight<16>(hn::Add(u, half)));
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(whole, rounded)), narrow, dst + i);
  }
  for (; i < n; ++i) dst[i] = ToBFloat16(src[i]).bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay::tensor
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay::tensor {

BELAY_SIMD_EXPORT(Loops);
BELAY_SIMD_EXPORT(HalfToFloat);
BELAY_SIMD_EXPORT(FloatToHalf);
BELAY_SIMD_EXPORT(BFloat16ToFloat);
BELAY_SIMD_EXPORT(FloatToBFloat16);

namespace {

constexpr int64_t kBlock = 512;

struct PlainIndex {
  int8_t at[kDTypeCount];
};
constexpr PlainIndex kIndex = [] {
  PlainIndex index{};
  for (auto& i : index.at) i = -1;
  for (int i = 0; i < kPlainCount; ++i) index.at[static_cast<int>(kPlainTypes[i])] = static_cast<int8_t>(i);
  return index;
}();

int IndexOf(DType type) {
  auto value = static_cast<uint8_t>(type);
  return value < kDTypeCount ? kIndex.at[value] : -1;
}

void Widen(DType from, float* dst, const void* src, int64_t n) {
  const auto* bits = static_cast<const uint16_t*>(src);
  if (from == DType::kF16) {
    BELAY_SIMD_CALL(HalfToFloat)(dst, bits, n);
  } else {
    BELAY_SIMD_CALL(BFloat16ToFloat)(dst, bits, n);
  }
}
void Narrow(DType to, void* dst, const float* src, int64_t n) {
  auto* bits = static_cast<uint16_t*>(dst);
  if (to == DType::kF16) {
    BELAY_SIMD_CALL(FloatToHalf)(bits, src, n);
  } else {
    BELAY_SIMD_CALL(FloatToBFloat16)(bits, src, n);
  }
}
void Plain(DType to, void* dst, DType from, const void* src, int64_t n) {
  const LoopTable* loops = BELAY_SIMD_CALL(Loops)();
  loops->loop[IndexOf(to)][IndexOf(from)](dst, src, n);
}

// One block by way of f32, which both 16-bit types go through.
void ConvertBlock(DType to, void* dst, DType from, const void* src, int64_t n) {
  alignas(64) float wide[kBlock];
  if (IsHalf(from)) {
    Widen(from, wide, src, n);
    if (IsHalf(to)) return Narrow(to, dst, wide, n);
    return Plain(to, dst, DType::kF32, wide, n);
  }
  Plain(DType::kF32, wide, from, src, n);
  Narrow(to, dst, wide, n);
}

template <class T>
void GatherAs(void* dst, const char* src, int64_t stride, int64_t n) {
  auto* to = static_cast<T*>(dst);
  if (stride == 0 && n > 0) {  // as vectors, the widest of which the library copies with
    constexpr int64_t kPiece = 512;
    T value;
    std::memcpy(&value, src, sizeof(T));
    for (int64_t i = 0; i < std::min(n, kPiece); ++i) std::memcpy(to + i, &value, sizeof(T));
    for (int64_t i = kPiece; i < n; i += kPiece)
      std::memcpy(to + i, to, static_cast<size_t>(std::min(kPiece, n - i)) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i, src + i * stride, sizeof(T));
}
template <class T>
void ScatterAs(char* dst, int64_t stride, const void* src, int64_t n) {
  const auto* from = static_cast<const T*>(src);
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * stride, from + i, sizeof(T));
}
struct Pair {
  uint64_t a, b;
};

// The type of the parts of a complex one.
DType PartType(DType type) {
  if (type == DType::kC32) return DType::kF16;
  return type == DType::kC64 ? DType::kF32 : DType::kF64;
}

// One block by way of pairs of f64.
void ConvertComplexBlock(DType to, void* dst, DType from, const void* src, int64_t n) {
  double parts[2 * kBlock];
  if (IsComplex(from)) {
    Convert(DType::kF64, parts, PartType(from), src, 2 * n);
  } else {
    Convert(DType::kF64, parts + n, from, src, n);
    for (int64_t i = 0; i < n; ++i) parts[2 * i] = parts[n + i], parts[2 * i + 1] = 0;
  }
  if (IsComplex(to)) return Convert(PartType(to), dst, DType::kF64, parts, 2 * n);
  for (int64_t i = 0; i < n; ++i) {
    const double imaginary = parts[2 * i + 1];
    parts[i] = to == DType::kBool && imaginary != 0 ? 1 : parts[2 * i];
  }
  Convert(to, dst, DType::kF64, parts, n);
}

}  // namespace

bool CanConvert(DType to, DType from) {
  auto plain = [](DType type) { return IsHalf(type) || IndexOf(type) >= 0; };
  return to == from ? BytesOf(to) != 0 : plain(to) && plain(from);
}

void Convert(DType to, void* dst, DType from, const void* src, int64_t n) {
  if (n == 0) return;  // then the addresses may be null, which memcpy does not take
  if (to == from && to != DType::kBool) {
    if (dst != src) CopyMemory(dst, src, static_cast<size_t>(n) * BytesOf(to));
    return;
  }
  if (from == DType::kF32 && IsHalf(to)) return Narrow(to, dst, static_cast<const float*>(src), n);
  if (to == DType::kF32 && IsHalf(from)) return Widen(from, static_cast<float*>(dst), src, n);
  const bool complex = IsComplex(to) || IsComplex(from);
  if (!complex && !IsHalf(to) && !IsHalf(from)) return Plain(to, dst, from, src, n);
  auto* out = static_cast<char*>(dst);
  const auto* in = static_cast<const char*>(src);
  const auto block = complex ? &ConvertComplexBlock : &ConvertBlock;
  for (int64_t i = 0; i < n; i += kBlock) {
    block(to, out + i * static_cast<int64_t>(BytesOf(to)), from, in + i * static_cast<int64_t>(BytesOf(from)),
          n - i < kBlock ? n - i : kBlock);
  }
}

void Gather(void* dst, const void* src, int64_t stride, int64_t n, size_t bytes) {
  const auto* from = static_cast<const char*>(src);
  switch (bytes) {
    case 1:
      return GatherAs<uint8_t>(dst, from, stride, n);
    case 2:
      return GatherAs<uint16_t>(dst, from, stride, n);
    case 4:
      return GatherAs<uint32_t>(dst, from, stride, n);
    case 8:
      return GatherAs<uint64_t>(dst, from, stride, n);
    default:
      return GatherAs<Pair>(dst, from, stride, n);
  }
}

void Scatter(void* dst, int64_t stride, const void* src, int64_t n, size_t bytes) {
  auto* to = static_cast<char*>(dst);
  switch (bytes) {
    case 1:
      return ScatterAs<uint8_t>(to, stride, src, n);
    case 2:
      return ScatterAs<uint16_t>(to, stride, src, n);
    case 4:
      return ScatterAs<uint32_t>(to, stride, src, n);
    case 8:
      return ScatterAs<uint64_t>(to, stride, src, n);
    default:
      return ScatterAs<Pair>(to, stride, src, n);
  }
}

}  // namespace belay::tensor
#endif  // HWY_ONCE
