// Convolutions as nodes of graphs.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "graph/interpreter.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

Constant Random(const Shape& shape, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_int_distribution<int> values(-3, 3);
  auto tensor = std::make_shared<HostTensor>(DType::kF32, shape);
  for (int64_t i = 0; i < tensor->count(); ++i) tensor->as<float>()[i] = static_cast<float>(values(rng));
  return tensor;
}

Constant Turned(const Constant& x, std::vector<int64_t> order) {
  Node node{.name = "t", .type = "TransposeD"};
  node.attributes["perm"] = std::move(order);
  return EvaluateNode(node, std::vector{x})[0];
}

using IntList = std::vector<int64_t>;

std::vector<double> RealsOf(const Node& node, const std::vector<Constant>& inputs) {
  return EvaluateNode(node, inputs)[0]->Reals();
}

TEST(ConvNodes, LayoutsOfImagesAndFiltersAgree) {
  Constant x = Random({2, 4, 6, 5}, 1), w = Random({6, 2, 3, 3}, 2), b = Random({6}, 3);
  Node node{.name = "c", .type = "Conv2D"};
  node.attributes = {{"strides", IntList{1, 1, 2, 1}},
                     {"pads", IntList{1, 0, 1, 1}},
                     {"data_format", std::string("NCHW")},
                     {"groups", int64_t{2}}};
  Constant first = EvaluateNode(node, std::vector{x, w, b})[0];
  EXPECT_EQ(first->shape(), (Shape{2, 6, 3, 5}));
  node.attributes["data_format"] = std::string("NHWC");
  node.attributes["strides"] = IntList{1, 2, 1, 1};
  Constant last = EvaluateNode(node, std::vector{Turned(x, {0, 2, 3, 1}), Turned(w, {2, 3, 1, 0}), b})[0];
  EXPECT_EQ(last->shape(), (Shape{2, 3, 5, 6}));
  EXPECT_EQ(Turned(last, {0, 3, 1, 2})->Reals(), first->Reals());
}

// A caller of single operators hands over ONNX's attributes, whose pads are in another order.
TEST(ConvNodes, AttributesOfOnnxAreTakenInItsOrder) {
  Constant x = Random({1, 1, 5, 4}, 1), w = Random({1, 1, 3, 3}, 2);
  Node ge{.name = "a", .type = "Conv2D"}, onnx{.name = "b", .type = "Conv2D"};
  ge.attributes = {
      {"pads", IntList{2, 0, 1, 0}}, {"strides", IntList{1, 1, 1, 1}}, {"data_format", std::string("NCHW")}};
  onnx.attributes = {{"pads", IntList{2, 1, 0, 0}}, {"strides", IntList{1, 1, 1, 1}}, {"group", int64_t{1}}};
  EXPECT_EQ(RealsOf(ge, {x, w}), RealsOf(onnx, {x, w}));
}

TEST(ConvNodes, FusedIsTheSameAsItsParts) {
  Constant x = Random({1, 3, 5, 5}, 1), w = Random({4, 3, 3, 3}, 2), b = Random({4}, 3),
           r = Random({1, 4, 5, 5}, 4);
  Node conv{.name = "c", .type = "Conv2D"}, fused{.name = "f", .type = "FusedConv2D"};
  conv.attributes = {{"pads", IntList{1, 1, 1, 1}}, {"data_format", std::string("NCHW")}};
  fused.attributes = {{"pads", IntList{1, 1, 1, 1}}, {"activation", std::string("relu")}};
  std::vector<double> parts = RealsOf(conv, {x, w, b}), added = r->Reals(),
                      got = RealsOf(fused, {x, w, b, r});
  for (size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(got[i], std::max(0.0, parts[i] + added[i])) << i;
  for (const Shape& wrong : {Shape{}, Shape{4}, Shape{1, 4, 5, 4}})
    EXPECT_THROW(RealsOf(fused, {x, w, b, Random(wrong, 5)}), Error) << wrong.ToString();
  fused.attributes["activation"] = std::string("no such");
  EXPECT_THROW(RealsOf(fused, {x, w, b, r}), Error);
}

TEST(FusedMatMul, TakesOnlyWhatFits) {
  Node fused{.name = "f", .type = "FusedMatMul"};
  for (int64_t rows : {1, 3}) {
    const Constant x = Random({rows, 4}, 1), w = Random({4, 6}, 2), b = Random({6}, 3),
                   r = Random({rows, 6}, 4);
    EXPECT_EQ(RealsOf(fused, {x, w, b, r}).size(), static_cast<size_t>(rows * 6));
    for (const Shape& wrong : {Shape{}, Shape{5}, Shape{rows, 5}, Shape{6, rows, 2}}) {
      EXPECT_THROW(RealsOf(fused, {x, w, Random(wrong, 5), r}), Error) << "bias " << wrong.ToString();
      EXPECT_THROW(RealsOf(fused, {x, w, b, Random(wrong, 5)}), Error) << "added " << wrong.ToString();
    }
  }
}

TEST(ConvNodes, DepthwiseChannelsHaveTheirMultiples) {
  Constant x = Random({1, 5, 4, 3}, 1), w = Random({3, 2, 3, 2}, 2);  // [h, w, channels, multiple]
  Node depthwise{.name = "d", .type = "DepthwiseConv2D"}, grouped{.name = "g", .type = "Conv2D"};
  depthwise.attributes = {{"data_format", std::string("NHWC")}, {"pads", IntList{1, 1, 0, 0}}};
  grouped.attributes = {{"data_format", std::string("NHWC")},
                        {"pads", IntList{1, 1, 0, 0}},
                        {"filter_format", std::string("NCHW")}};
  Constant filter = Turned(w, {2, 3, 0, 1});  // [channels, multiple, h, w]
  auto kernels = std::make_shared<HostTensor>(DType::kF32, Shape{6, 1, 3, 2}, filter->data(), filter);
  EXPECT_EQ(RealsOf(depthwise, {x, w}), RealsOf(grouped, {x, kernels}));
}

TEST(ConvNodes, BackpropIsTheTransposedConvolution) {
  Constant y = Random({1, 2, 3, 3}, 1), w = Random({2, 3, 3, 3}, 2);
  Node back{.name = "b", .type = "Conv2DBackpropInputD"}, transposed{.name = "t", .type = "ConvTranspose"};
  back.attributes = {{"input_size", IntList{1, 3, 6, 6}},
                     {"strides", IntList{1, 1, 2, 2}},
                     {"pads", IntList{1, 1, 1, 1}},
                     {"data_format", std::string("NCHW")}};
  transposed.attributes = {
      {"strides", IntList{2, 2}}, {"pads", IntList{1, 1, 1, 1}}, {"output_padding", IntList{1, 1}}};
  EXPECT_EQ(RealsOf(back, {w, y}), RealsOf(transposed, {y, w}));
}

TEST(MatmulNodes, TypesThatNoLibraryTakes) {
  auto tensor = [](const Shape& shape, std::initializer_list<int64_t> values) {
    auto made = std::make_shared<HostTensor>(DType::kI64, shape);
    std::copy(values.begin(), values.end(), made->as<int64_t>());
    return made;
  };
  Node node{.name = "m", .type = "BatchMatMul"};
  Constant a = tensor({1, 2}, {int64_t{1} << 40, 3}), b = tensor({2, 1}, {5, 7});
  EXPECT_EQ(EvaluateNode(node, std::vector{a, b})[0]->Ints(), (IntList{(int64_t{5} << 40) + 21}));
  Node gemm{.name = "g", .type = "Gemm"};
  gemm.attributes = {{"alpha", 2.0}, {"beta", 3.0}};
  auto real = [](const Shape& shape, std::initializer_list<double> values) {
    auto made = std::make_shared<HostTensor>(DType::kF64, shape);
    std::copy(values.begin(), values.end(), made->as<double>());
    return made;
  };
  EXPECT_EQ(RealsOf(gemm, {real({1, 2}, {1, 2}), real({2, 1}, {3, 4}), real({1}, {5})}),
            (std::vector<double>{37}));
}

// Where taps do not fill a stride, ONNX's equations have paddings of less than none: zeros before the first
// tap.
TEST(ConvNodes, PaddingsByNameOfTransposedConvolutionsMayBeLessThanNone) {
  Constant x = samples::Reals({1, 1, 3}, {1, 2, 3}), w = samples::Reals({1, 1, 2}, {1, 2});
  Node node{.name = "t", .type = "ConvTranspose"};
  const auto with = [&](int64_t stride, const char* name) {
    node.attributes = {{"strides", IntList{stride}}, {"auto_pad", std::string(name)}};
    return RealsOf(node, {x, w});
  };
  EXPECT_EQ(with(4, "SAME_UPPER"), (std::vector<double>{0, 1, 2, 0, 0, 2, 4, 0, 0, 3, 6, 0}));
  EXPECT_EQ(with(4, "SAME_LOWER"), (std::vector<double>{0, 1, 2, 0, 0, 2, 4, 0, 0, 3, 6, 0}));
  EXPECT_EQ(with(3, "SAME_UPPER"), (std::vector<double>{0, 1, 2, 0, 2, 4, 0, 3, 6}));
  EXPECT_EQ(with(3, "SAME_LOWER"), (std::vector<double>{1, 2, 0, 2, 4, 0, 3, 6, 0}));
}

// Of pools no equation says which elements windows see then; one that ends before the last element is the
// same either way.
TEST(ConvNodes, PaddingsByNameOfPoolsAreNeverLessThanNone) {
  Constant x = samples::Reals({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const char* type : {"MaxPoolV3", "AvgPoolV2", "LpPool"}) {
    Node node{.name = "p", .type = type};
    for (const char* name : {"SAME_UPPER", "SAME_LOWER"}) {
      node.attributes = {{"ksize", IntList{1}}, {"strides", IntList{2}}, {"padding_mode", std::string(name)}};
      EXPECT_EQ(RealsOf(node, {x}), (std::vector<double>{1, 3, 5, 7})) << type;
      node.attributes["strides"] = IntList{4};
      EXPECT_THROW(RealsOf(node, {x}), Error) << type;
    }
  }
}

}  // namespace
}  // namespace belay::graph
