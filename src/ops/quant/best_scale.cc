#include "ops/quant/best_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "ops/packed_doubles.h"

namespace belay::ops {
namespace {

struct ScaleRange {
  double least, most;
};

struct TriedScale {
  double scale, offset;

  double LossOf(const double* data, int64_t count) const {
    constexpr double kLow = -128, kHigh = 127;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double rounded = std::clamp(std::nearbyint(data[i] / scale) + offset, kLow, kHigh);
      const double away = (rounded - offset) * scale - data[i];
      sum += away * away;
    }
    return sum;
  }
};

struct BestScaleWork {
  int64_t count, bins;
  double low_share, high_share, first, step;
  int64_t tries;
  bool with_offset;

  void operator()(const double* const* in, double* const* out) const {
    const ScaleRange range = RangeOf(in[3], in[1][0], in[2][0]);
    std::vector<double> losses(static_cast<size_t>(tries));
    ParallelFor(tries, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        losses[static_cast<size_t>(i)] = Try(range, i).LossOf(in[0], count);
    });
    const TriedScale best = Try(range, std::min_element(losses.begin(), losses.end()) - losses.begin());
    out[0][0] = best.scale, out[1][0] = best.offset;
  }

  // How many bins hold less than this share of the data, as a place between the ends.
  double EdgeOf(const double* counts, double share, double least, double most) const {
    const int64_t below = std::count_if(counts, counts + bins, [&](double sum) {
      return static_cast<float>(sum) / static_cast<float>(count) < static_cast<float>(share);
    });
    return static_cast<double>(below) / static_cast<double>(bins) * (most - least) + least;
  }

  ScaleRange RangeOf(const double* counts, double least, double most) const {
    const double high = EdgeOf(counts, high_share, least, most),
                 low = EdgeOf(counts, 1 - low_share, least, most);
    if (with_offset) return {std::min(low, 0.0), std::max(high, 0.0)};
    return {0, std::max(std::fabs(high), std::fabs(low))};
  }

  TriedScale Try(const ScaleRange& range, int64_t i) const {
    constexpr double kLeast = std::numeric_limits<float>::epsilon();
    const double most = range.most * (first + static_cast<double>(i) * step);
    if (!with_offset) return {most / 127, 0};
    double scale = (most - range.least) / 255;
    if (scale < kLeast) scale = 1;
    return {scale, -(std::nearbyint(range.least / scale) + 128)};
  }
};

}  // namespace

void PlanBestScale(Plan& plan, const BestScaleArgs& args) {
  const auto tries = static_cast<int64_t>(std::ceil((args.end - args.first) / args.step));
  const int64_t count = args.data.tensor->count();
  PlanDoubles(plan, {&args.data, &args.least, &args.most, &args.counts}, {&args.scale, &args.offset},
              static_cast<uint64_t>(count * tries) * 4,
              BestScaleWork{count, args.counts.tensor->count(), args.low_share, args.high_share, args.first,
                            args.step, tries, args.with_offset});
}

}  // namespace belay::ops
