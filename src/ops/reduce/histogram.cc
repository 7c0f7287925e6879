#include "ops/reduce/histogram.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct HistogramBody {
  int x, out;
  int64_t count, bins;
  double low, high;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const double*>(frame.at[x]);
    auto* to = reinterpret_cast<double*>(frame.at[out]);
    std::fill_n(to, bins, 0.0);
    double first = low, last = high;
    if (first == last && count > 0) {
      const auto [least, most] = std::minmax_element(from, from + count);
      first = *least, last = *most;
    }
    if (first == last) first -= 1, last += 1;
    if (!std::isfinite(last - first))
      Fail(tensor::kRuntimeFailure, "histogram-range", "bins from {} to {} are not finite", first, last);
    for (int64_t i = 0; i < count; ++i) {
      if (!(from[i] >= first && from[i] <= last)) continue;
      const auto bin = static_cast<int64_t>((from[i] - first) / (last - first) * static_cast<double>(bins));
      to[std::min(bin, bins - 1)] += 1;
    }
  }
};

struct BincountBody {
  int x, weights, out;  // weights: -1 where they are absent
  int64_t count, bins;
  bool all_count;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const int64_t*>(frame.at[x]);
    const auto* weight = weights < 0 ? nullptr : reinterpret_cast<const double*>(frame.at[weights]);
    auto* to = reinterpret_cast<double*>(frame.at[out]);
    std::fill_n(to, bins, 0.0);
    for (int64_t i = 0; i < count; ++i) {
      if (from[i] >= 0 && from[i] < bins) {
        to[from[i]] += weight == nullptr ? 1 : weight[i];
      } else if (all_count) {
        Fail(tensor::kRuntimeFailure, "bincount-range", "{} has no place among {} counts, which begin at 0",
             from[i], bins);
      }
    }
  }
};

}  // namespace

void PlanHistogram(Plan& plan, const Operand& x, double low, double high, const Operand& out) {
  plan.SetBody(HistogramBody{x.binding, out.binding, x.tensor->count(), out.tensor->count(), low, high});
}

void PlanBincount(Plan& plan, const Operand& x, const Operand& weights, const Operand& out, bool all_count) {
  plan.SetCost(100 + static_cast<uint64_t>(x.tensor->count()) * 2);
  plan.SetBody(BincountBody{x.binding, weights.present() ? weights.binding : -1, out.binding,
                            x.tensor->count(), out.tensor->count(), all_count});
}

}  // namespace belay::ops
