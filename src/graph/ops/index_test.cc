// Operators that keep what a condition names.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Apply;
using samples::Counting;

// What Compress gives by its definition.
std::vector<double> Kept(const std::vector<double>& x, const Shape& shape, int axis,
                         const std::vector<bool>& held) {
  int64_t behind = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) behind *= shape[d];
  std::vector<double> kept;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto place = static_cast<size_t>(static_cast<int64_t>(i) / behind % shape[axis]);
    if (place < held.size() && held[place]) kept.push_back(x[i]);
  }
  return kept;
}

TEST(Compress, KeepsWhatItsConditionHolds) {
  std::mt19937 rng(5);
  for (DType type : {DType::kF32, DType::kF64, DType::kI8, DType::kF16, DType::kI64}) {
    for (const Shape& shape : {Shape{7}, Shape{5, 9}, Shape{2, 3, 4}, Shape{1, 11, 5}}) {
      for (int axis = -1; axis < shape.rank(); ++axis) {  // -1: of all in one row
        for (int more : {-2, 0, 3}) {
          const Constant x = Counting(shape, type);
          const Shape seen = axis < 0 ? Shape{x->count()} : shape;
          const int along = std::max(axis, 0);
          std::vector<bool> held(static_cast<size_t>(std::max<int64_t>(seen[along] + more, 1)));
          auto condition =
              std::make_shared<HostTensor>(DType::kBool, Shape{static_cast<int64_t>(held.size())});
          for (size_t i = 0; i < held.size(); ++i) {
            held[i] = rng() % 2 == 0;
            condition->as<uint8_t>()[i] = held[i] ? 1 : 0;
          }
          const Attributes attributes{{"axis", int64_t{along}}, {"flat", axis < 0}};
          const Constant y = Apply("Compress", {x, condition}, attributes).at(0);
          ASSERT_EQ(y->Reals(), Kept(x->Reals(), seen, along, held))
              << NameOf(type) << shape.ToString() << axis;
        }
      }
    }
  }
}

}  // namespace
}  // namespace belay::graph
