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

double Overlap(const Box& a, const Box& b) {
  double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1),
         width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area <= 0 || b.area <= 0) return 0;
  double common = height * width;
  return common / (a.area + b.area - common);
}

// By falling score, of equal ones the first: usually few are asked for, so a heap has less to do than
// sorting.
class Ranking {
 public:
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

std::vector<int64_t> ChooseOfClass(const std::vector<Box>& boxes, const double* scores,
                                   const BoxChoice& choice) {
  Ranking ranking;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (!choice.has_least_score || scores[i] > choice.least_score)
      ranking.Add(scores[i], static_cast<int64_t>(i));
  }
  ranking.Begin();
  std::vector<int64_t> chosen;
  while (!ranking.empty() && static_cast<int64_t>(chosen.size()) < choice.most) {
    const int64_t i = ranking.Next();
    const Box& box = boxes[static_cast<size_t>(i)];
    bool covered = std::any_of(chosen.begin(), chosen.end(), [&](int64_t other) {
      return Overlap(box, boxes[static_cast<size_t>(other)]) > choice.overlap;
    });
    if (!covered) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

std::vector<std::array<int64_t, 3>> ChooseBoxes(std::span<const double> boxes, std::span<const double> scores,
                                                int64_t batches, int64_t classes, int64_t n,
                                                const BoxChoice& choice) {
  std::vector<std::array<int64_t, 3>> result;
  for (int64_t b = 0; b < batches; ++b) {
    std::vector<Box> of_batch;
    for (int64_t i = 0; i < n; ++i)
      of_batch.push_back(BoxAt(&boxes[static_cast<size_t>((b * n + i) * 4)], choice.centred));
    for (int64_t c = 0; c < classes && n > 0; ++c) {
      const double* of_class = &scores[static_cast<size_t>((b * classes + c) * n)];
      for (int64_t i : ChooseOfClass(of_batch, of_class, choice)) result.push_back({b, c, i});
    }
  }
  return result;
}

}  // namespace belay::ops
