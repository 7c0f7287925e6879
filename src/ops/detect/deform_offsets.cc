// The taps of a convolution that are displaced, side by side.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/detect/detect.h"
#include "ops/packed_doubles.h"

namespace belay::ops {
namespace {

// Four pixels around a place, with their shares and how these change.
struct TapPixels {
  int64_t pixel[4];  // -1: beyond the image
  double share[4], by_y[4], by_x[4];
};

struct TapGrid {
  int64_t height, width, channels;  // of x
  int64_t rows, columns, groups;    // of offsets
  TapWindow window;

  TapGrid(const Shape& x, const Shape& offsets, int64_t groups_, const TapWindow& window_)
      : height(x[1]),
        width(x[2]),
        channels(x[3]),
        rows(offsets[1]),
        columns(offsets[2]),
        groups(groups_),
        window(window_) {}

  int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  int64_t positions() const { return rows * columns; }

  TapPixels PixelsAt(double y, double x) const {
    TapPixels result;
    const double top = std::floor(y), left = std::floor(x), down = y - top, right = x - left;
    for (int k = 0; k < 4; ++k) {
      const bool low = k >= 2, far = k % 2 != 0;
      const double row = top + (low ? 1 : 0), column = left + (far ? 1 : 0);
      const bool inside =
          row >= 0 && row < static_cast<double>(height) && column >= 0 && column < static_cast<double>(width);
      result.pixel[k] = inside ? static_cast<int64_t>(row) * width + static_cast<int64_t>(column) : -1;
      const double of_y = low ? down : 1 - down, of_x = far ? right : 1 - right;
      result.share[k] = of_y * of_x;
      result.by_y[k] = (low ? 1 : -1) * of_x, result.by_x[k] = (far ? 1 : -1) * of_y;
    }
    return result;
  }

  // visit(place of x's channels in y, offsets of x, of y and of the weight from the position's, first
  // channel, pixels) for each tap and group of a position of an image.
  template <class Visit>
  void ForTaps(const double* offsets, int64_t position, const Visit& visit) const {
    const int64_t row = position / columns, column = position % columns, block = groups * taps();
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t t = 0; t < taps(); ++t) {
        const int64_t i = t / window.kernel[1], j = t % window.kernel[1], at = g * taps() + t;
        const auto base = [&](int64_t place, int64_t tap, int d) {
          return static_cast<double>(place) * static_cast<double>(window.strides[d]) +
                 static_cast<double>(tap) * static_cast<double>(window.dilations[d]) -
                 static_cast<double>(window.before[d]);
        };
        // Places are those of FLOAT, as all who compute in it have them: next to a pixel that decides.
        const auto moved = [](double at, double by) {
          return static_cast<double>(static_cast<float>(at + by));
        };
        const TapPixels pixels =
            PixelsAt(moved(base(row, i, 0), offsets[block + at]), moved(base(column, j, 1), offsets[at]));
        const int64_t place =
            (row * window.kernel[0] + i) * columns * window.kernel[1] + column * window.kernel[1] + j;
        visit(place * channels + g * (channels / groups), at, block, g * (channels / groups), pixels);
      }
    }
  }
};

}  // namespace

void PlanTaps(Plan& plan, const Operand& x, const Operand& offsets, int64_t groups, const TapWindow& window,
              const Operand& out) {
  const TapGrid grid(x.shape(), offsets.shape(), groups, window);
  const int64_t images = x.shape()[0], each = grid.positions() * 3 * groups * grid.taps();
  const auto work = [=](const double* const* in, double* const* to) {
    ParallelFor(images * grid.positions(), 16, [&](int64_t begin, int64_t end) {
      const int64_t plane = grid.height * grid.width * grid.channels,
                    made = grid.positions() * grid.taps() * grid.channels;
      for (int64_t k = begin; k < end; ++k) {
        const int64_t image = k / grid.positions(), position = k % grid.positions();
        const double* moved = in[1] + image * each + position * (each / grid.positions());
        grid.ForTaps(moved, position,
                     [&](int64_t place, int64_t at, int64_t block, int64_t c, const TapPixels& p) {
                       double* result = to[0] + image * made + place;
                       for (int64_t i = 0; i < grid.channels / groups; ++i) {
                         double sum = 0;
                         for (int n = 0; n < 4; ++n) {
                           if (p.pixel[n] >= 0)
                             sum += p.share[n] * in[0][image * plane + p.pixel[n] * grid.channels + c + i];
                         }
                         result[i] = sum * moved[2 * block + at];
                       }
                     });
      }
    });
  };
  PlanDoubles(plan, {&x, &offsets}, {&out}, static_cast<uint64_t>(out.tensor->count()) * 10, work);
}

void PlanTapsGradient(Plan& plan, const TapsGradientArgs& args) {
  const int64_t groups = args.groups;
  const TapGrid grid(args.x.shape(), args.offsets.shape(), groups, args.window);
  const int64_t images = args.x.shape()[0], count = args.grad_x.tensor->count(),
                each = grid.positions() * 3 * groups * grid.taps();
  const auto work = [=](const double* const* in, double* const* to) {
    std::fill_n(to[0], count, 0.0);
    ParallelFor(images, 1, [&](int64_t begin, int64_t end) {
      const int64_t plane = grid.height * grid.width * grid.channels,
                    made = grid.positions() * grid.taps() * grid.channels;
      for (int64_t k = begin * grid.positions(); k < end * grid.positions(); ++k) {
        const int64_t image = k / grid.positions(), position = k % grid.positions(),
                      first = image * each + position * (each / grid.positions());
        const double* moved = in[2] + first;
        double* slopes = to[1] + first;
        grid.ForTaps(moved, position,
                     [&](int64_t place, int64_t at, int64_t block, int64_t c, const TapPixels& p) {
                       const double* dy = in[0] + image * made + place;
                       const double weight = moved[2 * block + at];
                       double by_x = 0, by_y = 0, by_weight = 0;
                       for (int n = 0; n < 4; ++n) {
                         if (p.pixel[n] < 0) continue;
                         const int64_t from = image * plane + p.pixel[n] * grid.channels + c;
                         double sum = 0;
                         for (int64_t i = 0; i < grid.channels / groups; ++i) {
                           sum += dy[i] * in[1][from + i];
                           to[0][from + i] += dy[i] * weight * p.share[n];
                         }
                         by_x += sum * p.by_x[n], by_y += sum * p.by_y[n], by_weight += sum * p.share[n];
                       }
                       slopes[at] = by_x * weight, slopes[block + at] = by_y * weight,
                       slopes[2 * block + at] = by_weight;
                     });
      }
    });
  };
  PlanDoubles(plan, {&args.grad, &args.x, &args.offsets}, {&args.grad_x, &args.grad_offsets},
              static_cast<uint64_t>(args.grad.tensor->count()) * 20, work);
}

}  // namespace belay::ops
