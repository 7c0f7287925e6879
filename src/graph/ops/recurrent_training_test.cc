// Recurrent networks that frameworks train, against loops in double and their differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/error.h"
#include "graph/ops/node_samples.h"

namespace belay::graph {
namespace {

using samples::Apply;
using samples::Reals;

using Values = std::vector<double>;

constexpr int64_t kSteps = 3, kN = 2, kIn = 4, kH = 5;

Values RandomValues(int64_t count, std::minstd_rand& engine) {
  Values values(static_cast<size_t>(count));
  for (double& v : values) v = static_cast<float>(std::uniform_real_distribution<>(-1, 1)(engine));
  return values;
}

Constant Of(const Shape& shape, const Values& values, DType dtype = DType::kF32) {
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  tensor::Convert(dtype, tensor->mutable_data(), DType::kF64, values.data(),
                  static_cast<int64_t>(values.size()));
  return tensor;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Sum(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// What a row of `from` [k] adds to the columns of w [.., width] from row `first` on.
void AddProduct(const double* from, int64_t k, const Values& w, int64_t first, int64_t width, Values& sums) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < width; ++j)
      sums[static_cast<size_t>(j)] += from[i] * w[static_cast<size_t>((first + i) * width + j)];
  }
}

// Which sequences have which steps, [steps, n], and whether the last step comes first.
struct Pattern {
  std::vector<bool> has = std::vector<bool>(kSteps * kN, true);
  bool reversed = false;
};

// y, h, c, i, j, f, o, tanhc at all steps, [steps, n, h].
std::vector<Values> Lstm(const std::vector<Values>& in, const std::string& order,
                         const Pattern& pattern = {}) {
  const Values &x = in[0], &w = in[1], &b = in[2];
  Values h = in[3], c = in[4];
  const auto at = [&](char gate, int64_t k) {
    return static_cast<size_t>(static_cast<int64_t>(order.find(gate)) * kH + k);
  };
  std::vector<Values> out(8, Values(kSteps * kN * kH));
  for (int64_t count = 0; count < kSteps * kN; ++count) {
    const int64_t row = pattern.reversed ? kSteps * kN - 1 - count : count, n = row % kN;
    const bool has = pattern.has[static_cast<size_t>(row)];
    Values sums = b;
    AddProduct(&x[static_cast<size_t>(row * kIn)], kIn, w, 0, 4 * kH, sums);
    AddProduct(&h[static_cast<size_t>(n * kH)], kH, w, kIn, 4 * kH, sums);
    for (int64_t k = 0; k < kH; ++k) {
      const double i = Sigmoid(sums[at('i', k)]), j = std::tanh(sums[at('j', k)]),
                   f = Sigmoid(sums[at('f', k)]), o = Sigmoid(sums[at('o', k)]);
      double &state = c[static_cast<size_t>(n * kH + k)], &result = h[static_cast<size_t>(n * kH + k)];
      if (has) state = f * state + i * j;
      if (has) result = o * std::tanh(state);
      const double all[] = {result, result, state, i, j, f, o, std::tanh(state)};
      for (size_t v = 0; v < 8; ++v) {
        const bool kept = has || v == 1 || v == 2;  // the states go on
        out[v][static_cast<size_t>(row * kH + k)] = kept ? all[v] : 0;
      }
    }
  }
  return out;
}

// y, h, update, reset, new, hidden_new at all steps.
std::vector<Values> Gru(const std::vector<Values>& in, const std::string& order) {
  const Values &x = in[0], &w = in[1], &u = in[2], &bw = in[3], &bu = in[4];
  Values h = in[5];
  const auto at = [&](char gate, int64_t k) {
    return static_cast<size_t>(static_cast<int64_t>(order.find(gate)) * kH + k);
  };
  std::vector<Values> out(6);
  for (int64_t row = 0; row < kSteps * kN; ++row) {
    const int64_t n = row % kN;
    Values a = bw, b = bu;
    AddProduct(&x[static_cast<size_t>(row * kIn)], kIn, w, 0, 3 * kH, a);
    AddProduct(&h[static_cast<size_t>(n * kH)], kH, u, 0, 3 * kH, b);
    for (int64_t k = 0; k < kH; ++k) {
      const double r = Sigmoid(a[at('r', k)] + b[at('r', k)]), z = Sigmoid(a[at('z', k)] + b[at('z', k)]),
                   product = b[at('h', k)], made = std::tanh(a[at('h', k)] + r * product);
      double& state = h[static_cast<size_t>(n * kH + k)];
      state = (1 - z) * made + z * state;
      const double all[] = {state, state, z, r, made, product};
      for (size_t v = 0; v < 6; ++v) out[v].push_back(all[v]);
    }
  }
  return out;
}

void ExpectNear(const Constant& got, const Values& wanted, double tolerance, const char* what) {
  const Values values = got->Reals();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], tolerance) << what << " " << i;
}

// Of `loss` by the elements of in[k].
Values Differences(std::vector<Values> in, size_t k,
                   const std::function<double(const std::vector<Values>&)>& loss) {
  constexpr double kStep = 1e-5;
  Values slopes;
  for (double& value : in[k]) {
    const double was = value;
    value = was + kStep;
    const double up = loss(in);
    value = was - kStep;
    slopes.push_back((up - loss(in)) / (2 * kStep));
    value = was;
  }
  return slopes;
}

Values Last(const Values& all) { return {all.end() - kN * kH, all.end()}; }

class RecurrentTraining : public testing::TestWithParam<bool> {
 protected:
  std::minstd_rand engine_{7};
  const Shape each_{kSteps, kN, kH};
};

TEST_P(RecurrentTraining, Lstm) {
  const std::string order = GetParam() ? "ifjo" : "ijfo";
  const std::vector<Values> in{RandomValues(kSteps * kN * kIn, engine_),
                               RandomValues((kIn + kH) * 4 * kH, engine_), RandomValues(4 * kH, engine_),
                               RandomValues(kN * kH, engine_), RandomValues(kN * kH, engine_)};
  const Constant x = Of({kSteps, kN, kIn}, in[0]), w = Of({kIn + kH, 4 * kH}, in[1]), b = Of({4 * kH}, in[2]),
                 h = Of({1, kN, kH}, in[3]), c = Of({1, kN, kH}, in[4]);
  Attributes attributes;
  if (GetParam()) attributes["gate_order"] = order;
  const std::vector<Constant> got = Apply("DynamicRNN", {x, w, b, nullptr, h, c}, attributes, 8);
  const std::vector<Values> wanted = Lstm(in, order);
  for (size_t i = 0; i < 8; ++i) ExpectNear(got[i], wanted[i], 1e-5, "kept");
  ExpectNear(Apply("DynamicRNN", {x, w, b, nullptr, h, c}, attributes)[0], wanted[0], 1e-5, "y alone");

  const Values dy = RandomValues(kSteps * kN * kH, engine_), dh = RandomValues(kN * kH, engine_),
               dc = RandomValues(kN * kH, engine_);
  const auto loss = [&](const std::vector<Values>& v) {
    const std::vector<Values> out = Lstm(v, order);
    return Sum(out[0], dy) + Sum(Last(out[1]), dh) + Sum(Last(out[2]), dc);
  };
  attributes["cell_type"] = true;  // as torch-npu says it
  const std::vector<Constant> gradients =
      Apply("DynamicRNNGrad",
            {x, w, b, got[0], Of({kN, kH}, in[3]), Of({kN, kH}, in[4]), got[1], got[2], Of(each_, dy),
             Of({kN, kH}, dh), Of({kN, kH}, dc), got[3], got[4], got[5], got[6], got[7], Reals({}, {0})},
            attributes, 5);
  const size_t order_of_inputs[] = {1, 2, 0, 3, 4};
  for (size_t i = 0; i < 5; ++i) {
    ExpectNear(gradients[i], Differences(in, order_of_inputs[i], loss), 5e-5, "gradient");
  }
}

// As torch-npu has packed sequences: a mask of the steps that there are, the same for all states, in either
// direction.
TEST_P(RecurrentTraining, LstmOfPackedSequences) {
  const Pattern pattern{{true, true, true, false, true, false}, GetParam()};
  const std::vector<Values> in{RandomValues(kSteps * kN * kIn, engine_),
                               RandomValues((kIn + kH) * 4 * kH, engine_), RandomValues(4 * kH, engine_),
                               RandomValues(kN * kH, engine_), RandomValues(kN * kH, engine_)};
  Values there;
  for (const bool has : pattern.has) there.insert(there.end(), kH, has);
  const Constant x = Of({kSteps, kN, kIn}, in[0]), w = Of({kIn + kH, 4 * kH}, in[1]), b = Of({4 * kH}, in[2]),
                 mask = Of(each_, there, DType::kF16);
  Attributes attributes{{"direction", std::string(GetParam() ? "REDIRECTIONAL" : "UNIDIRECTIONAL")}};
  const std::vector<Constant> got =
      Apply("DynamicRNN", {x, w, b, mask, Of({1, kN, kH}, in[3]), Of({1, kN, kH}, in[4])}, attributes, 8);
  const std::vector<Values> wanted = Lstm(in, "ijfo", pattern);
  for (size_t i = 0; i < 8; ++i) ExpectNear(got[i], wanted[i], 1e-5, "kept");

  const Values dy = RandomValues(kSteps * kN * kH, engine_), dh = RandomValues(kN * kH, engine_),
               dc = RandomValues(kN * kH, engine_);
  const auto loss = [&](const std::vector<Values>& v) {
    const std::vector<Values> out = Lstm(v, "ijfo", pattern);
    const auto end = [&](const Values& all) {
      return GetParam() ? Values(all.begin(), all.begin() + kN * kH) : Last(all);
    };
    return Sum(out[0], dy) + Sum(end(out[1]), dh) + Sum(end(out[2]), dc);
  };
  const std::vector<Constant> gradients =
      Apply("DynamicRNNGrad",
            {x, w, b, got[0], Of({kN, kH}, in[3]), Of({kN, kH}, in[4]), got[1], got[2], Of(each_, dy),
             Of({kN, kH}, dh), Of({kN, kH}, dc), got[3], got[4], got[5], got[6], got[7], mask},
            attributes, 5);
  const size_t order_of_inputs[] = {1, 2, 0, 3, 4};
  for (size_t i = 0; i < 5; ++i) {
    ExpectNear(gradients[i], Differences(in, order_of_inputs[i], loss), 5e-5, "gradient");
  }
}

// The same weights in two matrices.
TEST_P(RecurrentTraining, LstmOfWeightsApart) {
  const std::string order = GetParam() ? "ifjo" : "ijfo";
  const std::vector<Values> in{RandomValues(kSteps * kN * kIn, engine_),
                               RandomValues((kIn + kH) * 4 * kH, engine_), RandomValues(4 * kH, engine_),
                               RandomValues(kN * kH, engine_), RandomValues(kN * kH, engine_)};
  const Values first(in[1].begin(), in[1].begin() + kIn * 4 * kH),
      second(in[1].begin() + kIn * 4 * kH, in[1].end());
  const Constant x = Of({kSteps, kN, kIn}, in[0]), w = Of({kIn, 4 * kH}, first), u = Of({kH, 4 * kH}, second),
                 b = Of({4 * kH}, in[2]), h = Of({1, kN, kH}, in[3]), c = Of({1, kN, kH}, in[4]);
  const Attributes attributes{{"gate_order", std::string(GetParam() ? "ifco" : "ijfo")}};
  const std::vector<Constant> got = Apply("DynamicRNNV2", {x, w, u, b, nullptr, h, c}, attributes, 8);
  const std::vector<Values> wanted = Lstm(in, order);
  for (size_t i = 0; i < 8; ++i) ExpectNear(got[i], wanted[i], 1e-5, "kept");
  std::vector<Values> plain = in;
  plain[2].assign(plain[2].size(), 0.0);
  ExpectNear(Apply("DynamicRNNV2", {x, w, u, nullptr, nullptr, h, c}, attributes)[0], Lstm(plain, order)[0],
             1e-5, "without a bias");

  const Values dy = RandomValues(kSteps * kN * kH, engine_), dh = RandomValues(kN * kH, engine_),
               dc = RandomValues(kN * kH, engine_);
  const auto loss = [&](const std::vector<Values>& v) {
    const std::vector<Values> out = Lstm(v, order);
    return Sum(out[0], dy) + Sum(Last(out[1]), dh) + Sum(Last(out[2]), dc);
  };
  const Constant state_h = Of({kN, kH}, in[3]), state_c = Of({kN, kH}, in[4]), none = Reals({}, {0});
  const std::vector<Constant> slopes = Apply("DynamicRNNV2Grad",
                                             {x,
                                              w,
                                              u,
                                              got[0],
                                              state_h,
                                              state_c,
                                              got[1],
                                              got[2],
                                              Of(each_, dy),
                                              Of({kN, kH}, dh),
                                              Of({kN, kH}, dc),
                                              got[3],
                                              got[4],
                                              got[5],
                                              got[6],
                                              got[7],
                                              none,
                                              none,
                                              none,
                                              none},
                                             {{"gate_order", order}}, 6);
  const Values weights = Differences(in, 1, loss);
  ExpectNear(slopes[0], {weights.begin(), weights.begin() + kIn * 4 * kH}, 5e-5, "weights of the input");
  ExpectNear(slopes[1], {weights.begin() + kIn * 4 * kH, weights.end()}, 5e-5, "weights of the states");
  const size_t others[] = {2, 0, 3, 4};
  for (size_t i = 0; i < 4; ++i)
    ExpectNear(slopes[i + 2], Differences(in, others[i], loss), 5e-5, "gradient");
}

TEST_P(RecurrentTraining, Gru) {
  const std::string order = GetParam() ? "rzh" : "zrh";
  const std::vector<Values> in{RandomValues(kSteps * kN * kIn, engine_),
                               RandomValues(kIn * 3 * kH, engine_),
                               RandomValues(kH * 3 * kH, engine_),
                               RandomValues(3 * kH, engine_),
                               RandomValues(3 * kH, engine_),
                               RandomValues(kN * kH, engine_)};
  const Constant x = Of({kSteps, kN, kIn}, in[0]), w = Of({kIn, 3 * kH}, in[1]), u = Of({kH, 3 * kH}, in[2]),
                 h = Of({kN, kH}, in[5]);
  const Attributes attributes{{"gate_order", order}};
  const std::vector<Constant> got =
      Apply("DynamicGRUV2", {x, w, u, Of({3 * kH}, in[3]), Of({3 * kH}, in[4]), nullptr, h}, attributes, 6);
  const std::vector<Values> wanted = Gru(in, order);
  for (size_t i = 0; i < 6; ++i) ExpectNear(got[i], wanted[i], 1e-5, "kept");

  const Values dy = RandomValues(kSteps * kN * kH, engine_), dh = RandomValues(kN * kH, engine_);
  const auto loss = [&](const std::vector<Values>& v) {
    const std::vector<Values> out = Gru(v, order);
    return Sum(out[0], dy) + Sum(Last(out[1]), dh);
  };
  const std::vector<Constant> gradients =
      Apply("DynamicGRUV2Grad",
            {x, w, u, got[0], h, got[1], Of(each_, dy), Of({kN, kH}, dh), got[2], got[3], got[4], got[5]},
            attributes, 6);
  const size_t order_of_inputs[] = {1, 2, 3, 4, 0, 5};
  for (size_t i = 0; i < 6; ++i) {
    ExpectNear(gradients[i], Differences(in, order_of_inputs[i], loss), 5e-5, "gradient");
  }
}

INSTANTIATE_TEST_SUITE_P(GateOrders, RecurrentTraining, testing::Bool());

// No state and no bias is zeros; halves are computed with floats.
TEST(RecurrentCells, WhatIsNotGivenIsZero) {
  std::minstd_rand engine{9};
  const Values x = RandomValues(kSteps * kN * kIn, engine), w = RandomValues((kIn + kH) * 4 * kH, engine),
               b = RandomValues(4 * kH, engine), state(kN * kH, 0.0), wi = RandomValues(kIn * 3 * kH, engine),
               wh = RandomValues(kH * 3 * kH, engine), none(3 * kH, 0.0);
  const Constant y =
      Apply("DynamicRNN", {Of({kSteps, kN, kIn}, x), Of({kIn + kH, 4 * kH}, w), Of({4 * kH}, b)})[0];
  ExpectNear(y, Lstm({x, w, b, state, state}, "ijfo")[0], 1e-5, "y");
  const Constant g =
      Apply("DynamicGRUV2", {Of({kSteps, kN, kIn}, x), Of({kIn, 3 * kH}, wi), Of({kH, 3 * kH}, wh)})[0];
  ExpectNear(g, Gru({x, wi, wh, none, none, state}, "zrh")[0], 1e-5, "y");
  const Constant half =
      Apply("DynamicGRUV2", {Of({kSteps, kN, kIn}, x, DType::kF16), Of({kIn, 3 * kH}, wi, DType::kF16),
                             Of({kH, 3 * kH}, wh, DType::kF16)})[0];
  ExpectNear(half, Gru({x, wi, wh, none, none, state}, "zrh")[0], 5e-3, "y");
  const DType brain = DType::kBF16;
  const Constant rough = Apply("DynamicRNN", {Of({kSteps, kN, kIn}, x, brain),
                                              Of({kIn + kH, 4 * kH}, w, brain), Of({4 * kH}, b, brain)})[0];
  EXPECT_EQ(rough->dtype(), brain);
  ExpectNear(rough, Lstm({x, w, b, state, state}, "ijfo")[0], 3e-2, "y");
}

TEST(RecurrentCells, RefusesByName) {
  const Values x(kSteps * kN * kIn, 0.0), w((kIn + kH) * 4 * kH, 0.0), b(4 * kH, 0.0);
  const std::vector<Constant> in{Of({kSteps, kN, kIn}, x), Of({kIn + kH, 4 * kH}, w), Of({4 * kH}, b)};
  for (const Attributes& attributes :
       {Attributes{{"direction", std::string("BIDIRECTIONAL")}}, Attributes{{"cell_clip", 1.0}},
        Attributes{{"keep_prob", 0.5}}, Attributes{{"gate_order", std::string("ofij")}},
        Attributes{{"forget_bias", 1.0}}, Attributes{{"use_peephole", true}}}) {
    EXPECT_THROW(Apply("DynamicRNN", in, attributes), Error) << attributes.begin()->first;
  }
  std::vector<Constant> masked = in;
  masked.push_back(Reals({kN}, {1, 1}));
  EXPECT_THROW(Apply("DynamicRNN", masked), Error);
  EXPECT_THROW(Apply("DynamicRNN", {in[0], in[2], in[2]}), Error);
}

// The one step of an LSTM's cell, as torch-npu passes it: without the dimension of steps.
TEST(RecurrentCells, OneStepHasNoDimensionOfItsOwn) {
  std::minstd_rand engine{11};
  const Constant w = Of({kIn, 4 * kH}, RandomValues(kIn * 4 * kH, engine)),
                 u = Of({kH, 4 * kH}, RandomValues(kH * 4 * kH, engine)),
                 b = Of({4 * kH}, RandomValues(4 * kH, engine));
  const Values x = RandomValues(kN * kIn, engine), h = RandomValues(kN * kH, engine),
               c = RandomValues(kN * kH, engine), dh = RandomValues(kN * kH, engine), zero(kN * kH, 0.0);
  const std::vector<Constant> got = Apply(
      "DynamicRNNV2", {Of({1, kN, kIn}, x), w, u, b, nullptr, Of({1, kN, kH}, h), Of({1, kN, kH}, c)}, {}, 8);
  const auto slopes = [&](const Shape& of_x, const Shape& state) {
    std::vector<Constant> in{Of(of_x, x),
                             w,
                             u,
                             got[0],
                             Of({kN, kH}, h),
                             Of({kN, kH}, c),
                             Of(state, got[1]->Reals()),
                             Of(state, got[2]->Reals()),
                             Of({1, kN, kH}, zero),
                             Of({kN, kH}, dh),
                             Of({kN, kH}, zero)};
    in.insert(in.end(), got.begin() + 3, got.end());
    return Apply("DynamicRNNV2Grad", in, {}, 6);
  };
  const std::vector<Constant> with = slopes({1, kN, kIn}, {1, kN, kH}), without = slopes({kN, kIn}, {kN, kH});
  EXPECT_EQ(without[3]->shape(), (Shape{kN, kIn}));
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(with[i]->Reals(), without[i]->Reals()) << i;
}

}  // namespace
}  // namespace belay::graph
