#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/simd_targets.h"
#include "tensor/convert.h"
#include "tensor/half.h"
#include "tensor/objects.h"
#include "tensor/promote.h"

namespace belay::tensor {
namespace {

float SlowHalfToFloat(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  int mantissa = bits & 1023;
  double value = exponent == 0    ? std::ldexp(mantissa, -24)
                 : exponent == 31 ? (mantissa ? std::nan("") : INFINITY)
                                  : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>(bits & 0x8000 ? -value : value);
}

// Runs the tests with each instruction set that this processor has.
class EachLevel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (simd::SetLevel(GetParam()) != GetParam()) GTEST_SKIP() << "this processor lacks the level";
  }
  void TearDown() override { simd::SetLevel(9); }
};
INSTANTIATE_TEST_SUITE_P(Simd, EachLevel, testing::Values(0, 1, 2));

TEST_P(EachLevel, HalfEveryValueWidensAndComesBack) {
  std::vector<uint16_t> bits(65536), back(65536);
  std::iota(bits.begin(), bits.end(), 0);
  std::vector<float> wide(65536);
  Convert(DType::kF32, wide.data(), DType::kF16, bits.data(), 65536);
  Convert(DType::kF16, back.data(), DType::kF32, wide.data(), 65536);
  for (int i = 0; i < 65536; ++i) {
    float want = SlowHalfToFloat(bits[i]);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(wide[i]));
      EXPECT_EQ(back[i] & 0x7e00, 0x7e00);
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(want)) << i;
    ASSERT_EQ(ToFloat(Half{bits[i]}), want) << i;
    ASSERT_EQ(back[i], bits[i]);
  }
}

TEST_P(EachLevel, HalfRoundsToNearestEvenBetweenAllNeighbours) {
  std::vector<float> x;
  std::vector<uint16_t> want;
  for (int i = 0; i < 0x7c00; ++i) {
    double a = SlowHalfToFloat(i);
    double b = i == 0x7bff ? 65536.0 : SlowHalfToFloat(i + 1);
    float middle = static_cast<float>((a + b) / 2);
    uint16_t even = i % 2 == 0 ? i : i + 1;
    for (auto [value, result] : {std::pair{middle, even},
                                 {std::nextafter(middle, 0.f), uint16_t(i)},
                                 {std::nextafter(middle, 1e9f), uint16_t(i + 1)}}) {
      x.push_back(value), want.push_back(result);
      x.push_back(-value), want.push_back(result | 0x8000);
    }
  }
  std::vector<uint16_t> got(x.size());
  Convert(DType::kF16, got.data(), DType::kF32, x.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(got[i], want[i]) << x[i];
    ASSERT_EQ(ToHalf(x[i]).bits, want[i]) << x[i];
  }
}

TEST_P(EachLevel, BFloat16RoundsToNearestEvenAndKeepsNan) {
  for (auto [u, want] : {std::pair<uint32_t, uint16_t>{0x3f808000, 0x3f80},
                         {0x3f818000, 0x3f82},
                         {0x3f808001, 0x3f81},
                         {0x7f800001, 0x7fc0},
                         {0x7f7fffff, 0x7f80}}) {
    float x = std::bit_cast<float>(u);
    std::vector<float> in(33, x);
    std::vector<uint16_t> out(33);
    Convert(DType::kBF16, out.data(), DType::kF32, in.data(), 33);
    for (uint16_t bits : out) EXPECT_EQ(bits, want);
  }
}

TEST_P(EachLevel, BFloat16OfAnyBitsAsOneByOne) {
  std::mt19937 rng(4);
  std::vector<float> in(4099), back(in.size());
  std::vector<uint16_t> out(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const auto bits = static_cast<uint32_t>(rng());
    in[i] = std::bit_cast<float>(i % 8 == 0 ? bits | 0x7f800000 : bits);  // some are no numbers
  }
  Convert(DType::kBF16, out.data(), DType::kF32, in.data(), static_cast<int64_t>(in.size()));
  Convert(DType::kF32, back.data(), DType::kBF16, out.data(), static_cast<int64_t>(in.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(out[i], ToBFloat16(in[i]).bits) << i;
    EXPECT_EQ(std::bit_cast<uint32_t>(back[i]), uint32_t{out[i]} << 16) << i;
  }
}

template <class To, class From>
To One(DType to, DType from, From x) {
  To y{};
  Convert(to, &y, from, &x, 1);
  return y;
}

TEST_P(EachLevel, ConvertFloatToIntSaturatesAndNanIsZero) {
  EXPECT_EQ(One<int32_t>(DType::kI32, DType::kF32, 3e9f), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(One<int32_t>(DType::kI32, DType::kF32, -INFINITY), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(One<int64_t>(DType::kI64, DType::kF64, 9.3e18), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(One<uint8_t>(DType::kU8, DType::kF32, 255.9f), 255);
  EXPECT_EQ(One<uint8_t>(DType::kU8, DType::kF32, -1.f), 0);
  EXPECT_EQ(One<int8_t>(DType::kI8, DType::kF32, -1.9f), -1);
  EXPECT_EQ(One<int8_t>(DType::kI8, DType::kF32, NAN), 0);
  EXPECT_EQ(One<uint64_t>(DType::kU64, DType::kF64, 1.8e19), 18000000000000000000u);
}

// What does not fit into 32 bits among what does.
TEST_P(EachLevel, ConvertLargeNumbers) {
  const int64_t whole[] = {0,
                           1,
                           -1,
                           1 << 30,
                           -(int64_t{1} << 31),
                           int64_t{1} << 31,
                           (int64_t{1} << 53) + 1,
                           std::numeric_limits<int64_t>::max(),
                           std::numeric_limits<int64_t>::min(),
                           -(int64_t{1} << 32) - 5,
                           4294967295};
  for (int64_t x : whole) EXPECT_EQ(One<double>(DType::kF64, DType::kI64, x), static_cast<double>(x));
  std::vector<float> floats(201);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * (i % 2 == 0 ? 1.5f : -1.5f);
  for (float special : {2147483520.0f, 2147483648.0f, -2147483648.0f, -3e9f, 1e30f, -1e30f, INFINITY, NAN}) {
    floats[150] = special;
    std::vector<int64_t> got(floats.size());
    Convert(DType::kI64, got.data(), DType::kF32, floats.data(), static_cast<int64_t>(floats.size()));
    for (size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(got[i], ToInteger(floats[i])) << floats[i];
  }
}

TEST_P(EachLevel, ConvertIntsWrapAndBoolsAreTests) {
  EXPECT_EQ(One<int8_t>(DType::kI8, DType::kI32, 300), 44);
  EXPECT_EQ(One<uint8_t>(DType::kBool, DType::kF32, NAN), 1);
  EXPECT_EQ(One<uint8_t>(DType::kBool, DType::kF32, 0.25f), 1);
  EXPECT_EQ(One<uint8_t>(DType::kBool, DType::kI64, int64_t{1} << 40), 1);
  EXPECT_EQ(One<int32_t>(DType::kI32, DType::kBool, uint8_t{7}), 1);
  EXPECT_EQ(One<uint8_t>(DType::kBool, DType::kBool, uint8_t{7}), 1);
}

TEST_P(EachLevel, ConvertLongArraysOfEveryPair) {
  const DType types[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,
                         DType::kI16, DType::kI32, DType::kI64,  DType::kU8,  DType::kU16,
                         DType::kU32, DType::kU64, DType::kBool};
  const int n = 1301;
  std::vector<int32_t> source(n);
  for (int i = 0; i < n; ++i) source[i] = i % 2;
  for (DType from : types) {
    for (DType to : types) {
      std::vector<char> a(n * 8), b(n * 8), c(n * 4);
      Convert(from, a.data(), DType::kI32, source.data(), n);
      Convert(to, b.data(), from, a.data(), n);
      Convert(DType::kI32, c.data(), to, b.data(), n);
      ASSERT_EQ(std::memcmp(c.data(), source.data(), n * 4), 0) << NameOf(from) << NameOf(to);
    }
  }
}

TEST(Promote, FollowsTheTable) {
  using enum DType;
  const struct {
    DType a, b, want;
  } rows[] = {
      {kF16, kI64, kF16},     {kF16, kF32, kF32},       {kF64, kF16, kF64},       {kI8, kU8, kI16},
      {kU8, kI16, kI16},      {kI32, kI64, kI64},       {kBool, kU8, kU8},        {kC64, kF64, kC64},
      {kC128, kI8, kC128},    {kBF16, kI32, kBF16},     {kBF16, kF32, kF32},      {kBF16, kF16, kF32},
      {kU16, kU16, kU16},     {kU32, kI32, kUndefined}, {kU64, kF32, kUndefined}, {kString, kF32, kUndefined},
      {kI4, kI4, kUndefined}, {kBool, kBool, kBool}};
  for (const auto& row : rows) {
    EXPECT_EQ(Promote(row.a, row.b), row.want) << NameOf(row.a) << " " << NameOf(row.b);
    EXPECT_EQ(Promote(row.b, row.a), row.want);
  }
  EXPECT_EQ(PromoteScalar(kF16, kF64), kF16);
  EXPECT_EQ(PromoteScalar(kI8, kI64), kI8);
  EXPECT_EQ(PromoteScalar(kI32, kF64), kF32);
  EXPECT_EQ(PromoteScalar(kBool, kI64), kI64);
  EXPECT_FALSE(CanCast(kF32, kI32));
  EXPECT_FALSE(CanCast(kI32, kBool));
  EXPECT_TRUE(CanCast(kI64, kF16));
}

TEST(Dims, BroadcastStridesAndExtents) {
  EXPECT_EQ(BroadcastShapes({2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(BroadcastShapes({2, 0}, {1}), (Shape{2, 0}));
  EXPECT_FALSE(BroadcastShapes({2}, {3}));
  EXPECT_EQ(BroadcastStrides({4, 1}, {1, 1}, {2, 4, 3}), (Strides{0, 1, 0}));
  EXPECT_EQ(ExtentOf({2, 3}, {10, 2}), 15);
  EXPECT_EQ(ExtentOf({0, 3}, {10, 2}), 0);
  EXPECT_EQ(ExtentOf({}, {}), 1);
  EXPECT_FALSE(ExtentOf({int64_t{1} << 40}, {int64_t{1} << 40}));
  EXPECT_TRUE(IsPacked({1, 3}, {77, 1}));
  EXPECT_FALSE(IsPacked({2, 3}, {1, 2}));
  EXPECT_FALSE(CheckedCount(std::vector<int64_t>{int64_t{1} << 32, int64_t{1} << 32}));
  EXPECT_EQ(CheckedCount(std::vector<int64_t>{int64_t{1} << 62, 4, 0}), 0);
}

int CodeOf(TensorSpec spec) {
  try {
    MakeTensor(spec);
    return 0;
  } catch (const Error& error) {
    EXPECT_FALSE(error.sentence().empty());
    return error.code();
  }
}

TEST(Tensor, RefusesWhatCannotBe) {
  const int64_t dims[] = {2, 3}, strides[] = {3, 1}, storage[] = {6}, bad[] = {2, -1}, two[] = {2};
  const int64_t huge[] = {int64_t{1} << 62, 8}, nine[9] = {};
  TensorSpec good{dims, 2, DType::kF32, strides, 0, Format::kND, storage, 1, nullptr};
  EXPECT_EQ(CodeOf(good), 0);
  auto with = [&](auto change) {
    TensorSpec spec = good;
    change(spec);
    return CodeOf(spec);
  };
  EXPECT_EQ(with([&](auto& s) { s.dims = nullptr; }), 161001);
  EXPECT_EQ(with([&](auto& s) { s.storage = nullptr; }), 161001);
  EXPECT_EQ(with([&](auto& s) { s.dims = bad; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.strides = bad; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.dims = huge; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.dims = nine, s.rank = 9; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.rank = ~0ull; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.offset = -1; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.offset = 1; }), 0);
  EXPECT_EQ(with([&](auto& s) { s.offset = std::numeric_limits<int64_t>::max(); }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.storage = two; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.storage = huge, s.storage_rank = 2; }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.dtype = static_cast<DType>(5); }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.dtype = static_cast<DType>(99); }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.format = static_cast<Format>(99); }), 161002);
  EXPECT_EQ(with([&](auto& s) { s.strides = nullptr; }), 0);
}

TEST(Scalar, CopiesAndConverts) {
  float x = 2.5f;
  Scalar scalar(&x, DType::kF32);
  x = 0;
  EXPECT_EQ(scalar.ToDouble(), 2.5);
  EXPECT_EQ(scalar.ToInt(), 2);
  EXPECT_FALSE(scalar.IsWhole());
  int64_t big = (int64_t{1} << 62) + 1;
  EXPECT_EQ(Scalar(&big, DType::kI64).ToInt(), big);
  EXPECT_THROW(Scalar(nullptr, DType::kF32), Error);
  EXPECT_THROW(Scalar(&x, DType::kI4), Error);
}

TEST(Lists, OwnTheirMembers) {
  int64_t v = 1;
  HandleBits a = g_scalars.Create(&v, DType::kI64);
  HandleBits list = g_scalar_lists.Create(std::vector<HandleBits>{a});
  EXPECT_NE(g_scalars.Find(a), nullptr);
  g_scalar_lists.Destroy(list);
  EXPECT_EQ(g_scalars.Find(a), nullptr);
}

TEST(Convert, ComplexNumbersKeepTheirRealPart) {
  const int n = 1301;
  std::vector<float> pairs;
  for (int i = 0; i < n; ++i)
    pairs.push_back(static_cast<float>(i % 100)), pairs.push_back(i % 3 == 0 ? 0 : -1);
  std::vector<double> wide(2 * n), real(n);
  std::vector<uint8_t> truth(n);
  std::vector<int16_t> whole(n);
  Convert(DType::kC128, wide.data(), DType::kC64, pairs.data(), n);
  Convert(DType::kF64, real.data(), DType::kC128, wide.data(), n);
  Convert(DType::kBool, truth.data(), DType::kC64, pairs.data(), n);
  Convert(DType::kI16, whole.data(), DType::kC64, pairs.data(), n);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    ASSERT_EQ(wide[2 * at + 1], pairs[2 * at + 1]);
    ASSERT_EQ(real[at], pairs[2 * at]);
    ASSERT_EQ(truth[at], pairs[2 * at] != 0 || pairs[2 * at + 1] != 0);
    ASSERT_EQ(whole[at], i % 100);
  }
  Convert(DType::kC64, pairs.data(), DType::kI16, whole.data(), n);
  for (int i = 0; i < n; ++i) {
    ASSERT_EQ(pairs[2 * static_cast<size_t>(i)], static_cast<float>(i % 100));
    ASSERT_EQ(pairs[2 * static_cast<size_t>(i) + 1], 0);
  }
}

TEST(Convert, NothingHasNoAddress) {
  for (DType type : {DType::kI64, DType::kF16, DType::kBool}) Convert(type, nullptr, DType::kI64, nullptr, 0);
}

}  // namespace
}  // namespace belay::tensor
