#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/detect/detect.h"
#include "ops/packed_floats.h"
#include "ops/scratch.h"
#include "ops/sum_rows.h"
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

// Two pixels around a place along one dimension and their weights.
struct Pair {
  int64_t low, high;
  float to_low, to_high;
  bool inside;
};

Pair Between(float place, int64_t size) {
  Pair p{};
  p.inside = place >= -1 && place <= static_cast<float>(size);
  if (!p.inside) return p;
  place = std::max(place, 0.0f);
  p.low = static_cast<int64_t>(place), p.high = p.low + 1;
  if (p.low >= size - 1) p.high = p.low = size - 1, place = static_cast<float>(p.low);
  p.to_high = place - static_cast<float>(p.low), p.to_low = 1 - p.to_high;
  return p;
}

// Four pixels around a point and their weights.
struct Corners {
  int64_t at[4];
  float weight[4];
  bool inside;
};

Corners CornersOf(const Pair& y, const Pair& x, int64_t width) {
  if (!y.inside || !x.inside) return {};
  return {{y.low * width + x.low, y.low * width + x.high, y.high * width + x.low, y.high * width + x.high},
          {y.to_low * x.to_low, y.to_low * x.to_high, y.to_high * x.to_low, y.to_high * x.to_high},
          true};
}

Corners Around(float y, float x, int64_t height, int64_t width) {
  return CornersOf(Between(y, height), Between(x, width), width);
}

// The samples of a bin: rows and columns of them, from its corner on.
struct Grid {
  float top, left, h, w;
  int64_t rows, columns;

  // Where sample i lies of those that share a length.
  static float PlaceOf(float start, float length, int64_t i, int64_t samples) {
    return start + (static_cast<float>(i) + 0.5f) * length / static_cast<float>(samples);
  }
  float y(int64_t row) const { return PlaceOf(top, h, row, rows); }
  float x(int64_t column) const { return PlaceOf(left, w, column, columns); }
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

// What the samples of each bin along one dimension see: those of both dimensions are all products of the two.
class SeenAlong {
 public:
  SeenAlong(WeightedPlace* memory, int64_t* ends) : places_(memory), ends_(ends) {}

  // The samples of the next bin.
  void Add(float start, float length, int64_t samples, int64_t size) {
    const int64_t begin = count();
    const Span reach = InReach(start, length, samples, size);
    int64_t at = begin;
    for (int64_t i = reach.first; i < reach.end; ++i) {
      const Pair p = Between(Grid::PlaceOf(start, length, i, samples), size);
      if (!p.inside) continue;
      at = Put(begin, at, p.low, p.to_low);
      if (p.to_high != 0) at = Put(begin, at, p.high, p.to_high);
    }
    ends_[bins_++] = at;
  }

  const WeightedPlace* begin(int64_t bin) const { return places_ + (bin == 0 ? 0 : ends_[bin - 1]); }
  int64_t count(int64_t bin) const { return ends_[bin] - (bin == 0 ? 0 : ends_[bin - 1]); }
  int64_t count() const { return bins_ == 0 ? 0 : ends_[bins_ - 1]; }

  // All pixels that are seen lie in it.
  Span Reach() const {
    if (count() == 0) return {0, 0};
    const auto less = [](const WeightedPlace& a, const WeightedPlace& b) { return a.at < b.at; };
    const auto [least, most] = std::minmax_element(places_, places_ + count(), less);
    return {least->at, most->at + 1};
  }

  void MoveBy(int64_t places) {
    for (int64_t i = 0; i < count(); ++i) places_[i].at += places;
  }

 private:
  // Samples beside each other share pixels.
  int64_t Put(int64_t begin, int64_t end, int64_t at, float weight) {
    for (int64_t i = end - 1; i >= begin && i >= end - 2; --i) {
      if (places_[i].at != at) continue;
      places_[i].weight += weight;
      return end;
    }
    places_[end] = {at, weight};
    return end + 1;
  }

  WeightedPlace* places_;
  int64_t* ends_;
  int64_t bins_ = 0;
};

// The samples of a region one by one, bin after bin.
struct Tap {
  int32_t at[4];
  float weight[4];
};

// The largest of a bin is taken of the weighted corners, as ONNX Runtime does.
float LargestOf(const float* plane, const Tap* taps, int64_t count, float least) {
  float most = least;
  for (int64_t i = 0; i < count; ++i) {
    const Tap& t = taps[i];
    const float a = std::max(t.weight[0] * plane[t.at[0]], t.weight[1] * plane[t.at[1]]),
                b = std::max(t.weight[2] * plane[t.at[2]], t.weight[3] * plane[t.at[3]]);
    most = std::max(most, std::max(a, b));
  }
  return most;
}

struct RoiAlignBody {
  PackedFloats x, rois, out;
  PieceScratch<float> room;
  int batches;
  int64_t images = 0, channels = 0, height = 0, width = 0, count = 0, ph = 0, pw = 0, box_numbers = 0;
  bool largest = false;
  RoiRule rule = {};
  SumRowsLoop sum_rows = BestSumRows();
  // Of a region, and places along one dimension; those with more take each bin by itself.
  static constexpr int64_t kMostBins = 256, kMostTaps = 1024, kMostPlaces = 512;

  void operator()(const Frame& frame) const {
    const float *planes = x.Load(frame), *boxes = rois.Load(frame);
    float* to = out.Begin(frame);
    room.For(frame, [&](int64_t begin, int64_t end, float* memory) {
      for (int64_t r = begin; r < end; ++r) {
        const Region region = RegionAt(frame, boxes, r);
        float* target = to + r * channels * ph * pw;
        if (!largest && MeansFit(region)) {
          Means(planes, region, target, memory);
        } else if (largest && TapsFit(region)) {
          Largest(planes, region, target, reinterpret_cast<Tap*>(memory));
        } else {
          Roi(planes, region, target);
        }
      }
    });
    out.Finish(frame);
  }

  // Floats of the places along both dimensions and a row, or of the taps.
  static constexpr int64_t RoomFloats(int64_t width) {
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    return std::max<int64_t>(2 * kMostPlaces * static_cast<int64_t>(sizeof(WeightedPlace)) / kFloat + width,
                             kMostTaps * static_cast<int64_t>(sizeof(Tap)) / kFloat);
  }

  bool MeansFit(const Region& region) const {
    constexpr int64_t kMany = 4096;  // samples of a bin, for which FLOAT would not do
    return ph <= kMostBins && pw <= kMostBins && region.rows > 0 && region.columns > 0 &&
           region.rows <= kMostPlaces / 2 / ph && region.columns <= kMostPlaces / 2 / pw &&
           region.rows * region.columns <= kMany;
  }

  bool TapsFit(const Region& region) const {
    const int64_t most = kMostTaps / std::max<int64_t>(ph * pw, 1);
    return ph * pw <= kMostBins && region.rows > 0 && region.columns > 0 && region.rows <= most &&
           region.columns <= most / region.rows && height * width <= std::numeric_limits<int32_t>::max();
  }

  // First along the columns, then along the rows: what the samples see is found once for all channels.
  void Means(const float* planes, const Region& region, float* to, float* memory) const {
    int64_t row_ends[kMostBins], column_ends[kMostBins];
    auto* places = reinterpret_cast<WeightedPlace*>(memory);
    SeenAlong rows(places, row_ends), columns(places + kMostPlaces, column_ends);
    for (int64_t i = 0; i < ph; ++i) rows.Add(region.Bin(i, 0).top, region.bin_h, region.rows, height);
    for (int64_t j = 0; j < pw; ++j) columns.Add(region.Bin(0, j).left, region.bin_w, region.columns, width);
    const Span reach = columns.Reach();
    columns.MoveBy(-reach.first);
    auto* line = reinterpret_cast<float*>(places + 2 * kMostPlaces);
    const float* plane = planes + region.image * channels * height * width + reach.first;
    const auto samples = static_cast<float>(region.rows * region.columns);
    for (int64_t c = 0; c < channels; ++c, plane += height * width) {
      for (int64_t i = 0; i < ph; ++i) {
        sum_rows(line, plane, width, rows.begin(i), rows.count(i), reach.end - reach.first);
        for (int64_t j = 0; j < pw; ++j) {
          const WeightedPlace* at = columns.begin(j);
          float sum = 0;
          for (int64_t k = columns.count(j); k > 0; --k, ++at) sum += at->weight * line[at->at];
          *to++ = sum / samples;
        }
      }
    }
  }

  // The place for the next tap. A sample beyond the plane is none, but a zero, which counts.
  Tap* Put(Tap* tap, const Pair& y, const Pair& x, float& least) const {
    if (!y.inside || !x.inside) {
      least = 0;
      return tap;
    }
    const auto at = [](int64_t place) { return static_cast<int32_t>(place); };
    tap->at[0] = at(y.low * width + x.low), tap->at[1] = at(y.low * width + x.high);
    tap->at[2] = at(y.high * width + x.low), tap->at[3] = at(y.high * width + x.high);
    tap->weight[0] = y.to_low * x.to_low, tap->weight[1] = y.to_low * x.to_high;
    tap->weight[2] = y.to_high * x.to_low, tap->weight[3] = y.to_high * x.to_high;
    return tap + 1;
  }

  void Largest(const float* planes, const Region& region, float* to, Tap* taps) const {
    int64_t ends[kMostBins];
    float least[kMostBins];
    Pair down[kMostTaps], across[kMostTaps];  // of all bins along a dimension
    for (int64_t i = 0; i < ph * region.rows; ++i)
      down[i] = Between(region.Bin(i / region.rows, 0).y(i % region.rows), height);
    for (int64_t j = 0; j < pw * region.columns; ++j)
      across[j] = Between(region.Bin(0, j / region.columns).x(j % region.columns), width);
    Tap* tap = taps;
    for (int64_t bin = 0; bin < ph * pw; ++bin) {
      const Pair *y = down + bin / pw * region.rows, *first = across + bin % pw * region.columns;
      least[bin] = -INFINITY;
      for (int64_t k = 0; k < region.rows; ++k, ++y) {
        for (int64_t l = 0; l < region.columns; ++l) tap = Put(tap, *y, first[l], least[bin]);
      }
      ends[bin] = tap - taps;
    }
    const float* plane = planes + region.image * channels * height * width;
    for (int64_t c = 0; c < channels; ++c, plane += height * width) {
      for (int64_t bin = 0, first = 0; bin < ph * pw; first = ends[bin++])
        *to++ = LargestOf(plane, taps + first, ends[bin] - first, least[bin]);
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
                    .room = {},
                    .batches = args.batches.binding};
  body.images = x[0], body.channels = x[1], body.height = x[2], body.width = x[3];
  body.count = out[0], body.ph = out[2], body.pw = out[3], body.box_numbers = args.rois.shape()[1];
  body.largest = args.largest, body.rule = args.rule;
  body.room = {plan, body.count, std::max<int64_t>(1, 64 / body.channels),
               RoiAlignBody::RoomFloats(body.width)};
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
