#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/detect/detect.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

// Boxes are data, so they may be anything: what lies beyond every image is as good as far beyond it.
int64_t Bounded(float place) {
  constexpr int64_t kFar = int64_t{1} << 31;
  return std::clamp(tensor::ToInteger(place), -kFar, kFar);
}

// Four pixels around a point and their weights.
struct Corners {
  int64_t at[4];
  float weight[4];
  bool inside;
};

Corners Around(float y, float x, int64_t height, int64_t width) {
  Corners c{};
  c.inside = y >= -1 && y <= static_cast<float>(height) && x >= -1 && x <= static_cast<float>(width);
  if (!c.inside) return c;
  y = std::max(y, 0.0f), x = std::max(x, 0.0f);
  auto low_y = static_cast<int64_t>(y), low_x = static_cast<int64_t>(x);
  int64_t high_y = low_y + 1, high_x = low_x + 1;
  if (low_y >= height - 1) high_y = low_y = height - 1, y = static_cast<float>(low_y);
  if (low_x >= width - 1) high_x = low_x = width - 1, x = static_cast<float>(low_x);
  const float ly = y - static_cast<float>(low_y), lx = x - static_cast<float>(low_x);
  const float hy = 1 - ly, hx = 1 - lx;
  c.at[0] = low_y * width + low_x, c.at[1] = low_y * width + high_x;
  c.at[2] = high_y * width + low_x, c.at[3] = high_y * width + high_x;
  c.weight[0] = hy * hx, c.weight[1] = hy * lx, c.weight[2] = ly * hx, c.weight[3] = ly * lx;
  return c;
}

struct RoiAlignBody {
  int x, rois, batches, out;
  int64_t images, channels, height, width, count, ph, pw, sampling;
  bool largest, half_pixel;
  float scale;

  void operator()(const Frame& frame) const {
    ParallelFor(count, std::max<int64_t>(1, 64 / channels), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) Roi(frame, r);
    });
  }

  void Roi(const Frame& frame, int64_t r) const {
    const float* roi = reinterpret_cast<const float*>(frame.at[rois]) + r * 4;
    const int64_t image =
        std::clamp<int64_t>(reinterpret_cast<const int64_t*>(frame.at[batches])[r], 0, images - 1);
    const float shift = half_pixel ? 0.5f : 0.0f;
    const float x0 = roi[0] * scale - shift, y0 = roi[1] * scale - shift;
    float w = roi[2] * scale - shift - x0, h = roi[3] * scale - shift - y0;
    if (!half_pixel) w = std::max(w, 1.0f), h = std::max(h, 1.0f);
    const float bin_h = h / static_cast<float>(ph), bin_w = w / static_cast<float>(pw);
    const int64_t grid_h = sampling > 0 ? sampling : Bounded(std::ceil(bin_h));
    const int64_t grid_w = sampling > 0 ? sampling : Bounded(std::ceil(bin_w));
    const float* from = reinterpret_cast<const float*>(frame.at[x]) + image * channels * height * width;
    float* to = reinterpret_cast<float*>(frame.at[out]) + r * channels * ph * pw;
    for (int64_t i = 0; i < ph; ++i) {
      for (int64_t j = 0; j < pw; ++j) {
        const float top = y0 + static_cast<float>(i) * bin_h, left = x0 + static_cast<float>(j) * bin_w;
        Bin(from, to + i * pw + j, {top, left, bin_h, bin_w, grid_h, grid_w});
      }
    }
  }

  struct Grid {
    float top, left, h, w;
    int64_t rows, columns;

    float y(int64_t row) const {
      return top + (static_cast<float>(row) + 0.5f) * h / static_cast<float>(rows);
    }
    float x(int64_t column) const {
      return left + (static_cast<float>(column) + 0.5f) * w / static_cast<float>(columns);
    }
  };

  void Bin(const float* from, float* to, const Grid& g) const {
    constexpr int64_t kMany = 4096;
    if (!largest && g.rows > 0 && g.columns > kMany / g.rows) return ManyMean(from, to, g);
    for (int64_t c = 0; c < channels; ++c) to[c * ph * pw] = 0;
    bool first = true;
    for (int64_t i = 0; i < g.rows; ++i) {
      for (int64_t j = 0; j < g.columns; ++j) {
        Sample(from, to, Around(g.y(i), g.x(j), height, width), first);
        first = false;
      }
    }
    if (largest) return;
    const auto samples = static_cast<float>(std::max<int64_t>(1, g.rows * g.columns));
    for (int64_t c = 0; c < channels; ++c) to[c * ph * pw] /= samples;
  }

  // The mean of very many samples, for which FLOAT would not do.
  void ManyMean(const float* from, float* to, const Grid& g) const {
    for (int64_t c = 0; c < channels; ++c, from += height * width) {
      double sum = 0;
      for (int64_t i = 0; i < g.rows; ++i) {
        for (int64_t j = 0; j < g.columns; ++j) {
          const Corners p = Around(g.y(i), g.x(j), height, width);
          for (int k = 0; p.inside && k < 4; ++k)
            sum += static_cast<double>(p.weight[k]) * static_cast<double>(from[p.at[k]]);
        }
      }
      to[c * ph * pw] =
          static_cast<float>(sum / (static_cast<double>(g.rows) * static_cast<double>(g.columns)));
    }
  }

  // The largest is taken of the weighted corners, as ONNX Runtime does.
  void Sample(const float* from, float* to, const Corners& p, bool first) const {
    for (int64_t c = 0; c < channels; ++c) {
      const float* plane = from + c * height * width;
      float& result = to[c * ph * pw];
      float v[4] = {};
      for (int k = 0; p.inside && k < 4; ++k) v[k] = p.weight[k] * plane[p.at[k]];
      if (!largest) {
        result += v[0] + v[1] + v[2] + v[3];
      } else {
        const float most = std::max(std::max(v[0], v[1]), std::max(v[2], v[3]));
        result = first ? most : std::max(result, most);
      }
    }
  }
};

struct RoiPoolBody {
  int x, rois, out;
  int64_t images, channels, height, width, count, ph, pw;
  float scale;

  void operator()(const Frame& frame) const {
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) Roi(frame, r);
    });
  }

  void Roi(const Frame& frame, int64_t r) const {
    const float* roi = reinterpret_cast<const float*>(frame.at[rois]) + r * 5;
    const int64_t image = std::clamp<int64_t>(Bounded(roi[0]), 0, images - 1);
    auto corner = [&](int k) { return Bounded(std::round(roi[k] * scale)); };
    const int64_t x0 = corner(1), y0 = corner(2);
    const int64_t w = std::max<int64_t>(corner(3) - x0 + 1, 1), h = std::max<int64_t>(corner(4) - y0 + 1, 1);
    const float bin_h = static_cast<float>(h) / static_cast<float>(ph),
                bin_w = static_cast<float>(w) / static_cast<float>(pw);
    const float* from = reinterpret_cast<const float*>(frame.at[x]) + image * channels * height * width;
    float* to = reinterpret_cast<float*>(frame.at[out]) + r * channels * ph * pw;
    auto bound = [](int64_t i, float bin, int64_t origin, int64_t limit, bool up) {
      const float edge = static_cast<float>(i) * bin;
      return std::clamp<int64_t>(Bounded(up ? std::ceil(edge) : std::floor(edge)) + origin, 0, limit);
    };
    for (int64_t i = 0; i < ph; ++i) {
      const int64_t top = bound(i, bin_h, y0, height, false), bottom = bound(i + 1, bin_h, y0, height, true);
      for (int64_t j = 0; j < pw; ++j) {
        const int64_t left = bound(j, bin_w, x0, width, false), right = bound(j + 1, bin_w, x0, width, true);
        for (int64_t c = 0; c < channels; ++c) {
          float most = bottom <= top || right <= left ? 0 : -INFINITY;
          for (int64_t y = top; y < bottom; ++y) {
            for (int64_t k = left; k < right; ++k) most = std::max(most, from[(c * height + y) * width + k]);
          }
          to[(c * ph + i) * pw + j] = most;
        }
      }
    }
  }
};

}  // namespace

void PlanRoiAlign(Plan& plan, const RoiArgs& args) {
  if (args.out.tensor->empty()) return;
  const Shape x = args.x.shape(), out = args.out.shape();
  plan.SetCost(500 + static_cast<uint64_t>(args.out.tensor->count()) * 20);
  plan.SetBody(RoiAlignBody{args.x.binding, args.rois.binding, args.batches.binding, args.out.binding, x[0],
                            x[1], x[2], x[3], out[0], out[2], out[3], args.sampling, args.largest,
                            args.half_pixel, static_cast<float>(args.scale)});
}

void PlanRoiPool(Plan& plan, const Operand& x, const Operand& rois, double scale, const Operand& out) {
  if (out.tensor->empty()) return;
  const Shape in = x.shape(), shape = out.shape();
  plan.SetCost(500 + static_cast<uint64_t>(out.tensor->count()) * 20);
  plan.SetBody(RoiPoolBody{x.binding, rois.binding, out.binding, in[0], in[1], in[2], in[3], shape[0],
                           shape[2], shape[3], static_cast<float>(scale)});
}

}  // namespace belay::ops
