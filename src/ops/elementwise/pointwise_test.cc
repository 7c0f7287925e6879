#include <gtest/gtest.h>

#include <optional>

#include <cmath>

#include "ops/elementwise/test_kernels.h"
#include "ops/elementwise/unlisted.h"
#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"

namespace belay::ops {
namespace {

using reference::Real;
using testing::Layout;
using testing::Sample;

class Pointwise : public testing::SimdLevels {
 protected:
  std::mt19937 rng_{9};
};
INSTANTIATE_TEST_SUITE_P(Simd, Pointwise, ::testing::Values(0, 1, 2));

struct Function {
  const char* name;
  UnaryKernel kernel;
  Real (*exact)(Real);
  double low, high;
  double allowed = 4e-7;  // relative to the larger of 1 and the result
};

Real ExactSigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

const Function kFunctions[] = {
    {"Exp", kernels::Exp, [](Real x) { return std::exp(x); }, -20, 3},
    {"Expm1", kernels::Expm1, [](Real x) { return std::expm1(x); }, -20, 3},
    {"Log", kernels::Log, [](Real x) { return std::log(x); }, 1e-30, 1e4},
    {"Log1p", kernels::Log1p, [](Real x) { return std::log1p(x); }, -0.9999, 1e4},
    {"Tanh", kernels::Tanh, [](Real x) { return std::tanh(x); }, -12, 12},
    {"Erf", kernels::Erf, [](Real x) { return std::erf(x); }, -6, 6},
    {"Sigmoid", kernels::Sigmoid, ExactSigmoid, -30, 30},
    {"LogSigmoid", kernels::LogSigmoid, [](Real x) { return -std::log1p(std::exp(-x)); }, -30, 30},
    {"Silu", kernels::Silu, [](Real x) { return x * ExactSigmoid(x); }, -30, 30},
    {"Gelu", kernels::Gelu, [](Real x) { return x / 2 * std::erfc(-x / std::sqrt(Real{2})); }, -9, 9},
    {"GeluTanh", kernels::GeluTanh,
     [](Real x) { return x / 2 * (1 + std::tanh(0.7978845608028654L * (x + 0.044715L * x * x * x))); }, -9,
     9},
    {"Mish", kernels::Mish, [](Real x) { return x * std::tanh(std::log1p(std::exp(x))); }, -30, 30},
    {"Softsign", kernels::Softsign, [](Real x) { return x / (1 + std::fabs(x)); }, -30, 30},
    {"HardSwish", kernels::HardSwish,
     [](Real x) { return x * std::min(Real{1}, std::max(Real{0}, x / 6 + 0.5L)); }, -5, 5},
    {"Sqrt", kernels::Sqrt, [](Real x) { return std::sqrt(x); }, 0, 1e5},
    {"Rsqrt", kernels::Rsqrt, [](Real x) { return 1 / std::sqrt(x); }, 1e-3, 1e5},
    {"Reciprocal", kernels::Reciprocal, [](Real x) { return 1 / x; }, 0.1, 1e5},
    {"Sin", kernels::Sin, [](Real x) { return std::sin(x); }, -50, 50},
    {"Atanh", kernels::Atanh, [](Real x) { return std::atanh(x); }, -0.99, 0.99, 1e-6},
    {"Floor", kernels::Floor, [](Real x) { return std::floor(x); }, -9, 9},
    {"Ceil", kernels::Ceil, [](Real x) { return std::ceil(x); }, -9, 9},
    {"Trunc", kernels::Trunc, [](Real x) { return std::trunc(x); }, -9, 9},
    {"Abs", kernels::Abs, [](Real x) { return std::fabs(x); }, -9, 9},
    {"Relu", kernels::Relu, [](Real x) { return std::max(Real{0}, x); }, -9, 9},
};

double Compare(const Function& function, DType type, Layout layout, std::mt19937& rng) {
  Sample in(type, {3, 1409}, layout), out(type, {3, 1409}, layout);
  std::uniform_real_distribution<double> pick(function.low, function.high);
  reference::ForEach(in.tensor.shape, [&](const Shape& i) { reference::Set(in.tensor, i, pick(rng)); });
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  function.kernel(*plan, type, self, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  Sample want = out.Copied();
  reference::ForEach(in.tensor.shape, [&](const Shape& i) {
    reference::Set(want.tensor, i, function.exact(reference::Get(in.tensor, i)));
  });
  return testing::Distance(out.tensor, want.tensor);
}

TEST_P(Pointwise, FunctionsOfFloats) {
  for (const Function& function : kFunctions) {
    EXPECT_LE(Compare(function, DType::kF32, Layout::kPacked, rng_), function.allowed) << function.name;
    EXPECT_LE(Compare(function, DType::kF64, Layout::kTransposed, rng_), 4e-15) << function.name;
    EXPECT_LE(Compare(function, DType::kF16, Layout::kStepped, rng_), 1.1e-3) << function.name;
    EXPECT_LE(Compare(function, DType::kBF16, Layout::kPacked, rng_), 9e-3) << function.name;
  }
}

float At(UnaryKernel kernel, float x) {
  Sample in(DType::kF32, {1}), out(DType::kF32, {1});
  *static_cast<float*>(in.tensor.data) = x;
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernel(*plan, DType::kF32, self, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  return *static_cast<float*>(out.tensor.data);
}

TEST_P(Pointwise, SpecialValues) {
  constexpr float kInf = INFINITY;
  EXPECT_EQ(At(kernels::Exp, kInf), kInf);
  EXPECT_EQ(At(kernels::Exp, -kInf), 0);
  EXPECT_EQ(At(kernels::Exp, 89), kInf);
  EXPECT_NEAR(At(kernels::Exp, 88.5f) / 2.7247e38f, 1, 1e-3);
  EXPECT_NEAR(At(kernels::Exp, -100) / 3.7835e-44f, 1, 0.02);
  EXPECT_EQ(At(kernels::Log, 0), -kInf);
  EXPECT_EQ(At(kernels::Log, kInf), kInf);
  EXPECT_NEAR(At(kernels::Log, 1e-42f), -96.7085f, 1e-3);
  EXPECT_TRUE(std::isnan(At(kernels::Log, -1)));
  EXPECT_EQ(At(kernels::Log1p, -1), -kInf);
  EXPECT_EQ(At(kernels::Tanh, kInf), 1);
  EXPECT_EQ(At(kernels::Erf, -kInf), -1);
  EXPECT_EQ(At(kernels::Sigmoid, -kInf), 0);
  EXPECT_NEAR(At(kernels::Tanh, 1e-6f) / 1e-6f, 1, 1e-6);
  EXPECT_NEAR(At(kernels::Log1p, 1e-6f) / 1e-6f, 1, 1e-6);
  for (UnaryKernel kernel : {kernels::Exp, kernels::Log, kernels::Tanh, kernels::Erf, kernels::Relu,
                             kernels::Sigmoid, kernels::Gelu, kernels::Sign, kernels::Mish}) {
    EXPECT_TRUE(std::isnan(At(kernel, NAN)));
  }
  EXPECT_EQ(At(kernels::Round, 2.5f), 2);
  EXPECT_EQ(At(kernels::Round, -1.5f), -2);
}

// Of each result, however small: what is subtracted from an exponential has lost its digits by then.
TEST_P(Pointwise, SmallResultsHaveTheirDigits) {
  for (float x : {1e-38f, -1e-30f, 1e-20f, -3e-5f, 0.2f, -0.34f, 0.35f, 0.36f, -0.5f, 1.03f, -1.04f, 17.0f,
                  -16.0f, 88.0f, 88.72f}) {
    const double expm1 = std::expm1(static_cast<double>(x));
    EXPECT_NEAR(At(kernels::Expm1, x) / expm1, 1, 3e-7) << x;
    const float size = std::min(std::fabs(x), 80.0f);
    EXPECT_NEAR(At(kernels::LogSigmoid, size) / -std::log1p(std::exp(-static_cast<double>(size))), 1, 3e-7)
        << size;
  }
  EXPECT_EQ(At(kernels::Expm1, 89), INFINITY);
  EXPECT_EQ(At(kernels::Expm1, INFINITY), INFINITY);
  EXPECT_EQ(At(kernels::Expm1, -INFINITY), -1);
  EXPECT_TRUE(std::isnan(At(kernels::Expm1, NAN)));
  EXPECT_TRUE(std::isnan(At(kernels::LogSigmoid, NAN)));
  EXPECT_EQ(At(kernels::LogSigmoid, INFINITY), 0);
  EXPECT_EQ(At(kernels::LogSigmoid, 90), 0);
}

TEST_P(Pointwise, ExponentialsOfDoubles) {
  const std::vector<double> values = {0,      1e-300, -1e-10, 0.3,      -0.34,     0.35,   -1,  9.7,
                                      -19.9,  20.1,   300,    -707.9,   709.7,     709.79, 1e4, -720,
                                      -745.1, -746,   -1e9,   INFINITY, -INFINITY, NAN};
  const auto n = static_cast<int64_t>(values.size());
  Sample in(DType::kF64, {n}), out(DType::kF64, {n});
  std::copy(values.begin(), values.end(), static_cast<double*>(in.tensor.data));
  const auto expect = [&](UnaryKernel kernel, Real (*exact)(Real), double least) {
    PlanRef plan = testing::NewPlan();
    Operand self = in.BoundTo(*plan, Access::kRead, "self");
    kernel(*plan, DType::kF64, self, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    for (int64_t i = 0; i < n; ++i) {
      const double got = static_cast<double*>(out.tensor.data)[i];
      const auto want = static_cast<double>(exact(values[static_cast<size_t>(i)]));
      if (std::isfinite(want)) {
        EXPECT_LE(std::fabs(got - want), std::max(5e-16 * std::fabs(want), least))
            << values[static_cast<size_t>(i)];
      } else {
        EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << values[static_cast<size_t>(i)];
      }
    }
  };
  expect(
      kernels::Exp, [](Real x) { return std::exp(x); }, 5e-324);  // the least number
  expect(
      kernels::Tanh, [](Real x) { return std::tanh(x); }, 0);
}

struct Operator {
  const char* name;
  BinaryKernel kernel;
  Real (*exact)(Real, Real);
  bool truth = false;
  bool integers_only = false;
};

Real Modulo(Real a, Real b) { return a - std::floor(a / b) * b; }
int64_t Int(Real x) { return static_cast<int64_t>(x); }

const Operator kOperators[] = {
    {"Maximum", kernels::Maximum, [](Real a, Real b) { return std::max(a, b); }},
    {"Minimum", kernels::Minimum, [](Real a, Real b) { return std::min(a, b); }},
    {"FloorDiv", kernels::FloorDiv, [](Real a, Real b) { return std::floor(a / b); }},
    {"TruncDiv", kernels::TruncDiv, [](Real a, Real b) { return std::trunc(a / b); }},
    {"Remainder", kernels::Remainder, Modulo},
    {"Fmod", kernels::Fmod, [](Real a, Real b) { return std::fmod(a, b); }},
    {"Equal", kernels::Equal, [](Real a, Real b) { return Real(a == b); }, true},
    {"NotEqual", kernels::NotEqual, [](Real a, Real b) { return Real(a != b); }, true},
    {"Greater", kernels::Greater, [](Real a, Real b) { return Real(a > b); }, true},
    {"GreaterEqual", kernels::GreaterEqual, [](Real a, Real b) { return Real(a >= b); }, true},
    {"Less", kernels::Less, [](Real a, Real b) { return Real(a < b); }, true},
    {"LessEqual", kernels::LessEqual, [](Real a, Real b) { return Real(a <= b); }, true},
    {"LogicalAnd", kernels::LogicalAnd, [](Real a, Real b) { return Real(a != 0 && b != 0); }, true},
    {"LogicalOr", kernels::LogicalOr, [](Real a, Real b) { return Real(a != 0 || b != 0); }, true},
    {"LogicalXor", kernels::LogicalXor, [](Real a, Real b) { return Real((a != 0) != (b != 0)); }, true},
    {"BitwiseAnd", kernels::BitwiseAnd, [](Real a, Real b) { return Real(Int(a) & Int(b)); }, false, true},
    {"BitwiseOr", kernels::BitwiseOr, [](Real a, Real b) { return Real(Int(a) | Int(b)); }, false, true},
    {"BitwiseXor", kernels::BitwiseXor, [](Real a, Real b) { return Real(Int(a) ^ Int(b)); }, false, true},
};

TEST_P(Pointwise, OperatorsOfAllTypes) {
  const DType types[] = {DType::kF32, DType::kF16, DType::kF64, DType::kI8,  DType::kI16, DType::kI32,
                         DType::kI64, DType::kU8,  DType::kU16, DType::kU32, DType::kU64};
  for (const Operator& op : kOperators) {
    for (DType type : types) {
      if (op.integers_only && IsFloat(type)) continue;
      DType result = op.truth ? DType::kBool : type;
      Sample a(type, {5, 37}, Layout::kTransposed), b(type, {37}), out(result, {5, 37});
      std::uniform_int_distribution<int> pick(InfoOf(type).is_signed ? -9 : 0, 9);
      reference::ForEach(a.tensor.shape, [&](const Shape& i) { reference::Set(a.tensor, i, pick(rng_)); });
      reference::ForEach(b.tensor.shape, [&](const Shape& i) {
        int value = pick(rng_);
        reference::Set(b.tensor, i, value == 0 ? 3 : value);
      });
      PlanRef plan = testing::NewPlan();
      Operand self = a.BoundTo(*plan, Access::kRead, "self"),
              other = b.BoundTo(*plan, Access::kRead, "other");
      op.kernel(*plan, type, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
      testing::RunPlan(*plan);
      Sample want = out.Copied();
      reference::ForEach(out.tensor.shape, [&](const Shape& i) {
        Real y = reference::Get(b.tensor, Shape{i[1]});
        reference::Set(want.tensor, i, op.exact(reference::Get(a.tensor, i), y));
      });
      EXPECT_EQ(testing::Distance(out.tensor, want.tensor), 0) << op.name << " of " << NameOf(type);
    }
  }
}

using Bytes = std::vector<uint8_t>;
Bytes OfBytes(BinaryKernel kernel, DType type, DType result, const Bytes& a, const Bytes& b) {
  const auto n = static_cast<int64_t>(a.size());
  Sample x(type, {n}), y(type, {n}), out(result, {n});
  std::copy(a.begin(), a.end(), static_cast<uint8_t*>(x.tensor.data));
  std::copy(b.begin(), b.end(), static_cast<uint8_t*>(y.tensor.data));
  PlanRef plan = testing::NewPlan();
  Operand self = x.BoundTo(*plan, Access::kRead, "self"), other = y.BoundTo(*plan, Access::kRead, "other");
  kernel(*plan, type, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  const auto* got = static_cast<const uint8_t*>(out.tensor.data);
  return {got, got + n};
}

TEST_P(Pointwise, BytesAreComputedAsBytes) {
  Bytes a, b;
  for (int i = 0; i < 256; ++i) {
    for (int j : {0, 1, 2, 7, 128, 255}) {
      a.push_back(static_cast<uint8_t>(i));
      b.push_back(static_cast<uint8_t>(j));
    }
  }
  const std::pair<BinaryKernel, bool (*)(bool, bool)> truths[] = {
      {kernels::LogicalAnd, [](bool x, bool y) { return x && y; }},
      {kernels::LogicalOr, [](bool x, bool y) { return x || y; }},
      {kernels::LogicalXor, [](bool x, bool y) { return x != y; }},
      {kernels::Equal, [](bool x, bool y) { return x == y; }},
      {kernels::NotEqual, [](bool x, bool y) { return x != y; }}};
  for (auto [kernel, exact] : truths) {  // any byte but 0 is true
    const Bytes got = OfBytes(kernel, DType::kBool, DType::kBool, a, b);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(got[i], exact(a[i] != 0, b[i] != 0) ? 1 : 0);
  }
  const Bytes product = OfBytes(kernels::Mul, DType::kU8, DType::kU8, a, b);
  const Bytes least = OfBytes(kernels::Minimum, DType::kU8, DType::kU8, a, b);
  const Bytes less = OfBytes(kernels::Less, DType::kU8, DType::kBool, a, b);
  const Bytes is_product = OfBytes(kernels::Mul, DType::kU8, DType::kBool, a, b);
  const Bytes signed_product = OfBytes(kernels::Mul, DType::kI8, DType::kI8, a, b);
  const Bytes signed_least = OfBytes(kernels::Minimum, DType::kI8, DType::kI8, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(product[i], static_cast<uint8_t>(a[i] * b[i]));
    EXPECT_EQ(least[i], std::min(a[i], b[i]));
    EXPECT_EQ(less[i], a[i] < b[i] ? 1 : 0);
    EXPECT_EQ(is_product[i], static_cast<uint8_t>(a[i] * b[i]) != 0 ? 1 : 0);
    EXPECT_EQ(signed_product[i], static_cast<uint8_t>(a[i] * b[i]));
    EXPECT_EQ(signed_least[i],
              static_cast<uint8_t>(std::min(static_cast<int8_t>(a[i]), static_cast<int8_t>(b[i]))));
  }
}

TEST_P(Pointwise, BytesWithASignAreComputedAsBytes) {
  Sample x(DType::kI8, {256}), low(DType::kI8, {1}), high(DType::kI8, {1}), out(DType::kI8, {256});
  for (int i = 0; i < 256; ++i) reference::Set(x.tensor, Shape{i}, i - 128);
  reference::Set(low.tensor, Shape{0}, -7), reference::Set(high.tensor, Shape{0}, 100);
  const auto expect = [&](const auto& plan_it, Real (*exact)(Real)) {
    PlanRef plan = testing::NewPlan();
    plan_it(*plan, x.BoundTo(*plan, Access::kRead, "x"), out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    for (int i = 0; i < 256; ++i) {
      const auto want = static_cast<int8_t>(Int(exact(reference::Get(x.tensor, Shape{i}))));
      EXPECT_EQ(reference::Get(out.tensor, Shape{i}), Real(want)) << i - 128;
    }
  };
  const std::pair<UnaryKernel, Real (*)(Real)> functions[] = {
      {kernels::Neg, [](Real a) { return -a; }},
      {kernels::Abs, [](Real a) { return std::fabs(a); }},
      {kernels::Square, [](Real a) { return a * a; }},
      {kernels::Sign, [](Real a) { return Real(a > 0) - Real(a < 0); }},
      {kernels::Relu, [](Real a) { return std::max(a, Real{0}); }}};
  for (auto [kernel, exact] : functions) {
    expect([kernel = kernel](Plan& plan, const Operand& in,
                             const Operand& to) { kernel(plan, DType::kI8, in, to); },
           exact);
  }
  expect(
      [&](Plan& plan, const Operand& in, const Operand& to) {
        kernels::Clamp(plan, DType::kI8, in, low.BoundTo(plan, Access::kRead, "low"),
                       high.BoundTo(plan, Access::kRead, "high"), to);
      },
      [](Real a) { return std::clamp(a, Real{-7}, Real{100}); });
}

TEST_P(Pointwise, BetweenTwoValuesForAll) {
  for (auto [least, most] : {std::pair{-1.0f, 2.0f}, {2.0f, -1.0f}}) {  // the upper bound wins
    Sample x(DType::kF32, {1003}), low(DType::kF32, {1}), high(DType::kF32, {1}), out(DType::kF32, {1003});
    x.Randomise(rng_, 5);
    auto *from = testing::Floats(x), *to = testing::Floats(out);
    from[7] = NAN, testing::Floats(low)[0] = least, testing::Floats(high)[0] = most;
    PlanRef plan = testing::NewPlan();
    Operand in = x.BoundTo(*plan, Access::kRead, "x"), min = low.BoundTo(*plan, Access::kRead, "min"),
            max = high.BoundTo(*plan, Access::kRead, "max");
    kernels::Clamp(*plan, DType::kF32, in, min, max, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    EXPECT_TRUE(std::isnan(to[7]));
    for (int64_t i = 0; i < 1003; ++i) {
      if (i != 7) EXPECT_EQ(to[i], std::min(std::max(from[i], least), most)) << from[i];
    }
  }
}

TEST_P(Pointwise, IntegerDivisionNeverTraps) {
  Sample a(DType::kI32, {4}), b(DType::kI32, {4}), out(DType::kI32, {4});
  const int32_t left[] = {7, INT32_MIN, -7, 0}, right[] = {0, -1, 2, 0};
  std::copy_n(left, 4, static_cast<int32_t*>(a.tensor.data));
  std::copy_n(right, 4, static_cast<int32_t*>(b.tensor.data));
  const auto* y = static_cast<const int32_t*>(out.tensor.data);
  for (auto [kernel, want] : {std::pair{&kernels::TruncDiv, -3},
                              {&kernels::FloorDiv, -4},
                              {&kernels::Fmod, -1},
                              {&kernels::Remainder, 1}}) {
    PlanRef plan = testing::NewPlan();
    Operand self = a.BoundTo(*plan, Access::kRead, "self"), other = b.BoundTo(*plan, Access::kRead, "other");
    kernel(*plan, DType::kI32, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[2], want);
    EXPECT_EQ(y[3], 0);
  }
}

TEST_P(Pointwise, WhereTakesOneSideOrTheOther) {
  for (DType type : {DType::kF32, DType::kF16, DType::kI64, DType::kU8, DType::kBool}) {
    Sample condition(DType::kBool, {4, 1}), a(type, {4, 600}, Layout::kStepped), b(type, {600}),
        out(type, {4, 600});
    condition.Randomise(rng_), a.Randomise(rng_), b.Randomise(rng_);
    PlanRef plan = testing::NewPlan();
    Operand c = condition.BoundTo(*plan, Access::kRead, "condition"),
            self = a.BoundTo(*plan, Access::kRead, "self"), other = b.BoundTo(*plan, Access::kRead, "other");
    kernels::Where(*plan, type, c, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    reference::ForEach(out.tensor.shape, [&](const Shape& i) {
      Real want = reference::Get(condition.tensor, Shape{i[0], 0}) != 0
                      ? reference::Get(a.tensor, i)
                      : reference::Get(b.tensor, Shape{i[1]});
      ASSERT_EQ(reference::Get(out.tensor, i), want);
    });
  }
}

// One value for all, one for each row, one row for all rows, and all at once; short rows and long ones.
TEST_P(Pointwise, BroadcastsAlongAndAcrossRows) {
  const std::pair<Shape, Shape> shapes[] = {
      {{7, 49}, {7, 1}},      {{7, 49}, {1, 49}},     {{3, 300}, {3, 1}},  {{1, 300}, {3, 1}},
      {{3, 5, 7}, {3, 1, 7}}, {{3, 5, 7}, {3, 5, 1}}, {{300}, {1}},        {{2, 401, 3}, {401, 1}},
      {{3, 64}, {3, 1}},      {{3, 65}, {3, 1}},      {{2, 9000}, {2, 1}}, {{50, 91}, {50, 1}}};
  const Operator operators[] = {
      {"Minimum", kernels::Minimum, [](Real a, Real b) { return std::min(a, b); }},
      {"SquaredDifference", kernels::SquaredDifference, [](Real a, Real b) { return (a - b) * (a - b); }},
      {"Less", kernels::Less, [](Real a, Real b) { return Real(a < b); }, true},
      {"LogicalXor", kernels::LogicalXor, [](Real a, Real b) { return Real((a != 0) != (b != 0)); }, true}};
  for (const Operator& op : operators) {
    for (DType type :
         {DType::kF32, DType::kF64, DType::kF16, DType::kI64, DType::kI8, DType::kU8, DType::kBool}) {
      if (type == DType::kBool && op.kernel != kernels::LogicalXor) continue;
      for (const auto& [wide, narrow] : shapes) {
        for (bool first : {false, true}) {
          const Shape shape = *BroadcastShapes(wide, narrow);
          Sample a(type, wide), b(type, narrow), out(op.truth ? DType::kBool : type, shape);
          a.Randomise(rng_), b.Randomise(rng_);
          if (first) std::swap(a, b);
          PlanRef plan = testing::NewPlan();
          Operand self = a.BoundTo(*plan, Access::kRead, "self"),
                  other = b.BoundTo(*plan, Access::kRead, "other");
          op.kernel(*plan, type, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
          testing::RunPlan(*plan);
          Sample want = out.Copied();
          const auto at = [](const Sample& x, const Shape& i) {
            Shape place = Shape::Filled(x.tensor.shape.rank(), 0);
            for (int d = 0; d < place.rank(); ++d)
              place.back(d) = x.tensor.shape.back(d) == 1 ? 0 : i.back(d);
            return reference::Get(x.tensor, place);
          };
          reference::ForEach(
              shape, [&](const Shape& i) { reference::Set(want.tensor, i, op.exact(at(a, i), at(b, i))); });
          EXPECT_EQ(testing::Distance(out.tensor, want.tensor), 0)
              << op.name << " of " << NameOf(type) << ' ' << wide.ToString() << narrow.ToString() << first;
        }
      }
    }
  }
}

TEST_P(Pointwise, ShortRowsForSeveralCores) {
  const testing::InPieces pieces;
  const int64_t rows = 90001, row = 3;
  for (const Shape& narrow : {Shape{rows, 1}, Shape{1, row}}) {
    Sample a(DType::kF32, {rows, row}), b(DType::kF32, narrow), out(DType::kF32, {rows, row});
    for (int64_t i = 0; i < rows * row; ++i) testing::Floats(a)[i] = static_cast<float>(i % 1013);
    for (int64_t i = 0; i < b.tensor.count(); ++i) testing::Floats(b)[i] = static_cast<float>(i % 1009);
    PlanRef plan = testing::NewPlan();
    Operand self = a.BoundTo(*plan, Access::kRead, "self"), other = b.BoundTo(*plan, Access::kRead, "other");
    kernels::SquaredDifference(*plan, DType::kF32, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    for (int64_t i = 0; i < rows * row; ++i) {
      const float d = testing::Floats(a)[i] - testing::Floats(b)[narrow[0] == 1 ? i % row : i / row];
      ASSERT_EQ(testing::Floats(out)[i], d * d) << i;
    }
  }
}

// Operands that repeat in the middle, at the front and along rows, for one core and several.
TEST_P(Pointwise, ShortRowsAmongSeveralDimensions) {
  const Shape whole{40, 30, 20, 16};
  for (const auto& [left, right] : {std::pair{Shape{40, 30, 1, 16}, Shape{40, 1, 20, 16}},
                                    std::pair{Shape{1, 30, 20, 1}, Shape{40, 30, 1, 16}},
                                    std::pair{Shape{40, 1, 1, 16}, Shape{40, 30, 20, 1}}}) {
    for (bool several : {false, true}) {
      std::optional<testing::InPieces> pieces;
      if (several) pieces.emplace();
      Sample a(DType::kF32, left), b(DType::kF32, right), out(DType::kF32, whole);
      a.Randomise(rng_, 2), b.Randomise(rng_, 2);
      PlanRef plan = testing::NewPlan();
      Operand self = a.BoundTo(*plan, Access::kRead, "self"),
              other = b.BoundTo(*plan, Access::kRead, "other");
      kernels::Mul(*plan, DType::kF32, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
      testing::RunPlan(*plan);
      const auto at = [](const Sample& s, Shape i) {
        for (int d = 0; d < i.rank(); ++d) i[d] = s.tensor.shape[d] == 1 ? 0 : i[d];
        return static_cast<float>(reference::Get(s.tensor, i));
      };
      reference::ForEach(whole, [&](const Shape& i) {
        ASSERT_EQ(static_cast<float>(reference::Get(out.tensor, i)), at(a, i) * at(b, i)) << i.ToString();
      });
    }
  }
}

TEST_P(Pointwise, TruthsOfOtherTypesAndLayouts) {
  for (DType type : {DType::kF32, DType::kI64, DType::kU8}) {
    for (DType result : {DType::kBool, DType::kU8, DType::kF32, DType::kI64, DType::kF16}) {
      for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
        Sample a(type, {5, 601}), b(type, {601}), out(result, {5, 601}, layout);
        a.Randomise(rng_, 2), b.Randomise(rng_, 2);
        PlanRef plan = testing::NewPlan();
        Operand self = a.BoundTo(*plan, Access::kRead, "self"),
                other = b.BoundTo(*plan, Access::kRead, "other");
        kernels::Equal(*plan, type, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
        testing::RunPlan(*plan);
        reference::ForEach(out.tensor.shape, [&](const Shape& i) {
          const bool want = reference::Get(a.tensor, i) == reference::Get(b.tensor, Shape{i[1]});
          ASSERT_EQ(reference::Get(out.tensor, i), want ? 1 : 0) << NameOf(type) << NameOf(result);
        });
      }
    }
  }
}

TEST_P(Pointwise, PowersOfIntegers) {
  for (DType type : {DType::kI32, DType::kI64}) {
    for (int64_t power : {0, 1, 2, 3, 7, 10, -1, 99}) {  // 99: not all are the same
      Sample a(type, {700}), b(type, {700}), out(type, {700});
      a.Randomise(rng_, 3);
      reference::ForEach(a.tensor.shape, [&](const Shape& i) {
        reference::Set(b.tensor, i, power == 99 ? Real(i[0] % 5) : Real(power));
      });
      PlanRef plan = testing::NewPlan();
      Operand self = a.BoundTo(*plan, Access::kRead, "self"),
              other = b.BoundTo(*plan, Access::kRead, "other");
      kernels::Pow(*plan, type, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
      testing::RunPlan(*plan);
      reference::ForEach(a.tensor.shape, [&](const Shape& i) {
        const Real x = reference::Get(a.tensor, i);
        if (x == 0 && power < 0) return;
        ASSERT_EQ(reference::Get(out.tensor, i), std::trunc(std::pow(x, reference::Get(b.tensor, i))))
            << x << " to " << power;
      });
    }
  }
}

// Rows of operands that are columns of the result, which are turned first; a scalar stays beside them.
TEST_P(Pointwise, OperandsThatLieAcross) {
  const int64_t value = 2;
  const Scalar two(&value, DType::kI64);
  for (DType type : {DType::kF32, DType::kBF16}) {
    const Shape shape{type == DType::kF32 ? 86 : 170, 3, 260};
    Sample a(type, shape), b(type, shape, Layout::kTransposed), c(type, shape, Layout::kTransposed),
        y(type, shape), in_place = a.Randomise(rng_).Copied();
    b.Randomise(rng_), c.Randomise(rng_);
    ASSERT_EQ(b.tensor.strides[2], shape[0] * 3);
    auto plan = testing::NewPlan();
    kernels::Addcmul(*plan, type, a.BoundTo(*plan, Access::kRead, "a"), b.BoundTo(*plan, Access::kRead, "b"),
                     c.BoundTo(*plan, Access::kRead, "c"), two, y.BoundTo(*plan, Access::kWrite, "y"));
    testing::RunPlan(*plan);
    auto onto = testing::NewPlan();
    const Operand result = in_place.BoundTo(*onto, Access::kWrite, "a");
    kernels::Mul(*onto, type, result, b.BoundTo(*onto, Access::kRead, "b"), result);
    testing::RunPlan(*onto);
    reference::ForEach(shape, [&](const Shape& i) {
      const Real of_a = reference::Get(a.tensor, i), of_b = reference::Get(b.tensor, i);
      const Real sum = of_a + 2 * of_b * reference::Get(c.tensor, i);
      ASSERT_NEAR(reference::Get(y.tensor, i), sum,
                  type == DType::kBF16 ? 0.004 * std::abs(sum) + 0.01 : 1e-4);
      const Real product = of_a * of_b;
      ASSERT_NEAR(reference::Get(in_place.tensor, i), product,
                  type == DType::kBF16 ? 0.004 * std::abs(product) : 0);
    });
  }
}

}  // namespace
}  // namespace belay::ops
