#include <gtest/gtest.h>

#include <algorithm>

#include "ops/forms.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

void ExpectRepeated(DType type, const Shape& from, const Shape& to, Layout layout, std::mt19937& rng) {
  Sample src(type, from, layout), out(type, to);
  src.Randomise(rng);
  for (char& byte : src.storage) byte = type == DType::kBool && byte != 0 ? 2 : byte;
  Arg args[] = {Arg(&out.tensor), Arg(&src.tensor)};
  testing::RunPlan(*WithoutHandle(MakePlan(forms::InplaceCopy, args)));
  int64_t wrong = 0;
  reference::ForEach(to, [&](const Shape& i) {
    Shape at;
    for (int d = 0; d < from.rank(); ++d) {
      const int64_t k = i[d + to.rank() - from.rank()];
      at.push_back(from[d] == 1 ? 0 : k);
    }
    wrong += reference::Get(out.tensor, i) != reference::Get(src.tensor, at);
  });
  if (type == DType::kBool) wrong += std::count(out.storage.begin(), out.storage.end(), 2);
  EXPECT_EQ(wrong, 0) << NameOf(type) << from.ToString() << " to " << to.ToString();
}

TEST(RepeatedCopy, OntoLargerShapes) {
  const testing::InPieces pieces;
  std::mt19937 rng(3);
  for (DType type : {DType::kF32, DType::kI64, DType::kU8, DType::kF16, DType::kBool}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kOffset}) {
      ExpectRepeated(type, {1, 1, 17, 1}, {9, 7, 17, 5}, layout, rng);
      ExpectRepeated(type, {4, 1, 3, 1}, {4, 11, 3, 6}, layout, rng);
      ExpectRepeated(type, {4, 1, 3}, {5, 4, 2, 3}, layout, rng);
      ExpectRepeated(type, {2, 1, 5, 1, 3}, {2, 4, 5, 6, 3}, layout, rng);
      ExpectRepeated(type, {3, 1}, {3, 700}, layout, rng);
      ExpectRepeated(type, {1, 9}, {3000, 9}, layout, rng);
      ExpectRepeated(type, {6, 30}, {6, 30}, layout, rng);
      ExpectRepeated(type, {1, 1}, {30, 201}, layout, rng);
    }
  }
}

}  // namespace
}  // namespace belay::ops
