#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "graph/interpreter.h"

namespace belay::graph {
namespace {

using ::testing::ElementsAre;

template <class T>
Constant TensorOf(DType dtype, const Shape& shape, std::initializer_list<T> values) {
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  std::copy(values.begin(), values.end(), tensor->template as<T>());
  return tensor;
}
Constant FloatRow(std::initializer_list<float> values) {
  return TensorOf<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

Constant Result(const std::string& type, const std::vector<Constant>& inputs, Attributes attributes) {
  Node node{.name = "n", .type = type, .attributes = std::move(attributes)};
  for (size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back({static_cast<int>(i), 0});
  return EvaluateNode(node, inputs).at(0);
}

TEST(AscendQuant, RoundsAndStaysWithinInt8) {
  Constant x = FloatRow({-0.6f, 0.3f, 1.2f, 100});
  auto quantised = [&](const char* mode) {
    Constant y =
        Result("AscendQuant", {x}, {{"scale", 2.0}, {"offset", 0.25}, {"round_mode", std::string(mode)}});
    EXPECT_EQ(y->dtype(), DType::kI8);
    return y->Ints();
  };
  EXPECT_THAT(quantised("Round"), ElementsAre(-1, 1, 3, 127));
  EXPECT_THAT(quantised("Floor"), ElementsAre(-1, 0, 2, 127));
  EXPECT_THAT(quantised("ceil"), ElementsAre(0, 1, 3, 127));
  EXPECT_THAT(quantised("trunc"), ElementsAre(0, 0, 2, 127));
  EXPECT_THROW(quantised("sometimes"), Error);
  EXPECT_THAT(Result("AscendQuant", {x}, {{"scale", 3.0}, {"offset", 0.0}, {"sqrt_mode", true}})->Ints(),
              ElementsAre(-5, 3, 11, 127));
  EXPECT_THROW(Result("AscendQuant", {x}, {{"scale", 3.0}}), Error) << "offset is needed";
  EXPECT_THROW(Result("AscendQuant", {x}, {{"scale", 3.0}, {"offset", 0.0}, {"dst_type", int64_t{29}}}),
               Error);
}

// A factor in the lower half of a whole number.
uint64_t Packed(float factor) {
  uint32_t bits;
  std::memcpy(&bits, &factor, 4);
  return 0xabcd000000000000 | bits;
}

TEST(AscendQuant, GoesBackByChannel) {
  Constant x = TensorOf<int32_t>(DType::kI32, {2, 2}, {10, -20, 30, 40});
  Constant scale = TensorOf<uint64_t>(DType::kU64, {2}, {Packed(0.5f), Packed(3)});
  EXPECT_THAT(Result("AscendDequant", {x, scale}, {})->Reals(), ElementsAre(5, -60, 15, 120));
  Constant y =
      Result("AscendDequant", {x, scale}, {{"sqrt_mode", true}, {"relu_flag", true}, {"dtype", int64_t{1}}});
  EXPECT_EQ(y->dtype(), DType::kF16);
  EXPECT_THAT(y->Reals(), ElementsAre(2.5, 0, 7.5, 360));
  EXPECT_THAT(Result("AscendDequant", {x, FloatRow({0.25f})}, {})->Reals(), ElementsAre(2.5, -5, 7.5, 10));
  Constant image = TensorOf<int32_t>(DType::kI32, {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Result("AscendDequant", {image, scale}, {})->Reals(), ElementsAre(0.5, 1, 1.5, 12, 15, 18));
  EXPECT_THROW(Result("AscendDequant", {x, FloatRow({1, 2, 3})}, {}), Error);
  EXPECT_THROW(Result("AscendDequant", {x, scale}, {{"dtype", int64_t{3}}}), Error);
}

TEST(AscendQuant, AntiQuantAddsFirst) {
  Constant y = Result("AscendAntiQuant", {TensorOf<int8_t>(DType::kI8, {3}, {-3, 0, 5})},
                      {{"scale", 0.5}, {"offset", 1.0}});
  EXPECT_EQ(y->dtype(), DType::kF16);
  EXPECT_THAT(y->Reals(), ElementsAre(-1, 0.5, 3));
}

}  // namespace
}  // namespace belay::graph
