// Which elements the places of a sampling grid are made of, and how that changes with the place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/resize/grid_sample.h"
#include "ops/resize/taps.h"

namespace belay::ops {

constexpr int kMostDims = 3;

// The elements of one dimension that a place is made of.
template <class T>
struct Taps {
  int count = 0;
  int64_t index[4];
  T weight[4];
  T slope[4];  // of the weight, by the grid's coordinate
};

template <class T>
T Reflected(T x, T low, T high) {
  T range = high - low;
  if (range <= 0) return low;
  T away = x < low ? low - x : x - high;
  if (away <= 0) return x;
  auto turns = static_cast<int64_t>(away / range);
  T rest = away - static_cast<T>(turns) * range;
  bool from_low = (x < low) == (turns % 2 == 0);
  return from_low ? low + rest : high - rest;
}

template <class T>
struct GridTaps {
  static constexpr double kCubic = -0.75;

  SampleMode mode;
  SamplePadding padding;
  bool align;

  T Low() const { return align ? T{0} : T{-0.5}; }
  T High(int64_t size) const { return static_cast<T>(size) - (align ? T{1} : T{0.5}); }

  void AddTap(Taps<T>& taps, int64_t index, T weight, T slope, int64_t size) const {
    if (index < 0 || index >= size) {
      if (padding == SamplePadding::kZeros) return;
      if (padding == SamplePadding::kBorder) {
        index = index < 0 ? 0 : size - 1;
      } else {
        index = static_cast<int64_t>(Reflected(static_cast<T>(index), Low(), High(size)));
        index = std::clamp<int64_t>(index, 0, size - 1);
      }
    }
    taps.index[taps.count] = index;
    taps.slope[taps.count] = slope;
    taps.weight[taps.count++] = weight;
  }

  Taps<T> At(T coordinate, int64_t size) const {
    constexpr T kFarthest = 1e9;  // so that it fits in an integer; NaN goes there too
    auto n = static_cast<T>(size);
    T x = align ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
    if (mode == SampleMode::kNearest) x = std::nearbyint(x);
    if (!(x > -kFarthest)) x = -kFarthest;
    x = std::min(x, kFarthest);
    T factor = (align ? n - 1 : n) / 2;
    if (x < Low() || x > High(size)) {
      // The cubic's sixteen neighbours are each put back on their own, which gives other weights.
      if (padding == SamplePadding::kBorder && mode != SampleMode::kCubic) x = std::clamp(x, T{0}, n - 1);
      if (padding == SamplePadding::kReflection) {
        if (IsMirrored(x, size)) factor = -factor;
        x = Reflected(x, Low(), High(size));
      }
    }
    // What is put onto the edge stays there.
    if (padding != SamplePadding::kZeros && mode != SampleMode::kCubic && (x <= 0 || x >= n - 1)) factor = 0;
    Taps<T> taps;
    T low = std::floor(x), rest = x - low;
    auto left = static_cast<int64_t>(low);
    if (mode == SampleMode::kNearest) {
      AddTap(taps, static_cast<int64_t>(std::nearbyint(x)), 1, 0, size);
    } else if (mode == SampleMode::kLinear) {
      AddTap(taps, left, 1 - rest, -factor, size);
      AddTap(taps, left + 1, rest, factor, size);
    } else {
      double weights[4], slopes[4];
      CubicWeights(rest, kCubic, weights);
      CubicSlopes(rest, slopes);
      for (int k = 0; k < 4; ++k)
        AddTap(taps, left - 1 + k, static_cast<T>(weights[k]), static_cast<T>(slopes[k]) * factor, size);
    }
    return taps;
  }

 private:
  // Whether an odd number of mirrors stands before the place.
  bool IsMirrored(T x, int64_t size) const {
    const T low = Low(), high = High(size), range = high - low;
    if (range <= 0) return false;
    const T turns = std::floor((x < low ? low - x : x - low) / range);
    return (std::fmod(turns, T{2}) != 0) != (x < low);
  }

  static void CubicSlopes(T rest, double* slopes) {
    const auto near = [](double t) { return 3 * (kCubic + 2) * t * t - 2 * (kCubic + 3) * t; };
    const auto far = [](double t) { return kCubic * (3 * t * t - 10 * t + 8); };
    const auto t = static_cast<double>(rest);
    slopes[0] = far(1 + t), slopes[1] = near(t), slopes[2] = -near(1 - t), slopes[3] = -far(2 - t);
  }
};

}  // namespace belay::ops
