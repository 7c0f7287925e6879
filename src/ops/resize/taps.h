// Where the elements of a resized dimension come from, and with which weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::ops {

enum class Coordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kTorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize,
  kHalfPixelForNearest,
};
enum class Rounding : uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };

// How one dimension of `in` elements becomes one of `out` elements.
struct AxisResize {
  int64_t in = 1, out = 1;
  double scale = 1;           // of the sizes, as it was asked for
  double start = 0, end = 1;  // of the part that is resized, relative; kCropAndResize
  Coordinates coordinates = Coordinates::kHalfPixel;

  // The place in the input that an element of the output looks at.
  double PlaceOf(int64_t at) const;
  bool Outside(double place) const;  // of what kCropAndResize can see

 private:
  double CropPlace(float at, float last, float last_out) const;
};

struct Filter {
  bool cubic = false;
  bool antialias = false;
  bool exclude_outside = false;
  double coefficient = -0.75;  // of the cubic
};

// For element i of the output: elements index[k] of the input times weight[k], k in [begin[i], begin[i + 1]).
struct AxisTaps {
  int64_t in = 1, out = 1;
  std::vector<int64_t> begin, index;
  std::vector<double> weight;
  std::vector<bool> outside;

  bool identity() const;
};

AxisTaps TapsOf(const AxisResize& axis, const Filter& filter);
// The nearest elements, -1 where there is none.
std::vector<int64_t> NearestOf(const AxisResize& axis, Rounding rounding);

// Weights of a cubic at distances 1 + t, t, 1 - t, 2 - t.
void CubicWeights(double t, double coefficient, double weights[4]);

}  // namespace belay::ops
