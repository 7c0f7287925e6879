// Writing values where there are some already: over them, added to them, ...
#pragma once

#include <bit>
#include <span>
#include <string_view>
#include <type_traits>

#include "ops/index/place_loops.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"

namespace belay::ops {

// Complex numbers are replaced, added and multiplied.
enum class Combination : uint8_t { kReplace, kAdd, kMultiply, kMax, kMin };

// take ? b : a, without a jump that nobody foresees.
template <class T>
T Chosen(bool take, T b, T a) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>;
    const Bits mask = Bits{0} - Bits{take};
    return std::bit_cast<T>((std::bit_cast<Bits>(b) & mask) | (std::bit_cast<Bits>(a) & ~mask));
  } else {
    return take ? b : a;
  }
}

// Whole numbers wrap.
template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

// Of one element; `factor` is that of what is added. NaN is the largest and the least.
template <class T>
T Combined(Combination how, T a, T b, T factor) {
  using W = Wrapping<T>;
  switch (how) {
    case Combination::kReplace:
      return b;
    case Combination::kAdd:
      return static_cast<T>(static_cast<W>(a) + static_cast<W>(b) * static_cast<W>(factor));
    case Combination::kMultiply:
      return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
    case Combination::kMax:
      return Chosen((a < b) | (b != b), b, a);
    case Combination::kMin:
      return Chosen((b < a) | (b != b), b, a);
  }
  return b;
}

// What is rounded with each that comes to a place, and once where those of a place are combined together.
inline bool RoundsEach(Combination how, DType type) {
  return (how == Combination::kAdd || how == Combination::kMultiply) && IsHalf(type);
}

// Rows of one type.
class Combiner {
 public:
  Combiner() = default;
  // Steps in bytes. `factor` scales what comes in, where it is added.
  Combiner(DType type, Combination how, int64_t to_step, int64_t from_step, double factor = 1);
  void operator()(char* to, const char* from, int64_t n) const;
  // The same with each of the rows so many bytes behind `from`, rounded once. Of numbers computed as floats.
  void Together(char* to, const char* from, std::span<const int64_t> behind, int64_t n) const;

 private:
  using Row = void (*)(char* to, const char* from, int64_t n, int64_t to_step, int64_t from_step,
                       double factor);

  template <class T>
  void Blocks(char* to, const char* from, int64_t n) const;
  void Complex(char* to, const char* from, int64_t n) const;

  Lane to_, from_;
  Row row_ = nullptr;  // of a type that lies as it is computed
  DType compute_ = DType::kUndefined;
  Combination how_ = Combination::kReplace;
  int64_t to_step_ = 0, from_step_ = 0, bytes_ = 0;
  double factor_ = 1;
};

// A whole block of several dimensions.
class BlockCombiner {
 public:
  BlockCombiner() = default;
  BlockCombiner(const Tensor& to, const Tensor& from, Combination how, double factor = 1);
  int64_t count() const { return nest_.count(); }
  // From the first elements of the blocks.
  void operator()(char* to, const char* from) const;
  void Together(char* to, const char* from, std::span<const int64_t> behind) const;

 private:
  LoopNest nest_;
  Combiner row_;
  // Of packed blocks:
  size_t moved_bytes_ = 0;    // that replace what is there
  RowLoop floats_ = nullptr;  // that are combined with it; null: they are not that
  float factor_ = 1;
};

}  // namespace belay::ops
