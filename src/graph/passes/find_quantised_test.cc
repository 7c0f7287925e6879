#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "graph/interpreter.h"
#include "graph/passes/other_ranks.h"
#include "graph/passes/passes.h"
#include "graph/passes/test_graph.h"
#include "graph/specialise.h"
#include "ops/conv/byte_conv.h"
#include "ops/matmul/integer.h"

namespace belay::graph {
namespace {

// What quantising tools write: floats only between DequantizeLinear and QuantizeLinear.
class QuantBuilder {
 public:
  template <class T>
  Port Constants(DType dtype, const Shape& shape, double low, double high) {
    auto tensor = std::make_shared<HostTensor>(dtype, shape);
    std::uniform_real_distribution<double> values(low, high);
    for (int64_t i = 0; i < tensor->count(); ++i) tensor->as<T>()[i] = static_cast<T>(values(rng_));
    return graph.AddConstant("c", std::move(tensor));
  }
  Port Scale(const std::vector<float>& values) {
    auto tensor = std::make_shared<HostTensor>(
        DType::kF32, values.size() == 1 ? Shape{} : Shape{static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor->as<float>());
    return graph.AddConstant("scale", std::move(tensor));
  }
  Port Zero(int value, DType dtype = DType::kU8, int64_t count = 1) {
    auto tensor = std::make_shared<HostTensor>(dtype, count == 1 ? Shape{} : Shape{count});
    if (dtype == DType::kI32) {
      std::fill_n(tensor->as<int32_t>(), count, value);
    } else {
      std::fill_n(tensor->as<uint8_t>(), count, static_cast<uint8_t>(value));
    }
    return graph.AddConstant("zero", std::move(tensor));
  }
  Port Add(const char* type, std::vector<Port> inputs, Attributes attributes = {}) {
    Node node{.name = type + std::to_string(graph.nodes.size()), .type = type, .inputs = std::move(inputs)};
    node.attributes = std::move(attributes);
    return {graph.Add(std::move(node))};
  }
  Port Real(Port bytes, float scale, int zero) {
    return Add("DequantizeLinear", {bytes, Scale({scale}), Zero(zero)});
  }
  Port Bytes(Port real, float scale, int zero) {
    return Add("QuantizeLinear", {real, Scale({scale}), Zero(zero)});
  }
  // A convolution of x (with this scale) with weights of i8, one scale for each channel, and a bias.
  Port Conv(Port x, float scale, const Shape& shape, int64_t groups, double bias_step = 1) {
    std::vector<float> scales, steps;
    for (int64_t i = 0; i < shape[0]; ++i) scales.push_back(0.01f + 0.001f * static_cast<float>(i));
    for (float s : scales) steps.push_back(static_cast<float>(s * scale * bias_step));
    Attributes rows{{"axis", int64_t{0}}};
    Port w =
        Add("DequantizeLinear",
            {Constants<int8_t>(DType::kI8, shape, -120, 120), Scale(scales), Zero(0, DType::kI8, shape[0])},
            rows);
    Port bias = Add("DequantizeLinear",
                    {Constants<int32_t>(DType::kI32, {shape[0]}, -3000, 3000), Scale(steps),
                     Zero(0, DType::kI32, shape[0])},
                    rows);
    const int64_t pad = shape[2] / 2;
    return Add("Conv2D", {x, w, bias},
               {{"strides", std::vector<int64_t>{1, 2}},
                {"pads", std::vector<int64_t>{pad, pad, pad, 0}},
                {"groups", groups},
                {"data_format", std::string("NCHW")}});
  }

  Graph graph;

 private:
  std::mt19937 rng_{3};
};

Constant RandomBytes(const Shape& shape) {
  auto bytes = std::make_shared<HostTensor>(DType::kU8, shape);
  std::mt19937 rng(4);
  for (int64_t i = 0; i < bytes->count(); ++i) bytes->as<uint8_t>()[i] = static_cast<uint8_t>(rng());
  return bytes;
}

// The bytes differ by a step at most, and few do. Gives back the graph that computes with bytes.
Graph CheckQuantised(Graph graph, const Constant& x, const Constant& want) {
  FindQuantised(graph);
  std::vector<ValueType> types{{DType::kU8, Format::kND, true, x->shape()}};
  graph = Specialise(graph, types).graph;
  Optimise(graph);
  Constant got = Evaluate(graph, std::vector{x}).at(0);
  EXPECT_EQ(got->shape(), want->shape());
  EXPECT_EQ(got->dtype(), want->dtype());
  int64_t differ = 0;
  for (int64_t i = 0; i < std::min(got->count(), want->count()); ++i) {
    const int step = std::abs(got->as<uint8_t>()[i] - want->as<uint8_t>()[i]);
    EXPECT_LE(step, 1) << i;
    differ += step;
  }
  EXPECT_LE(differ * 50, want->count());
  return graph;
}

// The same holds where constants have other shapes, as far as the operators take them.
Graph Check(QuantBuilder& builder, Port output, const Shape& shape) {
  builder.graph.outputs = {{output, "y"}};
  Constant x = RandomBytes(shape);
  Graph graph = CheckQuantised(builder.graph, x, Evaluate(builder.graph, std::vector{x}).at(0));
  int number = 0;
  for (const Graph& variant : WithOtherRanks(builder.graph)) {
    SCOPED_TRACE("variant " + std::to_string(number++));
    Constant want;
    try {
      want = Evaluate(variant, std::vector{x}).at(0);
    } catch (const Error&) {
      continue;
    }
    EXPECT_NO_THROW(CheckQuantised(variant, x, want));
    if (testing::Test::HasFailure()) break;
  }
  return graph;
}

class FindQuantisedTest : public ::testing::Test {
 protected:
  Port Input(const Shape& shape) { return {b.graph.AddInput("x", {DType::kU8, Format::kND, true, shape})}; }

  QuantBuilder b;
};

TEST_F(FindQuantisedTest, ABlockWithAShortcut) {
  const Shape shape{2, 12, 9, 10};
  Port x = b.Real(Input(shape), 0.02f, 100);
  Port y = b.Real(b.Bytes(b.Conv(x, 0.02f, {12, 12, 3, 3}, 1), 0.3f, 120), 0.3f, 120);
  Port z = b.Real(b.Bytes(b.Conv(x, 0.02f, {12, 1, 3, 3}, 12), 0.05f, 0), 0.05f, 0);
  Graph graph = Check(b, b.Bytes(b.Add("Add", {y, z}), 0.31f, 99), shape);
  EXPECT_EQ(Count(graph, "QLinearAdd"), 1);
  EXPECT_EQ(Count(graph, "QLinearConv"), ops::ConvolvesBytes() ? 2 : 0);
  if (ops::ConvolvesBytes()) {
    EXPECT_EQ(Count(graph, "TransposeD"), 2) << "once in, once out";
  }
}

TEST_F(FindQuantisedTest, FloatsAreTurnedRatherThanTheirBytes) {
  if (!ops::ConvolvesBytes()) GTEST_SKIP() << "convolutions stay real";
  const ValueType image{DType::kF32, Format::kND, true, Shape{1, 3, 8, 8}};
  Port x = b.Real(b.Bytes({b.graph.AddInput("x", image)}, 0.02f, 3), 0.02f, 3);
  b.graph.outputs = {{b.Bytes(b.Conv(x, 0.02f, {8, 3, 3, 3}, 1), 0.1f, 30), "y"}};
  FindQuantised(b.graph);
  Graph graph = Specialise(b.graph, std::vector{image}).graph;
  Optimise(graph);
  auto turn = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                           [](const Node& n) { return n.type == "TransposeD"; });
  ASSERT_NE(turn, graph.nodes.end());
  EXPECT_EQ(turn->types[0].dtype, DType::kF32);
  EXPECT_EQ(Count(graph, "QLinearConv"), 1);
}

// The matrix lies as torch exports it, or as onnxruntime joins a product and a sum before it quantises them.
TEST_F(FindQuantisedTest, AFullyConnectedLayer) {
  for (bool turned : {true, false}) {
    for (int64_t axis : {0, 1, -1}) {
      b = {};
      SCOPED_TRACE(testing::Message() << turned << " " << axis);
      Port x = b.Real(Input({3, 40}), 0.02f, 90);
      std::vector<float> steps, sums;
      for (int i = 0; i < 40; ++i) steps.push_back(0.01f + 0.001f * static_cast<float>(i % 7));
      for (float step : steps) sums.push_back(0.02f * step);
      Port bias = b.Add(
          "DequantizeLinear",
          {b.Constants<int32_t>(DType::kI32, {40}, -3000, 3000), b.Scale(sums), b.Zero(0, DType::kI32, 40)},
          {{"axis", int64_t{0}}});
      Port w = b.Add(
          "DequantizeLinear",
          {b.Constants<int8_t>(DType::kI8, {40, 40}, -120, 120), b.Scale(steps), b.Zero(0, DType::kI8, 40)},
          {{"axis", axis}});
      Port y = b.Add("Gemm", {x, w, bias}, {{"transpose_b", turned}});
      Graph graph = Check(b, b.Bytes(y, 0.2f, 120), {3, 40});
      EXPECT_EQ(Count(graph, "QLinearConv"), turned == (axis == 0) && ops::ConvolvesBytes() ? 1 : 0);
    }
  }
}

TEST_F(FindQuantisedTest, AMatrixOfOtherSides) {
  for (int64_t scales : {1, 40}) {
    b = {};
    Port x = b.Real(Input({5, 24}), 0.02f, 90);
    std::vector<float> steps(static_cast<size_t>(scales), 0.01f), sums(steps.size(), 0.02f * 0.01f);
    Port bias = b.Add(
        "DequantizeLinear",
        {b.Constants<int32_t>(DType::kI32, {40}, -3000, 3000), b.Scale(sums), b.Zero(0, DType::kI32, scales)},
        {{"axis", int64_t{0}}});
    Port w = b.Add("DequantizeLinear", {b.Constants<int8_t>(DType::kI8, {24, 40}, -120, 120), b.Scale(steps),
                                        b.Zero(0, DType::kI8, scales)});
    Graph graph = Check(b, b.Bytes(b.Add("Gemm", {x, w, bias}), 0.2f, 120), {5, 24});
    EXPECT_EQ(Count(graph, "QLinearConv"), ops::ConvolvesBytes() ? 1 : 0);
  }
}

// Numbers that are only moved or chosen from stay bytes where both ends have the same steps.
TEST_F(FindQuantisedTest, MovesOfNumbersMoveTheirBytes) {
  for (const float scale : {0.02f, 0.03f}) {
    b = {};
    Port x = b.Real(Input({2, 3, 8, 6}), 0.02f, 90);
    x = b.Add("MaxPoolV3", {x},
              {{"ksize", std::vector<int64_t>{1, 1, 2, 2}},
               {"strides", std::vector<int64_t>{1, 1, 2, 2}},
               {"padding_mode", std::string("CALCULATED")},
               {"pads", std::vector<int64_t>{0, 0, 0, 0}}});
    x = b.Real(b.Bytes(x, scale, 90), scale, 90);
    x = b.Add("TransposeD", {x}, {{"perm", std::vector<int64_t>{1, 0, 3, 2}}});
    x = b.Real(b.Bytes(x, scale, 90), scale, 90);
    Graph graph = Check(b, b.Bytes(b.Add("Flatten", {x}, {{"axis", int64_t{1}}}), scale, 90), {2, 3, 8, 6});
    EXPECT_EQ(Count(graph, "QuantizeLinear"), scale == 0.02f ? 0 : 1);
  }
}

TEST_F(FindQuantisedTest, ProductsWithAMatrixOfBytes) {
  for (const DType type : {DType::kI8, DType::kU8}) {
    for (int64_t scales : {1, 24}) {
      b = {};
      const Shape shape{2, 7, 40};
      std::vector<float> steps;
      for (int64_t i = 0; i < scales; ++i) steps.push_back(0.01f + 0.001f * static_cast<float>(i));
      const Port bytes = type == DType::kI8 ? b.Constants<int8_t>(type, {40, 24}, -120, 120)
                                            : b.Constants<uint8_t>(type, {40, 24}, 0, 255);
      const Port zeros = scales == 1 || type == DType::kI8
                             ? b.Zero(type == DType::kI8 ? 0 : 117, type, scales)
                             : b.Constants<uint8_t>(type, {scales}, 100, 140);
      Port w = b.Add("DequantizeLinear", {bytes, b.Scale(steps), zeros}, {{"axis", int64_t{1}}});
      Port y = b.Add("BatchMatMul", {b.Real(Input(shape), 0.02f, 90), w});
      y = b.Add("Add", {y, b.Constants<float>(DType::kF32, {24}, -1, 1)});
      Graph graph = Check(b, b.Bytes(y, 0.4f, 120), shape);
      EXPECT_EQ(Count(graph, "MatMulInteger"), ops::SumsBytesExactly() ? 1 : 0) << scales;
    }
  }
}

TEST_F(FindQuantisedTest, ProductsOfRowsThatHaveScalesStayReal) {
  Port w = b.Add("DequantizeLinear",
                 {b.Constants<int8_t>(DType::kI8, {24, 24}, -120, 120),
                  b.Scale(std::vector<float>(24, 0.01f)), b.Zero(0, DType::kI8, 24)},
                 {{"axis", int64_t{0}}});
  Port y = b.Add("BatchMatMul", {b.Real(Input({7, 24}), 0.02f, 90), w});
  Graph graph = Check(b, b.Bytes(y, 0.4f, 120), {7, 24});
  EXPECT_EQ(Count(graph, "MatMulInteger"), 0);
}

TEST_F(FindQuantisedTest, ProductsOfATurnedMatrixStayReal) {
  Port w = b.Add("DequantizeLinear", {b.Constants<int8_t>(DType::kI8, {24, 24}, -120, 120), b.Scale({0.01f}),
                                      b.Zero(0, DType::kI8)});
  Port y = b.Add("BatchMatMul", {b.Real(Input({7, 24}), 0.02f, 90), w}, {{"adj_x2", true}});
  Graph graph = Check(b, b.Bytes(y, 0.4f, 120), {7, 24});
  EXPECT_EQ(Count(graph, "MatMulInteger"), 0);
}

TEST_F(FindQuantisedTest, ABiasInOtherStepsStaysReal) {
  const Shape shape{1, 4, 6, 8};
  Port x = b.Real(Input(shape), 0.02f, 3);
  Graph graph = Check(b, b.Bytes(b.Conv(x, 0.02f, {8, 4, 3, 3}, 1, 2), 0.1f, 30), shape);
  EXPECT_EQ(Count(graph, "QLinearConv"), 0);
}

TEST_F(FindQuantisedTest, AConvolutionThatOthersReadStaysReal) {
  const Shape shape{1, 4, 6, 8};
  Port conv = b.Conv(b.Real(Input(shape), 0.02f, 3), 0.02f, {8, 4, 1, 1}, 1);
  Port y = b.Bytes(conv, 0.1f, 30);
  Port twice = b.Real(y, 0.1f, 30);
  Graph graph = Check(b, b.Bytes(b.Add("Sub", {twice, conv}), 0.1f, 128), shape);
  EXPECT_EQ(Count(graph, "QLinearConv"), 0);
}

Constant Evaluated(const char* type, const std::vector<Constant>& inputs, Attributes attributes = {}) {
  Node node{.name = "n", .type = type, .attributes = std::move(attributes)};
  for (size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back({static_cast<int>(i), 0});
  return EvaluateNode(node, inputs).at(0);
}

template <class T>
Constant Holding(DType dtype, const Shape& shape, std::initializer_list<T> values) {
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  std::copy(values.begin(), values.end(), tensor->template as<T>());
  return tensor;
}

// Halves go to the even byte, the zero point included; without it 1.5 would become 2 and 3.5 become 4.
TEST(QLinearAdd, RoundsBehindTheZeroPoint) {
  auto scale = [](float value) { return Holding<float>(DType::kF32, {}, {value}); };
  auto zero = [](uint8_t value) { return Holding<uint8_t>(DType::kU8, {}, {value}); };
  Constant a = Holding<uint8_t>(DType::kU8, {1, 4}, {10, 11, 13, 255});
  Constant b = Holding<uint8_t>(DType::kU8, {1, 1}, {4});
  Constant y = Evaluated("QLinearAdd", {a, scale(0.5f), zero(10), b, scale(1), zero(3), scale(1), zero(1)});
  EXPECT_EQ(y->Ints(), (std::vector<int64_t>{2, 2, 4, 124}));
  Constant low = Holding<int8_t>(DType::kI8, {2}, {-128, 127}), none = Holding<int8_t>(DType::kI8, {}, {0});
  Constant kept = Evaluated("QLinearAdd", {low, scale(1), none, low, scale(1), none, scale(1), none});
  EXPECT_EQ(kept->Ints(), (std::vector<int64_t>{-128, 127}));
}

// Weights that may change take the way through floats, in either layout.
TEST(QLinearConv, ReadsChannelsLast) {
  Constant x = Holding<uint8_t>(DType::kU8, {1, 2, 1, 2}, {9, 7, 20, 30}),
           turned = Holding<uint8_t>(DType::kU8, {1, 1, 2, 2}, {9, 20, 7, 30});
  Constant w = Holding<int8_t>(DType::kI8, {3, 2, 1, 1}, {1, 2, -3, 4, 50, 60});
  Constant scale = Holding<float>(DType::kF32, {}, {1.0f}), half = Holding<float>(DType::kF32, {}, {0.5f});
  Constant zero = Holding<uint8_t>(DType::kU8, {}, {8}), none = Holding<int8_t>(DType::kI8, {}, {0});
  auto result = [&](Constant image, const char* format) {
    return Evaluated("QLinearConv", {image, half, zero, w, scale, none, scale, zero},
                     {{"data_format", std::string(format)}});
  };
  Constant first = result(x, "NCHW"), last = result(turned, "NHWC");
  EXPECT_EQ(first->shape(), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(first->Ints(), (std::vector<int64_t>{20, 30, 30, 54, 255, 255}));
  EXPECT_EQ(last->shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(last->Ints(), (std::vector<int64_t>{20, 30, 255, 30, 54, 255}));
}

}  // namespace
}  // namespace belay::graph
