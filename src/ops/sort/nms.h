// Choosing boxes that do not overlap much.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace belay::ops {

struct BoxChoice {
  int64_t most = 0;    // boxes of each class
  double overlap = 0;  // two boxes with more common area than this, relative to the whole, are one
  double least_score = 0;
  bool has_least_score = false;
  bool centred = false;  // (x, y, width, height) instead of two corners (y, x)
};

// boxes: [batches, n, 4], scores: [batches, classes, n]. Returns (batch, class, box), best first in each.
std::vector<std::array<int64_t, 3>> ChooseBoxes(std::span<const double> boxes, std::span<const double> scores,
                                                int64_t batches, int64_t classes, int64_t n,
                                                const BoxChoice& choice);

}  // namespace belay::ops
