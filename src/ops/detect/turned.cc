// Boxes that are turned.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/parallel.h"
#include "ops/detect/boxes.h"
#include "ops/packed_doubles.h"

namespace belay::ops {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

struct PlanePoint {
  double x, y;
};

struct TurnedBox {
  PlanePoint corners[4];
  double area;

  // box: centre, width, height and angle; or corners and angle
  TurnedBox(const double* box, bool of_corners, bool other_way) {
    const double width = of_corners ? box[2] - box[0] : box[2],
                 height = of_corners ? box[3] - box[1] : box[3];
    const double x = of_corners ? (box[0] + box[2]) / 2 : box[0],
                 y = of_corners ? (box[1] + box[3]) / 2 : box[1];
    const double angle = (other_way ? -box[4] : box[4]) * kDegree;
    const double c = std::cos(angle) / 2, s = std::sin(angle) / 2;
    area = width * height;
    constexpr PlanePoint kUnit[4] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int i = 0; i < 4; ++i) {
      corners[i] = {x + c * kUnit[i].x * width - s * kUnit[i].y * height,
                    y + s * kUnit[i].x * width + c * kUnit[i].y * height};
    }
  }
};

// A polygon that is cut along lines. Each cut leaves at most two corners of one.
class CutPolygon {
 public:
  explicit CutPolygon(const TurnedBox& box) : count_(4) { std::copy_n(box.corners, 4, corners_.begin()); }

  // Keeps what is on the left of the line from a to b.
  void Cut(const PlanePoint& a, const PlanePoint& b) {
    const auto side = [&](const PlanePoint& p) {
      return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
    };
    std::array<PlanePoint, kMost> kept;
    size_t count = 0;
    for (size_t i = 0; i < count_; ++i) {
      const PlanePoint &p = corners_[i], &q = corners_[(i + 1) % count_];
      const double of_p = side(p), of_q = side(q);
      if (of_p >= 0) kept[count++] = p;
      if ((of_p >= 0) == (of_q >= 0)) continue;
      const double share = of_p / (of_p - of_q);
      kept[count++] = {p.x + share * (q.x - p.x), p.y + share * (q.y - p.y)};
    }
    corners_ = kept, count_ = count;
  }

  double Area() const {
    double sum = 0;
    for (size_t i = 0; i < count_; ++i) {
      const PlanePoint &p = corners_[i], &q = corners_[(i + 1) % count_];
      sum += p.x * q.y - q.x * p.y;
    }
    return std::fabs(sum) / 2;
  }

 private:
  static constexpr size_t kMost = 64;  // after four cuts
  std::array<PlanePoint, kMost> corners_;
  size_t count_;
};

double CommonArea(TurnedBox a, TurnedBox b) {
  constexpr double kNone = 1e-14;
  if (!(a.area >= kNone && b.area >= kNone)) return 0;
  // Near the origin, where differences keep their digits.
  const PlanePoint origin = a.corners[0];
  for (TurnedBox* box : {&a, &b}) {
    for (PlanePoint& corner : box->corners) corner.x -= origin.x, corner.y -= origin.y;
  }
  CutPolygon polygon(a);
  for (int i = 0; i < 4; ++i) polygon.Cut(b.corners[i], b.corners[(i + 1) % 4]);
  return polygon.Area();
}

double ShareOfBoth(const TurnedBox& a, const TurnedBox& b) {
  const double common = CommonArea(a, b);
  return common == 0 ? 0 : common / (a.area + b.area - common);
}

// numbers [batch, 5, n]
void TakeTurned(const double* numbers, int64_t batch, int64_t n, int64_t i, double* box) {
  for (int64_t k = 0; k < 5; ++k) box[k] = numbers[(batch * 5 + k) * n + i];
}

// make(box, other, result) for each of the boxes [batch, 5, n]
template <class Make>
void PlanEachTurned(Plan& plan, const Operand& boxes, const Operand& others, const Operand& out,
                    const Make& make) {
  const int64_t batches = boxes.shape()[0], n = boxes.shape()[2];
  PlanDoubles(plan, {&boxes, &others}, {&out}, static_cast<uint64_t>(batches * n) * 100,
              [=](const double* const* in, double* const* to) {
                double box[5], other[5], result[5];
                for (int64_t b = 0; b < batches; ++b) {
                  for (int64_t i = 0; i < n; ++i) {
                    TakeTurned(in[0], b, n, i, box), TakeTurned(in[1], b, n, i, other);
                    make(box, other, result);
                    for (int64_t k = 0; k < 5; ++k) to[0][(b * 5 + k) * n + i] = result[k];
                  }
                }
              });
}

}  // namespace

void PlanTurnedOverlaps(Plan& plan, const Operand& boxes, const Operand& others, const TurnedRule& rule,
                        const Operand& out) {
  const int64_t n = boxes.shape()[2], m = others.shape()[2], rows = boxes.shape()[0] * n;
  const auto work = [=](const double* const* in, double* const* to) {
    ParallelFor(rows, std::max<int64_t>(1, 64 / std::max<int64_t>(m, 1)), [&](int64_t begin, int64_t end) {
      double box[5], other[5];
      for (int64_t row = begin; row < end; ++row) {
        TakeTurned(in[0], row / n, n, row % n, box);
        const TurnedBox a(box, rule.corners, false);
        for (int64_t j = 0; j < m; ++j) {
          TakeTurned(in[1], row / n, m, j, other);
          const TurnedBox b(other, rule.corners, false);
          to[0][row * m + j] = rule.shares ? ShareOfBoth(a, b) : CommonArea(a, b);
        }
      }
    });
  };
  PlanDoubles(plan, {&boxes, &others}, {&out}, static_cast<uint64_t>(out.tensor->count()) * 300, work);
}

void PlanTurnedEncode(Plan& plan, const Operand& anchors, const Operand& truths, const Operand& out) {
  PlanEachTurned(plan, anchors, truths, out, [](const double* box, const double* truth, double* result) {
    const double width = box[2] - box[0], height = box[3] - box[1];
    result[0] = (truth[0] + truth[2] - box[0] - box[2]) / 2 / width;
    result[1] = (truth[1] + truth[3] - box[1] - box[3]) / 2 / height;
    result[2] = std::log((truth[2] - truth[0]) / width);
    result[3] = std::log((truth[3] - truth[1]) / height);
    result[4] = std::tan(truth[4] * kDegree) - std::tan(box[4] * kDegree);
  });
}

void PlanTurnedDecode(Plan& plan, const Operand& anchors, const Operand& deltas, const Operand& out) {
  PlanEachTurned(plan, anchors, deltas, out, [](const double* box, const double* delta, double* result) {
    const double width = box[2] - box[0], height = box[3] - box[1];
    const double x = (box[0] + box[2]) / 2 + delta[0] * width, y = (box[1] + box[3]) / 2 + delta[1] * height;
    const double half_width = width * std::exp(delta[2]) / 2, half_height = height * std::exp(delta[3]) / 2;
    result[0] = x - half_width, result[1] = y - half_height;
    result[2] = x + half_width, result[3] = y + half_height;
    result[4] = std::atan(std::tan(box[4] * kDegree) + delta[4]) / kDegree;
  });
}

std::vector<int64_t> ChooseTurned(const std::vector<double>& boxes, const std::vector<double>& scores,
                                  const TurnedChoice& choice) {
  std::vector<int64_t> order(scores.size()), chosen;
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](int64_t i) { return scores[static_cast<size_t>(i)]; };
  std::erase_if(order, [&](int64_t i) { return !(score(i) > choice.least_score); });
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) > score(b); });
  std::vector<TurnedBox> kept;
  for (const int64_t i : order) {
    if (choice.most >= 0 && static_cast<int64_t>(chosen.size()) >= choice.most) break;
    const TurnedBox box(&boxes[static_cast<size_t>(i) * 5], choice.corners, choice.corners);
    if (std::any_of(kept.begin(), kept.end(),
                    [&](const TurnedBox& other) { return ShareOfBoth(box, other) > choice.overlap; }))
      continue;
    kept.push_back(box);
    chosen.push_back(i);
  }
  return chosen;
}

}  // namespace belay::ops
