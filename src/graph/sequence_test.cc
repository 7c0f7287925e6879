#include "graph/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/interpreter.h"

namespace belay::graph {
namespace {

using testing::ElementsAre;

Constant Counting(const Shape& shape) {
  auto tensor = std::make_shared<HostTensor>(DType::kF32, shape);
  for (int64_t i = 0; i < tensor->count(); ++i) tensor->as<float>()[i] = static_cast<float>(i);
  return tensor;
}

Constant Only(const char* type, std::vector<Constant> inputs, Attributes attributes = {}) {
  return EvaluateNode({.name = "n", .type = type, .attributes = std::move(attributes)}, inputs).at(0);
}

int64_t LengthOf(const Constant& sequence) { return Only("SequenceLength", {sequence})->Ints()[0]; }

TEST(Sequence, GrowsAndShrinks) {
  Constant sequence = Only("SequenceConstruct", {Counting({1}), Counting({2})});
  sequence = Only("SequenceInsert", {sequence, Counting({3}), IntConstant(-1)});
  EXPECT_EQ(LengthOf(sequence), 3);
  EXPECT_EQ(Only("SequenceAt", {sequence, IntConstant(1)})->count(), 3);
  sequence = Only("SequenceErase", {sequence});
  EXPECT_EQ(Only("SequenceAt", {sequence, IntConstant(-1)})->count(), 3);
  EXPECT_THROW(Only("SequenceAt", {sequence, IntConstant(2)}), Error);
  EXPECT_EQ(LengthOf(Only("SequenceEmpty", {})), 0);
}

TEST(Sequence, SplitsAndJoins) {
  Constant pieces = Only("SplitToSequence", {Counting({5, 2}), IntConstant(2)});
  EXPECT_EQ(LengthOf(pieces), 3);
  EXPECT_THAT(Only("SequenceAt", {pieces, IntConstant(2)})->Reals(), ElementsAre(8, 9));
  Constant joined = Only("ConcatFromSequence", {pieces}, {{"axis", int64_t{0}}});
  EXPECT_EQ(joined->Reals(), Counting({5, 2})->Reals());
  Constant rows = Only("SplitToSequence", {Counting({3, 2})}, {{"keepdims", int64_t{0}}});
  Constant stacked = Only("ConcatFromSequence", {rows}, {{"axis", int64_t{1}}, {"new_axis", int64_t{1}}});
  EXPECT_THAT(stacked->Reals(), ElementsAre(0, 2, 4, 1, 3, 5));
}

// Those of the outermost dimension are the whole's own bytes, the others copies.
TEST(Sequence, PiecesOfEveryDimension) {
  for (int64_t axis : {0, 1, 2}) {
    for (const bool first_is_one : {false, true}) {
      const Shape shape = first_is_one ? Shape{1, 4, 3} : Shape{5, 4, 3};
      const int64_t length = shape[static_cast<int>(axis)];
      Constant whole = Counting(shape);
      Constant pieces = Only("SplitToSequence", {whole, IntConstant(2)}, {{"axis", axis}});
      ASSERT_EQ(LengthOf(pieces), (length + 1) / 2);
      EXPECT_EQ(Only("ConcatFromSequence", {pieces}, {{"axis", axis}})->Reals(), whole->Reals());
      Constant rows = Only("SplitToSequence", {whole}, {{"axis", axis}, {"keepdims", int64_t{0}}});
      const Shape rest = WithoutDim(shape, static_cast<int>(axis));
      for (int64_t i = 0; i < length; ++i)
        EXPECT_EQ(Only("SequenceAt", {rows, IntConstant(i)})->shape(), rest);
      Constant stacked = Only("ConcatFromSequence", {rows}, {{"axis", axis}, {"new_axis", int64_t{1}}});
      EXPECT_EQ(stacked->Reals(), whole->Reals());
    }
  }
}

TEST(Sequence, ATensorIsNone) { EXPECT_THROW(Only("SequenceLength", {Counting({1})}), Error); }

}  // namespace
}  // namespace belay::graph
