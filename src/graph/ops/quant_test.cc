// Quantised operators.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/interpreter.h"

namespace belay::graph {
namespace {

Constant Bytes(const Shape& shape, uint8_t value) {
  auto tensor = std::make_shared<HostTensor>(DType::kU8, shape);
  std::fill_n(tensor->as<uint8_t>(), tensor->count(), value);
  return tensor;
}

// More products than 32 bits hold the sum of.
TEST(QLinearMatMul, LongSumsDoNotWrap) {
  for (int64_t depth : {30'000, 40'000, 200'000}) {
    const double sum = 255.0 * 254.0 * static_cast<double>(depth);
    const Constant inputs[] = {Bytes({2, depth}, 255),  RealConstant(1), Bytes({}, 0),
                               Bytes({depth, 3}, 255),  RealConstant(1), Bytes({}, 1),
                               RealConstant(sum / 100), Bytes({}, 5)};
    const Constant y = EvaluateNode({.name = "n", .type = "QLinearMatMul"}, inputs).at(0);
    EXPECT_EQ(y->shape(), (Shape{2, 3}));
    for (double value : y->Reals()) EXPECT_EQ(value, 105) << depth;
  }
}

}  // namespace
}  // namespace belay::graph
