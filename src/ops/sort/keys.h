// Values as numbers whose order is theirs, beside the places that they had: what is sorted instead of values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace belay::ops {

// Zeros of both signs are equal, NaN is the largest.
inline uint32_t OrderKey(float x) {
  const auto bits = std::bit_cast<uint32_t>(x == 0 ? 0.0F : x);
  const uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | uint32_t{1} << 31;
  return x == x ? ordered : ~uint32_t{0};
}
inline uint64_t OrderKey(double x) {
  const auto bits = std::bit_cast<uint64_t>(x == 0 ? 0.0 : x);
  const uint64_t ordered = (bits >> 63) != 0 ? ~bits : bits | uint64_t{1} << 63;
  return x == x ? ordered : ~uint64_t{0};
}
inline uint32_t OrderKey(int32_t x) {
  return static_cast<uint32_t>(x) ^ uint32_t { 1 } << 31;
}
inline uint64_t OrderKey(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}
inline uint64_t OrderKey(uint64_t x) { return x; }

// With its place behind it each key is another one, and in order where two values are equal.
struct WideKey {
  uint64_t number;
  int64_t at;
  uint64_t key() const { return number; }
  int64_t place() const { return at; }
  bool operator<(const WideKey& other) const {
    return number < other.number || (number == other.number && at < other.at);
  }
};
// Of 32 bits, and a place below 2^32.
struct NarrowKey {
  uint64_t both;
  NarrowKey() = default;
  NarrowKey(uint32_t number, int64_t at) : both(uint64_t{number} << 32 | static_cast<uint64_t>(at)) {}
  uint64_t key() const { return both >> 32; }
  int64_t place() const { return static_cast<int64_t>(both & 0xffffffffU); }
  bool operator<(const NarrowKey& other) const { return both < other.both; }
};

inline constexpr int64_t kManyDigits =
    1024;  // keys from here on are sorted faster by digits than by comparing

// Digit by digit from the last, those alone in which keys differ: what is equal stays in order. `other` is
// room for as many.
template <class Keyed>
void SortByDigits(Keyed* keys, Keyed* other, int64_t n) {
  constexpr int kBits = 11;
  constexpr uint64_t kValues = 1U << kBits;
  uint64_t differing = 0;
  for (int64_t i = 1; i < n; ++i) differing |= keys[i].key() ^ keys[0].key();
  Keyed *from = keys, *to = other;
  for (int shift = 0; shift < 64 && differing >> shift != 0; shift += kBits) {
    shift += std::countr_zero(differing >> shift);
    const auto digit = [shift](const Keyed& each) { return each.key() >> shift & (kValues - 1); };
    int64_t begins[kValues] = {}, begin = 0;
    for (int64_t i = 0; i < n; ++i) ++begins[digit(from[i])];
    for (int64_t& count : begins) begin += std::exchange(count, begin);
    for (int64_t i = 0; i < n; ++i) to[begins[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy_n(from, n, keys);
}

// The first `keep` <= kFour of a few by choices instead of branches, which nothing foretells.
inline constexpr int64_t kFour = 4;
inline void FirstOfFew(NarrowKey* keys, int64_t n, int64_t keep) {
  uint64_t first[kFour] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
  for (int64_t k = 0; k < n; ++k) {
    uint64_t key = keys[k].both;
    for (uint64_t& each : first) {
      const uint64_t behind = std::max(each, key);
      each = std::min(each, key), key = behind;
    }
  }
  for (int64_t k = 0; k < keep; ++k) keys[k].both = first[k];
}

// The first `keep` of n in order. Where that is all, there is room for as many behind them, to sort by
// digits.
template <class Keyed>
void SortKeys(Keyed* keys, int64_t n, int64_t keep) {
  if (keep == n && n >= kManyDigits) return SortByDigits(keys, keys + n, n);
  if (keep > 0 && keep < n) std::nth_element(keys, keys + keep - 1, keys + n);
  std::sort(keys, keys + keep);
}

// The places of all values in order. `keys` is room for twice as many.
template <class T>
void PlacesInOrder(const T* values, int64_t n, WideKey* keys, int64_t* places) {
  for (int64_t i = 0; i < n; ++i) keys[i] = {OrderKey(values[i]), i};
  SortKeys(keys, n, n);
  for (int64_t i = 0; i < n; ++i) places[i] = keys[i].place();
}

}  // namespace belay::ops
