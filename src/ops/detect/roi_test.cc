// Regions of every kind against their definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "ops/detect/detect.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Floats;
using testing::Sample;

// What four pixels give to a point; beyond the plane there is nothing.
std::array<double, 4> CornersAt(const float* plane, int64_t height, int64_t width, float y, float x) {
  const auto high = static_cast<float>(height), wide = static_cast<float>(width);
  if (!(y >= -1 && y <= high && x >= -1 && x <= wide)) return {};
  y = std::clamp(y, 0.0f, high - 1), x = std::clamp(x, 0.0f, wide - 1);
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double down = static_cast<double>(y) - static_cast<double>(top),
               along = static_cast<double>(x) - static_cast<double>(left);
  const auto at = [&](int64_t row, int64_t column) {
    return static_cast<double>(plane[row * width + column]);
  };
  return {(1 - down) * (1 - along) * at(top, left), (1 - down) * along * at(top, right),
          down * (1 - along) * at(bottom, left), down * along * at(bottom, right)};
}

struct RegionCase {
  int64_t images, channels, height, width, regions, ph, pw;
  bool largest;
  RoiRule rule;
};

// Where samples lie is computed as it is written down, in floats.
double BinOf(const RegionCase& c, const float* plane, const float* box, int64_t i, int64_t j) {
  const auto scale = static_cast<float>(c.rule.scale), shift = static_cast<float>(c.rule.shift),
             past = static_cast<float>(c.rule.past);
  const float left = box[1] * scale - shift, top = box[2] * scale - shift;
  float w = (box[3] + past) * scale - shift - left, h = (box[4] + past) * scale - shift - top;
  if (c.rule.at_least_one) w = std::max(w, 1.0f), h = std::max(h, 1.0f);
  h /= static_cast<float>(c.ph), w /= static_cast<float>(c.pw);
  const auto samples = [&](float length) {
    return c.rule.sampling > 0 ? c.rule.sampling : static_cast<int64_t>(std::ceil(length));
  };
  const int64_t rows = samples(h), columns = samples(w);
  if (rows <= 0 || columns <= 0) return 0;
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  for (int64_t r = 0; r < rows; ++r) {
    const float y =
        top + static_cast<float>(i) * h + (static_cast<float>(r) + 0.5f) * h / static_cast<float>(rows);
    for (int64_t k = 0; k < columns; ++k) {
      const float x =
          left + static_cast<float>(j) * w + (static_cast<float>(k) + 0.5f) * w / static_cast<float>(columns);
      for (double v : CornersAt(plane, c.height, c.width, y, x)) sum += v, most = std::max(most, v);
    }
  }
  return c.largest ? most : sum / static_cast<double>(rows * columns);
}

RegionCase RandomCase(std::mt19937& rng) {
  const auto up_to = [&rng](int64_t most) {
    return 1 + static_cast<int64_t>(rng() % static_cast<uint64_t>(most));
  };
  RegionCase c{up_to(2), up_to(4),       up_to(12), up_to(rng() % 2 == 0 ? 12 : 50), up_to(5), up_to(9),
               up_to(9), rng() % 4 == 0, {}};
  if (rng() % 16 == 0) c.ph = 20, c.pw = 13;  // more bins than have room together
  const int64_t modes[] = {0, 1, 3};
  const double scales[] = {1, 0.5, 0.0625};
  c.rule = RoiRuleOf(modes[rng() % 3], scales[rng() % 3], static_cast<int64_t>(rng() % 4) * 2);
  return c;
}

// Boxes that lie in the image, across its edges and beyond them, and those with corners the wrong way round.
void FillBoxes(const RegionCase& c, Sample& boxes, std::mt19937& rng) {
  for (int64_t i = 0; i < boxes.tensor.count(); ++i)
    Floats(boxes)[i] = static_cast<float>(static_cast<int>(rng() % 400) - 100) / 8;
  for (int64_t r = 0; r < c.regions; ++r) {
    float* box = Floats(boxes) + r * 5;
    box[0] = static_cast<float>(rng() % static_cast<uint64_t>(c.images));
    if (r % 3 == 0) box[3] = box[1] + 9, box[4] = box[2] + 5;
    if (r == 4 && c.rule.sampling > 0) box[1 + rng() % 4] = rng() % 2 == 0 ? 1e30f : -1e9f;
  }
}

void CheckRegions(const RegionCase& c, std::mt19937& rng) {
  Sample x(DType::kF32, {c.images, c.channels, c.height, c.width}), boxes(DType::kF32, {c.regions, 5}),
      out(DType::kF32, {c.regions, c.channels, c.ph, c.pw});
  x.Randomise(rng);
  FillBoxes(c, boxes, rng);
  PlanRef plan = testing::NewPlan();
  PlanRoiAlign(*plan, {.x = x.BoundTo(*plan, Access::kRead, "x"),
                       .rois = boxes.BoundTo(*plan, Access::kRead, "boxes"),
                       .batches = {},
                       .out = out.BoundTo(*plan, Access::kWrite, "out"),
                       .largest = c.largest,
                       .rule = c.rule});
  testing::RunPlan(*plan);
  const float* result = Floats(out);
  for (int64_t r = 0; r < c.regions; ++r) {
    const float* box = Floats(boxes) + r * 5;
    for (int64_t k = 0; k < c.channels; ++k) {
      const float* plane = Floats(x) + (static_cast<int64_t>(box[0]) * c.channels + k) * c.height * c.width;
      for (int64_t bin = 0; bin < c.ph * c.pw; ++bin) {
        ASSERT_NEAR(static_cast<double>(*result++), BinOf(c, plane, box, bin / c.pw, bin % c.pw), 1e-4)
            << c.height << " x " << c.width << ", region " << r << ", channel " << k << ", bin " << bin;
      }
    }
  }
}

TEST(Regions, OfEveryKind) {
  std::mt19937 rng(29);
  for (int i = 0; i < 400; ++i) ASSERT_NO_FATAL_FAILURE(CheckRegions(RandomCase(rng), rng)) << i;
  const testing::InPieces pieces;
  for (int i = 0; i < 50; ++i) ASSERT_NO_FATAL_FAILURE(CheckRegions(RandomCase(rng), rng)) << i;
}

}  // namespace
}  // namespace belay::ops
