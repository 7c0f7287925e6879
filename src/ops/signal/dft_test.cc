#include "ops/signal/dft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

double At(const Sample& sample, std::initializer_list<int64_t> index) {
  int64_t at = sample.tensor.offset;
  int d = 0;
  for (int64_t i : index) at += i * sample.tensor.strides[d++];
  return reinterpret_cast<const double*>(sample.storage.data())[at];
}

// Lines of every kind of length, cut and filled up, real and complex, along a middle dimension.
TEST(Dft, AgreesWithItsDefinition) {
  std::mt19937 rng(11);
  for (int64_t length : {1, 2, 3, 4, 7, 8, 12, 16, 20, 30, 49, 64, 74, 97, 100, 128}) {
    for (int64_t n : {length, length + 3, std::max<int64_t>(1, length / 2)}) {
      for (int64_t parts : {1, 2}) {
        for (bool inverse : {false, true}) {
          const int64_t bins = parts == 1 ? length / 2 + 1 : length;
          Sample x(DType::kF64, {2, n, 3, parts}, Layout::kPacked),
              y(DType::kF64, {2, bins, 3, 2}, Layout::kPacked);
          x.Randomise(rng, 1);
          PlanRef plan = testing::NewPlan();
          DftArgs args{x.BoundTo(*plan, Access::kRead, "x"), {}, 2, 3, length, inverse};
          args.out = y.BoundTo(*plan, Access::kWrite, "y");
          PlanDft(*plan, args);
          testing::RunPlan(*plan);
          auto in = [&](int64_t o, int64_t j, int64_t i, int64_t p) {
            return j < n && p < parts ? At(x, {o, j, i, p}) : 0.0;
          };
          for (int64_t o = 0; o < 2; ++o) {
            for (int64_t k = 0; k < bins; ++k) {
              long double re = 0, im = 0;
              for (int64_t j = 0; j < length; ++j) {
                const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> *
                                          static_cast<long double>(j * k % length) /
                                          static_cast<long double>(length);
                re += in(o, j, 1, 0) * std::cos(angle) - in(o, j, 1, 1) * std::sin(angle);
                im += in(o, j, 1, 0) * std::sin(angle) + in(o, j, 1, 1) * std::cos(angle);
              }
              const long double scale = inverse ? length : 1;
              ASSERT_NEAR(At(y, {o, k, 1, 0}), static_cast<double>(re / scale), 1e-10)
                  << length << " " << n << " " << k;
              ASSERT_NEAR(At(y, {o, k, 1, 1}), static_cast<double>(im / scale), 1e-10)
                  << length << " " << n << " " << k;
            }
          }
        }
      }
    }
  }
}

// A prime length: n^2 steps would take minutes. Some bins against sums in long double.
TEST(Dft, LongLinesOfPrimeLengthAreExact) {
  constexpr int64_t kLength = 200003;
  Sample x(DType::kF64, {1, kLength, 1, 2}), y(DType::kF64, {1, kLength, 1, 2});
  std::mt19937 rng(3);
  x.Randomise(rng, 1);
  PlanRef plan = testing::NewPlan();
  DftArgs args{x.BoundTo(*plan, Access::kRead, "x"), {}, 1, 1, kLength, false};
  args.out = y.BoundTo(*plan, Access::kWrite, "y");
  PlanDft(*plan, args);
  testing::RunPlan(*plan);
  for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{77777}, kLength - 1}) {
    long double re = 0, im = 0;
    for (int64_t j = 0; j < kLength; ++j) {
      const long double angle =
          -2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % kLength) / kLength;
      re += At(x, {0, j, 0, 0}) * std::cos(angle) - At(x, {0, j, 0, 1}) * std::sin(angle);
      im += At(x, {0, j, 0, 0}) * std::sin(angle) + At(x, {0, j, 0, 1}) * std::cos(angle);
    }
    EXPECT_NEAR(At(y, {0, k, 0, 0}), static_cast<double>(re), 1e-9) << k;
    EXPECT_NEAR(At(y, {0, k, 0, 1}), static_cast<double>(im), 1e-9) << k;
  }
}

}  // namespace
}  // namespace belay::ops
