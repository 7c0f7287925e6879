// Queries and keys of zeros: each query's result is the mean of the values that it sees.
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "graph/interpreter.h"
#include "graph/onnx/importer.h"
#include "graph/ops/node_samples.h"

namespace belay::graph::onnx {
namespace {

using Numbers = std::vector<double>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

// One head of size 1: two queries, two keys, the values 3 and 5.
class OfTwoKeys {
 public:
  OfTwoKeys() {
    model_.opsets = {{"", 23}};
    model_.graph.outputs = {{"y", true, kFloat, false, {}}};
    NodeData& node = model_.graph.nodes.emplace_back();
    node.name = "n", node.type = "Attention", node.outputs = {"y"};
    Input({1, 1, 2, 1}, {0, 0}), Input({1, 1, 2, 1}, {0, 0}), Input({1, 1, 2, 1}, {3, 5});
  }

  void Input(const std::vector<int64_t>& shape, std::initializer_list<double> numbers) {
    const std::string name = "x" + std::to_string(inputs_.size());
    model_.graph.inputs.push_back({name, true, kFloat, true, shape});
    model_.graph.nodes[0].inputs.push_back(name);
    inputs_.push_back(samples::Reals(Shape::Of(shape.data(), static_cast<int>(shape.size())), numbers));
  }
  void WithoutMask() { model_.graph.nodes[0].inputs.emplace_back(); }
  void Causal() {
    AttributeData& attribute = model_.graph.nodes[0].attributes.emplace_back();
    attribute.name = "is_causal", attribute.type = kIntAttribute, attribute.i = 1;
  }

  Numbers Result() const { return Evaluate(Import(model_, ""), inputs_).at(0)->Reals(); }

 private:
  ModelData model_;
  std::vector<Constant> inputs_;
};

TEST(Attention, SeesWhatTheMaskLeaves) {
  EXPECT_EQ(OfTwoKeys().Result(), (Numbers{4, 4}));
  OfTwoKeys masked;
  masked.Input({2, 2}, {0, kNever, 0, 0});
  EXPECT_EQ(masked.Result(), (Numbers{3, 4}));
}

TEST(Attention, OfAQueryThatSeesNothingIsZero) {
  OfTwoKeys blind;
  blind.Input({2, 2}, {kNever, kNever, kNever, 0});
  EXPECT_EQ(blind.Result(), (Numbers{0, 5}));
}

TEST(Attention, OrderCountsFromTheEndOfThePast) {
  OfTwoKeys causal;
  causal.Causal();
  EXPECT_EQ(causal.Result(), (Numbers{3, 4}));
  causal.WithoutMask();
  causal.Input({1, 1, 1, 1}, {0}), causal.Input({1, 1, 1, 1}, {7});
  EXPECT_EQ(causal.Result(), (Numbers{5, 5}));  // of 7 and 3, and of 7, 3 and 5
}

TEST(Attention, AMaskOfFewerKeysIsRefused) {
  OfTwoKeys masked;
  masked.Input({2, 1}, {0, 0});
  EXPECT_THROW(masked.Result(), Error);
}

// Quarter turns of (1, 2 | 3, 4) and of what lies behind, which stays where only a part is turned.
class Rotary {
 public:
  Rotary() {
    model_.opsets = {{"", 23}};
    model_.graph.outputs = {{"y", true, kFloat, false, {}}};
    NodeData& node = model_.graph.nodes.emplace_back();
    node.name = "n", node.type = "RotaryEmbedding", node.outputs = {"y"};
  }
  void Input(const Constant& x) {
    const std::string name = "x" + std::to_string(inputs_.size());
    const bool places = x->dtype() == DType::kI64;
    model_.graph.inputs.push_back(
        {name, true, places ? 7 : kFloat, true, {x->shape().begin(), x->shape().end()}});
    model_.graph.nodes[0].inputs.push_back(name);
    inputs_.push_back(x);
  }
  void Set(const char* name, int64_t value) {
    AttributeData& attribute = model_.graph.nodes[0].attributes.emplace_back();
    attribute.name = name, attribute.type = kIntAttribute, attribute.i = value;
  }
  Numbers Result() const { return Evaluate(Import(model_, ""), inputs_).at(0)->Reals(); }

 private:
  ModelData model_;
  std::vector<Constant> inputs_;
};

TEST(RotaryEmbedding, TurnsHalvesByRowsOfTables) {
  Rotary turn;  // place 1 turns the first of two angles only
  turn.Input(samples::Reals({1, 1, 1, 4}, {1, 2, 3, 4}));
  turn.Input(samples::Reals({2, 2}, {1, 1, 0, 1})), turn.Input(samples::Reals({2, 2}, {0, 0, 1, 0}));
  turn.Input(samples::Ints({1, 1}, {1}));
  EXPECT_EQ(turn.Result(), (Numbers{-3, 2, 1, 4}));
}

TEST(RotaryEmbedding, TurnsNeighboursOfAPartByTablesOfEachPlace) {
  Rotary turn;  // two heads of three, the first two of each are turned
  turn.Input(samples::Reals({1, 2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  turn.Input(samples::Reals({1, 2, 1}, {1, 0})), turn.Input(samples::Reals({1, 2, 1}, {0, 1}));
  turn.Set("interleaved", 1), turn.Set("num_heads", 2), turn.Set("rotary_embedding_dim", 2);
  EXPECT_EQ(turn.Result(), (Numbers{1, 2, 3, 4, 5, 6, -8, 7, 9, -11, 10, 12}));
}

}  // namespace
}  // namespace belay::graph::onnx
