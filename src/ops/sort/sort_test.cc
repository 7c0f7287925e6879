#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "ops/forms.h"
#include "ops/reference/reference.h"
#include "ops/sort/nms.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"

namespace belay::ops {
namespace {

using reference::Get;
using reference::Set;
using testing::Layout;
using testing::Sample;

void Call(const Form& form, std::vector<Arg> args) { testing::RunPlan(*WithoutHandle(MakePlan(form, args))); }

bool IsLess(reference::Real a, reference::Real b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return a < b;
}

// By insertion: slow, stable and plain.
std::vector<int64_t> InOrder(const std::vector<reference::Real>& row, bool descending) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < row.size(); ++i) {
    auto at = order.begin();
    const auto stays_behind = [&](int64_t other) {
      const reference::Real x = row[static_cast<size_t>(other)];
      return descending ? IsLess(x, row[i]) : IsLess(row[i], x);
    };
    while (at != order.end() && !stays_behind(*at)) ++at;
    order.insert(at, static_cast<int64_t>(i));
  }
  return order;
}

TEST(Sort, AllTypesAndLayouts) {
  std::mt19937 rng(8);
  for (DType type : {DType::kF32, DType::kF16, DType::kI8, DType::kI64, DType::kU64, DType::kF64}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
      for (bool descending : {false, true}) {
        Sample in(type, {4, 30}, layout), values(type, {4, 30}, layout), indices(DType::kI64, {4, 30});
        in.Randomise(rng);
        Call(forms::Sort, {Arg(&in.tensor), Arg(true), Arg(int64_t{-1}), Arg(descending), Arg(&values.tensor),
                           Arg(&indices.tensor)});
        Sample top(type, {4, 7}), places(DType::kI32, {4, 7});
        Call(forms::Topk, {Arg(&in.tensor), Arg(int64_t{7}), Arg(int64_t{1}), Arg(descending), Arg(true),
                           Arg(&top.tensor), Arg(&places.tensor)});
        for (int64_t r = 0; r < 4; ++r) {
          std::vector<reference::Real> row;
          for (int64_t k = 0; k < 30; ++k) row.push_back(Get(in.tensor, {r, k}));
          std::vector<int64_t> order = InOrder(row, descending);
          for (int64_t k = 0; k < 30; ++k) {
            int64_t at = order[static_cast<size_t>(k)];
            ASSERT_EQ(Get(indices.tensor, {r, k}), at) << NameOf(type);
            ASSERT_EQ(Get(values.tensor, {r, k}), row[static_cast<size_t>(at)]);
            if (k >= 7) continue;
            ASSERT_EQ(Get(places.tensor, {r, k}), at);
            ASSERT_EQ(Get(top.tensor, {r, k}), row[static_cast<size_t>(at)]);
          }
        }
      }
    }
  }
}

TEST(Sort, NanIsTheLargest) {
  Sample in(DType::kF32, {3}), out(DType::kI64, {3});
  Set(in.tensor, {0}, NAN);
  Set(in.tensor, {1}, INFINITY);
  Call(forms::Argsort, {Arg(&in.tensor), Arg(int64_t{0}), Arg(true), Arg(&out.tensor)});
  EXPECT_EQ(Get(out.tensor, {0}), 0);
  EXPECT_EQ(Get(out.tensor, {2}), 2);
}

TEST(Sort, FewOfAFewAreTheFirstOfAll) {
  std::mt19937 rng(5);
  std::uniform_int_distribution<int> pick(-3, 3);  // many are equal
  for (DType type : {DType::kF32, DType::kI32, DType::kF16, DType::kF64}) {
    for (int64_t size = 1; size <= 17; ++size) {
      for (int64_t keep = 1; keep <= std::min<int64_t>(5, size); ++keep) {
        const bool largest = (size + keep) % 2 == 0;
        Sample in(type, {9, size}), all(DType::kI64, {9, size}), few(DType::kI64, {9, keep}),
            values(type, {9, keep});
        reference::ForEach(in.tensor.shape, [&](const Shape& i) {
          const int value = pick(rng);
          Set(in.tensor, i, value == 3 && IsFloat(type) ? static_cast<reference::Real>(NAN) : value);
        });
        Call(forms::Argsort, {Arg(&in.tensor), Arg(int64_t{1}), Arg(largest), Arg(&all.tensor)});
        Call(forms::Topk, {Arg(&in.tensor), Arg(keep), Arg(int64_t{1}), Arg(largest), Arg(true),
                           Arg(&values.tensor), Arg(&few.tensor)});
        reference::ForEach(few.tensor.shape, [&](const Shape& i) {
          EXPECT_EQ(Get(few.tensor, i), Get(all.tensor, i)) << NameOf(type) << " " << keep << " of " << size;
        });
      }
    }
  }
}

class TopAcross : public testing::SimdLevels {};
INSTANTIATE_TEST_SUITE_P(Levels, TopAcross, ::testing::Range(0, 3));

// Rows that lie side by side, and short ones, are taken sixteen at a time.
TEST_P(TopAcross, FewAreTheFirstOfAll) {
  std::mt19937 rng(9);
  std::uniform_int_distribution<int> pick(-4, 4);  // many are equal
  const Shape shapes[] = {{37, 45}, {45, 37}, {20, 3, 19}, {5, 40}, {2, 70, 33}, {300, 9}, {33, 64}};
  for (DType type :
       {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kF16, DType::kU8, DType::kU64}) {
    for (const Shape& shape : shapes) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        const int64_t keep = std::min<int64_t>(1 + static_cast<int64_t>(rng() % 9), shape[axis]);
        const bool largest = rng() % 2 == 0;
        Shape kept = shape;
        kept[axis] = keep;
        Sample in(type, shape, rng() % 3 == 0 ? Layout::kStepped : Layout::kPacked), all(DType::kI64, shape),
            few(rng() % 2 == 0 ? DType::kI64 : DType::kI32, kept), values(type, kept);
        reference::ForEach(shape, [&](const Shape& i) {
          const int value = pick(rng);
          const bool none = value == 4 && IsFloat(type);
          Set(in.tensor, i,
              none                                        ? static_cast<reference::Real>(NAN)
              : type == DType::kU8 || type == DType::kU64 ? value + 4
                                                          : value);
        });
        Call(forms::Argsort, {Arg(&in.tensor), Arg(int64_t{axis}), Arg(largest), Arg(&all.tensor)});
        Call(forms::Topk, {Arg(&in.tensor), Arg(keep), Arg(int64_t{axis}), Arg(largest), Arg(true),
                           Arg(&values.tensor), Arg(&few.tensor)});
        reference::ForEach(kept, [&](const Shape& i) {
          ASSERT_EQ(Get(few.tensor, i), Get(all.tensor, i))
              << NameOf(type) << shape.ToString() << " along " << axis << ", " << keep;
          Shape from = i;
          from[axis] = static_cast<int64_t>(Get(all.tensor, i));
          const reference::Real x = Get(in.tensor, from), y = Get(values.tensor, i);
          ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y)));
        });
      }
    }
  }
}

// One alone is looked for in many lines side by side, with NaN behind all numbers either way.
TEST(Sort, FirstOfLinesThatLieApart) {
  std::mt19937 rng(6);
  std::uniform_int_distribution<int> pick(-3, 3);
  for (DType type : {DType::kF32, DType::kI64, DType::kF16, DType::kU64}) {
    for (const Shape& shape : {Shape{21, 5, 68}, Shape{40, 3, 2}, Shape{2, 900, 3}, Shape{300, 4, 1}}) {
      for (int64_t axis : {0, 1, 2}) {
        for (bool largest : {false, true}) {
          Shape one = shape;
          one[static_cast<int>(axis)] = 1;
          Sample in(type, shape), all(DType::kI64, shape), first(DType::kI64, one), values(type, one);
          reference::ForEach(shape, [&](const Shape& i) {
            const int value = type == DType::kU64 ? pick(rng) + 3 : pick(rng);
            Set(in.tensor, i, value == 3 && IsFloat(type) ? static_cast<reference::Real>(NAN) : value);
          });
          Call(forms::Argsort, {Arg(&in.tensor), Arg(axis), Arg(largest), Arg(&all.tensor)});
          Call(forms::Topk, {Arg(&in.tensor), Arg(int64_t{1}), Arg(axis), Arg(largest), Arg(true),
                             Arg(&values.tensor), Arg(&first.tensor)});
          reference::ForEach(one, [&](const Shape& i) {
            ASSERT_EQ(Get(first.tensor, i), Get(all.tensor, i)) << NameOf(type) << shape.ToString() << axis;
            Shape at = i;
            at[static_cast<int>(axis)] = static_cast<int64_t>(Get(first.tensor, i));
            const auto want = Get(in.tensor, at), got = Get(values.tensor, i);
            ASSERT_TRUE(got == want || (got != got && want != want));
          });
        }
      }
    }
  }
}

// A few of many are found on another way than by putting all in order.
class FewOfMany : public testing::SimdLevels {};
INSTANTIATE_TEST_SUITE_P(Simd, FewOfMany, ::testing::Values(0, 1, 2));

TEST_P(FewOfMany, AreTheFirstOfAll) {
  std::mt19937 rng(4);
  for (DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU64, DType::kF16}) {
    for (int64_t keep : {1, 5, 100}) {
      for (bool largest : {false, true}) {
        Sample in(type, {6, 611});
        std::uniform_int_distribution<int> pick(0, 200);  // many are equal
        reference::ForEach(in.tensor.shape, [&](const Shape& i) { Set(in.tensor, i, pick(rng)); });
        if (IsFloat(type)) Set(in.tensor, {2, 300}, NAN), Set(in.tensor, {3, 610}, -INFINITY);
        for (int64_t k = 0; IsFloat(type) && k < keep; ++k) Set(in.tensor, {4, k}, NAN);
        Sample all(DType::kI64, {6, 611}), few(DType::kI64, {6, keep}), values(type, {6, keep});
        Call(forms::Argsort, {Arg(&in.tensor), Arg(int64_t{1}), Arg(largest), Arg(&all.tensor)});
        Call(forms::Topk, {Arg(&in.tensor), Arg(keep), Arg(int64_t{1}), Arg(largest), Arg(true),
                           Arg(&values.tensor), Arg(&few.tensor)});
        reference::ForEach(few.tensor.shape, [&](const Shape& i) {
          EXPECT_EQ(Get(few.tensor, i), Get(all.tensor, i)) << NameOf(type) << " " << keep;
        });
      }
    }
  }
}

// Rows that are long enough are put in order by the digits of their numbers: infinities, NaN of both signs,
// zeros of both signs, and much that is equal.
TEST(Sort, LongRowsByTheirDigits) {
  std::mt19937 rng(11);
  const double special[] = {INFINITY, -INFINITY, NAN, -NAN, 0.0, -0.0, 1e-42, -1e-42, 3e38, -3e38};
  for (const DType type : {DType::kF32, DType::kI32, DType::kF16, DType::kF64}) {
    for (const int64_t size : {1000, 1024, 5000}) {
      for (const bool descending : {false, true}) {
        Sample in(type, {2, size}), out(DType::kI64, {2, size});
        in.Randomise(rng, 2000);
        for (int64_t k = 0; IsFloat(type) && k < size; k += 7) Set(in.tensor, {1, k}, special[rng() % 10]);
        Call(forms::Argsort, {Arg(&in.tensor), Arg(int64_t{1}), Arg(descending), Arg(&out.tensor)});
        for (int64_t r = 0; r < 2; ++r) {
          std::vector<reference::Real> row;
          for (int64_t k = 0; k < size; ++k) row.push_back(Get(in.tensor, {r, k}));
          const std::vector<int64_t> order = InOrder(row, descending);
          for (int64_t k = 0; k < size; ++k)
            ASSERT_EQ(Get(out.tensor, {r, k}), order[static_cast<size_t>(k)]) << NameOf(type) << ' ' << size;
        }
      }
    }
  }
}

double Shared(std::span<const double> a, std::span<const double> b) {
  const auto side = [](double a0, double a1, double b0, double b1) {
    return std::max(0.0, std::min(a1, b1) - std::max(a0, b0));
  };
  const auto area = [](std::span<const double> box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const double common = side(a[0], a[2], b[0], b[2]) * side(a[1], a[3], b[1], b[3]);
  return common == 0 ? 0 : common / (area(a) + area(b) - common);
}

// By putting all of them in order first.
std::vector<std::array<int64_t, 3>> ChosenBySorting(std::span<const double> boxes,
                                                    std::span<const double> scores, const BoxChoice& choice) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!choice.has_least_score || scores[i] > choice.least_score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<std::array<int64_t, 3>> chosen;
  for (size_t i : order) {
    const bool covered = std::any_of(chosen.begin(), chosen.end(), [&](const auto& other) {
      return Shared(boxes.subspan(i * 4, 4), boxes.subspan(static_cast<size_t>(other[2]) * 4, 4)) >
             choice.overlap;
    });
    if (!covered && static_cast<int64_t>(chosen.size()) < choice.most)
      chosen.push_back({0, 0, static_cast<int64_t>(i)});
  }
  return chosen;
}

// Few scores that differ, boxes without area, and any number of them.
TEST(Boxes, AreChosenAsBySorting) {
  std::mt19937 rng(17);
  const auto below = [&rng](int n) { return static_cast<double>(rng() % static_cast<unsigned>(n)); };
  for (int64_t n = 0; n < 60; ++n) {
    std::vector<double> boxes, scores;
    for (int64_t i = 0; i < n; ++i) {
      const double y = below(8), x = below(8);
      boxes.insert(boxes.end(), {y, x, y + below(5), x + below(5)});
      scores.push_back((below(9) - 3) / 4);
    }
    for (int64_t most : {int64_t{0}, int64_t{1}, n / 2, n + 3}) {
      const BoxChoice choice{
          .most = most, .overlap = below(5) / 5, .least_score = 0.25, .has_least_score = n % 2 == 1};
      EXPECT_EQ(ChooseBoxes(boxes, scores, 1, 1, n, choice), ChosenBySorting(boxes, scores, choice)) << n;
    }
  }
}

TEST(Boxes, CoveredOnesAreLeftOut) {
  std::vector<double> boxes = {0, 0, 2, 2, 0, 0, 2, 1.8, 5, 5, 6, 6}, scores = {0.5, 0.9, 0.1};
  BoxChoice choice{.most = 3, .overlap = 0.5};
  auto chosen = ChooseBoxes(boxes, scores, 1, 1, 3, choice);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0][2], 1);
  EXPECT_EQ(chosen[1][2], 2);
}

}  // namespace
}  // namespace belay::ops
