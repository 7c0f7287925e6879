#include "ops/resize/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/resize/grid_loops.h"
#include "ops/resize/grid_taps.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

template <class T>
struct SampleBody {
  Shape in_shape, out_shape;
  int64_t batches, channels, points, dims;
  PackedOperand image_of, grid_of, out_of;
  GridTaps<T> at;

  void operator()(const Frame& frame) const {
    const T* image = reinterpret_cast<const T*>(image_of.Loaded(frame));
    const T* grid = reinterpret_cast<const T*>(grid_of.Loaded(frame));
    T* out = reinterpret_cast<T*>(out_of.Result(frame));
    const int64_t planes = batches * channels, pixels = planes == 0 ? 0 : CountOf(in_shape) / planes;
    ParallelFor(batches * points, 256, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<T, float>) {
        if (IsPlane(pixels)) return Plane(image, pixels, grid, out, begin, end);
      }
      Terms terms;
      for (int64_t i = begin; i < end;) {
        // Of one image, so that its channels look at the same places.
        const int64_t batch = i / points, count = std::min({end - i, (batch + 1) * points - i, kTogether});
        terms.sums = 0;
        for (int64_t k = 0; k < count; ++k) AddPlace(terms, grid + (i + k) * dims);
        terms.four = std::all_of(terms.count, terms.count + count, [](int each) { return each == 4; });
        for (int64_t c = batch * channels; c < (batch + 1) * channels; ++c) {
          Sum(terms, image + c * pixels, out + c * points + i % points);
        }
        i += count;
      }
    });
    out_of.Store(frame);
  }

  // What vectors find: places between four pixels.
  bool IsPlane(int64_t pixels) const {
    return dims == 2 && at.mode == SampleMode::kLinear && at.padding != SamplePadding::kReflection &&
           pixels < int64_t{1} << 31;
  }

  void Plane(const float* image, int64_t pixels, const float* grid, float* out, int64_t begin,
             int64_t end) const {
    const GridPlane plane{in_shape[2], in_shape[3], at.align, at.padding == SamplePadding::kBorder};
    const GridLoops& loops = BestGridLoops();
    GridTerms terms;
    for (int64_t i = begin, count; i < end; i += count) {
      const int64_t batch = i / points;
      count = std::min({end - i, (batch + 1) * points - i, GridTerms::kMost});
      loops.find(grid + i * dims, count, plane, terms);
      for (int64_t c = batch * channels; c < (batch + 1) * channels; ++c)
        loops.sum(terms, count, image + c * pixels, out + c * points + i % points);
    }
  }

  static constexpr int64_t kTogether = 64;
  static constexpr int64_t kMostTerms = 16;  // cubic in two dimensions, linear in three need 8

  // What the places of a piece are sums of.
  struct Terms {
    int64_t sums;
    bool four;  // terms each, as in the middle of a picture
    int count[kTogether];
    int64_t pixel[kTogether][kMostTerms];
    T weight[kTogether][kMostTerms];
  };

  void AddPlace(Terms& terms, const T* place) const {
    const int64_t sum = terms.sums++;
    int64_t* pixel = terms.pixel[sum];
    T* weight = terms.weight[sum];
    pixel[0] = 0, weight[0] = 1;
    int count = 1;
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t size = in_shape[static_cast<int>(d) + 2];
      const Taps<T> taps = at.At(place[dims - 1 - d], size);
      // From the last on, as the terms spread over what stood before them.
      for (int i = count - 1; i >= 0; --i) {
        const int64_t pixel_before = pixel[i];
        const T weight_before = weight[i];
        for (int k = taps.count - 1; k >= 0; --k) {
          pixel[i * taps.count + k] = pixel_before * size + taps.index[k];
          weight[i * taps.count + k] = weight_before * taps.weight[k];
        }
      }
      count *= taps.count;
    }
    terms.count[sum] = count;
  }

  static void Sum(const Terms& terms, const T* plane, T* out) {
    for (int64_t i = 0; terms.four && i < terms.sums; ++i) {
      const int64_t* pixel = terms.pixel[i];
      const T* weight = terms.weight[i];
      T sum = T{0} + weight[0] * plane[pixel[0]];
      sum += weight[1] * plane[pixel[1]];
      sum += weight[2] * plane[pixel[2]];
      out[i] = sum + weight[3] * plane[pixel[3]];
    }
    if (terms.four) return;
    for (int64_t i = 0; i < terms.sums; ++i) {
      const int64_t* pixel = terms.pixel[i];
      const T* weight = terms.weight[i];
      T sum = 0;
      for (int k = 0; k < terms.count[i]; ++k) sum += weight[k] * plane[pixel[k]];
      out[i] = sum;
    }
  }
};

template <class T>
void PlanSampleIn(Plan& plan, DType compute, const Operand& self, const Operand& grid, SampleMode mode,
                  SamplePadding padding, bool align, const Operand& out) {
  SampleBody<T> body;
  body.in_shape = self.tensor->shape;
  body.out_shape = out.tensor->shape;
  body.batches = body.in_shape[0];
  body.channels = body.in_shape[1];
  body.dims = body.in_shape.rank() - 2;
  body.points = 1;
  for (int d = 2; d < body.out_shape.rank(); ++d) body.points *= body.out_shape[d];
  body.at = {mode, padding, align};
  body.image_of = {plan, self, compute, false, true};
  body.grid_of = {plan, grid, compute, false, true};
  body.out_of = {plan, out, compute, false, false};
  plan.SetCost(200 + static_cast<uint64_t>(out.tensor->count()) * 20);
  plan.SetBody(body);
}

template <class T>
struct AffineBody {
  Shape shape;  // of the grid
  bool align;
  PackedOperand theta, out;
  Scratch<T> row_of;  // the last coordinate of the points of a row, once for each of their numbers

  // A multiple of each number of dimensions, so that a loop of as many is one of vectors.
  static constexpr int64_t kPattern = 12;

  void operator()(const Frame& frame) const {
    const int64_t dims = shape.back(0), width = shape.back(1), points = CountOf(shape) / (shape[0] * dims);
    const auto* matrices = reinterpret_cast<const T*>(theta.Loaded(frame));
    auto* grid = reinterpret_cast<T*>(out.Result(frame));
    T* along = row_of.At(frame);
    for (int64_t i = 0; i < width; ++i) std::fill_n(along + i * dims, dims, Coordinate(i, width));
    for (int64_t i = 0; i < shape[0] * points; i += width) {
      Row(grid + i * dims, along, matrices + i / points * dims * (dims + 1), i % points);
    }
    out.Store(frame);
  }

  // The points of a row, from `first` on: only their last coordinate, which comes first in a matrix, differs.
  void Row(T* grid, const T* along, const T* matrix, int64_t first) const {
    const int64_t dims = shape.back(0), width = shape.back(1);
    T factors[kPattern], rests[kPattern], place[kMostDims];
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t size = shape[static_cast<int>(dims - d)];
      place[d] = Coordinate(first % size, size);
      first /= size;
    }
    for (int64_t r = 0; r < dims; ++r) {
      const T* row = matrix + r * (dims + 1);
      T rest = row[dims];
      for (int64_t c = 1; c < dims; ++c) rest += row[c] * place[c];
      for (int64_t k = r; k < kPattern; k += dims) factors[k] = row[0], rests[k] = rest;
    }
    int64_t i = 0;
    for (; i + kPattern <= width * dims; i += kPattern) {
      _Pragma("GCC ivdep") for (int64_t k = 0; k < kPattern; ++k) grid[i + k] =
          factors[k] * along[i + k] + rests[k];
    }
    for (int64_t k = 0; i + k < width * dims; ++k) grid[i + k] = factors[k] * along[i + k] + rests[k];
  }

  T Coordinate(int64_t i, int64_t size) const {
    auto n = static_cast<T>(size);
    if (align) return size == 1 ? T{0} : static_cast<T>(i) * 2 / (n - 1) - 1;
    return (static_cast<T>(i) * 2 + 1) / n - 1;
  }
};

template <class T>
void PlanAffineIn(Plan& plan, DType compute, const Operand& theta, bool align, const Operand& out) {
  const AffineBody<T> body{out.tensor->shape,
                           align,
                           {plan, theta, compute, false, true},
                           {plan, out, compute, false, false},
                           {plan, out.tensor->shape.back(1) * out.tensor->shape.back(0)}};
  plan.SetCost(200 + static_cast<uint64_t>(out.tensor->count()) * 4);
  plan.SetBody(body);
}

}  // namespace

void PlanGridSample(Plan& plan, const Operand& self, const Operand& grid, SampleMode mode,
                    SamplePadding padding, bool align_corners, const Operand& out) {
  CheckSameType(self, out);
  const Shape& image = self.tensor->shape;
  const Shape& places = grid.tensor->shape;
  int dims = image.rank() - 2;
  if (dims < 1 || dims > kMostDims || places.rank() != image.rank() || places.back(0) != dims ||
      places[0] != image[0]) {
    Fail(kInvalidArgument, "op-grid", "{} of shape {} and {} of shape {} do not fit together", self.name,
         image.ToString(), grid.name, places.ToString());
  }
  Shape wanted{image[0], image[1]};
  for (int d = 1; d <= dims; ++d) wanted.push_back(places[d]);
  CheckShape(out, wanted);
  for (int d = 2; d < image.rank(); ++d) {
    if (image[d] == 0)
      Fail(kInvalidArgument, "op-grid", "{} of shape {} has no pixels", self.name, image.ToString());
  }
  if (out.tensor->empty()) return;
  if (self.dtype() == DType::kF64) {
    PlanSampleIn<double>(plan, DType::kF64, self, grid, mode, padding, align_corners, out);
  } else {
    PlanSampleIn<float>(plan, DType::kF32, self, grid, mode, padding, align_corners, out);
  }
}

void PlanAffineGrid(Plan& plan, const Operand& theta, bool align_corners, const Operand& out) {
  CheckSameType(theta, out);
  const Shape& grid = out.tensor->shape;
  int64_t dims = grid.rank() < 3 ? 0 : grid.back(0);
  if (dims < 1 || dims > kMostDims || grid.rank() != dims + 2) {
    Fail(kInvalidArgument, "op-grid", "{} of shape {} is no grid", out.name, grid.ToString());
  }
  CheckShape(theta, {grid[0], dims, dims + 1});
  if (out.tensor->empty()) return;
  if (out.dtype() == DType::kF64) {
    PlanAffineIn<double>(plan, DType::kF64, theta, align_corners, out);
  } else {
    PlanAffineIn<float>(plan, DType::kF32, theta, align_corners, out);
  }
}

namespace kernels {

void GridSampler(Plan& plan, DType, const Operand& input, const Operand& grid, int64_t interpolationMode,
                 int64_t paddingMode, bool alignCorners, const Operand& out) {
  if (interpolationMode < 0 || interpolationMode > 2 || paddingMode < 0 || paddingMode > 2) {
    Fail(kInvalidArgument, "op-grid", "interpolationMode {} or paddingMode {} is not one of 0, 1 and 2",
         interpolationMode, paddingMode);
  }
  if (interpolationMode == 2 && input.shape().rank() != 4) {
    Fail(kInvalidArgument, "op-grid",
         "interpolationMode 2 (cubic) is for images of two dimensions; {} has shape {}", input.name,
         input.shape().ToString());
  }
  PlanGridSample(plan, input, grid, static_cast<SampleMode>(interpolationMode),
                 static_cast<SamplePadding>(paddingMode), alignCorners, out);
}

void AffineGrid(Plan& plan, DType, const Operand& theta, std::span<const int64_t> size, bool alignCorners,
                const Operand& out) {
  Shape wanted;
  CheckLength("size", static_cast<int64_t>(size.size()), out.tensor->shape.rank());
  wanted.push_back(size[0]);
  for (size_t d = 2; d < size.size(); ++d) wanted.push_back(size[d]);
  wanted.push_back(static_cast<int64_t>(size.size()) - 2);
  CheckShape(out, wanted);
  PlanAffineGrid(plan, theta, alignCorners, out);
}

}  // namespace kernels
}  // namespace belay::ops
