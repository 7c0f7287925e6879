#include <gtest/gtest.h>

#include <cmath>

#include "ops/forms.h"
#include "ops/reference/reference.h"
#include "ops/sort/nms.h"
#include "ops/testing/sample.h"

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

// A few of many are found on another way than by putting all in order.
TEST(Sort, FewOfManyAreTheFirstOfAll) {
  std::mt19937 rng(4);
  for (DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU64, DType::kF16}) {
    for (int64_t keep : {1, 5, 100}) {
      for (bool largest : {false, true}) {
        Sample in(type, {6, 611});
        std::uniform_int_distribution<int> pick(0, 200);  // many are equal
        reference::ForEach(in.tensor.shape, [&](const Shape& i) { Set(in.tensor, i, pick(rng)); });
        if (IsFloat(type)) Set(in.tensor, {2, 300}, NAN), Set(in.tensor, {3, 610}, -INFINITY);
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
