#include "ops/resize/taps.h"

#include <algorithm>
#include <cmath>

#include "ops/layout/rearranged.h"

namespace belay::ops {
namespace {

// Of the distance from the centre, in elements of the input.
double Kernel(double distance, const Filter& filter) {
  double x = std::fabs(distance), a = filter.coefficient;
  if (!filter.cubic) return std::max(0.0, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// A region of no sensible numbers makes no sensible image, but no fault either.
double Finite(double place) { return std::fabs(place) < 1e15 ? place : 0; }

}  // namespace

double AxisResize::PlaceOf(int64_t at) const {
  auto x = static_cast<double>(at), n = static_cast<double>(in), m = static_cast<double>(out);
  // The ends are where the scale puts them, although a fraction of an element is not there.
  const bool whole = std::fabs(scale * n - m) < 1e-6 * m;
  const double exact = whole ? m : scale * n;
  // Rounded once where the scale is a ratio of sizes, so that a place on an element or half way is told as
  // that.
  const auto scaled_back = [&](double place) { return whole ? place * n / m : place / scale; };
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return scaled_back(x + 0.5) - 0.5;
    case Coordinates::kHalfPixelSymmetric:
      return n / 2 * (1 - m / (scale * n)) + (x + 0.5) / scale - 0.5;
    case Coordinates::kTorchHalfPixel:
      return out == 1 ? 0 : scaled_back(x + 0.5) - 0.5;
    case Coordinates::kAlignCorners:
      return out == 1 ? 0 : x * (n - 1) / (exact - 1);
    case Coordinates::kAsymmetric:
      return scaled_back(x);
    case Coordinates::kCropAndResize:
      return CropPlace(static_cast<float>(at), static_cast<float>(in - 1), static_cast<float>(out - 1));
    case Coordinates::kHalfPixelForNearest:
      return scaled_back(x + 0.5);
  }
  return x;
}

// In floats, as everybody computes it, so that places between two elements are between the same two.
double AxisResize::CropPlace(float at, float last, float last_out) const {
  const auto from = static_cast<float>(start), to = static_cast<float>(end);
  return last_out == 0 ? 0.5F * (from + to) * last : from * last + at * (to - from) * last / last_out;
}

bool AxisResize::Outside(double place) const {
  return coordinates == Coordinates::kCropAndResize && (place < 0 || place > static_cast<double>(in - 1));
}

bool AxisTaps::identity() const {
  if (in != out) return false;
  for (int64_t i = 0; i < out; ++i) {
    auto at = static_cast<size_t>(i);
    if (outside[at]) return false;
    for (int64_t k = begin[at]; k < begin[at + 1]; ++k) {
      auto tap = static_cast<size_t>(k);
      if (weight[tap] != (index[tap] == i ? 1 : 0)) return false;
    }
  }
  return true;
}

AxisTaps TapsOf(const AxisResize& axis, const Filter& filter) {
  AxisTaps taps;
  taps.in = axis.in;
  taps.out = axis.out;
  taps.begin.push_back(0);
  // Shrinking, the filter becomes wider, so that no element is skipped.
  double narrow = filter.antialias ? std::min(axis.scale, 1.0) : 1;
  if (axis.out == 0) return taps;
  const double reach = std::floor((filter.cubic ? -2 : -1) / narrow) + 1;
  CheckMapLength(static_cast<double>(axis.out) * (2 - 2 * reach));
  const auto first = static_cast<int64_t>(reach), last = 1 - first;
  for (int64_t i = 0; i < axis.out; ++i) {
    double place = Finite(axis.PlaceOf(i));
    auto left = static_cast<int64_t>(std::ceil(place)) - 1;  // so that the rest is in (0, 1]
    size_t begin = taps.weight.size();
    double sum = 0;
    for (int64_t k = first; k <= last; ++k) {
      double weight = Kernel((static_cast<double>(k + left) - place) * narrow, filter);
      bool outside = k + left < 0 || k + left >= axis.in;
      if (weight == 0 || (outside && filter.exclude_outside)) continue;
      taps.index.push_back(std::clamp<int64_t>(k + left, 0, axis.in - 1));
      taps.weight.push_back(weight);
      sum += weight;
    }
    for (size_t k = begin; k < taps.weight.size(); ++k) taps.weight[k] /= sum;
    taps.begin.push_back(static_cast<int64_t>(taps.weight.size()));
    taps.outside.push_back(axis.Outside(place));
  }
  return taps;
}

std::vector<int64_t> NearestOf(const AxisResize& axis, Rounding rounding) {
  CheckMapLength(static_cast<double>(axis.out));
  std::vector<int64_t> places;
  for (int64_t i = 0; i < axis.out; ++i) {
    double place = Finite(axis.PlaceOf(i)), low = std::floor(place), rest = place - low;
    bool up = rounding == Rounding::kCeil          ? rest > 0
              : rounding == Rounding::kPreferFloor ? rest > 0.5
              : rounding == Rounding::kPreferCeil  ? rest >= 0.5
                                                   : false;
    int64_t nearest = std::clamp<int64_t>(static_cast<int64_t>(low) + (up ? 1 : 0), 0, axis.in - 1);
    places.push_back(axis.Outside(place) ? -1 : nearest);
  }
  return places;
}

void CubicWeights(double t, double coefficient, double weights[4]) {
  Filter filter{.cubic = true, .coefficient = coefficient};
  for (int k = 0; k < 4; ++k) weights[k] = Kernel(t + 1 - k, filter);
}

}  // namespace belay::ops
