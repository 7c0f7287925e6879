// Operators that move elements, run by the interpreter: one node each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/ops/node_samples.h"
#include "tensor/convert.h"

namespace belay::graph {
namespace {

using samples::Counting;
using samples::Ints;
using testing::ElementsAre;

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

TEST(LayoutOps, ConcatOfManyShortRowsAndOfFewLongOnes) {
  for (int64_t rows : {2, 40}) {
    Node node{.name = "n", .type = "ConcatD"};
    node.attributes["concat_dim"] = int64_t{2};
    auto y = Outputs(node, {Counting({rows, 3, 2}), Counting({rows, 3, 5}), Counting({rows, 3, 0}),
                            Counting({rows, 3, 1})})[0];
    ASSERT_EQ(y->shape(), (Shape{rows, 3, 8}));
    for (int64_t r = 0; r < rows * 3; ++r) {
      const float* row = y->as<float>() + r * 8;
      for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(row[i], static_cast<float>(r * 2 + i));
      for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(row[2 + i], static_cast<float>(r * 5 + i));
      EXPECT_EQ(row[7], static_cast<float>(r));
    }
  }
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

// Many rows are taken apart in one step.
TEST(LayoutOps, SplitsManyRows) {
  Node node{.name = "n", .type = "SplitD", .outputs = 3};
  node.attributes["split_dim"] = int64_t{1};
  node.attributes["num_split"] = int64_t{3};
  std::vector<Constant> parts = Outputs(node, {Counting({40, 7})});
  for (size_t row = 0; row < 40; ++row) {
    const auto first = static_cast<double>(row * 7);
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(parts[0]->Reals()[row * 3 + k], first + static_cast<double>(k));
      EXPECT_EQ(parts[1]->Reals()[row * 3 + k], first + static_cast<double>(k) + 3);
    }
    EXPECT_EQ(parts[2]->Reals()[row], first + 6);
  }
}

TEST(LayoutOps, SlicesBackwards) {
  std::vector<Constant> out = Outputs({.name = "n", .type = "StridedSliceV2"},
                                      {Counting({2, 5}), Ints({-1}), Ints({-100}), Ints({1}), Ints({-2})});
  EXPECT_THAT(out[0]->Reals(), ElementsAre(4, 2, 0, 9, 7, 5));
}

TEST(LayoutOps, SlicesBackwardsWithEndsAsOnnxHasThem) {
  for (int64_t step : {-1, -2}) {
    Constant out = Outputs({.name = "n", .type = "StridedSliceV2"},
                           {Counting({2}), Ints({-3}), Ints({INT64_MIN + 1}), Ints({0}), Ints({step})})[0];
    EXPECT_THAT(out->Reals(), ElementsAre(0)) << step;
  }
  for (int64_t open : {int64_t{INT32_MAX}, INT64_MAX}) {
    Constant out = Outputs({.name = "n", .type = "StridedSliceV2"},
                           {Counting({3}), Ints({1}), Ints({open}), Ints({0}), Ints({-1})})[0];
    EXPECT_THAT(out->Reals(), ElementsAre(1, 0));
  }
  Constant none = Outputs({.name = "n", .type = "StridedSliceV2"},
                          {Counting({0}), Ints({-3}), Ints({-100}), Ints({0}), Ints({-1})})[0];
  EXPECT_EQ(none->shape(), Shape{0});
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

Constant Einsum(const char* equation, std::vector<Constant> inputs) {
  Node node{.name = "n", .type = "Einsum"};
  node.attributes["equation"] = std::string(equation);
  return Outputs(node, std::move(inputs))[0];
}

TEST(DropoutOp, DropsOnlyWhenItTrains) {
  Node node{.name = "n", .type = "Dropout", .outputs = 2};
  node.attributes["seed2"] = int64_t{1};
  Constant x = Counting({1000}), ratio = RealConstant(0.25), training = IntConstant(1, DType::kBool);
  EXPECT_EQ(Outputs(node, {x, ratio})[0]->Reals(), x->Reals());
  std::vector<Constant> dropped = Outputs(node, {x, ratio, training});
  std::vector<double> mask = dropped[1]->Reals(), values = dropped[0]->Reals();
  EXPECT_NEAR(std::count(mask.begin(), mask.end(), 1.0), 750, 50);
  for (size_t i = 0; i < mask.size(); ++i)
    EXPECT_NEAR(values[i], mask[i] * static_cast<double>(i) / 0.75, 1e-3);
  EXPECT_EQ(Outputs(node, {x, ratio, training})[1]->Reals(), mask);
}

TEST(EinsumOp, AddsUpInEveryWay) {
  Constant a = Counting({2, 3});
  EXPECT_THAT(Einsum("ij->ji", {a})->Reals(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(Einsum("ij->", {a})->Reals(), ElementsAre(15));
  EXPECT_THAT(Einsum("ii->i", {Counting({3, 3})})->Reals(), ElementsAre(0, 4, 8));
  EXPECT_THAT(Einsum("ij,kj->ik", {a, a})->Reals(), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(Einsum("...j,j", {a, Counting({3})})->Reals(), ElementsAre(5, 14));
  EXPECT_THAT(Einsum("ij,i,j->j", {a, Counting({2}), Counting({3})})->Reals(), ElementsAre(0, 4, 10));
}

TEST(EinsumOp, MatricesAndTermsAgree) {
  Constant a = Counting({4, 2, 3}), b = Counting({3, 4, 5});
  auto with_one = std::make_shared<HostTensor>(DType::kF32, Shape{1});
  with_one->as<float>()[0] = 1;
  EXPECT_EQ(Einsum("bij,jbk->kbi", {a, b})->Reals(), Einsum("bij,jbk,z->kbi", {a, b, with_one})->Reals());
}

// Of whole numbers, whose sums wrap, and of doubles: odd sizes, operands in any order, vectors, outer
// products.
TEST(EinsumOp, ProductsOfOtherTypesAreExact) {
  const auto numbers = [](DType dtype, Shape shape, int64_t step) {
    auto tensor = std::make_shared<HostTensor>(dtype, shape);
    const int64_t large = dtype == DType::kI64 || dtype == DType::kU64 ? int64_t{1} << 62 : 0;
    for (int64_t i = 0; i < tensor->count(); ++i) {
      const int64_t value = i * step % 17 + (i % 3 == 0 ? large : 0);
      tensor::Convert(dtype, tensor->mutable_data() + static_cast<size_t>(i) * BytesOf(dtype), DType::kI64,
                      &value, 1);
    }
    return tensor;
  };
  for (DType dtype : {DType::kF64, DType::kI32, DType::kI64, DType::kU32, DType::kU64, DType::kI8}) {
    const Constant a = numbers(dtype, {3, 7, 13}, 5), b = numbers(dtype, {13, 3, 11}, 3);
    const Constant product = Einsum("bij,jbk->kib", {a, b});
    const std::vector<int64_t> x = a->Ints(), y = b->Ints(), z = product->Ints();
    for (size_t k = 0; k < 11; ++k) {
      for (size_t i = 0; i < 7; ++i) {
        for (size_t n = 0; n < 3; ++n) {
          uint64_t sum = 0;
          for (size_t j = 0; j < 13; ++j) {
            sum += static_cast<uint64_t>(x[(n * 7 + i) * 13 + j]) *
                   static_cast<uint64_t>(y[(j * 3 + n) * 11 + k]);
          }
          if (dtype == DType::kI8) sum = static_cast<uint64_t>(static_cast<int8_t>(sum));
          ASSERT_EQ(z[(k * 7 + i) * 3 + n], static_cast<int64_t>(sum)) << NameOf(dtype);
        }
      }
    }
    EXPECT_THAT(Einsum("i,j->ji", {numbers(dtype, {2}, 2), numbers(dtype, {3}, 1)})->Ints().size(), 6u);
    EXPECT_EQ(Einsum("i,i", {numbers(dtype, {1}, 2), numbers(dtype, {1}, 1)})->Ints().size(), 1u);
  }
}

// Four operands of 128 x 128: one nest over all indices would take 10^10 steps.
TEST(EinsumOp, ManyOperandsAreContractedInPairs) {
  const auto bits = [](DType dtype, int64_t step) {
    auto tensor = std::make_shared<HostTensor>(dtype, Shape{128, 128});
    std::vector<double> values;
    for (int64_t i = 0; i < tensor->count(); ++i) values.push_back(i * step % 11 < 2 ? 1 : 0);
    tensor::Convert(dtype, tensor->mutable_data(), DType::kF64, values.data(), tensor->count());
    return tensor;
  };
  for (DType dtype : {DType::kF32, DType::kF64, DType::kI32}) {
    const Constant a = bits(dtype, 3), b = bits(dtype, 5), c = bits(dtype, 7), d = bits(dtype, 9);
    const Constant ab = Einsum("ij,jk->ik", {a, b}), abc = Einsum("ij,jk->ik", {ab, c});
    const Constant wanted = Einsum("ij,jk->ki", {abc, d});
    EXPECT_EQ(Einsum("ij,jk,kl,lm->mi", {a, b, c, d})->Reals(), wanted->Reals());
    EXPECT_EQ(Einsum("lm,ij,kl,jk->mi", {d, a, c, b})->Reals(), wanted->Reals()) << "in any order";
  }
  EXPECT_THAT(Einsum("a,b,c->", {Counting({3}), Counting({4}), Counting({5})})->Reals(), ElementsAre(180));
  EXPECT_THAT(Einsum("ab,b,a->b", {Counting({2, 3}), Counting({1}), Counting({2})})->Reals(),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(Einsum("ij,jk->k", {Counting({2, 3}), Counting({3, 2})})->Reals(), ElementsAre(38, 53));
  EXPECT_THAT(Einsum("ii,i,i->i", {Counting({3, 3}), Counting({3}), Counting({3})})->Reals(),
              ElementsAre(0, 4, 32));
}

TEST(IndexOps, NonZeroGivesPlaces) {
  Node node{.name = "n", .type = "NonZero"};
  node.attributes["transpose"] = true;
  EXPECT_THAT(Outputs(node, {Counting({2, 2})})[0]->Ints(), ElementsAre(0, 1, 1, 1, 0, 1));
}

TEST(IndexOps, TopKKeepsTheBest) {
  auto best = Outputs({.name = "n", .type = "TopKV2", .outputs = 2}, {Counting({2, 3}), Ints({2})});
  EXPECT_THAT(best[0]->Reals(), ElementsAre(2, 1, 5, 4));
  EXPECT_THAT(best[1]->Ints(), ElementsAre(2, 1, 2, 1));
}

TEST(ResizeOps, ImagesOfBothFormats) {
  Node node{.name = "n", .type = "ResizeNearestNeighborV2"};
  node.attributes["data_format"] = std::string("NHWC");
  Constant out = Outputs(node, {Counting({1, 1, 2, 2}), Ints({1, 4})})[0];
  EXPECT_THAT(out->Reals(), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
}

}  // namespace
}  // namespace belay::graph
