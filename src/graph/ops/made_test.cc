// Tensors that follow a rule, diagonals, different values, and places in rows that are in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Apply;
using samples::Counting;
using samples::Ints;
using samples::Reals;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsNan;

TEST(Made, RangesAndSpaces) {
  Constant y =
      Apply("RangeD", {Counting({3}, DType::kI32)}, {{"start", 5.0}, {"limit", 1.0}, {"delta", -2.0}})[0];
  EXPECT_EQ(y->dtype(), DType::kI32);
  EXPECT_THAT(y->Ints(), ElementsAre(5, 3, 1));
  y = Apply("LinSpace", {Reals({}, {1}), Reals({}, {2}), Ints({5})})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(1, 1.25, 1.5, 1.75, 2));
  y = Apply("LogSpaceD", {Counting({3})},
            {{"start", 0.0}, {"end", 1.0}, {"steps", int64_t{3}}, {"base", 4.0}, {"dtype", int64_t{0}}})[0];
  EXPECT_EQ(y->dtype(), DType::kF16);
  EXPECT_THAT(y->Reals(), ElementsAre(1, DoubleNear(2, 1e-3), DoubleNear(4, 2e-3)));
}

TEST(Made, DiagonalsGoThereAndBack) {
  for (int64_t k : {-1, 0, 2}) {
    Constant y = Apply("Diag", {Reals({2}, {7, 8})}, {{"diagonal", k}})[0];
    const int64_t size = 2 + std::abs(k);
    ASSERT_EQ(y->shape(), (Shape{size, size}));
    for (int64_t r = 0; r < size; ++r) {
      for (int64_t c = 0; c < size; ++c) {
        const double wanted = c - r == k ? static_cast<double>(7 + std::min(r, c)) : 0;
        EXPECT_EQ(y->Reals()[static_cast<size_t>(r * size + c)], wanted) << k;
      }
    }
    EXPECT_THAT(Apply("DiagPart", {y}, {{"diagonal", k}})[0]->Reals(), ElementsAre(7, 8)) << k;
  }
  const Constant wide = Counting({2, 3});
  EXPECT_THAT(Apply("DiagPart", {wide}, {{"diagonal", int64_t{1}}})[0]->Reals(), ElementsAre(1, 5));
  EXPECT_THAT(Apply("DiagPart", {wide}, {{"diagonal", int64_t{-1}}})[0]->Reals(), ElementsAre(3));
  EXPECT_EQ(Apply("DiagPart", {wide}, {{"diagonal", int64_t{9}}})[0]->count(), 0);
}

TEST(Made, DiagonalsOfSeveralDimensions) {
  Constant y = Apply("Diag", {Counting({2, 2})})[0];
  ASSERT_EQ(y->shape(), (Shape{2, 2, 2, 2}));
  EXPECT_EQ(y->Reals()[1 * 8 + 0 * 4 + 1 * 2 + 0], 2);
  EXPECT_THAT(Apply("DiagPart", {y})[0]->Reals(), ElementsAre(0, 1, 2, 3));
  EXPECT_THROW(Apply("DiagPart", {Counting({2})}), Error);
}

TEST(Unique, RunsEndWhereTheNextValueDiffers) {
  const std::vector<Constant> y = Apply("UniqueConsecutive", {Reals({2, 3}, {1, 1, 2, 2, 1, 3})},
                                        {{"return_idx", true}, {"return_counts", true}}, 3);
  EXPECT_THAT(y[0]->Reals(), ElementsAre(1, 2, 1, 3));
  EXPECT_EQ(y[1]->shape(), (Shape{2, 3}));
  EXPECT_THAT(y[1]->Ints(), ElementsAre(0, 0, 1, 1, 2, 3));
  EXPECT_THAT(y[2]->Ints(), ElementsAre(2, 2, 1, 1));
  const std::vector<Constant> rows =
      Apply("UniqueConsecutive", {Reals({3, 2}, {1, 2, 1, 2, 2, 1})}, {{"axis", int64_t{0}}}, 3);
  EXPECT_THAT(rows[0]->Reals(), ElementsAre(1, 2, 2, 1));
}

TEST(Unique, CountsAndSorts) {
  const std::vector<Constant> y = Apply("UniqueWithCountsAndSorting", {Reals({2, 2}, {5, 3, 5, 4})},
                                        {{"return_inverse", true}, {"return_counts", true}}, 3);
  EXPECT_THAT(y[0]->Reals(), ElementsAre(3, 4, 5));
  EXPECT_EQ(y[1]->shape(), (Shape{2, 2}));
  EXPECT_THAT(y[1]->Ints(), ElementsAre(2, 0, 2, 1));
  EXPECT_THAT(y[2]->Ints(), ElementsAre(1, 1, 2));
}

TEST(Unique, SlicesAlongAnAxisWithCounts) {
  const std::vector<Constant> y =
      Apply("UniqueWithCountsExt2", {Reals({2, 3}, {3, 1, 3, 4, 2, 4}), Ints({1})}, {}, 4);
  EXPECT_EQ(y[0]->shape(), (Shape{2, 2}));
  EXPECT_THAT(y[0]->Reals(), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(y[1]->Ints(), ElementsAre(1, 0, 1));
  EXPECT_THAT(y[2]->Ints(), ElementsAre(1, 2));
  EXPECT_THAT(y[3]->Ints(), ElementsAre(1, 0, 1));
  EXPECT_THAT(
      Apply("UniqueWithCountsExt2", {Reals({3}, {5, 3, 5}), Ints({0})}, {{"sorted", false}}, 4)[0]->Reals(),
      ElementsAre(5, 3));
}

TEST(Unique, NotANumberIsEqualToNothing) {
  std::vector<Constant> y = Apply("UniqueWithCountsAndSorting", {Reals({5}, {NAN, 2, NAN, -0.0, 0.0})},
                                  {{"return_inverse", true}, {"return_counts", true}}, 3);
  EXPECT_THAT(y[0]->Reals(), ElementsAre(0, 2, IsNan(), IsNan()));
  EXPECT_THAT(y[1]->Ints(), ElementsAre(2, 1, 3, 0, 0));
  EXPECT_THAT(y[2]->Ints(), ElementsAre(2, 1, 1, 1));
  y = Apply("UniqueWithCountsExt2", {Reals({3, 2}, {1, NAN, 1, 2, 0, 3}), Ints({0})}, {}, 4);
  EXPECT_THAT(y[0]->Reals(), ElementsAre(0, 3, 1, 2, 1, IsNan()));
}

TEST(Unique, LargeUnsignedNumbersComeLast) {
  auto x = std::make_shared<HostTensor>(DType::kU64, Shape{3});
  std::ranges::copy(std::array<uint64_t, 3>{UINT64_MAX, 7, UINT64_MAX}, x->as<uint64_t>());
  EXPECT_THAT(Apply("UniqueWithCountsAndSorting", {x}, {}, 3)[0]->Ints(), ElementsAre(7, -1));
}

// So many that they are sorted by digits.
TEST(Unique, OfManyIsThatOfAMap) {
  std::mt19937_64 rng(3);
  for (int shift : {0, 20, 54}) {
    auto x = std::make_shared<HostTensor>(DType::kI64, Shape{5000});
    std::map<int64_t, int64_t> counts;
    for (int64_t i = 0; i < 5000; ++i) ++counts[x->as<int64_t>()[i] = static_cast<int64_t>(rng()) >> shift];
    const std::vector<Constant> y =
        Apply("UniqueWithCountsAndSorting", {x}, {{"return_inverse", true}, {"return_counts", true}}, 3);
    const std::vector<int64_t> values = y[0]->Ints(), places = y[1]->Ints(), found = y[2]->Ints();
    ASSERT_EQ(values.size(), counts.size());
    size_t group = 0;
    for (auto [value, count] : counts) {
      ASSERT_EQ(values[group], value);
      ASSERT_EQ(found[group++], count);
    }
    for (int64_t i = 0; i < 5000; ++i)
      ASSERT_EQ(values[static_cast<size_t>(places[static_cast<size_t>(i)])], x->as<int64_t>()[i]);
  }
}

TEST(Searching, CountsWhatComesBefore) {
  const Constant rows = Reals({2, 3}, {1, 3, 3, 2, 4, NAN}), values = Reals({2, 2}, {3, 0, 4, NAN});
  EXPECT_THAT(Apply("SearchSorted", {rows, values})[0]->Ints(), ElementsAre(1, 0, 1, 2));
  Constant y = Apply("SearchSorted", {rows, values}, {{"right", true}, {"dtype", DType::kI32}})[0];
  EXPECT_EQ(y->dtype(), DType::kI32);
  EXPECT_THAT(y->Ints(), ElementsAre(3, 0, 2, 3));
  EXPECT_THAT(Apply("SearchSorted", {Ints({INT64_MAX - 1, INT64_MAX}), Ints({INT64_MAX})})[0]->Ints(),
              ElementsAre(1));
  EXPECT_THROW(Apply("SearchSorted", {rows, Reals({3, 1}, {1, 2, 3})}), Error);
}

TEST(Searching, SortsWithoutIndices) {
  EXPECT_THAT(Apply("SortV2", {Reals({3}, {2, 3, 1})}, {{"descending", true}})[0]->Reals(),
              ElementsAre(3, 2, 1));
}

}  // namespace
}  // namespace belay::graph
