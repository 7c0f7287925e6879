// Networks of ten to seventeen random nodes, in which patterns of the passes stand among other operators,
// compute the same whether they were optimised or not.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/sanitizer.h"
#include "graph/passes/test_graph.h"
#include "graph/translation.h"

namespace belay::graph {
namespace {

class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed) {
    const Shape shapes[] = {{2, 4, 6, 6}, {1, 3, 5, 7}, {4, 8}, {2, 5, 8}, {3, 2, 6, 8}};
    shape_ = Pick(shapes);
    values_.push_back(builder_.Input(shape_));
    const size_t most = 10 + Below(8) + builder_.graph.nodes.size();
    for (int tries = 0; tries < 200 && Operators() < most; ++tries) TryToGrow();
    // What nobody reads leaves the graph, and one value that somebody does.
    std::vector<bool> read(builder_.graph.nodes.size());
    for (const Node& node : builder_.graph.nodes) {
      for (const Port& port : node.inputs) read[static_cast<size_t>(port.node)] = true;
    }
    const Port extra = Pick(values_);
    for (const Port& port : values_) {
      if (!read[static_cast<size_t>(port.node)] || port == extra)
        builder_.graph.outputs.push_back({port, "y" + std::to_string(port.node)});
    }
  }

  Graph& graph() { return builder_.graph; }
  const Shape& shape() const { return shape_; }
  Constant Input() { return builder_.RandomInput(shape_); }

 private:
  size_t Below(size_t most) { return std::uniform_int_distribution<size_t>(0, most - 1)(random_); }
  template <class Range>
  auto Pick(const Range& range) -> std::decay_t<decltype(range[0])> {
    return range[Below(std::size(range))];
  }
  size_t Operators() const {
    return static_cast<size_t>(std::count_if(builder_.graph.nodes.begin(), builder_.graph.nodes.end(),
                                             [](const Node& n) { return n.type != kConstType; }));
  }
  const Shape& ShapeOf(const Port& port) const {
    return builder_.graph.nodes[static_cast<size_t>(port.node)].types[0].shape;
  }

  // An operator or several; those that do not take what they were given are taken back.
  void TryToGrow() {
    const size_t nodes = builder_.graph.nodes.size();
    try {
      const Port grown = Grow(Pick(values_));
      if (CountOf(ShapeOf(grown)) > 4096) Fail(0, "test", "too large");
      values_.push_back(grown);
    } catch (const Error&) {
      builder_.graph.nodes.resize(nodes);
    }
  }

  Port Add(const char* type, std::vector<Port> inputs, Attributes attributes = {}) {
    const Port port = builder_.Add(type, std::move(inputs), std::move(attributes));
    Node& node = builder_.graph.nodes.back();
    std::vector<KnownInput> known;
    for (const Port& in : node.inputs) {
      const Node& from = builder_.graph.nodes[static_cast<size_t>(in.node)];
      Constant value = ConstantOf(from);
      known.push_back({true, from.types[0].dtype, from.types[0].shape, value, value != nullptr});
    }
    const Translated translated = TranslateNode(node, known, Purpose::kTypes);
    const LocalValue& out = translated.values[static_cast<size_t>(translated.inputs)];
    node.types = {{out.dtype, Format::kND, true, out.shape}};
    return port;
  }

  Port Number(double value) {
    auto tensor =
        std::make_shared<HostTensor>(DType::kF32, Shape::Filled(static_cast<int>(Below(12) / 3), 1));
    *tensor->as<float>() = static_cast<float>(value);
    return builder_.graph.AddConstant("n", std::move(tensor));
  }
  Port Ints(std::vector<int64_t> values) { return builder_.graph.AddConstant("i", IntsConstant(values)); }

  // A constant that broadcasts with the value: some of its last sizes, some of them one, perhaps with ones
  // before.
  Port Beside(const Port& x) {
    const Shape& shape = ShapeOf(x);
    Shape beside = shape;
    for (int d = 0; d < beside.rank(); ++d) beside[d] = Below(3) == 0 ? shape[d] : 1;
    if (Below(2) == 0 && shape.rank() > 0) beside = Shape{shape.back(0)};
    if (Below(3) == 0 && shape.rank() == 4) beside = Shape{shape[1], 1, 1};
    if (Below(4) == 0) return Number(0.5);
    return builder_.Random(beside);
  }

  Port Grow(const Port& x) {
    switch (Below(12)) {
      case 0:
      case 1:
        return Activation(x);
      case 2:
        return Add(Pick(kSums), Swapped({x, Beside(x)}));
      case 3:
        return Add(Pick(kSums), {x, Pick(values_)});
      case 4:
      case 5:
        return ShapeOf(x).rank() == 4 ? Image(x) : Product(x);
      case 6:
        return Product(x);
      case 7:
        return Gelu(x);
      case 8:
        return Norm(x);
      case 9:
        return HardSwish(x);
      case 10:
        return Attention(x);
      default:
        return Moved(x);
    }
  }

  std::vector<Port> Swapped(std::vector<Port> two) {
    if (Below(2) == 0) std::swap(two[0], two[1]);
    return two;
  }

  Port Activation(const Port& x) {
    static constexpr const char* kTypes[] = {"Relu",  "Tanh", "Sigmoid", "HardSwish",
                                             "Relu6", "Abs",  "Neg",     "Mish"};
    if (Below(6) == 0) return Add("ClipByValueV2", {x, Number(-0.3), Number(0.4)});
    return Add(Pick(kTypes), {x});
  }

  Port Image(const Port& x) {
    const Shape shape = ShapeOf(x);
    const std::vector<int64_t> twos{2, 2};
    const int64_t out = static_cast<int64_t>(1 + Below(5)), kernel = Below(2) == 0 ? 1 : 3;
    switch (Below(5)) {
      case 0:
        return Add("MaxPoolV3", {x}, {{"ksize", twos}, {"strides", twos}});
      case 1:
        return Add("BNInfer", {x, builder_.Random({shape[1]}), builder_.Random({shape[1]}),
                               builder_.Random({shape[1]}), builder_.Random({shape[1]}, 0.5, 1.5)});
      default:
        std::vector<Port> inputs{x, builder_.Random({out, shape[1], kernel, kernel}, -0.3, 0.3)};
        if (Below(2) == 0) inputs.push_back(builder_.Random({out}));
        return Add("Conv2D", inputs,
                   {{"strides", std::vector<int64_t>{1, 1}},
                    {"pads", std::vector<int64_t>(4, kernel / 2)},
                    {"groups", int64_t{1}},
                    {"data_format", std::string("NCHW")}});
    }
  }

  Port Product(const Port& x) {
    const int64_t in = ShapeOf(x).rank() > 0 ? ShapeOf(x).back(0) : 1,
                  out = static_cast<int64_t>(2 + Below(7));
    Port y = Add("BatchMatMul", {x, builder_.Random({in, out}, -0.4, 0.4)});
    return Below(2) == 0 ? Add("Add", Swapped({y, builder_.Random({out})})) : y;
  }

  Port Gelu(const Port& x) {
    Port erf = Add("Erf", {Below(2) == 0 ? Add("Mul", Swapped({x, Number(0.70710678)}))
                                         : Add("Div", {x, Number(1.41421356)})});
    Port sum = Add("Add", Swapped({erf, Number(1)}));
    if (Below(2) == 0) return Add("Mul", Swapped({Add("Mul", Swapped({x, Number(0.5)})), sum}));
    return Add("Mul", Swapped({Add("Mul", Swapped({x, sum})), Number(0.5)}));
  }

  Port HardSwish(const Port& x) {
    Port ramp = Add("ClipByValueV2", {Add("Add", Swapped({x, Number(3)})), Number(0), Number(6)});
    return Below(2) == 0 ? Add("Div", {Add("Mul", Swapped({x, ramp})), Number(6)})
                         : Add("Mul", Swapped({Add("Mul", Swapped({ramp, Number(1.0 / 6)})), x}));
  }

  Port Norm(const Port& x) {
    auto mean = [&](const Port& of) {
      return Add("ReduceMean", {of, Ints({Below(4) == 0 ? 1 : -1})}, {{"keep_dims", true}});
    };
    Port d = Below(2) == 0 ? Add("Sub", {x, mean(x)}) : x;
    Port squares = Below(2) == 0 ? Add("Mul", {d, d}) : Add("Pow", {d, Number(2)});
    Port under = Add("Add", Swapped({mean(squares), Number(0.25)}));
    Port y = Below(2) == 0 ? Add("Div", {d, Add("Sqrt", {under})})
                           : Add("Mul", Swapped({d, Add("Rsqrt", {under})}));
    const int64_t row = ShapeOf(x).rank() > 0 ? ShapeOf(x).back(0) : 1;
    if (Below(3) != 0) y = Add("Mul", Swapped({y, builder_.Random({row})}));
    return Below(2) == 0 ? Add("Add", Swapped({y, builder_.Random({row})})) : y;
  }

  Port Attention(const Port& x) {
    const int rank = ShapeOf(x).rank();
    if (rank < 3) return Product(x);
    std::vector<int64_t> turn(static_cast<size_t>(rank));
    for (int d = 0; d < rank; ++d) turn[static_cast<size_t>(d)] = d < rank - 2 ? d : 2 * rank - 3 - d;
    Port scores = Add("BatchMatMul", {x, Add("TransposeD", {x}, {{"perm", turn}})});
    scores = Add("Mul", Swapped({scores, Number(0.4)}));
    if (Below(2) == 0) scores = Add("Add", Swapped({scores, Beside(scores)}));
    return Add("BatchMatMul", {Add("SoftmaxV2", {scores}, {{"axes", std::vector<int64_t>{-1}}}), x});
  }

  // Another shape or order, parts, or two values beside one another.
  Port Moved(const Port& x) {
    const Shape shape = ShapeOf(x);
    std::vector<int64_t> order(static_cast<size_t>(shape.rank()));
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
    switch (Below(5)) {
      case 0:
        std::shuffle(order.begin(), order.end(), random_);
        return Add("TransposeD", {x}, {{"perm", order}});
      case 1:
        return Add("Reshape", {x, Ints({shape.rank() > 0 ? shape[0] : 1, -1})});
      case 2:
        return Add("ConcatD", {x, Pick(values_)},
                   {{"concat_dim", static_cast<int64_t>(Below(4))}, {"N", int64_t{2}}});
      case 3:
        return Add("Identity", {x});
      default:
        return Add("SoftmaxV2", {x}, {{"axes", std::vector<int64_t>{-1}}});
    }
  }

  static constexpr const char* kSums[] = {"Add", "Mul", "Sub", "Add", "Maximum"};
  std::mt19937 random_;
  Builder builder_;
  Shape shape_;
  std::vector<Port> values_;
};

// Of large values more bits are lost; a network that makes larger ones says nothing.
double Largest(const std::vector<Constant>& values) {
  double largest = 1;
  for (const Constant& value : values) {
    for (double real : value->Reals())
      largest = std::isfinite(real) ? std::max(largest, std::abs(real)) : 1e9;
  }
  return largest;
}

TEST(RandomNetworks, ComputeTheSameOptimised) {
  const char* only = std::getenv("BELAY_TEST_SEED");
#ifdef BELAY_ASAN
  constexpr uint32_t kNetworks = 200;
#else
  constexpr uint32_t kNetworks = 800;
#endif
  int compared = 0;
  std::set<std::string> types_seen;
  for (uint32_t seed = 1; seed <= kNetworks && !HasFailure(); ++seed) {
    if (only != nullptr && std::strtoul(only, nullptr, 10) != seed) continue;
    SCOPED_TRACE("BELAY_TEST_SEED=" + std::to_string(seed));
    RandomNetwork network(seed);
    Constant input = network.Input();
    const std::vector<Constant> want = Evaluate(network.graph(), std::vector{input});
    const double largest = Largest(want);
    if (largest > 1e4) continue;
    ++compared;
    std::vector<ValueType> types{{DType::kF32, Format::kND, true, network.shape()}};
    Graph graph = Specialise(network.graph(), types).graph;
    Optimise(graph);
    for (const Node& node : graph.nodes) types_seen.insert(node.type);
    const std::vector<Constant> got = RunProgram(graph, {input});
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i]->shape(), want[i]->shape());
      for (int64_t j = 0; j < want[i]->count(); ++j)
        ASSERT_NEAR(got[i]->as<float>()[j], want[i]->as<float>()[j], 1e-4 * largest) << i << ", " << j;
    }
  }
  if (only != nullptr) return;
  EXPECT_GT(compared, static_cast<int>(kNetworks / 2));
  for (const char* type :
       {"FusedConv2D", "FusedMatMul", "Gelu", "HardSwish", "LayerNormV3", "RmsNorm", "FusedAttention"})
    EXPECT_EQ(types_seen.count(type), 1u) << type << ": no network has what becomes one";
}

}  // namespace
}  // namespace belay::graph
