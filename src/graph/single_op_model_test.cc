// Single-operator models: what a file keeps, and which calls it serves.
#include "graph/single_op_model.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace belay::graph {
namespace {

ValueType FloatType(Shape shape) { return {DType::kF32, Format::kND, true, shape}; }

OpArgument Argument(ValueType type) { return {true, type, nullptr}; }

OpArgument Constants(const std::vector<int32_t>& values) {
  Shape shape{static_cast<int64_t>(values.size())};
  auto constant = std::make_shared<HostTensor>(DType::kI32, shape);
  std::memcpy(constant->mutable_data(), values.data(), constant->bytes());
  return {true, {DType::kI32, Format::kND, true, shape}, constant};
}

// Sums of a [2, 3] over its last axis: a constant, an attribute, a default.
SingleOp ReduceSum() {
  return {"ReduceSum",
          {Argument(FloatType({2, 3})), Constants({1})},
          1,
          {{"keep_dims", true}},
          {FloatType({2, 1})}};
}

SingleOp Reread(const SingleOp& op) {
  ModelBytes bytes = WriteModel(SingleOpModel(op));
  return SingleOpOf(ReadModelCopy(bytes.data.get(), bytes.size));
}

TEST(SingleOpModel, KeepsWhatTellsCallsApart) {
  SingleOp op = Reread(ReduceSum());
  EXPECT_EQ(op.type, "ReduceSum");
  ASSERT_EQ(op.inputs.size(), 2u);
  ASSERT_NE(op.inputs[1].value, nullptr);
  EXPECT_EQ(op.inputs[1].value->Ints(), std::vector<int64_t>{1});
  EXPECT_TRUE(Serves(op, ReduceSum()));
}

TEST(SingleOpModel, ServesOnlyTheSame) {
  SingleOp built = Reread(ReduceSum());
  auto refuses = [&](auto change) {
    SingleOp asked = ReduceSum();
    change(asked);
    return !Serves(built, asked);
  };
  EXPECT_TRUE(refuses([](SingleOp& op) { op.type = "ReduceMean"; }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.inputs[0].type.dtype = DType::kF16; }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.inputs[0].type.format = Format::kNCHW; }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.inputs[0].type.shape = {3, 3}; }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.inputs[0].type.shape = {2, 3, 1}; }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.inputs[1] = Constants({0}); }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.inputs[1].value = nullptr; }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.inputs.pop_back(); }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.attributes["keep_dims"] = false; }));
  EXPECT_TRUE(refuses([](SingleOp& op) { op.attributes.clear(); })) << "the default is false";
  EXPECT_TRUE(refuses([](SingleOp& op) { op.results[0].shape = {2}; }));
  EXPECT_FALSE(refuses([](SingleOp& op) { op.attributes["nobody_asked"] = int64_t{3}; }));
}

TEST(SingleOpModel, OpenSizesServeAll) {
  SingleOp built{"Relu", {Argument(FloatType({kUnknownDim, 3}))}, 1, {}, {FloatType({kUnknownDim, 3})}};
  SingleOp asked{"Relu", {Argument(FloatType({7, 3}))}, 1, {}, {FloatType({7, 3})}};
  built = Reread(built);
  EXPECT_TRUE(Serves(built, asked));
  asked.inputs[0].type.shape = {7, 4};
  EXPECT_FALSE(Serves(built, asked));
  built.inputs[0].type = {DType::kF32, Format::kND, false, {}};
  EXPECT_TRUE(Serves(built, asked)) << "not even the rank is fixed";
}

TEST(SingleOpModel, AbsentArgumentsAtTheEndDoNotCount) {
  SingleOp built{
      "MatMulV2", {Argument(FloatType({2, 3})), Argument(FloatType({3, 4}))}, 1, {}, {FloatType({2, 4})}};
  SingleOp asked = built;
  asked.inputs.push_back({false, {}, nullptr});
  EXPECT_TRUE(Serves(Reread(built), asked));
  EXPECT_TRUE(Serves(Reread(asked), built));
}

TEST(SingleOpModel, RefusesWhatTheOperatorDoesNotGive) {
  SingleOp op = ReduceSum();
  op.results[0].shape = {2, 3};
  EXPECT_THROW(SingleOpModel(op), Error);
  op = ReduceSum();
  op.results.clear();
  EXPECT_THROW(SingleOpModel(op), Error);
  op = ReduceSum();
  op.type = "NoSuchOperator";
  EXPECT_THROW(SingleOpModel(op), Error);
}

TEST(SingleOpModel, RefusesNetworks) {
  ModelFile file = SingleOpModel(ReduceSum());
  file.options.clear();
  EXPECT_THROW(SingleOpOf(file), Error);
  file.options[kSingleOpOption] = "Relu";
  EXPECT_THROW(SingleOpOf(file), Error) << "there is no such node";
  file.options[kSingleOpOption] = "ReduceSum";
  file.graph.nodes.back().inputs[0].node = 99;
  EXPECT_THROW(SingleOpOf(file), Error) << "an edge leads nowhere";
}

}  // namespace
}  // namespace belay::graph
