#include "ops/index/combine.h"

#include <algorithm>
#include <cstring>

#include "base/copy_memory.h"
#include "ops/layout/moves.h"

namespace belay::ops {

namespace {

template <class T, Combination kHow>
void CombineRow(char* to, const char* from, int64_t n, int64_t to_step, int64_t from_step, double factor) {
  constexpr auto kStep = static_cast<int64_t>(sizeof(T));
  const auto by = static_cast<T>(factor);
  if (to_step == kStep && from_step == kStep) {
    auto* result = reinterpret_cast<T*>(to);
    const auto* x = reinterpret_cast<const T*>(from);
    _Pragma("GCC ivdep") for (int64_t k = 0; k < n; ++k) result[k] = Combined(kHow, result[k], x[k], by);
    return;
  }
  for (int64_t k = 0; k < n; ++k, to += to_step, from += from_step) {
    T a, b;
    std::memcpy(&a, to, sizeof(T)), std::memcpy(&b, from, sizeof(T));
    a = Combined(kHow, a, b, by);
    std::memcpy(to, &a, sizeof(T));
  }
}

template <class T>
auto RowOf(Combination how) {
  switch (how) {
    case Combination::kAdd:
      return &CombineRow<T, Combination::kAdd>;
    case Combination::kMultiply:
      return &CombineRow<T, Combination::kMultiply>;
    case Combination::kMax:
      return &CombineRow<T, Combination::kMax>;
    case Combination::kMin:
      return &CombineRow<T, Combination::kMin>;
    case Combination::kReplace:
      break;
  }
  return decltype(&CombineRow<T, Combination::kAdd>){};
}

// The choice is made once, not for each element.
template <class T>
void CombineAll(Combination how, T* result, const T* x, const T* y, T factor, int64_t n) {
  const auto each = [&](auto fixed) {
    _Pragma("GCC ivdep") for (int64_t k = 0; k < n; ++k) {
      result[k] = Combined(fixed(), x[k], y[k], factor);
    }
  };
  switch (how) {
    case Combination::kAdd:
      return each([] { return Combination::kAdd; });
    case Combination::kMultiply:
      return each([] { return Combination::kMultiply; });
    case Combination::kMax:
      return each([] { return Combination::kMax; });
    case Combination::kMin:
      return each([] { return Combination::kMin; });
    case Combination::kReplace:
      return each([] { return Combination::kReplace; });
  }
}

}  // namespace

Combiner::Combiner(DType type, Combination how, int64_t to_step, int64_t from_step, double factor)
    : to_(type, type, to_step),
      from_(type, type, from_step),
      compute_(ComputeType(type)),
      how_(how),
      to_step_(to_step),
      from_step_(from_step),
      bytes_(static_cast<int64_t>(BytesOf(type))),
      factor_(factor) {
  if (type == DType::kF32) row_ = RowOf<float>(how);
  if (type == DType::kF64) row_ = RowOf<double>(how);
  if (type == DType::kI32) row_ = RowOf<int32_t>(how);
  if (type == DType::kI64) row_ = RowOf<int64_t>(how);
}

template <class T>
void Combiner::Blocks(char* to, const char* from, int64_t n) const {
  alignas(64) T a[kBlock], b[kBlock], result[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    int64_t m = std::min(kBlock, n - i);
    const T* x = static_cast<const T*>(to_.Load(a, to + i * to_step_, m));
    const T* y = static_cast<const T*>(from_.Load(b, from + i * from_step_, m));
    CombineAll(how_, result, x, y, static_cast<T>(factor_), m);
    to_.Store(to + i * to_step_, result, m, false);
  }
}

void Combiner::Together(char* to, const char* from, std::span<const int64_t> behind, int64_t n) const {
  alignas(64) float sums[kBlock], next[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    const auto* x = static_cast<const float*>(to_.Load(sums, to + i * to_step_, m));
    for (const int64_t at : behind) {
      const void* y = from_.Load(next, from + at + i * from_step_, m);
      CombineAll(how_, sums, x, static_cast<const float*>(y), static_cast<float>(factor_), m);
      x = sums;
    }
    to_.Store(to + i * to_step_, x, m, false);
  }
}

void Combiner::Complex(char* to, const char* from, int64_t n) const {
  for (int64_t i = 0; i < n; ++i) {
    float a[2], b[2];
    std::memcpy(a, to + i * to_step_, sizeof(a));
    std::memcpy(b, from + i * from_step_, sizeof(b));
    const auto factor = static_cast<float>(factor_);
    if (how_ == Combination::kAdd) {
      a[0] += b[0] * factor, a[1] += b[1] * factor;
    } else {
      const float real = a[0] * b[0] - a[1] * b[1];
      a[1] = a[0] * b[1] + a[1] * b[0], a[0] = real;
    }
    std::memcpy(to + i * to_step_, a, sizeof(a));
  }
}

void Combiner::operator()(char* to, const char* from, int64_t n) const {
  if (row_ != nullptr) return row_(to, from, n, to_step_, from_step_, factor_);
  if (how_ == Combination::kReplace) return MoveRow(to, to_step_, from, from_step_, n, bytes_);
  switch (compute_) {
    case DType::kF32:
      return Blocks<float>(to, from, n);
    case DType::kC64:
      return Complex(to, from, n);
    default:
      return compute_ == DType::kI32 ? Blocks<int32_t>(to, from, n) : Blocks<int64_t>(to, from, n);
  }
}

namespace {

RowLoop LoopOf(Combination how) {
  switch (how) {
    case Combination::kAdd:
      return BestAddRowLoop();
    case Combination::kMultiply:
      return BestMultiplyRowLoop();
    case Combination::kMax:
      return BestMaxRowLoop();
    case Combination::kMin:
      return BestMinRowLoop();
    case Combination::kReplace:
      break;
  }
  return nullptr;
}

}  // namespace

BlockCombiner::BlockCombiner(const Tensor& to, const Tensor& from, Combination how, double factor)
    : nest_(to.shape, {Operand{&to}, Operand{&from}}),
      row_(to.dtype, how, nest_.step(0), nest_.step(1), factor),
      factor_(static_cast<float>(factor)) {
  const auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  if (!nest_.has_one_level() || nest_.step(0) != bytes || nest_.step(1) != bytes) return;
  if (how == Combination::kReplace) moved_bytes_ = static_cast<size_t>(nest_.count() * bytes);
  if (to.dtype == DType::kF32) floats_ = LoopOf(how);
}

void BlockCombiner::operator()(char* to, const char* from) const {
  if (moved_bytes_ == sizeof(float)) return static_cast<void>(std::memcpy(to, from, sizeof(float)));
  if (moved_bytes_ != 0) return CopyMemory(to, from, moved_bytes_);
  if (floats_ != nullptr) {
    return floats_(reinterpret_cast<const float*>(from), nest_.count(), factor_,
                   reinterpret_cast<float*>(to));
  }
  if (nest_.has_one_level()) return row_(to, from, nest_.count());
  char* base[2] = {to, const_cast<char*>(from)};
  nest_.Walk(base, 0, nest_.count(), [this](char** at, int64_t n) { row_(at[0], at[1], n); });
}

void BlockCombiner::Together(char* to, const char* from, std::span<const int64_t> behind) const {
  char* base[2] = {to, const_cast<char*>(from)};
  nest_.Walk(base, 0, nest_.count(), [&](char** at, int64_t n) { row_.Together(at[0], at[1], behind, n); });
}

}  // namespace belay::ops
