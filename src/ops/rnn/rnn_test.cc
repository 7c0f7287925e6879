#include "ops/rnn/rnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "base/error.h"
#include "ops/rnn/lstm_training.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

double Value(const Sample& s, int64_t i) { return static_cast<const float*>(s.tensor.data)[i]; }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What ONNX's pages say of an LSTM, one number at a time.
TEST(Rnn, LstmOfTwoDirectionsWithLengths) {
  constexpr int64_t kSteps = 4, kBatch = 2, kIn = 3, kHidden = 2, kDirs = 2;
  std::mt19937 rng(3);
  Sample x(DType::kF32, {kSteps, kBatch, kIn}), w(DType::kF32, {kDirs, 4 * kHidden, kIn});
  Sample r(DType::kF32, {kDirs, 4 * kHidden, kHidden}), b(DType::kF32, {kDirs, 8 * kHidden});
  Sample lengths(DType::kI32, {kBatch}), y(DType::kF32, {kSteps, kDirs, kBatch, kHidden});
  Sample h(DType::kF32, {kDirs, kBatch, kHidden}), c(DType::kF32, {kDirs, kBatch, kHidden});
  for (Sample* s : {&x, &w, &r, &b}) s->Randomise(rng, 1);
  static_cast<int32_t*>(lengths.tensor.data)[0] = 4;
  static_cast<int32_t*>(lengths.tensor.data)[1] = 2;
  PlanRef plan = testing::NewPlan();
  RnnArgs args{};
  args.cell = RnnCell::kLstm;
  args.x = x.BoundTo(*plan, Access::kRead, "x"), args.w = w.BoundTo(*plan, Access::kRead, "w");
  args.r = r.BoundTo(*plan, Access::kRead, "r"), args.bias = b.BoundTo(*plan, Access::kRead, "b");
  args.lengths = lengths.BoundTo(*plan, Access::kRead, "lengths");
  args.y = y.BoundTo(*plan, Access::kWrite, "y");
  args.last_h = h.BoundTo(*plan, Access::kWrite, "h"), args.last_c = c.BoundTo(*plan, Access::kWrite, "c");
  args.steps = kSteps, args.batch = kBatch, args.inputs = kIn, args.hidden = kHidden, args.directions = kDirs;
  for (int i = 0; i < 2; ++i) {
    for (const char* name : {"Sigmoid", "Tanh", "Tanh"}) args.functions.push_back(FindRnnFunction(name));
  }
  PlanRnn(*plan, args);
  testing::RunPlan(*plan);

  for (int64_t d = 0; d < kDirs; ++d) {
    for (int64_t n = 0; n < kBatch; ++n) {
      double state[kHidden] = {}, cell[kHidden] = {};
      const int64_t length = n == 0 ? 4 : 2;
      for (int64_t t = 0; t < length; ++t) {
        const int64_t at = d == 0 ? t : length - 1 - t;
        double gate[4][kHidden];
        for (int64_t g = 0; g < 4 * kHidden; ++g) {
          double sum = Value(b, d * 8 * kHidden + g) + Value(b, d * 8 * kHidden + 4 * kHidden + g);
          for (int64_t k = 0; k < kIn; ++k)
            sum += Value(x, (at * kBatch + n) * kIn + k) * Value(w, (d * 4 * kHidden + g) * kIn + k);
          for (int64_t k = 0; k < kHidden; ++k)
            sum += state[k] * Value(r, (d * 4 * kHidden + g) * kHidden + k);
          gate[g / kHidden][g % kHidden] = sum;
        }
        for (int64_t k = 0; k < kHidden; ++k) {
          cell[k] = Sigmoid(gate[2][k]) * cell[k] + Sigmoid(gate[0][k]) * std::tanh(gate[3][k]);
          state[k] = Sigmoid(gate[1][k]) * std::tanh(cell[k]);
          EXPECT_NEAR(Value(y, ((at * kDirs + d) * kBatch + n) * kHidden + k), state[k], 1e-5);
        }
      }
      for (int64_t k = 0; k < kHidden; ++k) {
        EXPECT_NEAR(Value(h, (d * kBatch + n) * kHidden + k), state[k], 1e-5);
        EXPECT_NEAR(Value(c, (d * kBatch + n) * kHidden + k), cell[k], 1e-5);
        if (length < kSteps) {
          EXPECT_EQ(Value(y, ((3 * kDirs + d) * kBatch + n) * kHidden + k), 0);
        }
      }
    }
  }
}

// The vector loops of the usual functions against the same functions given as others.
void CheckUsualGates(RnnCell cell, bool reset_after, bool has_bias) {
  constexpr int64_t kSteps = 3, kBatch = 2, kIn = 5, kHidden = 70;
  const int64_t width = (cell == RnnCell::kGru ? 3 : 4) * kHidden;
  std::mt19937 rng(9);
  Sample x(DType::kF32, {kSteps, kBatch, kIn}), w(DType::kF32, {1, width, kIn}),
      r(DType::kF32, {1, width, kHidden});
  Sample b(DType::kF32, {1, 2 * width}), y(DType::kF32, {kSteps, 1, kBatch, kHidden}), plain = y.Copied();
  for (Sample* s : {&x, &w, &r, &b}) s->Randomise(rng, 1);
  for (bool usual : {true, false}) {
    PlanRef plan = testing::NewPlan();
    RnnArgs args{};
    args.cell = cell, args.reset_after = reset_after;
    args.x = x.BoundTo(*plan, Access::kRead, "x"), args.w = w.BoundTo(*plan, Access::kRead, "w");
    args.r = r.BoundTo(*plan, Access::kRead, "r");
    if (has_bias) args.bias = b.BoundTo(*plan, Access::kRead, "b");
    args.y = (usual ? y : plain).BoundTo(*plan, Access::kWrite, "y");
    args.steps = kSteps, args.batch = kBatch, args.inputs = kIn, args.hidden = kHidden, args.directions = 1;
    const RnnFunction sigmoid{[](float v, float, float) { return 1 / (1 + std::exp(-v)); }, 0, 0};
    const RnnFunction tanh{[](float v, float, float) { return std::tanh(v); }, 0, 0};
    args.functions = {usual ? FindRnnFunction("Sigmoid") : sigmoid, usual ? FindRnnFunction("Tanh") : tanh};
    if (cell == RnnCell::kLstm) args.functions.push_back(args.functions[1]);
    PlanRnn(*plan, args);
    testing::RunPlan(*plan);
  }
  EXPECT_LT(testing::Distance(y.tensor, plain.tensor), 2e-6);
}

TEST(Rnn, UsualGatesInVectorsAreThoseOfTheirFunctions) {
  for (bool has_bias : {true, false}) {
    CheckUsualGates(RnnCell::kLstm, false, has_bias);
    CheckUsualGates(RnnCell::kGru, false, has_bias);
    CheckUsualGates(RnnCell::kGru, true, has_bias);
  }
}

// Many steps lay the weights of the states anew: they give what the same steps give one at a time.
void CheckStepsTogether(RnnCell cell, const char* first_function, int64_t batch, int64_t hidden,
                        bool reset_after = true) {
  constexpr int64_t kSteps = 6, kIn = 5;
  const int64_t width = (cell == RnnCell::kGru ? 3 : cell == RnnCell::kLstm ? 4 : 1) * hidden;
  std::mt19937 rng(11);
  Sample x(DType::kF32, {kSteps, batch, kIn}), w(DType::kF32, {1, width, kIn}),
      r(DType::kF32, {1, width, hidden}), b(DType::kF32, {1, 2 * width}),
      y(DType::kF32, {kSteps, 1, batch, hidden}), h(DType::kF32, {1, batch, hidden}), c = h.Copied();
  for (Sample* s : {&x, &w, &r, &b}) s->Randomise(rng, 1);
  // So that states neither grow nor forget.
  for (int64_t i = 0; i < r.tensor.count(); ++i) testing::Floats(r)[i] /= 8;
  const auto run = [&](int64_t from, int64_t steps, bool into_y) {
    PlanRef plan = testing::NewPlan();
    Tensor part = x.tensor;
    part.shape[0] = steps, part.data = static_cast<float*>(part.data) + from * batch * kIn;
    RnnArgs args{};
    args.cell = cell, args.reset_after = reset_after;
    args.x = {&part, nullptr, plan->Bind(&part, Access::kRead, "x", 0, 0), "x"};
    args.w = w.BoundTo(*plan, Access::kRead, "w"), args.r = r.BoundTo(*plan, Access::kRead, "r");
    args.bias = b.BoundTo(*plan, Access::kRead, "b");
    if (into_y) {
      args.y = y.BoundTo(*plan, Access::kWrite, "y");
    } else {
      args.first_h = h.BoundTo(*plan, Access::kRead, "h"),
      args.last_h = h.BoundTo(*plan, Access::kWrite, "h");
      args.first_c = c.BoundTo(*plan, Access::kRead, "c"),
      args.last_c = c.BoundTo(*plan, Access::kWrite, "c");
    }
    args.steps = steps, args.batch = batch, args.inputs = kIn, args.hidden = hidden, args.directions = 1;
    for (const char* name : {first_function, "Tanh", "Tanh"}) args.functions.push_back(FindRnnFunction(name));
    PlanRnn(*plan, args);
    testing::RunPlan(*plan);
  };
  std::fill_n(testing::Floats(h), h.tensor.count(), 0.0f);
  std::fill_n(testing::Floats(c), c.tensor.count(), 0.0f);
  run(0, kSteps, true);
  for (int64_t t = 0; t < kSteps; ++t) {
    run(t, 1, false);
    for (int64_t i = 0; i < batch * hidden; ++i)
      ASSERT_NEAR(testing::Floats(y)[t * batch * hidden + i], testing::Floats(h)[i], 1e-5)
          << t << " " << first_function;
  }
}

TEST(Rnn, StepsTogetherAreStepsOneAtATime) {
  for (const int64_t batch : {1, 3, 7, 40}) {
    for (const int64_t hidden : {5, 16, 32, 33, 50, 96, 100}) {
      CheckStepsTogether(RnnCell::kLstm, "Sigmoid", batch, hidden);
      CheckStepsTogether(RnnCell::kGru, "Sigmoid", batch, hidden);
      CheckStepsTogether(RnnCell::kGru, "Sigmoid", batch, hidden, false);
      CheckStepsTogether(RnnCell::kPlain, "Tanh", batch, hidden);
      CheckStepsTogether(RnnCell::kPlain, "Relu", batch, hidden);
      CheckStepsTogether(RnnCell::kPlain, "Softsign", batch, hidden);
    }
  }
}

// The sequences of a batch that several cores share, of different lengths, with states that come in and go
// out.
void CheckSharedSequences(RnnCell cell, bool batch_first, int64_t directions) {
  constexpr int64_t kSteps = 20, kBatch = 7, kIn = 30, kHidden = 128;
  const int64_t width = (cell == RnnCell::kGru ? 3 : cell == RnnCell::kLstm ? 4 : 1) * kHidden;
  std::mt19937 rng(12);
  Sample x(DType::kF32, {kBatch, kSteps, kIn}), w(DType::kF32, {directions, width, kIn}),
      r(DType::kF32, {directions, width, kHidden}), lengths(DType::kI32, {kBatch}),
      first_h(DType::kF32, {directions, kBatch, kHidden}), first_c = first_h.Copied();
  for (Sample* s : {&x, &w, &r, &first_h, &first_c}) s->Randomise(rng, 1);
  for (int64_t i = 0; i < r.tensor.count(); ++i) testing::Floats(r)[i] /= 16;
  for (int64_t n = 0; n < kBatch; ++n)
    static_cast<int32_t*>(lengths.tensor.data)[n] = static_cast<int32_t>(kSteps - n);
  const auto run = [&] {
    Sample y(DType::kF32, {kSteps, directions, kBatch, kHidden}), h = first_h.Copied(), c = first_h.Copied();
    PlanRef plan = testing::NewPlan();
    RnnArgs args{};
    args.cell = cell, args.reset_after = cell == RnnCell::kGru && batch_first, args.batch_first = batch_first;
    args.x = x.BoundTo(*plan, Access::kRead, "x"), args.w = w.BoundTo(*plan, Access::kRead, "w");
    args.r = r.BoundTo(*plan, Access::kRead, "r");
    args.lengths = lengths.BoundTo(*plan, Access::kRead, "lengths");
    args.first_h = first_h.BoundTo(*plan, Access::kRead, "h0");
    args.first_c = first_c.BoundTo(*plan, Access::kRead, "c0");
    args.y = y.BoundTo(*plan, Access::kWrite, "y");
    args.last_h = h.BoundTo(*plan, Access::kWrite, "h"), args.last_c = c.BoundTo(*plan, Access::kWrite, "c");
    args.steps = kSteps, args.batch = kBatch, args.inputs = kIn, args.hidden = kHidden;
    args.directions = directions;
    for (int64_t d = 0; d < directions; ++d) {
      for (const char* name : {"Sigmoid", "Tanh", "Tanh"}) args.functions.push_back(FindRnnFunction(name));
    }
    PlanRnn(*plan, args);
    testing::RunPlan(*plan);
    return std::tuple{std::move(y), std::move(h), std::move(c)};
  };
  const auto [y, h, c] = run();
  const testing::InPieces pieces;
  const auto [shared_y, shared_h, shared_c] = run();
  EXPECT_LT(testing::Distance(shared_y.tensor, y.tensor), 2e-6);
  EXPECT_LT(testing::Distance(shared_h.tensor, h.tensor), 2e-6);
  if (cell == RnnCell::kLstm) {
    EXPECT_LT(testing::Distance(shared_c.tensor, c.tensor), 2e-6);
  }
}

TEST(Rnn, SequencesThatCoresShareAreThoseOfOne) {
  for (RnnCell cell : {RnnCell::kPlain, RnnCell::kGru, RnnCell::kLstm}) {
    for (bool batch_first : {true, false}) {
      for (int64_t directions : {1, 2}) CheckSharedSequences(cell, batch_first, directions);
    }
  }
}

// Weights of bytes mean what they stand for, but for what is lost where x and the states are rounded.
void CheckByteLstm(DType type, bool by_column) {
  constexpr int64_t kSteps = 5, kBatch = 2, kIn = 6, kHidden = 8, kDirs = 2, kWidth = 4 * kHidden;
  std::mt19937 rng(8);
  const Shape scales = by_column ? Shape{kDirs, kWidth} : Shape{kDirs};
  Sample x(DType::kF32, {kSteps, kBatch, kIn}), y(DType::kF32, {kSteps, kDirs, kBatch, kHidden}),
      near = y.Copied();
  Sample w(type, {kDirs, kIn, kWidth}), r(type, {kDirs, kHidden, kWidth}),
      real_w(DType::kF32, {kDirs, kWidth, kIn});
  Sample real_r(DType::kF32, {kDirs, kWidth, kHidden}), scale(DType::kF32, scales), zero(type, scales);
  x.Randomise(rng, 2);
  const uint8_t middle = type == DType::kU8 ? 130 : 0;
  for (int64_t i = 0; i < zero.tensor.count(); ++i) {
    static_cast<uint8_t*>(zero.tensor.data)[i] = middle;
    static_cast<float*>(scale.tensor.data)[i] = 0.004f + 0.0002f * static_cast<float>(i % 13);
  }
  for (auto [bytes, real, k] : {std::tuple{&w, &real_w, kIn}, std::tuple{&r, &real_r, kHidden}}) {
    for (int64_t i = 0; i < kDirs * k * kWidth; ++i) {
      const auto byte = static_cast<uint8_t>(rng());
      static_cast<uint8_t*>(bytes->tensor.data)[i] = byte;
      const int64_t d = i / (k * kWidth), column = i % kWidth, row = i / kWidth % k;
      const double value = (type == DType::kU8 ? byte : static_cast<int8_t>(byte)) - middle;
      static_cast<float*>(real->tensor.data)[(d * kWidth + column) * k + row] =
          static_cast<float>(value * Value(scale, by_column ? d * kWidth + column : d));
    }
  }
  for (bool bytes : {true, false}) {
    PlanRef plan = testing::NewPlan();
    RnnArgs args{};
    args.cell = RnnCell::kLstm;
    args.x = x.BoundTo(*plan, Access::kRead, "x");
    args.w = (bytes ? w : real_w).BoundTo(*plan, Access::kRead, "w");
    args.r = (bytes ? r : real_r).BoundTo(*plan, Access::kRead, "r");
    if (bytes) {
      args.w_bytes = {scale.BoundTo(*plan, Access::kRead, "s"), zero.BoundTo(*plan, Access::kRead, "z"),
                      type == DType::kI8, by_column};
      args.r_bytes = args.w_bytes;
    }
    args.y = (bytes ? y : near).BoundTo(*plan, Access::kWrite, "y");
    args.steps = kSteps, args.batch = kBatch, args.inputs = kIn, args.hidden = kHidden,
    args.directions = kDirs;
    for (int i = 0; i < 2; ++i) {
      for (const char* name : {"Sigmoid", "Tanh", "Tanh"}) args.functions.push_back(FindRnnFunction(name));
    }
    PlanRnn(*plan, args);
    testing::RunPlan(*plan);
  }
  double furthest = 0;
  for (int64_t i = 0; i < y.tensor.count(); ++i)
    furthest = std::max(furthest, std::fabs(Value(y, i) - Value(near, i)));
  EXPECT_LT(furthest, 0.02);
  EXPECT_GT(furthest, 1e-5);  // x and the states are rounded
}

TEST(Rnn, LstmWithWeightsOfBytes) {
  for (DType type : {DType::kI8, DType::kU8}) {
    CheckByteLstm(type, false);
    CheckByteLstm(type, true);
  }
}

TEST(Rnn, SizesThatDoNotFitAreRefused) {
  Sample x(DType::kF32, {1, 1, 3}), w(DType::kF32, {1, 2, 4});
  PlanRef plan = testing::NewPlan();
  RnnArgs args{};
  args.x = x.BoundTo(*plan, Access::kRead, "x"), args.w = w.BoundTo(*plan, Access::kRead, "w");
  args.steps = args.batch = args.directions = 1, args.inputs = 3, args.hidden = 2;
  EXPECT_THROW(PlanRnn(*plan, args), belay::Error);
}

// All sequences have the first step, and none begins later.
TEST(Rnn, NumbersOfSequencesThatGrowStopTheTask) {
  for (const auto& [first, second] : {std::pair{2, 3}, {1, 1}, {2, 0}, {2, -1}}) {
    Sample x(DType::kF32, {4, 1}), w(DType::kF32, {4, 1}), state(DType::kF32, {1, 2, 1});
    Sample sizes(DType::kI64, {2}), y(DType::kF32, {2, 2, 1});
    auto* numbers = static_cast<int64_t*>(sizes.tensor.data);
    numbers[0] = first, numbers[1] = second;
    PlanRef plan = testing::NewPlan();
    const Operand weights = w.BoundTo(*plan, Access::kRead, "w");
    const Operand before = state.BoundTo(*plan, Access::kRead, "state");
    LstmArgs args{
        x.BoundTo(*plan, Access::kRead, "x"), {weights, weights}, before, before, 1, false, false, false};
    args.batch_sizes = sizes.BoundTo(*plan, Access::kRead, "sizes");
    PlanLstmTraining(*plan, args, {}, y.BoundTo(*plan, Access::kWrite, "y"), {}, {});
    try {
      testing::RunPlan(*plan);
      ADD_FAILURE() << first << ", " << second;
    } catch (const Error& error) {
      EXPECT_STREQ(error.id(), "op-lstm-batches");
    }
  }
}

}  // namespace
}  // namespace belay::ops
