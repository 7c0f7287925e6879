#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/detect/detect.h"
#include "ops/packed_floats.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

constexpr int64_t kMostSamples = 1 << 12;

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

// The samples of a bin: rows and columns of them, from its corner on.
struct Grid {
  float top, left, h, w;
  int64_t rows, columns;

  float y(int64_t row) const { return top + (static_cast<float>(row) + 0.5f) * h / static_cast<float>(rows); }
  float x(int64_t column) const {
    return left + (static_cast<float>(column) + 0.5f) * w / static_cast<float>(columns);
  }
  int64_t count() const { return std::max<int64_t>(rows, 0) * std::max<int64_t>(columns, 0); }
};

// Those samples along one side that may lie in a plane of `size` pixels, so that regions far beyond it take
// no time.
struct Span {
  int64_t first, end;
};
Span InReach(float start, float length, int64_t samples, int64_t size) {
  constexpr double kWide = 2;  // pixels beyond which roundings do not reach
  if (samples <= 0 || !std::isfinite(start) || !std::isfinite(length)) return {0, 0};
  const double step = static_cast<double>(length) / static_cast<double>(samples);
  if (std::fabs(step) * static_cast<double>(samples) < 1e-30) return {0, samples};
  const double a = (-kWide - static_cast<double>(start)) / step,
               b = (static_cast<double>(size) + kWide - static_cast<double>(start)) / step;
  const auto most = static_cast<double>(samples);
  const auto place = [&](double x) { return static_cast<int64_t>(std::clamp(std::floor(x), 0.0, most)); };
  return {place(std::min(a, b) - 1), std::min(samples, place(std::max(a, b) + 2))};
}

// A region with its bins.
struct Region {
  int64_t image;
  float top, left, bin_h, bin_w;
  int64_t rows, columns;

  // box: the corners
  Region(const RoiRule& rule, const float* box, int64_t image_, int64_t ph, int64_t pw) : image(image_) {
    const auto scale = static_cast<float>(rule.scale), shift = static_cast<float>(rule.shift),
               past = static_cast<float>(rule.past);
    left = box[0] * scale - shift, top = box[1] * scale - shift;
    float w = (box[2] + past) * scale - shift - left, h = (box[3] + past) * scale - shift - top;
    if (rule.at_least_one) w = std::max(w, 1.0f), h = std::max(h, 1.0f);
    bin_h = h / static_cast<float>(ph), bin_w = w / static_cast<float>(pw);
    rows = rule.sampling > 0 ? rule.sampling : Bounded(std::ceil(bin_h));
    columns = rule.sampling > 0 ? rule.sampling : Bounded(std::ceil(bin_w));
  }

  Grid Bin(int64_t i, int64_t j) const {
    return {top + static_cast<float>(i) * bin_h,
            left + static_cast<float>(j) * bin_w,
            bin_h,
            bin_w,
            rows,
            columns};
  }
};

// use(corners) for each sample of a bin that lies in a plane.
template <class Use>
void ForSamplesInside(const Grid& g, int64_t height, int64_t width, const Use& use) {
  const Span rows = InReach(g.top, g.h, g.rows, height), columns = InReach(g.left, g.w, g.columns, width);
  for (int64_t i = rows.first; i < rows.end; ++i) {
    for (int64_t j = columns.first; j < columns.end; ++j) {
      if (const Corners p = Around(g.y(i), g.x(j), height, width); p.inside) use(p);
    }
  }
}

int64_t ImageOf(float number, int64_t images) { return std::clamp<int64_t>(Bounded(number), 0, images - 1); }

// The samples of a region that lie in its image, bin after bin, for all channels.
class RegionTaps {
 public:
  struct Tap {
    int32_t at[4];
    float weight[4];
  };
  // Of a region; those with more take each bin by itself.
  static constexpr int64_t kMost = 1024;

  explicit RegionTaps(Tap* memory) : taps_(memory) {}

  void Add(const Corners& c) {
    Tap& tap = taps_[count_++];
    for (int k = 0; k < 4; ++k) tap.at[k] = static_cast<int32_t>(c.at[k]), tap.weight[k] = c.weight[k];
  }
  int64_t count() const { return count_; }

  float Sum(const float* plane, int64_t begin, int64_t end) const {
    float sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const Tap& t = taps_[i];
      sum += t.weight[0] * plane[t.at[0]] + t.weight[1] * plane[t.at[1]] + t.weight[2] * plane[t.at[2]] +
             t.weight[3] * plane[t.at[3]];
    }
    return sum;
  }

 private:
  Tap* taps_;
  int64_t count_ = 0;
};

struct RoiAlignBody {
  PackedFloats x, rois, out;
  PieceScratch<RegionTaps::Tap> taps;
  int batches;
  int64_t images = 0, channels = 0, height = 0, width = 0, count = 0, ph = 0, pw = 0, box_numbers = 0;
  bool largest = false;
  RoiRule rule = {};
  static constexpr int64_t kMostBins = 256;

  void operator()(const Frame& frame) const {
    const float *planes = x.Load(frame), *boxes = rois.Load(frame);
    float* to = out.Begin(frame);
    taps.For(frame, [&](int64_t begin, int64_t end, RegionTaps::Tap* memory) {
      for (int64_t r = begin; r < end; ++r) {
        const Region region = RegionAt(frame, boxes, r);
        (IsSmall(region) ? Means(planes, region, to + r * channels * ph * pw, RegionTaps(memory))
                         : Roi(planes, region, to + r * channels * ph * pw));
      }
    });
    out.Finish(frame);
  }

  // All its samples have room, and their places as well.
  bool IsSmall(const Region& region) const {
    const int64_t most = RegionTaps::kMost / std::max<int64_t>(ph * pw, 1);
    return !largest && ph * pw <= kMostBins && region.rows > 0 && region.columns > 0 && region.rows <= most &&
           region.columns <= most / region.rows && height * width <= std::numeric_limits<int32_t>::max();
  }

  // Where the samples are is found once for all channels.
  void Means(const float* planes, const Region& region, float* to, RegionTaps found) const {
    int64_t ends[kMostBins];
    for (int64_t bin = 0; bin < ph * pw; ++bin) {
      ForSamplesInside(region.Bin(bin / pw, bin % pw), height, width,
                       [&](const Corners& p) { found.Add(p); });
      ends[bin] = found.count();
    }
    const float* plane = planes + region.image * channels * height * width;
    const auto samples = static_cast<float>(region.rows * region.columns);
    for (int64_t c = 0; c < channels; ++c, plane += height * width) {
      for (int64_t bin = 0, first = 0; bin < ph * pw; first = ends[bin++])
        *to++ = found.Sum(plane, first, ends[bin]) / samples;
    }
  }

  Region RegionAt(const Frame& frame, const float* boxes, int64_t r) const {
    const float* box = boxes + r * box_numbers;
    if (batches < 0) return {rule, box + 1, ImageOf(box[0], images), ph, pw};
    const int64_t image = reinterpret_cast<const int64_t*>(frame.at[batches])[r];
    return {rule, box, std::clamp<int64_t>(image, 0, images - 1), ph, pw};
  }

  void Roi(const float* planes, const Region& region, float* to) const {
    const float* from = planes + region.image * channels * height * width;
    for (int64_t i = 0; i < ph; ++i) {
      for (int64_t j = 0; j < pw; ++j) Bin(from, to + i * pw + j, region.Bin(i, j));
    }
  }

  void Bin(const float* from, float* to, const Grid& g) const {
    constexpr int64_t kMany = 4096;
    if (!largest && g.rows > 0 && g.columns > kMany / g.rows) return ManyMean(from, to, g);
    for (int64_t c = 0; c < channels; ++c) to[c * ph * pw] = 0;
    bool first = true;
    const Span rows = Samples(g.top, g.h, g.rows, height), columns = Samples(g.left, g.w, g.columns, width);
    for (int64_t i = rows.first; i < rows.end; ++i) {
      for (int64_t j = columns.first; j < columns.end; ++j) {
        Sample(from, to, Around(g.y(i), g.x(j), height, width), first);
        first = false;
      }
    }
    if (largest) return;
    const auto samples = static_cast<float>(std::max<int64_t>(1, g.count()));
    for (int64_t c = 0; c < channels; ++c) to[c * ph * pw] /= samples;
  }

  // Those beyond the plane are zeros, which count where the largest is wanted.
  Span Samples(float start, float length, int64_t samples, int64_t size) const {
    return largest ? Span{0, samples} : InReach(start, length, samples, size);
  }

  // The mean of very many samples, for which FLOAT would not do.
  void ManyMean(const float* from, float* to, const Grid& g) const {
    for (int64_t c = 0; c < channels; ++c, from += height * width) {
      double sum = 0;
      ForSamplesInside(g, height, width, [&](const Corners& p) {
        for (int k = 0; k < 4; ++k)
          sum += static_cast<double>(p.weight[k]) * static_cast<double>(from[p.at[k]]);
      });
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

// Channels apart from each other: what a pixel gets is added up in the order of the regions.
struct RoiGradientBody {
  PackedFloats grad, rois, out;
  int64_t images = 0, channels = 0, height = 0, width = 0, count = 0, ph = 0, pw = 0;
  RoiRule rule = {};

  void operator()(const Frame& frame) const {
    const float *from = grad.Load(frame), *boxes = rois.Load(frame);
    float* to = out.Begin(frame);
    ParallelFor(channels, 1, [&](int64_t begin, int64_t end) {
      const int64_t plane = height * width;
      for (int64_t image = 0; image < images; ++image)
        std::fill_n(to + (image * channels + begin) * plane, (end - begin) * plane, 0.0f);
      for (int64_t r = 0; r < count; ++r) {
        const Region region(rule, boxes + r * 5 + 1, ImageOf(boxes[r * 5], images), ph, pw);
        for (int64_t i = 0; i < ph * pw; ++i) {
          Bin(from + r * channels * ph * pw + i, to + region.image * channels * plane,
              region.Bin(i / pw, i % pw), begin, end);
        }
      }
    });
    out.Finish(frame);
  }

  void Bin(const float* from, float* to, const Grid& g, int64_t begin, int64_t end) const {
    const auto samples = static_cast<float>(std::max<int64_t>(1, g.count()));
    ForSamplesInside(g, height, width, [&](const Corners& p) {
      for (int64_t c = begin; c < end; ++c) {
        const float share = from[c * ph * pw] / samples;
        for (int k = 0; k < 4; ++k) to[c * height * width + p.at[k]] += p.weight[k] * share;
      }
    });
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

RoiRule RoiRuleOf(int64_t end_mode, double scale, int64_t sampling) {
  constexpr int64_t kLegacy = 0, kFurther = 1, kHalfPixel = 3;
  if (end_mode != kLegacy && end_mode != kFurther && end_mode != kHalfPixel) {
    Fail(tensor::kInvalidArgument, "roi-end-mode", "the end mode of regions is {}; it is 0, 1 or 3",
         end_mode);
  }
  if (sampling < 0 || sampling > kMostSamples) {
    Fail(tensor::kInvalidArgument, "roi-samples", "a bin has {} samples along a side; it has 0 to {}",
         sampling, kMostSamples);
  }
  return {.scale = scale,
          .shift = end_mode == kHalfPixel ? 0.5 : 0,
          .past = end_mode == kFurther ? 1.0 : 0,
          .at_least_one = end_mode == kLegacy,
          .sampling = sampling};
}

void PlanRoiAlign(Plan& plan, const RoiArgs& args) {
  if (args.out.tensor->empty()) return;
  const Shape x = args.x.shape(), out = args.out.shape();
  if (args.x.tensor->empty()) {
    Fail(tensor::kInvalidArgument, "roi-no-image", "{} has shape {}; regions need an image to lie in",
         args.x.name, x.ToString());
  }
  plan.SetCost(500 + static_cast<uint64_t>(args.out.tensor->count()) * 20);
  RoiAlignBody body{.x = {args.x, Flow::kIn, plan},
                    .rois = {args.rois, Flow::kIn, plan},
                    .out = {args.out, Flow::kOut, plan},
                    .taps = {},
                    .batches = args.batches.binding};
  body.images = x[0], body.channels = x[1], body.height = x[2], body.width = x[3];
  body.count = out[0], body.ph = out[2], body.pw = out[3], body.box_numbers = args.rois.shape()[1];
  body.largest = args.largest, body.rule = args.rule;
  body.taps = {plan, body.count, std::max<int64_t>(1, 64 / body.channels), RegionTaps::kMost};
  plan.SetBody(body);
}

void PlanRoiAlignGradient(Plan& plan, const Operand& grad, const Operand& rois, const RoiRule& rule,
                          const Operand& out) {
  if (out.tensor->empty()) return;
  const Shape x = out.shape(), from = grad.shape();
  plan.SetCost(500 + static_cast<uint64_t>(grad.tensor->count()) * 40);
  RoiGradientBody body{
      .grad = {grad, Flow::kIn, plan}, .rois = {rois, Flow::kIn, plan}, .out = {out, Flow::kOut, plan}};
  body.images = x[0], body.channels = x[1], body.height = x[2], body.width = x[3];
  body.count = from[0], body.ph = from[2], body.pw = from[3], body.rule = rule;
  plan.SetBody(body);
}

void PlanRoiPool(Plan& plan, const Operand& x, const Operand& rois, double scale, const Operand& out) {
  if (out.tensor->empty()) return;
  const Shape in = x.shape(), shape = out.shape();
  plan.SetCost(500 + static_cast<uint64_t>(out.tensor->count()) * 20);
  plan.SetBody(RoiPoolBody{x.binding, rois.binding, out.binding, in[0], in[1], in[2], in[3], shape[0],
                           shape[2], shape[3], static_cast<float>(scale)});
}

}  // namespace belay::ops
