// Operators that pick and write the places that several tensors of indices name together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Apply;
using samples::Counting;
using samples::Ints;
using samples::Reals;
using testing::ElementsAre;

TEST(AdvancedIndex, IndicesStandWhereTheirDimensionsStood) {
  Constant y =
      Apply("Index", {Counting({2, 3, 4}), Ints({0, 1, 1}), Ints({}), Ints({2, -3}), Ints({3, 1})})[0];
  ASSERT_EQ(y->shape(), (Shape{2, 2}));
  EXPECT_THAT(y->Reals(), ElementsAre(11, 1, 23, 13));
}

TEST(AdvancedIndex, IndicesOfDimensionsApartStandInFront) {
  Constant y =
      Apply("Index", {Counting({2, 3, 4}), Ints({1, 0, 1}), Ints({}), Ints({2, 1}, {1, 0}), Ints({3, 2})})[0];
  ASSERT_EQ(y->shape(), (Shape{2, 2, 3}));
  const int64_t first[] = {1, 0}, last[] = {3, 2};
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      for (int64_t k = 0; k < 3; ++k)
        EXPECT_EQ(y->Reals()[static_cast<size_t>((i * 2 + j) * 3 + k)],
                  static_cast<double>(first[i] * 12 + k * 4 + last[j]));
    }
  }
}

TEST(AdvancedIndex, AMaskThatDoesNotFitIsRefused) {
  EXPECT_THROW(Apply("Index", {Counting({2, 3}), Ints({1, 1}), Ints({}), Ints({0})}), Error);
  EXPECT_THROW(Apply("Index", {Counting({2, 3}), Ints({1, 0}), Ints({}), Ints({2})}), Error);
  EXPECT_THROW(Apply("Index", {Counting({2, 3}), Ints({1, 1}), Ints({}), Ints({0, 1}), Ints({0, 1, 2})}),
               Error);
}

TEST(AdvancedIndex, PutsAndAddsWhatIsBroadcast) {
  const Constant x = Counting({2, 3}), value = Reals({1}, {10});
  for (bool accumulate : {false, true}) {
    Constant y = Apply("IndexPutV2", {x, value, Ints({0, 1}), Ints({}), Ints({1, 1})},
                       {{"accumulate", accumulate}})[0];
    EXPECT_THAT(y->Reals(), accumulate ? ElementsAre(0, 21, 2, 3, 24, 5) : ElementsAre(0, 10, 2, 3, 10, 5));
  }
  EXPECT_THROW(Apply("IndexPutV2", {x, Counting({3}), Ints({0, 1}), Ints({}), Ints({1, 1})}), Error);
}

TEST(AdvancedIndex, ScattersRowsAndBlocks) {
  Constant y = Apply("ScatterUpdate", {Counting({3, 2}), Ints({2, 0}), Reals({2, 2}, {10, 11, 12, 13})})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(12, 13, 2, 3, 10, 11));
  y = Apply("ScatterNdAdd", {Counting({4}), Ints({2, 1}, {1, 1}), Reals({2}, {10, 20})})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(0, 31, 2, 3));
  y = Apply("Scatter", {Counting({2, 1, 4}), Ints({2, 0}), Reals({2, 1, 2}, {10, 11, 12, 13})},
            {{"axis", int64_t{-1}}})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(0, 1, 10, 11, 12, 13, 6, 7));
}

TEST(AdvancedIndex, AddsAndFillsAlongAnAxis) {
  Constant y = Apply("InplaceIndexAdd",
                     {Counting({2, 3}), Ints({2, 2}), Reals({2, 2}, {1, 2, 3, 4}), Reals({1}, {10})},
                     {{"axis", int64_t{1}}})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(0, 1, 32, 3, 4, 75));
  y = Apply("IndexFillD", {Counting({3}), Reals({3}, {1, 0, 1}), Reals({3}, {0, 9, 0})})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(0, 9, 2));
}

TEST(Strided, ViewsAreCopiedOutAndIn) {
  Constant y = Apply("AsStrided", {Counting({3, 4}), Ints({2, 3}), Ints({1, 4}), Ints({1})})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(1, 5, 9, 2, 6, 10));
  y = Apply("ViewCopy", {Counting({2, 3}), Ints({2, 2}), Ints({3, 1}), Ints({1}),
                         Reals({4}, {10, 11, 12, 13}), Ints({2, 2}), Ints({1, 2}), Ints({0})})[0];
  EXPECT_THAT(y->Reals(), ElementsAre(0, 10, 12, 3, 11, 13));
}

TEST(Strided, ViewsLieInsideTheirTensors) {
  const Constant x = Counting({6});
  EXPECT_THROW(Apply("AsStrided", {x, Ints({2, 2}), Ints({4, 2}), Ints({0})}), Error);
  EXPECT_THROW(Apply("AsStrided", {x, Ints({2}), Ints({1}), Ints({5})}), Error);
  EXPECT_THROW(Apply("AsStrided", {x, Ints({2}), Ints({-1}), Ints({5})}), Error);
  EXPECT_THROW(Apply("AsStrided", {x, Ints({INT64_MAX}), Ints({INT64_MAX}), Ints({0})}), Error);
  EXPECT_EQ(Apply("AsStrided", {x, Ints({0, 9}), Ints({1, 1}), Ints({6})})[0]->shape(), (Shape{0, 9}));
}

}  // namespace
}  // namespace belay::graph
