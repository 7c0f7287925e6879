// Pooling of regions in which each bin has channels of its own.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/detect/detect.h"
#include "ops/packed_doubles.h"

namespace belay::ops {
namespace {

struct GroupPool {
  int64_t images, height, width;  // of x
  int64_t rois, channels, group;  // of the result, rois: of each batch
  double scale;

  GroupPool(const Shape& x, const Shape& boxes, const Shape& out, double scale_)
      : images(x[0]),
        height(x[2]),
        width(x[3]),
        rois(boxes[2]),
        channels(out[1]),
        group(out[2]),
        scale(scale_) {}

  struct Bin {
    int64_t image, top, bottom, left, right;

    bool empty() const { return bottom <= top || right <= left; }
    double pixels() const { return static_cast<double>(bottom - top) * static_cast<double>(right - left); }
  };

  // Regions reach from one whole pixel to the end of another, and bins to all pixels that they touch.
  Bin BinOf(const double* boxes, int64_t r, int64_t i, int64_t j) const {
    constexpr double kLeast = 0.1;
    const double* box = boxes + r / rois * 5 * rois + r % rois;
    const auto corner = [&](int64_t k, double past) { return (std::round(box[k * rois]) + past) * scale; };
    const double x = corner(1, 0), y = corner(2, 0);
    const double h = std::max(corner(4, 1) - y, kLeast) / static_cast<double>(group),
                 w = std::max(corner(3, 1) - x, kLeast) / static_cast<double>(group);
    const auto edge = [](double at, int64_t size) {
      return static_cast<int64_t>(at > 0 ? std::min(at, static_cast<double>(size)) : 0);
    };
    const auto row = static_cast<double>(i), column = static_cast<double>(j);
    const double image = box[0];
    return {edge(image, images - 1), edge(std::floor(row * h + y), height),
            edge(std::ceil((row + 1) * h + y), height), edge(std::floor(column * w + x), width),
            edge(std::ceil((column + 1) * w + x), width)};
  }

  // visit(region and bin of the result, plane of x, bin) for the channel of the result.
  template <class Visit>
  void ForChannel(const double* boxes, int64_t batches, int64_t c, const Visit& visit) const {
    const int64_t bins = group * group;
    for (int64_t r = 0; r < batches * rois; ++r) {
      for (int64_t k = 0; k < bins; ++k) {
        const Bin bin = BinOf(boxes, r, k / group, k % group);
        const int64_t plane = (bin.image * channels + c) * bins + k;
        visit((r * channels + c) * bins + k, plane * height * width, bin);
      }
    }
  }
};

}  // namespace

void PlanGroupPool(Plan& plan, const Operand& x, const Operand& rois, double scale, const Operand& out) {
  const GroupPool pool(x.shape(), rois.shape(), out.shape(), scale);
  const int64_t batches = rois.shape()[0];
  const auto work = [=](const double* const* in, double* const* to) {
    ParallelFor(pool.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        pool.ForChannel(in[1], batches, c, [&](int64_t at, int64_t plane, const GroupPool::Bin& bin) {
          double sum = 0;
          for (int64_t y = bin.top; y < bin.bottom; ++y) {
            for (int64_t k = bin.left; k < bin.right; ++k) sum += in[0][plane + y * pool.width + k];
          }
          to[0][at] = bin.empty() ? 0 : sum / bin.pixels();
        });
      }
    });
  };
  PlanDoubles(plan, {&x, &rois}, {&out}, static_cast<uint64_t>(out.tensor->count()) * 20, work);
}

void PlanGroupPoolGradient(Plan& plan, const Operand& grad, const Operand& rois, double scale,
                           const Operand& out) {
  const GroupPool pool(out.shape(), rois.shape(), grad.shape(), scale);
  const int64_t batches = rois.shape()[0], count = out.tensor->count();
  const auto work = [=](const double* const* in, double* const* to) {
    std::fill_n(to[0], count, 0.0);
    ParallelFor(pool.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        pool.ForChannel(in[1], batches, c, [&](int64_t at, int64_t plane, const GroupPool::Bin& bin) {
          for (int64_t y = bin.top; y < bin.bottom; ++y) {
            for (int64_t k = bin.left; k < bin.right; ++k)
              to[0][plane + y * pool.width + k] += in[0][at] / bin.pixels();
          }
        });
      }
    });
  };
  PlanDoubles(plan, {&grad, &rois}, {&out}, static_cast<uint64_t>(grad.tensor->count()) * 20, work);
}

}  // namespace belay::ops
