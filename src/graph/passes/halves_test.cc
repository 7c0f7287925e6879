// Networks of FLOAT16 and BFLOAT16: what a pass makes one of several rounds where they did.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "graph/passes/test_graph.h"
#include "tensor/convert.h"

namespace belay::graph {
namespace {

constexpr DType kHalfTypes[] = {DType::kF16, DType::kBF16};

Constant Converted(const Constant& value, DType type) {
  auto to = std::make_shared<HostTensor>(type, value->shape());
  tensor::Convert(type, to->mutable_data(), value->dtype(), value->data(), value->count());
  return to;
}

// Networks of whole numbers: their sums are exact in FLOAT, whatever the order, and rounding shows.
class WholeNetwork {
 public:
  explicit WholeNetwork(DType type, uint32_t seed = 5) : type_(type), random_(seed) {}

  Port Input(const Shape& shape) {
    shape_ = shape;
    return {graph.AddInput("x", {type_, Format::kND, true, shape})};
  }
  Constant Numbers(const Shape& shape, int most) {
    HostTensor floats(DType::kF32, shape);
    std::uniform_int_distribution<int> number(-most, most);
    for (int64_t i = 0; i < floats.count(); ++i) floats.as<float>()[i] = static_cast<float>(number(random_));
    auto halves = std::make_shared<HostTensor>(type_, shape);
    tensor::Convert(type_, halves->mutable_data(), DType::kF32, floats.data(), floats.count());
    return halves;
  }
  Port Whole(const Shape& shape, int most = 3) { return graph.AddConstant("c", Numbers(shape, most)); }
  Port Number(double value) { return graph.AddConstant("n", Converted(RealConstant(value), type_)); }
  Port Add(const char* type, std::vector<Port> inputs, Attributes attributes = {}) {
    Node node{.name = type + std::to_string(graph.nodes.size()), .type = type, .inputs = std::move(inputs)};
    node.attributes = std::move(attributes);
    return {graph.Add(std::move(node))};
  }
  Port Conv(Port x, const Shape& filter, int64_t stride = 1, int64_t groups = 1) {
    return Add("Conv2D", {x, Whole(filter), Whole({filter[0]}, 40)},
               {{"strides", std::vector<int64_t>{stride, stride}},
                {"pads", std::vector<int64_t>(4, filter[2] / 2)},
                {"groups", groups},
                {"data_format", std::string("NCHW")}});
  }
  Port Clip(Port x, double low, double high) { return Add("ClipByValueV2", {x, Number(low), Number(high)}); }

  // Optimised, with its weights packed, it computes the same to the bit.
  Graph Verified(Port output) {
    graph.outputs = {{output, "y"}};
    const Constant x = Numbers(shape_, 9);
    const Constant want = Evaluate(graph, std::vector{x}).at(0);
    std::vector<ValueType> types{{type_, Format::kND, true, shape_}};
    Graph made = Specialise(graph, types).graph;
    Optimise(made);
    Graph packed = made;
    PackWeights(packed);
    for (const Graph& of : {made, packed}) {
      const Constant got = RunProgram(of, {x}).at(0);
      EXPECT_EQ(got->shape(), want->shape());
      EXPECT_EQ(got->dtype(), want->dtype());
      if (got->bytes() != want->bytes()) continue;
      EXPECT_EQ(std::memcmp(got->data(), want->data(), want->bytes()), 0) << NameOf(type_);
    }
    packed_ = Count(packed, "FusedConv2D") > 0 &&
              std::any_of(packed.nodes.begin(), packed.nodes.end(),
                          [](const Node& n) { return n.attributes.count("packed_layout") != 0; });
    return made;
  }
  bool packed() const { return packed_; }

  Graph graph;

 private:
  const DType type_;
  std::mt19937 random_;
  Shape shape_;
  bool packed_ = false;
};

TEST(Halves, ClipsAreTakenOverAndImagesStayTurned) {
  for (DType type : kHalfTypes) {
    WholeNetwork n(type);
    Port y = n.Clip(n.Conv(n.Input({1, 8, 20, 20}), {40, 8, 3, 3}), 0, 6);
    y = n.Add("Relu6", {n.Conv(y, {40, 1, 3, 3}, 2, 40)});
    y = n.Add("Relu", {n.Conv(y, {24, 40, 1, 1})});
    const Graph made = n.Verified(n.Conv(y, {32, 24, 3, 3}));
    EXPECT_EQ(Count(made, "FusedConv2D"), 4);
    EXPECT_EQ(Count(made, "ClipByValueV2") + Count(made, "Relu6") + Count(made, "Relu"), 0);
    EXPECT_EQ(Count(made, "TransposeD"), 2) << "once in and once out";
    EXPECT_TRUE(n.packed());
  }
}

// Between these and a convolution a rounding would be left out.
TEST(Halves, WhatRoundsInBetweenStaysApart) {
  for (DType type : kHalfTypes) {
    for (const char* kind : {"Add", "Sub", "Mul", "BNInfer", "LeakyRelu", "residual"}) {
      WholeNetwork n(type);
      const Port x = n.Input({1, 24, 12, 12});
      // Sums of a few thousand, which are rounded.
      Port y = n.Conv(n.Add("Div", {x, n.Number(1.0 / 16)}), {24, 24, 3, 3});
      const std::string name = kind;
      if (name == "residual") {
        y = n.Add("Relu", {n.Add("Add", {y, x})});
      } else if (name == "LeakyRelu") {
        y = n.Add(kind, {y}, {{"negative_slope", 0.25}});
      } else if (name == "BNInfer") {
        y = n.Add(kind, {y, n.Whole({24}), n.Whole({24}), n.Whole({24}), n.Add("Abs", {n.Whole({24}, 4)})},
                  {{"epsilon", 1.0}});
      } else {
        y = n.Add(kind, {y, n.Whole({24, 1, 1}, 7)});
      }
      const Graph made = n.Verified(n.Conv(n.Clip(y, -4, 4), {8, 24, 1, 1}));
      EXPECT_EQ(Count(made, name == "residual" ? "Add" : kind), 1) << kind;
    }
  }
}

// Sums beyond the largest number are infinite before they are clipped.
TEST(Halves, ClippedOverflow) {
  WholeNetwork n(DType::kF16);
  const Port x = n.Add("Mul", {n.Input({1, 32, 10, 10}), n.Number(2048)});
  const Port y = n.Add("Relu", {n.Conv(x, {16, 32, 3, 3})});
  n.Verified(n.Add("Minimum", {y, n.Number(60000)}));
}

class RandomWholeNetwork {
 public:
  RandomWholeNetwork(DType type, uint32_t seed) : net_(type, seed), random_(seed) {
    const Shape shape{1 + Below(2), 8 * (1 + Below(4)), 6 + Below(24), 6 + Below(24)};
    values_.push_back({net_.Input(shape), shape, 9});
    for (int i = 0; i < 9; ++i) Grow();
  }
  Graph Verified() { return net_.Verified(values_.back().port); }

 private:
  struct Value {
    Port port;
    Shape shape;
    int64_t most;
  };

  int64_t Below(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most - 1)(random_); }

  void Grow() {
    Value v = values_.back();
    switch (Below(6)) {
      case 0:
        v.port = net_.Add(Below(2) == 0 ? "Relu" : "Abs", {v.port});
        break;
      case 1:
        v.port = net_.Add("MaxPoolV3", {v.port},
                          {{"ksize", std::vector<int64_t>{3, 3}},
                           {"strides", std::vector<int64_t>{1, 1}},
                           {"padding_mode", std::string("SAME")},
                           {"data_format", std::string("NCHW")}});
        break;
      case 2:
        return Sum(v);
      default:
        return Convolve(v);
    }
    values_.push_back(v);
  }

  void Sum(Value v) {
    for (const Value& other : values_) {
      if (other.shape != v.shape || Below(2) == 0) continue;
      v.port = net_.Add("Add", {v.port, other.port}), v.most += other.most;
      return values_.push_back(v);
    }
  }

  void Convolve(Value v) {
    constexpr int64_t kMost = 8;
    v.port = net_.Clip(v.port, -kMost, kMost);
    const int64_t channels = v.shape[1], kernel = 1 + 2 * Below(2), stride = 1 + Below(2);
    const bool apart = Below(3) == 0;
    const int64_t out = apart ? channels : 8 * (1 + Below(5));
    v.port = net_.Conv(v.port, {out, apart ? 1 : channels, kernel, kernel}, stride, apart ? channels : 1);
    v.shape[1] = out;
    for (int d : {2, 3}) v.shape[d] = (v.shape[d] + 2 * (kernel / 2) - kernel) / stride + 1;
    if (Below(2) == 0) v.port = Below(2) == 0 ? net_.Add("Relu", {v.port}) : net_.Clip(v.port, -100, 1000);
    values_.push_back(v);
  }

  WholeNetwork net_;
  std::mt19937 random_;
  std::vector<Value> values_;
};

TEST(Halves, RandomNetworksOfWholeNumbersAreTheSameToTheBit) {
  const char* only = std::getenv("BELAY_TEST_SEED");
  int fused = 0;
  for (uint32_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    if (only != nullptr && std::strtoul(only, nullptr, 10) != seed) continue;
    SCOPED_TRACE("BELAY_TEST_SEED=" + std::to_string(seed));
    fused += Count(RandomWholeNetwork(kHalfTypes[seed % 2], seed).Verified(), "FusedConv2D");
  }
  if (only == nullptr) EXPECT_GT(fused, 60);
}

}  // namespace
}  // namespace belay::graph
