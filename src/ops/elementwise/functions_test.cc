#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "ops/elementwise/test_kernels.h"
#include "ops/kernels.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"

namespace belay::ops {
namespace {

using testing::Sample;

constexpr float kInf = std::numeric_limits<float>::infinity();

class Functions : public testing::SimdLevels {};
INSTANTIATE_TEST_SUITE_P(Simd, Functions, ::testing::Values(0, 1, 2));

Sample Of(const std::vector<float>& values) {
  Sample sample(DType::kF32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), static_cast<float*>(sample.tensor.data));
  return sample;
}

std::vector<float> RunUnary(UnaryKernel kernel, const std::vector<float>& x) {
  Sample in = Of(x), out = Of(x);
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernel(*plan, DType::kF32, self, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  const auto* y = static_cast<const float*>(out.tensor.data);
  return {y, y + x.size()};
}

std::vector<float> RunPow(const std::vector<float>& x, const std::vector<float>& y) {
  Sample a = Of(x), b = Of(y), out = Of(x);
  PlanRef plan = testing::NewPlan();
  Operand self = a.BoundTo(*plan, Access::kRead, "self"), other = b.BoundTo(*plan, Access::kRead, "other");
  kernels::Pow(*plan, DType::kF32, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  const auto* z = static_cast<const float*>(out.tensor.data);
  return {z, z + x.size()};
}

// In units in the last place of the exact value.
double UnitsOff(float got, double exact) {
  const float nearest = static_cast<float>(exact);
  if (std::isnan(nearest) || std::isinf(nearest) || nearest == 0) {
    return (std::isnan(nearest) && std::isnan(got)) || got == nearest ? 0 : 1e9;
  }
  const double unit = std::abs(static_cast<double>(std::nextafter(nearest, kInf)) - nearest);
  return std::abs(got - exact) / unit;
}

struct Case {
  const char* name;
  UnaryKernel kernel;
  double (*exact)(double);
  float reach;
};
const Case kCases[] = {
    {"Sin", kernels::Sin, [](double x) { return std::sin(x); }, 2e6f},
    {"Cos", kernels::Cos, [](double x) { return std::cos(x); }, 2e6f},
    {"Tan", kernels::Tan, [](double x) { return std::tan(x); }, 2e6f},
    {"Asin", kernels::Asin, [](double x) { return std::asin(x); }, 1},
    {"Acos", kernels::Acos, [](double x) { return std::acos(x); }, 1},
    {"Atan", kernels::Atan, [](double x) { return std::atan(x); }, 1e20f},
};

// Sizes from the least to the reach are as likely as their logarithms.
std::vector<float> Samples(float reach, std::mt19937& rng) {
  std::uniform_real_distribution<double> size(std::log(1e-9), std::log(reach));
  std::vector<float> x;
  for (int i = 0; i < 20001; ++i) {
    const double value = std::min<double>(std::exp(size(rng)), reach);
    x.push_back(static_cast<float>(i % 2 == 0 ? value : -value));
  }
  for (float each : {0.0f, 0.5f, std::nextafter(0.5f, 1.0f), 1.0f, std::nextafter(1.0f, 0.0f), 1e-42f}) {
    if (each > reach) continue;
    x.push_back(each);
    x.push_back(-each);
  }
  return x;
}

TEST_P(Functions, OfF32AreRoundedAlmostAsTheExactValue) {
  std::mt19937 rng(3);
  for (const Case& each : kCases) {
    const std::vector<float> x = Samples(each.reach, rng), y = RunUnary(each.kernel, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, UnitsOff(y[i], each.exact(x[i])));
    EXPECT_LE(worst, 0.75) << each.name;
  }
}

TEST_P(Functions, SpecialValuesAreTheCLibrarys) {
  const std::vector<float> x = {kInf, -kInf, NAN, 0.0f, -0.0f, 3e38f, 1.5f, -1.5f, 1.0f, -1.0f};
  for (const Case& each : kCases) {
    const std::vector<float> y = RunUnary(each.kernel, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = each.exact(static_cast<double>(x[i]));
      EXPECT_LE(UnitsOff(y[i], exact), 0.75) << each.name << " of " << x[i];
      EXPECT_TRUE(std::isnan(exact) || std::signbit(y[i]) == std::signbit(exact))
          << each.name << " of " << x[i];
    }
  }
}

TEST_P(Functions, PowersOfAllKinds) {
  const std::vector<float> some = {0.0f,  -0.0f,  1.0f,  -1.0f, 0.5f,  2.0f,  -2.0f, 3.0f,
                                   -3.0f, 4.0f,   2.5f,  -2.5f, kInf,  -kInf, NAN,   1e-42f,
                                   3e38f, -3e38f, 1e30f, 7.0f,  10.0f, -0.3f};
  std::vector<float> a, b;
  for (float x : some) {
    for (float y : some) a.push_back(x), b.push_back(y);
  }
  std::mt19937 rng(5);
  std::uniform_real_distribution<float> size(-40, 40), power(-3, 3);
  for (int i = 0; i < 20000; ++i) a.push_back(std::exp(size(rng))), b.push_back(power(rng));
  const std::vector<float> y = RunPow(a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const double exact = std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]));
    EXPECT_LE(UnitsOff(y[i], exact), 0.75) << a[i] << " to the power " << b[i] << ": " << y[i];
    EXPECT_TRUE(std::isnan(exact) || std::signbit(y[i]) == std::signbit(exact)) << a[i] << ", " << b[i];
  }
  for (float k :
       {2.0f, 3.0f, 4.0f, 1.0f, -1.0f, 0.5f, 0.0f, -0.5f, -2.0f, 5.0f, -7.0f, 1e9f, kInf}) {  // for all
    const std::vector<float> z = RunPow(a, std::vector<float>(a.size(), k));
    for (size_t i = 0; i < a.size(); ++i) {
      const double exact = std::pow(static_cast<double>(a[i]), static_cast<double>(k));
      EXPECT_LE(UnitsOff(z[i], exact), 0.75) << a[i] << " to the power " << k;
      EXPECT_TRUE(std::isnan(exact) || std::signbit(z[i]) == std::signbit(exact)) << a[i] << ", " << k;
    }
  }
}

TEST_P(Functions, QuotientsOfI32AreExact) {
  constexpr int32_t kLeast = INT32_MIN, kMost = INT32_MAX;
  std::vector<int32_t> some = {kLeast, kLeast + 1, kMost, kMost - 1, -1, 0,     1,
                               2,      -2,         3,     -3,        7,  65536, 1 << 30};
  std::mt19937 rng(6);
  std::uniform_int_distribution<int32_t> any(kLeast, kMost);
  for (int i = 0; i < 60; ++i) some.push_back(any(rng) >> (i % 31));
  const auto n = static_cast<int64_t>(some.size());
  Sample a(DType::kI32, {n, 1}), b(DType::kI32, {n}), out(DType::kI32, {n, n});
  std::copy(some.begin(), some.end(), static_cast<int32_t*>(a.tensor.data));
  std::copy(some.begin(), some.end(), static_cast<int32_t*>(b.tensor.data));
  using Exact = int64_t (*)(int64_t, int64_t);  // of b neither 0 nor -1
  const std::pair<BinaryKernel, Exact> kernels[] = {
      {kernels::TruncDiv, [](int64_t x, int64_t y) { return x / y; }},
      {kernels::Fmod, [](int64_t x, int64_t y) { return x % y; }},
      {kernels::FloorDiv,
       [](int64_t x, int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0); }},
      {kernels::Remainder,
       [](int64_t x, int64_t y) { return x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0); }}};
  for (auto [kernel, exact] : kernels) {
    PlanRef plan = testing::NewPlan();
    Operand self = a.BoundTo(*plan, Access::kRead, "self"), other = b.BoundTo(*plan, Access::kRead, "other");
    kernel(*plan, DType::kI32, self, other, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    const auto* got = static_cast<const int32_t*>(out.tensor.data);
    for (int64_t i = 0; i < n * n; ++i) {
      const int64_t x = some[static_cast<size_t>(i / n)], y = some[static_cast<size_t>(i % n)];
      if (y == 0) {
        EXPECT_EQ(got[i], 0);
      } else {
        EXPECT_EQ(got[i], static_cast<int32_t>(exact(x, y))) << x << " by " << y;  // the least by -1 wraps
      }
    }
  }
}

template <class T>
void ExpectShifts(DType type) {
  std::vector<T> a, b;
  for (int x : {0, 1, 2, 85, 127, -1, -128, 200, 255}) {
    for (int y : {0, 1, 3, 7, 8, 9, 31, 32, 64, 127, -1, -128}) {
      a.push_back(static_cast<T>(x)), b.push_back(static_cast<T>(y));
    }
  }
  const Shape shape = {static_cast<int64_t>(a.size())};
  Sample left(type, shape), right(type, shape), out(type, shape);
  std::copy(a.begin(), a.end(), static_cast<T*>(left.tensor.data));
  std::copy(b.begin(), b.end(), static_cast<T*>(right.tensor.data));
  for (bool up : {true, false}) {
    PlanRef plan = testing::NewPlan();
    Operand self = left.BoundTo(*plan, Access::kRead, "self");
    Operand other = right.BoundTo(*plan, Access::kRead, "other");
    (up ? kernels::LeftShift : kernels::RightShift)(*plan, type, self, other,
                                                    out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    const auto* got = static_cast<const T*>(out.tensor.data);
    for (size_t i = 0; i < a.size(); ++i) {
      const bool inside = b[i] >= 0 && b[i] < std::max(32, static_cast<int>(sizeof(T) * 8));  // bytes in i32
      const int64_t x = a[i], want = !inside ? 0 : up ? x * (int64_t{1} << b[i]) : x >> b[i];
      EXPECT_EQ(got[i], static_cast<T>(want)) << x << (up ? " << " : " >> ") << int64_t{b[i]};
    }
  }
}

TEST_P(Functions, ShiftsLeaveNothingOfWhatIsShiftedTooFar) {
  ExpectShifts<int32_t>(DType::kI32);
  ExpectShifts<int64_t>(DType::kI64);
  ExpectShifts<uint8_t>(DType::kU8);
  ExpectShifts<int8_t>(DType::kI8);
}

TEST_P(Functions, RestsOfAllKinds) {
  std::vector<float> some = {0.0f,   -0.0f,       1.0f, -1.0f, 3.5f, 1e-40f, 1e30f,
                             -1e30f, 16777215.0f, kInf, -kInf, NAN,  1e-3f};
  std::mt19937 rng(8);
  std::normal_distribution<float> any(0, 100);
  for (int i = 0; i < 280; ++i) some.push_back(i % 3 == 0 ? std::round(any(rng)) : any(rng));
  const auto n = static_cast<int64_t>(some.size());
  Sample a(DType::kF32, {n, 1}), b(DType::kF32, {n}), out(DType::kF32, {n, n});
  std::copy(some.begin(), some.end(), static_cast<float*>(a.tensor.data));
  std::copy(some.begin(), some.end(), static_cast<float*>(b.tensor.data));
  for (bool floored : {false, true}) {
    PlanRef plan = testing::NewPlan();
    Operand self = a.BoundTo(*plan, Access::kRead, "self"), other = b.BoundTo(*plan, Access::kRead, "other");
    (floored ? kernels::Remainder : kernels::Fmod)(*plan, DType::kF32, self, other,
                                                   out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    const auto* got = static_cast<const float*>(out.tensor.data);
    for (int64_t i = 0; i < n * n; ++i) {
      const float x = some[static_cast<size_t>(i / n)], y = some[static_cast<size_t>(i % n)];
      float want = std::fmod(x, y);
      if (floored && want != 0 && (want < 0) != (y < 0)) want += y;
      EXPECT_TRUE(got[i] == want || (got[i] != got[i] && want != want)) << x << " by " << y << ": " << got[i];
      EXPECT_TRUE(want != 0 || std::signbit(got[i]) == std::signbit(want)) << x << " by " << y;
    }
  }
}

}  // namespace
}  // namespace belay::ops
