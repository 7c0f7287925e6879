// Single operators are what their callers describe, or are refused: every operator, and those by hand.
#include "graph/described.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "base/error.h"
#include "graph/ops/node_samples.h"
#include "graph/ops/random_node.h"
#include "graph/ops/shaped_node.h"
#include "graph/single_op.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "runtime/memory.h"
#include "runtime/process.h"

namespace belay::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ValueType Typed(DType dtype, const Shape& shape) { return {dtype, Format::kND, true, shape}; }

// Runs single operators on a stream, as aclopCompileAndExecute does.
class Described : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rt::Start(-1);
    stream_ = &rt::DeviceAt(0).Use().default_stream();
    memory_ = static_cast<char*>(rt::AllocateDevice(0, {.bytes = kBytes}));
  }
  static void TearDownTestSuite() { rt::Stop(); }

  // Throws Error as the call or the wait for it would.
  static std::vector<Constant> Run(const SingleOp& op, const std::vector<Constant>& inputs) {
    size_t used = 0;
    auto place = [&](size_t bytes) {
      used += (bytes + 127) / 64 * 64;
      if (used > kBytes) throw std::bad_alloc();
      return Buffer{memory_ + used - (bytes + 127) / 64 * 64, bytes};
    };
    std::vector<Buffer> in, out;
    for (const Constant& input : inputs) {
      if (input == nullptr) continue;
      in.push_back(place(input->bytes()));
      if (input->bytes() != 0) std::memcpy(in.back().data, input->data(), input->bytes());
    }
    for (const ValueType& type : op.results)
      out.push_back(place(PackedBytes(type.dtype, CountOf(type.shape))));
    InstanceOf(rt::DeviceAt(0), op)->Execute(*stream_, in, out);
    rt::TheEngine().WaitFor(*stream_, stream_->tail(), -1);
    if (auto failure = stream_->TakeFailure()) throw Error(failure->code, failure->id, failure->Sentence());
    std::vector<Constant> results;
    for (size_t i = 0; i < out.size(); ++i) {
      auto result = std::make_shared<HostTensor>(op.results[i].dtype, op.results[i].shape);
      if (result->bytes() != 0) std::memcpy(result->mutable_data(), out[i].data, result->bytes());
      results.push_back(result);
    }
    return results;
  }

  static SingleOp OpOf(const std::string& type, const std::vector<Constant>& inputs,
                       std::vector<ValueType> results, Attributes attributes = {}) {
    SingleOp op{type, {}, static_cast<int>(results.size()), std::move(attributes), std::move(results)};
    for (const Constant& input : inputs) {
      OpArgument& argument = op.inputs.emplace_back();
      argument.present = input != nullptr;
      if (argument.present) argument.type = {input->dtype(), Format::kND, true, input->shape()};
    }
    return op;
  }

  static std::vector<double> Reals(const SingleOp& op, const std::vector<Constant>& inputs) {
    return Run(op, inputs)[0]->Reals();
  }

  static std::string Refusal(const SingleOp& op, const std::vector<Constant>& inputs) {
    try {
      Run(op, inputs);
    } catch (const Error& error) {
      return error.sentence();
    }
    return "";
  }

 private:
  static constexpr size_t kBytes = 8 << 20;
  static inline rt::Stream* stream_;
  static inline char* memory_;
};

// Two results as numbers, where one may be rounded to the other's type.
// A truth value stands for all numbers but 0, a whole number for the broken ones beside it.
bool Agree(const HostTensor& a, const HostTensor& b) {
  const std::vector<double> x = a.Reals();
  std::vector<double> y = b.Reals();
  if (a.dtype() == DType::kBool)
    std::transform(y.begin(), y.end(), y.begin(), [](double v) { return v != 0; });
  const bool whole = !tensor::IsFloat(a.dtype()) && a.dtype() != DType::kBool;
  for (size_t i = 0; i < x.size(); ++i) {
    const double away = std::fabs(x[i] - y[i]);
    const bool close =
        away <= 0.01 * std::max(1.0, std::fabs(y[i])) || (whole && y[i] != std::trunc(y[i]) && away < 1);
    if (!close && std::isfinite(x[i]) && std::isfinite(y[i])) return false;
  }
  return x.size() == y.size();
}

// One node of one operator with what it gives.
struct Sample {
  SingleOp op;
  std::vector<Constant> inputs, results;
  bool random = false;
};

class EveryOperator : public Described {
 protected:
  // Nothing where it is refused, or has results that a caller cannot describe.
  static std::optional<Sample> Given(const Node& node, const std::vector<Constant>& inputs) {
    try {
      Sample sample{{}, inputs, EvaluateNode(node, inputs)};
      std::vector<ValueType> types;
      for (const Constant& result : sample.results) types.push_back(Typed(result->dtype(), result->shape()));
      sample.op = OpOf(node.type, inputs, std::move(types), node.attributes);
      bool usable = std::all_of(sample.results.begin(), sample.results.end(), [](const Constant& result) {
        return result->members() == nullptr && result->count() > 0 && result->count() < 5000;
      });
      if (usable) return sample;
    } catch (const Error& error) {
      if (samples::FindShapedNode(node.type) != nullptr) last_ = error.sentence();
    } catch (const std::bad_alloc&) {
    }
    return std::nullopt;
  }

  static std::optional<Sample> SampleOf(const OpSchema& schema, uint32_t first) {
    constexpr uint32_t kTries = 800;
    if (const samples::ShapedNode* shaped = samples::FindShapedNode(schema.type)) {
      Node node{.name = "n", .type = schema.type, .outputs = static_cast<int>(schema.outputs.size())};
      node.attributes = shaped->attributes;
      std::optional<Sample> sample = Given(node, shaped->inputs);
      EXPECT_TRUE(sample) << "its node of shaped_node.h is refused: " << last_;
      return sample;
    }
    for (uint32_t seed = first; seed < first + kTries; ++seed) {
      samples::RandomNode random(schema, seed);
      if (std::optional<Sample> sample = Given(random.node(), random.inputs())) return sample;
    }
    return std::nullopt;
  }

  static inline std::string last_;

  static bool Same(const Sample& sample, const Constant& other, const Constant& result) {
    return FindOp(sample.op.type)->Is(kTraitRandom) || Agree(*other, *result);
  }

  static void CheckValues(const Sample& sample) {
    try {
      std::vector<Constant> results = Run(sample.op, sample.inputs);
      for (size_t i = 0; i < results.size(); ++i)
        EXPECT_TRUE(Same(sample, results[i], sample.results[i])) << "output " << i;
    } catch (const Error& error) {
      ADD_FAILURE() << error.sentence();
    }
  }

  static void CheckTypes(const Sample& sample, size_t output) {
    const Constant& result = sample.results[output];
    for (DType dtype :
         {DType::kF32, DType::kF16, DType::kF64, DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
      if (dtype == result->dtype()) continue;
      SingleOp other = sample.op;
      other.results[output].dtype = dtype;
      try {
        std::vector<Constant> results = Run(other, sample.inputs);
        EXPECT_TRUE(Same(sample, results[output], result))
            << "output " << output << " as " << other.results[output].ToString();
      } catch (const Error& error) {
        EXPECT_NE(error.sentence(), "");
      }
    }
  }

  static void CheckShapes(const Sample& sample, size_t output) {
    if (sample.op.type == "ViewCopy") return;  // a view of the result is described
    SingleOp other = sample.op;
    Shape& shape = other.results[output].shape;
    const Shape right = shape;
    if (shape.rank() < tensor::kMaxRank) {
      shape.push_back(2);
      EXPECT_NE(Refusal(other, sample.inputs), "") << "output " << output << " as " << shape.ToString();
    }
    shape = {};
    for (int d = 0; d < right.rank(); ++d) shape.push_back(right.back(d));
    if (IsAsDescribed(Typed(DType::kUndefined, shape), DType::kF32, right)) return;
    EXPECT_NE(Refusal(other, sample.inputs), "") << "output " << output << " as " << shape.ToString();
  }
};

// Of the name alone, so that an operator more changes nothing for the others (FNV-1a).
uint32_t SeedOf(std::string_view type) {
  uint32_t seed = 2166136261u;
  for (char c : type) seed = (seed ^ static_cast<uint8_t>(c)) * 16777619u;
  return seed;
}

TEST_F(EveryOperator, IsAsDescribedOrRefused) {
  const char* only = std::getenv("BELAY_TEST_SEED");
  int without = 0;
  std::string names;
  for (const OpSchema& schema : AllOps()) {
    const uint32_t seed = SeedOf(schema.type);
    if (schema.translate == nullptr || (only != nullptr && std::strtoul(only, nullptr, 10) != seed)) continue;
    SCOPED_TRACE(std::string(schema.type) + ", BELAY_TEST_SEED=" + std::to_string(seed));
    std::optional<Sample> sample = SampleOf(schema, seed);
    if (!sample) {
      names += std::string(" ") + schema.type;
      ++without;
      continue;
    }
    CheckValues(*sample);
    for (size_t output = 0; output < sample->results.size(); ++output) {
      CheckTypes(*sample, output);
      CheckShapes(*sample, output);
    }
    SingleOp unknown = sample->op;
    unknown.attributes["no_such_attribute"] = int64_t{1};
    EXPECT_THAT(Refusal(unknown, sample->inputs), HasSubstr("no_such_attribute"));
    ForgetPreparedOps();
  }
  // Of the compiler's own passes: FusedConv2D, FusedPointwise, FusedAttention, Aipp. Others want inputs that
  // hang together by more than their shapes (bytes with scales, places and strides, pools of n-grams):
  // IndexPutV2, ViewCopy, Col2im, QLinearConv, QLinearAdd, DynamicQuantizeLSTM, MelWeightMatrix,
  // TfIdfVectorizer, AttentionMask.
  EXPECT_LE(without, 13) << "operators without a node:" << names;
}

// A row of bytes as torch-npu describes it, which is longer than the mask.
TEST(DescribedMask, IsARowOfWholeUnits) {
  const ValueType mask = Typed(DType::kU8, {3, 50});
  const auto need = [&](const char* type, const ValueType& said) {
    NeedAsDescribed(type, std::span(&said, 1), 0, mask);
  };
  EXPECT_NO_THROW(need("DropOutGenMaskV3", Typed(DType::kU8, {256})));
  EXPECT_THROW(need("DropOutGenMaskV3", Typed(DType::kU8, {150})), Error);
  EXPECT_THROW(need("DropOutGenMaskV3", Typed(DType::kU8, {384})), Error);
  EXPECT_THROW(need("DropOutGenMaskV3", Typed(DType::kF16, {256})), Error);
  EXPECT_THROW(need("DropOutDoMaskV3", Typed(DType::kU8, {256})), Error);
}

TEST_F(Described, ATypeThatAnAttributeDecides) {
  const Constant x = samples::Reals({2, 3}, {1, 5, 2, 9, 3, 4}), axis = samples::Ints({1});
  EXPECT_THAT(Reals(OpOf("ArgMaxV2", {x, axis}, {Typed(DType::kI32, {2})}), {x, axis}), ElementsAre(1, 0));
  SingleOp op = OpOf("ArgMaxV2", {x, axis}, {Typed(DType::kI32, {2})});
  op.inputs[1].value = axis;
  EXPECT_THAT(Reals(op, {x}), ElementsAre(1, 0)) << "with an axis that is known ahead";
  op.results[0].dtype = DType::kI64;
  EXPECT_THAT(Reals(op, {x}), ElementsAre(1, 0));
  op.attributes["dtype"] = DType::kI32;
  EXPECT_THAT(Refusal(op, {x}),
              HasSubstr("output 0 ('y') of ArgMaxV2 is described as ACL_INT64 [2], but it is "
                        "ACL_INT32 [2]"));
  const Constant k = samples::Ints({2});
  SingleOp top = OpOf("TopKV2", {x, k}, {Typed(DType::kF32, {2, 2}), Typed(DType::kI64, {2, 2})});
  top.inputs[1].value = k;
  EXPECT_THAT(Run(top, {x})[1]->Ints(), ElementsAre(1, 2, 0, 2));
  SingleOp cast = OpOf("Cast", {x}, {Typed(DType::kI32, {2, 3})});
  EXPECT_THAT(Reals(cast, {x}), ElementsAre(1, 5, 2, 9, 3, 4)) << "what it casts to is described";
}

TEST_F(Described, ATypeThatNothingDecides) {
  const Constant a = samples::Reals({2}, {1, 2}), b = samples::Reals({2}, {1, 3});
  EXPECT_THAT(Refusal(OpOf("Less", {a, b}, {Typed(DType::kF32, {2})}), {a, b}),
              HasSubstr("output 0 ('y') of Less is described as ACL_FLOAT [2], but it is ACL_BOOL [2]"));
  for (DType dtype : {DType::kI32, DType::kF64, DType::kF16})
    EXPECT_THAT(Refusal(OpOf("Add", {a, b}, {Typed(dtype, {2})}), {a, b}),
                HasSubstr("but it is ACL_FLOAT [2]"));
  for (DType dtype : {DType::kBool, DType::kU8, DType::kI8})
    EXPECT_THAT(Reals(OpOf("Less", {a, b}, {Typed(dtype, {2})}), {a, b}), ElementsAre(0, 1));
}

TEST_F(Described, AShapeWithTheSameElementsInTheirPlaces) {
  const Constant x = samples::Reals({2, 3}, {1, 2, 3, 4, 5, 6});
  SingleOp op = OpOf("ReduceSumD", {x}, {Typed(DType::kF32, {2})}, {{"axes", std::vector<int64_t>{1}}});
  EXPECT_THAT(Reals(op, {x}), ElementsAre(6, 15));
  op.results[0].shape = {1, 2, 1};
  EXPECT_THAT(Reals(op, {x}), ElementsAre(6, 15));
  op.results[0].shape = {3};
  EXPECT_NE(Refusal(op, {x}), "");
  op.attributes["axes"] = std::vector<int64_t>{0, 1};
  op.results[0].shape = {1};
  EXPECT_THAT(Reals(op, {x}), ElementsAre(21)) << "a scalar";
  EXPECT_NE(Refusal(OpOf("Neg", {x}, {Typed(DType::kF32, {3, 2})}), {x}), "");
  EXPECT_FALSE(IsAsDescribed(Typed(DType::kF32, {-1, 2}), DType::kF32, {2, 3}));
  EXPECT_TRUE(IsAsDescribed(Typed(DType::kF32, {-1, 3}), DType::kF32, {2, 3}));
  EXPECT_TRUE(IsAsDescribed(Typed(DType::kUndefined, {3, 1}), DType::kF32, {1, 3}));
  EXPECT_TRUE(IsAsDescribed({DType::kF32, Format::kND, false, {}}, DType::kF32, {2, 3}))
      << "a rank that is not known";
}

TEST_F(Described, AShapeThatOnlyTheDataDecides) {
  const Constant x = samples::Reals({2, 2}, {0, 3, 0, 4});
  EXPECT_THAT(Reals(OpOf("NonZero", {x}, {Typed(DType::kI64, {2, 2})}), {x}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Reals(OpOf("NonZero", {x}, {Typed(DType::kI32, {2, 2})}), {x}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Refusal(OpOf("NonZero", {x}, {Typed(DType::kI64, {4, 2})}), {x}),
              HasSubstr("ACL_INT64 [2, 2]"));
}

// The values are numpy's round(x, decimals).
TEST_F(Described, RoundToPlaces) {
  auto rounded = [](DType dtype, int64_t decimals, std::initializer_list<double> values) {
    const Constant x = samples::Reals({4}, values, dtype);
    return Reals(OpOf("Round", {x}, {Typed(dtype, {4})}, {{"decimals", decimals}}), {x});
  };
  using testing::DoubleEq;
  EXPECT_THAT(rounded(DType::kF32, 2, {1.2345, -2.675, 1e30, 0.125}),
              ElementsAre(1.23f, -2.68f, 1e30f, 0.12f));
  EXPECT_THAT(rounded(DType::kF32, -1, {14, 15, 25, -126.5}), ElementsAre(10, 20, 20, -130));
  EXPECT_THAT(rounded(DType::kF32, 0, {0.5, 1.5, -2.5, 2.6}), ElementsAre(0, 2, -2, 3));
  EXPECT_THAT(
      rounded(DType::kF16, 2, {1.2345, 0.125, -3.14159, 100.25}),
      ElementsAre(DoubleEq(1.23046875), DoubleEq(0.1199951171875), DoubleEq(-3.140625), DoubleEq(100.25)));
  EXPECT_THAT(rounded(DType::kF16, -1, {14, 15, 25, -126.5}), ElementsAre(10, 20, 20, -130));
  EXPECT_THAT(rounded(DType::kF16, 0, {0.5, 1.5, -2.5, 2.6}), ElementsAre(0, 2, -2, 3));
  const Constant whole = samples::Counting({4}, DType::kI32);
  EXPECT_THAT(
      Refusal(OpOf("Round", {whole}, {Typed(DType::kI32, {4})}, {{"decimals", int64_t{-1}}}), {whole}),
      HasSubstr("whole numbers"));
}

// torch_npu works out 1 / sqrt(variance + eps) itself.
TEST_F(Described, StatisticsAreOfTheTypeThatIsDescribed) {
  const Constant x = samples::Reals({1, 2, 2}, {1, 3, 2, 6}, DType::kF16);
  const Constant gamma = samples::Reals({2}, {1, 1}, DType::kF16),
                 beta = samples::Reals({2}, {0, 0}, DType::kF16);
  for (DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    const ValueType statistic = Typed(dtype, {1, 2});
    SingleOp group =
        OpOf("GroupNorm", {x, gamma, beta}, {Typed(DType::kF16, {1, 2, 2}), statistic, statistic},
             {{"num_groups", int64_t{2}}});
    const std::vector<Constant> results = Run(group, {x, gamma, beta});
    EXPECT_THAT(results[1]->Reals(), ElementsAre(2, 4));
    EXPECT_THAT(results[2]->Reals(), ElementsAre(1, 4));
  }
  SingleOp layer =
      OpOf("LayerNorm", {x, gamma, beta},
           {Typed(DType::kF16, {1, 2, 2}), Typed(DType::kF16, {1, 2, 1}), Typed(DType::kF16, {1, 2, 1})},
           {{"begin_norm_axis", int64_t{2}}});
  EXPECT_THAT(Run(layer, {x, gamma, beta})[2]->Reals(), ElementsAre(1, 4));
  layer.results[1].dtype = DType::kI32;
  EXPECT_THAT(Refusal(layer, {x, gamma, beta}), HasSubstr("output 1 ('mean')"));
}

TEST_F(Described, AttributesThatAreOnlyThereForOneValue) {
  const Constant x = samples::Counting({2, 3}), y = samples::Counting({3, 2});
  auto product = [&](int64_t offset) {
    return Refusal(OpOf("MatMulV2", {x, y}, {Typed(DType::kF32, {2, 2})}, {{"offset_x", offset}}), {x, y});
  };
  EXPECT_EQ(product(0), "");
  EXPECT_THAT(product(3), HasSubstr("'offset_x'"));
  SingleOp notes =
      OpOf("Neg", {x}, {Typed(DType::kF32, {2, 3})}, {{"_exclude_engines", std::string("AiCore")}});
  EXPECT_EQ(Refusal(notes, {x}), "") << "a note for a compiler";
}

TEST_F(Described, WindowsOfAVolumeAreApart) {
  const Constant x = samples::Counting({1, 1, 1, 1, 5});
  const std::vector<int64_t> ones{1, 1, 1, 1, 1};
  SingleOp op = OpOf("MaxPool3D", {x}, {Typed(DType::kF32, {1, 1, 1, 1, 1})},
                     {{"ksize", std::vector<int64_t>{1, 1, 1, 1, 3}},
                      {"strides", ones},
                      {"padding", std::string("VALID")},
                      {"dilation", std::vector<int64_t>{1, 1, 1, 1, 2}},
                      {"data_format", std::string("NCDHW")}});
  EXPECT_THAT(Reals(op, {x}), ElementsAre(4));
}

}  // namespace
}  // namespace belay::graph
