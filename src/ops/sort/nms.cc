#include "ops/sort/nms.h"

#include <algorithm>

namespace belay::ops {
namespace {

struct Box {
  double y1, x1, y2, x2;
  double area = (y2 - y1) * (x2 - x1);
};

Box BoxAt(const double* p, bool centred) {
  if (centred) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

// Most boxes lie apart: that is one question.
[[gnu::always_inline]] inline bool Covers(const Box& a, const Box& b, double most) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1),
               width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if ((height > 0 ? width : height) <= 0 || a.area <= 0 || b.area <= 0) return most < 0;
  const double common = height * width;
  return common / (a.area + b.area - common) > most;
}

// By falling score, of equal ones the first: usually few are asked for, so a heap has less to do than
// sorting.
class Ranking {
 public:
  explicit Ranking(int64_t most) { heap_.reserve(static_cast<size_t>(most)); }
  void Add(double score, int64_t index) { heap_.push_back({score, index}); }
  void Begin() { std::make_heap(heap_.begin(), heap_.end(), Below); }
  bool empty() const { return heap_.empty(); }
  int64_t Next() {
    std::pop_heap(heap_.begin(), heap_.end(), Below);
    const int64_t index = heap_.back().index;
    heap_.pop_back();
    return index;
  }

 private:
  struct Scored {
    double score;
    int64_t index;
  };
  static bool Below(const Scored& a, const Scored& b) {
    return a.score < b.score || (a.score == b.score && a.index > b.index);
  }
  std::vector<Scored> heap_;
};

// Few of many boxes are looked at: those with the best scores, until enough are chosen.
std::vector<int64_t> ChooseOfClass(const double* boxes, const double* scores, int64_t n,
                                   const BoxChoice& choice) {
  Ranking ranking(n);
  for (int64_t i = 0; i < n; ++i) {
    if (!choice.has_least_score || scores[i] > choice.least_score) ranking.Add(scores[i], i);
  }
  ranking.Begin();
  std::vector<int64_t> chosen;
  std::vector<Box> kept;
  while (!ranking.empty() && static_cast<int64_t>(chosen.size()) < choice.most) {
    const int64_t i = ranking.Next();
    const Box box = BoxAt(boxes + i * 4, choice.centred);
    bool covered = false;
    for (size_t k = 0; k < kept.size() && !covered; ++k) covered = Covers(box, kept[k], choice.overlap);
    if (covered) continue;
    chosen.push_back(i), kept.push_back(box);
  }
  return chosen;
}

}  // namespace

std::vector<std::array<int64_t, 3>> ChooseBoxes(std::span<const double> boxes, std::span<const double> scores,
                                                int64_t batches, int64_t classes, int64_t n,
                                                const BoxChoice& choice) {
  std::vector<std::array<int64_t, 3>> result;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t c = 0; c < classes && n > 0; ++c) {
      const double *of_batch = &boxes[static_cast<size_t>(b * n * 4)],
                   *of_class = &scores[static_cast<size_t>((b * classes + c) * n)];
      for (int64_t i : ChooseOfClass(of_batch, of_class, n, choice)) result.push_back({b, c, i});
    }
  }
  return result;
}

}  // namespace belay::ops
