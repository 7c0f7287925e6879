// Operators that move elements, run by the interpreter: one node each.
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

Constant Ints(std::initializer_list<int64_t> values) { return IntsConstant({values.begin(), values.size()}); }

std::vector<Constant> Outputs(const Node& node, std::vector<Constant> inputs) {
  return EvaluateNode(node, inputs);
}

TEST(StructureOps, ShapeIsKnownWithoutData) {
  Node node{.name = "n", .type = "Shape"};
  node.attributes["start"] = int64_t{-2};
  EXPECT_THAT(Outputs(node, {Counting({2, 3, 4})})[0]->Ints(), ElementsAre(3, 4));
}

TEST(StructureOps, FlattensFromAnyAxis) {
  Node node{.name = "n", .type = "Flatten"};
  node.attributes["axis"] = int64_t{-1};
  EXPECT_EQ(Outputs(node, {Counting({2, 3, 4})})[0]->shape(), (Shape{6, 4}));
}

TEST(StructureOps, UnsqueezeRefusesTheSameAxisTwice) {
  EXPECT_THROW(Outputs({.name = "n", .type = "UnsqueezeV3"}, {Counting({2}), Ints({0, -3})}), Error);
}

TEST(LayoutOps, SplitsUnevenly) {
  Node node{.name = "n", .type = "SplitD", .outputs = 3};
  node.attributes["split_dim"] = int64_t{0};
  node.attributes["num_split"] = int64_t{3};
  std::vector<Constant> parts = Outputs(node, {Counting({7})});
  EXPECT_THAT(parts[0]->Reals(), ElementsAre(0, 1, 2));
  EXPECT_THAT(parts[2]->Reals(), ElementsAre(6));
}

TEST(LayoutOps, SlicesBackwards) {
  std::vector<Constant> out =
      Outputs({.name = "n", .type = "StridedSliceV2"}, {Counting({2, 5}), Ints({-1}), Ints({-100}), Ints({1}), Ints({-2})});
  EXPECT_THAT(out[0]->Reals(), ElementsAre(4, 2, 0, 9, 7, 5));
}

TEST(LayoutOps, StridedSliceKnowsItsMasks) {
  Node node{.name = "n", .type = "StridedSlice"};
  node.attributes["ellipsis_mask"] = int64_t{1};
  node.attributes["new_axis_mask"] = int64_t{2};
  node.attributes["shrink_axis_mask"] = int64_t{4};
  Constant out = Outputs(node, {Counting({2, 3, 4}), Ints({0, 0, 1}), Ints({0, 0, 2}), Ints({1, 1, 1})})[0];
  EXPECT_EQ(out->shape(), (Shape{2, 3, 1}));
  EXPECT_THAT(out->Reals(), ElementsAre(1, 5, 9, 13, 17, 21));
}

TEST(LayoutOps, MirrorPadRepeatsTheEdgeOrNot) {
  for (auto [mode, first] : {std::pair{"REFLECT", 2.0}, {"SYMMETRIC", 1.0}}) {
    Node node{.name = "n", .type = "MirrorPad"};
    node.attributes["mode"] = std::string(mode);
    auto paddings = std::make_shared<HostTensor>(DType::kI64, Shape{1, 2});
    paddings->as<int64_t>()[0] = 2;
    EXPECT_EQ(Outputs(node, {Counting({4}), paddings})[0]->Reals()[0], first) << mode;
  }
}

TEST(LayoutOps, PacksAndUnpacks) {
  Node pack{.name = "n", .type = "Pack"};
  pack.attributes["axis"] = int64_t{1};
  Constant packed = Outputs(pack, {Counting({2}), Counting({2})})[0];
  EXPECT_THAT(packed->Reals(), ElementsAre(0, 0, 1, 1));
  Node unpack{.name = "n", .type = "Unpack", .outputs = 2};
  unpack.attributes["num"] = int64_t{2};
  EXPECT_THAT(Outputs(unpack, {packed})[1]->Reals(), ElementsAre(1, 1));
}

}  // namespace
}  // namespace belay::graph
