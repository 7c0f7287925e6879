// The gradients of reading an image at the places of a grid: of the image and of the grid.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/gradient/checks.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/resize/grid_taps.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

template <class T>
struct GridGradientBody {
  PackedNumbers<T> given, image, grid, to_image, to_grid;  // the last two may be absent
  int64_t batches = 1, channels = 1, points = 1, pixels = 1, dims = 2;
  int64_t sizes[kMostDims] = {};
  GridTaps<T> at;

  // An element that a place is made of: its weight, and how that changes with each coordinate.
  struct Part {
    int64_t pixel;
    T weight, slope[kMostDims];
  };

  void operator()(const Frame& frame) const {
    const T *g = given.Load(frame), *x = image.Load(frame), *places = grid.Load(frame);
    T *dx = to_image.Begin(frame), *dgrid = to_grid.Begin(frame);
    if (dx != nullptr) std::fill_n(dx, batches * channels * pixels, T{0});
    // Places of one image may lie on the same element.
    ParallelFor(batches, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        for (int64_t p = 0; p < points; ++p) {
          const int64_t place = (n * points + p) * dims;
          T slopes[kMostDims] = {};
          Place(g + n * channels * points + p, x + n * channels * pixels, places + place,
                dx == nullptr ? nullptr : dx + n * channels * pixels, slopes);
          for (int64_t d = 0; d < dims && dgrid != nullptr; ++d) dgrid[place + dims - 1 - d] = slopes[d];
        }
      }
    });
    to_image.Finish(frame);
    to_grid.Finish(frame);
  }

  void Place(const T* g, const T* x, const T* place, T* dx, T* slopes) const {
    Taps<T> taps[kMostDims];
    for (int64_t d = 0; d < dims; ++d) taps[d] = at.At(place[dims - 1 - d], sizes[d]);
    Spread(taps, 0, {0, 1, {1, 1, 1}}, [&](const Part& part) {
      T sum = 0;
      for (int64_t c = 0; c < channels; ++c) {
        if (dx != nullptr) dx[c * pixels + part.pixel] += part.weight * g[c * points];
        sum += x[c * pixels + part.pixel] * g[c * points];
      }
      for (int64_t d = 0; d < dims; ++d) slopes[d] += part.slope[d] * sum;
    });
  }

  template <class Visit>
  void Spread(const Taps<T>* taps, int64_t d, const Part& part, const Visit& visit) const {
    if (d == dims) return visit(part);
    for (int k = 0; k < taps[d].count; ++k) {
      Part next = part;
      next.pixel = part.pixel * sizes[d] + taps[d].index[k];
      next.weight *= taps[d].weight[k];
      for (int64_t e = 0; e < dims; ++e) next.slope[e] *= e == d ? taps[d].slope[k] : taps[d].weight[k];
      Spread(taps, d + 1, next, visit);
    }
  }
};

void CheckGrid(const Operand& grad, const Operand& input, const Operand& grid, int64_t mode,
               int64_t padding) {
  const Shape &image = input.shape(), &places = grid.shape();
  const int dims = image.rank() - 2;
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2 || (mode == 2 && dims != 2)) {
    Fail(
        tensor::kInvalidArgument, "op-grid",
        "interpolationMode {} or paddingMode {} is not one of 0, 1 and 2, or the mode is cubic and there are not two "
        "dimensions",
        mode, padding);
  }
  if (dims < 1 || dims > kMostDims || places.rank() != image.rank() || places.back(0) != dims ||
      places[0] != image[0]) {
    Fail(tensor::kInvalidArgument, "op-grid", "{} of shape {} and {} of shape {} do not fit together",
         input.name, image.ToString(), grid.name, places.ToString());
  }
  Shape wanted{image[0], image[1]};
  for (int d = 1; d <= dims; ++d) wanted.push_back(places[d]);
  CheckShape(grad, wanted);
  if (input.tensor->empty()) {
    Fail(tensor::kInvalidArgument, "op-grid", "{} of shape {} has no pixels", input.name, image.ToString());
  }
}

template <class T>
void PlanGridGradient(Plan& plan, const kernels::GridSamplerBackwardArguments& a, const Operand& to_image,
                      const Operand& to_grid) {
  GridGradientBody<T> body{};
  const Shape& image = a.input.shape();
  body.batches = image[0], body.channels = image[1], body.dims = image.rank() - 2;
  for (int d = 0; d < body.dims; ++d) {
    body.sizes[d] = image[d + 2];
    body.pixels *= image[d + 2], body.points *= a.grid.shape()[d + 1];
  }
  body.at = {static_cast<SampleMode>(a.interpolation_mode), static_cast<SamplePadding>(a.padding_mode),
             a.align_corners};
  body.given = {a.grad_output, Flow::kIn, plan};
  body.image = {a.input, Flow::kIn, plan};
  body.grid = {a.grid, Flow::kIn, plan};
  body.to_image = {to_image, Flow::kOut, plan};
  body.to_grid = {to_grid, Flow::kOut, plan};
  plan.SetCost(200 + static_cast<uint64_t>(a.grad_output.tensor->count() + a.input.tensor->count()) * 20);
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void GridSamplerBackward(Plan& plan, DType, const GridSamplerBackwardArguments& a) {
  CheckGrid(a.grad_output, a.input, a.grid, a.interpolation_mode, a.padding_mode);
  Operand results[] = {a.grad_input, a.grad_grid};
  SelectResults(a.output_mask, results);
  if (results[0].present()) CheckShape(results[0], a.input.shape());
  if (results[1].present()) CheckShape(results[1], a.grid.shape());
  const bool wide = a.input.dtype() == DType::kF64 || a.grid.dtype() == DType::kF64;
  (wide ? PlanGridGradient<double> : PlanGridGradient<float>)(plan, a, results[0], results[1]);
}

}  // namespace kernels
}  // namespace belay::ops
