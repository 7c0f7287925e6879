#include <algorithm>

#include "ops/detect/boxes.h"
#include "ops/packed_doubles.h"

namespace belay::ops {
namespace {

// What both boxes have of what either has; they are two corners, the one with the smaller numbers first.
double ShareOfCorners(const double* a, const double* b) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (!(width > 0 && height > 0)) return 0;
  const double common = width * height;
  return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common);
}

struct ClassBox {
  const double* corners;
  double score;
  int64_t of_class;
};

bool IsBetter(const ClassBox& a, const ClassBox& b) { return a.score > b.score; }

struct ClassBoxesWork {
  int64_t batches, n, each, classes;
  ClassChoice choice;

  void operator()(const double* const* in, double* const* out) const {
    for (int64_t b = 0; b < batches; ++b) {
      std::vector<ClassBox> best;
      for (int64_t c = 0; c < classes; ++c) {
        const std::vector<ClassBox> of_class = OfClass(in, b, c);
        best.insert(best.end(), of_class.begin(), of_class.end());
      }
      std::stable_sort(best.begin(), best.end(), IsBetter);
      if (static_cast<int64_t>(best.size()) > choice.most) best.resize(static_cast<size_t>(choice.most));
      Write(best, b, out);
    }
  }

  std::vector<ClassBox> OfClass(const double* const* in, int64_t b, int64_t c) const {
    std::vector<ClassBox> boxes, kept;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = b * n + i;
      const double score = in[1][row * classes + c];
      if (score > choice.least_score)
        boxes.push_back({in[0] + (row * each + (each == 1 ? 0 : c)) * 4, score, c});
    }
    std::stable_sort(boxes.begin(), boxes.end(), IsBetter);
    for (const ClassBox& box : boxes) {
      if (static_cast<int64_t>(kept.size()) >= choice.most_of_class) break;
      const bool covered = std::any_of(kept.begin(), kept.end(), [&](const ClassBox& other) {
        return ShareOfCorners(box.corners, other.corners) > choice.overlap;
      });
      if (!covered) kept.push_back(box);
    }
    return kept;
  }

  void Write(const std::vector<ClassBox>& best, int64_t b, double* const* out) const {
    const int64_t most = choice.most;
    std::fill_n(out[0] + b * most * 4, most * 4, 0.0);
    std::fill_n(out[1] + b * most, most, 0.0);
    std::fill_n(out[2] + b * most, most, 0.0);
    out[3][b] = static_cast<double>(best.size());
    int64_t at = b * most;
    for (const ClassBox& box : best) {
      std::copy_n(box.corners, 4, out[0] + at * 4);
      out[1][at] = box.score, out[2][at] = static_cast<double>(box.of_class);
      ++at;
    }
  }
};

}  // namespace

void PlanBoxMask(Plan& plan, const Operand& scored, double overlap, const Operand& kept,
                 const Operand& places, const Operand& mask) {
  const int64_t n = scored.shape()[0], columns = scored.shape()[1];
  const auto work = [=](const double* const* in, double* const* out) {
    for (int64_t i = 0; i < n; ++i) {
      const double* box = in[0] + i * columns;
      std::copy_n(box, 5, out[0] + i * 5);
      out[1][i] = static_cast<double>(i);
      bool covered = false;
      for (int64_t j = 0; j < i && !covered; ++j)
        covered = out[2][j] != 0 && ShareOfCorners(box, in[0] + j * columns) > overlap;
      out[2][i] = covered ? 0 : 1;
    }
  };
  PlanDoubles(plan, {&scored}, {&kept, &places, &mask}, static_cast<uint64_t>(n) * 100, work);
}

void PlanClassBoxes(Plan& plan, const Operand& boxes, const Operand& scores, const ClassChoice& choice,
                    const std::array<Operand, 4>& out) {
  const Shape shape = boxes.shape(), scored = scores.shape();
  PlanDoubles(plan, {&boxes, &scores}, {&out[0], &out[1], &out[2], &out[3]},
              static_cast<uint64_t>(scores.tensor->count()) * 200,
              ClassBoxesWork{shape[0], shape[1], shape[2], scored[2], choice});
}

}  // namespace belay::ops
