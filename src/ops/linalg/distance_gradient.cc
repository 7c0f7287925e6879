// The gradient of the distances between all rows of one matrix and those of another, by the first.
#include <cmath>

#include "base/parallel.h"
#include "ops/linalg/linalg.h"

namespace belay::ops {
namespace {

double SignOf(double x) { return static_cast<double>(x > 0) - static_cast<double>(x < 0); }

// Of the norm of order p, which is `distance`, by one of the differences.
double Slope(double gap, double distance, double p) {
  if (p == 0) return 0;
  if (p == 1) return SignOf(gap);
  if (std::isinf(p)) return std::fabs(gap) == distance ? SignOf(gap) : 0;
  if (distance == 0 || (gap == 0 && p < 1)) return 0;
  if (p == 2) return gap / distance;
  return SignOf(gap) * std::pow(std::fabs(gap) / distance, p - 1);
}

struct DistanceGradientBody {
  int g, x1, x2, distance, out;
  int64_t rows, others, width;
  double p;

  void operator()(const Frame& frame) const {
    const auto in = [&](int binding) { return reinterpret_cast<const float*>(frame.at[binding]); };
    const float *given = in(g), *a = in(x1), *b = in(x2), *norm = in(distance);
    auto* to = reinterpret_cast<float*>(frame.at[out]);
    ParallelFor(rows, 1 + 4096 / (others * width + 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * width; i < end * width; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < others; ++j) {
          const int64_t at = (i / width * others + j) * width + i % width;
          const double gap = static_cast<double>(a[at]) - static_cast<double>(b[at]);
          sum += static_cast<double>(given[at]) * Slope(gap, static_cast<double>(norm[at]), p);
        }
        to[i] = static_cast<float>(sum);
      }
    });
  }
};

}  // namespace

void PlanDistanceGradient(Plan& plan, const DistanceGradientArgs& args, const Operand& out) {
  const Shape& shape = args.x1.shape();
  const int64_t width = shape.back(0), others = shape.back(1);
  const int64_t rows = out.tensor->empty() ? 0 : out.tensor->count() / width;
  if (rows == 0) return;
  plan.SetCost(100 + static_cast<uint64_t>(args.x1.tensor->count()) * 4);
  plan.SetBody(DistanceGradientBody{args.g.binding, args.x1.binding, args.x2.binding, args.distance.binding,
                                    out.binding, rows, others, width, args.p});
}

}  // namespace belay::ops
