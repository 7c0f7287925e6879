#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "ops/detect/boxes.h"
#include "ops/packed_doubles.h"

namespace belay::ops {
namespace {

// A number with its slopes by the eight coordinates of two boxes.
struct Sloped {
  double value = 0;
  std::array<double, 8> slopes = {};

  Sloped() = default;
  Sloped(double number) : value(number) {}

  // f(value), where f has this slope.
  Sloped Through(double f, double slope) const {
    Sloped result(f);
    for (size_t i = 0; i < slopes.size(); ++i) result.slopes[i] = slopes[i] * slope;
    return result;
  }
};

Sloped Joined(const Sloped& a, double by_a, const Sloped& b, double by_b, double value) {
  Sloped result(value);
  for (size_t i = 0; i < a.slopes.size(); ++i) result.slopes[i] = a.slopes[i] * by_a + b.slopes[i] * by_b;
  return result;
}
Sloped operator+(const Sloped& a, const Sloped& b) { return Joined(a, 1, b, 1, a.value + b.value); }
Sloped operator-(const Sloped& a, const Sloped& b) { return Joined(a, 1, b, -1, a.value - b.value); }
Sloped operator*(const Sloped& a, const Sloped& b) {
  return Joined(a, b.value, b, a.value, a.value * b.value);
}
Sloped operator/(const Sloped& a, const Sloped& b) {
  const double quotient = a.value / b.value;
  return Joined(a, 1 / b.value, b, -quotient / b.value, quotient);
}

// Of two equal numbers each is half of the least and of the largest one, as with torch.
double ShareOf(bool first, bool equal) { return equal ? 0.5 : first ? 1 : 0; }
Sloped Least(const Sloped& a, const Sloped& b) {
  const double share = ShareOf(a.value < b.value, a.value == b.value);
  return Joined(a, share, b, 1 - share, std::min(a.value, b.value));
}
Sloped Most(const Sloped& a, const Sloped& b) {
  const double share = ShareOf(a.value > b.value, a.value == b.value);
  return Joined(a, share, b, 1 - share, std::max(a.value, b.value));
}
Sloped NotNegative(const Sloped& a) { return a.Through(std::max(a.value, 0.0), a.value >= 0 ? 1 : 0); }
Sloped Size(const Sloped& a) { return a.Through(std::fabs(a.value), a.value < 0 ? -1 : a.value > 0 ? 1 : 0); }
Sloped Angle(const Sloped& a) { return a.Through(std::atan(a.value), 1 / (1 + a.value * a.value)); }
double ValueOf(const Sloped& a) { return a.value; }

double Least(double a, double b) { return std::min(a, b); }
double Most(double a, double b) { return std::max(a, b); }
double NotNegative(double a) { return std::max(a, 0.0); }
double Size(double a) { return std::fabs(a); }
double Angle(double a) { return std::atan(a); }
double ValueOf(double a) { return a; }

template <class T>
struct Edges {
  T x1, y1, x2, y2;

  Edges(const T* box, bool centred) {
    if (!centred) {
      x1 = box[0], y1 = box[1], x2 = box[2], y2 = box[3];
      return;
    }
    const T half_width = box[2] / T(2), half_height = box[3] / T(2);
    x1 = box[0] - half_width, x2 = box[0] + half_width;
    y1 = box[1] - half_height, y2 = box[1] + half_height;
  }
};

template <class T>
T Squared(const T& x) {
  return x * x;
}

template <class T>
T CommonOf(const Edges<T>& a, const Edges<T>& b, double more) {
  const T width = Least(a.x2, b.x2) - Most(a.x1, b.x1), height = Least(a.y2, b.y2) - Most(a.y1, b.y1);
  return NotNegative(width + T(more)) * NotNegative(height + T(more));
}

template <class T>
T PlainOverlap(const OverlapRule& rule, const Edges<T>& a, const Edges<T>& b) {
  const T more(rule.more);
  const T common = CommonOf(a, b, rule.common_has_more ? rule.more : 0);
  const T area_a = (a.x2 - a.x1 + more) * (a.y2 - a.y1 + more),
          area_b = (b.x2 - b.x1 + more) * (b.y2 - b.y1 + more);
  return common / (rule.of_others ? area_b : area_a + area_b - common);
}

template <class T>
T OverlapLessGap(const Edges<T>& a, const Edges<T>& b) {
  constexpr double kLittle = 1e-16;
  const T common = CommonOf(a, b, 0);
  const T both = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - common + T(kLittle);
  const T around = Size(Most(a.x2, b.x2) - Least(a.x1, b.x1)) * Size(Most(a.y2, b.y2) - Least(a.y1, b.y1));
  return common / both - (around - both) / around;
}

// Less the distance of the centres and, unless `angles` is null, what it becomes.
template <class T>
T OverlapLessDistance(const Edges<T>& a, const Edges<T>& b, T* angles) {
  constexpr double kLittle = 1e-9;
  const T little(kLittle);
  const T wa = a.x2 - a.x1, ha = a.y2 - a.y1 + little, wb = b.x2 - b.x1, hb = b.y2 - b.y1 + little;
  const T common = CommonOf(a, b, 0);
  const T overlap = common / (wa * ha + wb * hb - common + little);
  const T diagonal =
      Squared(Most(a.x2, b.x2) - Least(a.x1, b.x1)) + Squared(Most(a.y2, b.y2) - Least(a.y1, b.y1)) + little;
  const T away = (Squared(b.x1 + b.x2 - a.x1 - a.x2) + Squared(b.y1 + b.y2 - a.y1 - a.y2)) / T(4);
  const T result = overlap - away / diagonal;
  if (angles == nullptr) return result;
  *angles = Angle(wb / hb) - Angle(wa / ha);
  const T apart = Squared(*angles) * T(4 / (std::numbers::pi * std::numbers::pi));
  // Its weight has no slope of its own.
  const double weight = ValueOf(apart) / (1 + kLittle - ValueOf(overlap) + ValueOf(apart));
  return result - apart * T(weight);
}

template <class T>
T OverlapOf(const OverlapRule& rule, const T* box, const T* other, T* angles) {
  const Edges<T> a(box, rule.centred), b(other, rule.centred);
  switch (rule.kind) {
    case OverlapKind::kIou:
      return PlainOverlap(rule, a, b);
    case OverlapKind::kGiou:
      return OverlapLessGap(a, b);
    case OverlapKind::kDiou:
      return OverlapLessDistance<T>(a, b, nullptr);
    case OverlapKind::kCiou:
      return OverlapLessDistance(a, b, angles);
  }
  return T();
}

struct Boxes {
  const double* numbers;
  int64_t step, apart;  // from a box to the next, and between its numbers

  void Take(int64_t i, double* box) const {
    for (int64_t k = 0; k < 4; ++k) box[k] = numbers[i * step + k * apart];
  }
};

}  // namespace

void PlanOverlaps(Plan& plan, const OverlapArgs& args) {
  const int dim = args.columns ? 1 : 0;
  const int64_t n = args.boxes.shape()[dim], m = args.others.shape()[dim], rows = args.each ? 1 : m;
  const bool columns = args.columns, outside = args.boxes_outside, each = args.each;
  std::vector<const Operand*> out{&args.out};
  if (args.angles.present()) out.push_back(&args.angles);
  const bool has_angles = args.angles.present();
  const auto work = [=, rule = args.rule](const double* const* in, double* const* to) {
    const Boxes boxes{in[0], columns ? 1 : 4, columns ? n : 1},
        others{in[1], columns ? 1 : 4, columns ? m : 1};
    ParallelFor(n, std::max<int64_t>(1, 256 / std::max<int64_t>(rows, 1)), [&](int64_t begin, int64_t end) {
      double box[4], other[4], angles = 0;
      for (int64_t i = begin; i < end; ++i) {
        boxes.Take(i, box);
        for (int64_t j = 0; j < rows; ++j) {
          others.Take(each ? i : j, other);
          const int64_t at = outside ? i * rows + j : j * n + i;
          to[0][at] = OverlapOf(rule, box, other, &angles);
          if (has_angles) to[1][at] = angles;
        }
      }
    });
  };
  PlanDoubles(plan, {&args.boxes, &args.others}, out, static_cast<uint64_t>(args.out.tensor->count()) * 20,
              work);
}

void PlanOverlapGradient(Plan& plan, const OverlapGradientArgs& args) {
  const int64_t n = args.boxes.shape()[1];
  const auto work = [n, rule = args.rule](const double* const* in, double* const* out) {
    ParallelFor(n, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::array<Sloped, 8> box;
        for (size_t k = 0; k < box.size(); ++k) {
          box[k] = Sloped(in[1 + k / 4][static_cast<int64_t>(k % 4) * n + i]);
          box[k].slopes[k] = 1;
        }
        Sloped angles;
        const Sloped overlap = OverlapOf(rule, box.data(), box.data() + 4, &angles);
        for (size_t k = 0; k < box.size(); ++k)
          out[k / 4][static_cast<int64_t>(k % 4) * n + i] = in[0][i] * overlap.slopes[k];
      }
    });
  };
  PlanDoubles(plan, {&args.grad, &args.boxes, &args.others}, {&args.grad_boxes, &args.grad_others},
              static_cast<uint64_t>(n) * 200, work);
}

}  // namespace belay::ops
