// The gradient of the distances between all rows of one matrix and those of another, by the first.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/linalg/linalg.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

double SignOf(double x) { return static_cast<double>(x > 0) - static_cast<double>(x < 0); }

// Of the norm of order p, which is `distance`, by one of the differences.
double Slope(float gap, double distance, double p) {
  if (p == 0) return 0;
  if (p == 1) return SignOf(gap);
  if (std::isinf(p)) return std::fabs(gap) >= distance ? SignOf(gap) : 0;
  if (distance == 0 || (gap == 0 && p < 1)) return 0;
  if (p == 2) return gap / distance;
  return SignOf(gap) * std::pow(std::fabs(gap) / distance, p - 1);
}

// How far it is, in elements, to the next batch, row, other row and element of a row.
struct Steps {
  int64_t batch, row, other, element;
};

struct Given {
  PackedOperand x;
  Steps steps;
};

struct DistanceGradientBody {
  enum { kG, kX1, kX2, kDistance, kGiven };

  Given given[kGiven];
  PackedOperand out;
  int64_t batches, rows, others, width;
  double p;

  void operator()(const Frame& frame) const {
    const float* in[kGiven];
    for (int k = 0; k < kGiven; ++k) in[k] = reinterpret_cast<const float*>(given[k].x.Loaded(frame));
    auto* to = reinterpret_cast<float*>(out.Result(frame));
    ParallelFor(batches * rows, 1 + 4096 / (others * width + 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * width; i < end * width; ++i) to[i] = Sum(in, i / width, i % width);
    });
    out.Store(frame);
  }

  float Sum(const float* const* in, int64_t row, int64_t element) const {
    const auto at = [&](int k, int64_t j) {
      const Steps& s = given[k].steps;
      return in[k][row / rows * s.batch + row % rows * s.row + j * s.other + element * s.element];
    };
    double sum = 0;
    for (int64_t j = 0; j < others; ++j) {
      const float gap = at(kX1, j) - at(kX2, j);
      sum += static_cast<double>(at(kG, j)) * Slope(gap, static_cast<double>(at(kDistance, j)), p);
    }
    return static_cast<float>(sum);
  }
};

}  // namespace

void PlanDistanceGradient(Plan& plan, const DistanceGradientArgs& args, const Operand& out) {
  const Shape& shape = args.x1.shape();
  const int64_t width = shape.back(0), others = shape.back(1);
  const int64_t rows = out.tensor->empty() ? 0 : out.tensor->count() / width;
  if (rows == 0) return;
  const auto whole = [&](const Operand& x) {
    return Given{{plan, x, DType::kF32, false, true}, {0, others * width, width, 1}};
  };
  plan.SetCost(100 + static_cast<uint64_t>(args.x1.tensor->count()) * 4);
  plan.SetBody(DistanceGradientBody{{whole(args.g), whole(args.x1), whole(args.x2), whole(args.distance)},
                                    {plan, out, DType::kF32, false, false},
                                    1,
                                    rows,
                                    others,
                                    width,
                                    args.p});
}

namespace kernels {

// -1 stands for the largest of the differences.
void CdistBackward(Plan& plan, DType, const Operand& grad, const Operand& x1, const Operand& x2,
                   const Operand& cdist, double p, const Operand& out) {
  if (!(p >= 0) && p != -1)
    Fail(tensor::kInvalidArgument, "op-norm-order", "p is {}; a norm has an order of 0 or more, or -1", p);
  const Shape a = x1.shape(), b = x2.shape();
  bool fits = a.rank() >= 2 && a.rank() == b.rank() && a.back(0) == b.back(0);
  for (int d = 0; d + 2 < a.rank() && fits; ++d) fits = a[d] == b[d];
  if (!fits) {
    Fail(tensor::kInvalidArgument, "op-distance-rows",
         "{} has shape {} and {} has {}; both have rows of one length, in the same batches", x1.name,
         a.ToString(), x2.name, b.ToString());
  }
  Shape pairs = a;
  pairs[a.rank() - 1] = b.back(1);
  for (const Operand* o : {&grad, &cdist}) CheckShape(*o, pairs);
  for (const Operand* o : {&x2, &grad, &cdist, &out}) CheckSameType(x1, *o);
  CheckShape(out, a);
  if (out.tensor->empty()) return;
  const int64_t width = a.back(0), rows = a.back(1), others = b.back(1);
  const auto given = [&](const Operand& x, Steps steps) {
    return Given{{plan, x, DType::kF32, false, true}, steps};
  };
  const Steps of_pair = {rows * others, others, 1, 0};
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * (4 + static_cast<uint64_t>(others) * 8));
  plan.SetBody(DistanceGradientBody{{given(grad, of_pair), given(x1, {rows * width, width, 0, 1}),
                                     given(x2, {others * width, 0, width, 1}), given(cdist, of_pair)},
                                    {plan, out, DType::kF32, false, false},
                                    out.tensor->count() / (rows * width),
                                    rows,
                                    others,
                                    width,
                                    p == -1 ? std::numeric_limits<double>::infinity() : p});
}

}  // namespace kernels
}  // namespace belay::ops
