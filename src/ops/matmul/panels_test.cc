// Products by panels against sums one by one: all types, ways to lie, and sizes at the ends of panels.
#include "ops/matmul/panels.h"

#include <gtest/gtest.h>

#include "ops/testing/simd_levels.h"
#include "tensor/convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace belay::ops {
namespace {

float OfBFloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// A matrix [k, n] of some type that lies somehow, and its values.
struct Sampled {
  std::vector<char> bytes;
  std::vector<float> values;
  PanelMatrix matrix;
};

struct Panels : testing::SimdLevels {
  std::mt19937 rng{5};
  int64_t m = 0, n = 0, k = 0;

  int64_t Below(int64_t most) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(most)); }
  uint16_t SomeBFloat16() { return static_cast<uint16_t>((0x3f80 + Below(256)) | Below(2) << 15); }

  float Put(PanelType type, char* at, int64_t x) {
    if (type == PanelType::kBFloat16) {
      const uint16_t bits = SomeBFloat16();
      std::memcpy(at, &bits, sizeof bits);
      return OfBFloat16(bits);
    }
    if (type == PanelType::kFloat16) {
      const float value = static_cast<float>(Below(4096) - 2048) / 1024;
      uint16_t bits = 0;  // lines begin anywhere
      tensor::Convert(tensor::DType::kF16, &bits, tensor::DType::kF32, &value, 1);
      std::memcpy(at, &bits, sizeof bits);
      return value;
    }
    if (type == PanelType::kBytes) {
      *at = static_cast<char>(rng());
      return static_cast<float>(static_cast<int8_t>(*at));
    }
    const int value = static_cast<int>(Below(16)) - 8;
    *at = static_cast<char>(x % 2 == 0 ? (*at & 0xf0) | (value & 15) : (*at & 15) | (value & 15) << 4);
    return static_cast<float>(value);
  }

  Sampled Sample(PanelType type, bool across, bool tiled) {
    const int64_t bits = BitsOf(type);
    const int64_t lines = across ? n : k, along = across ? k : n, each = 256 / bits;
    const int64_t tile = tiled ? (lines + 15) / 16 * 16 * 32 : 32;
    const int64_t line = tiled ? 32 : (along * bits + 7) / 8 + Below(5);
    Sampled made{
        std::vector<char>(static_cast<size_t>(tiled ? (along + each - 1) / each * tile : lines * line)),
        std::vector<float>(static_cast<size_t>(k * n)),
        {nullptr, line, tile, across, type}};
    for (int64_t l = 0; l < lines; ++l) {
      for (int64_t x = 0; x < along; ++x) {
        const int64_t byte = x * bits / 8;
        char* at = made.bytes.data() + l * line + byte / 32 * tile + byte % 32;
        made.values[static_cast<size_t>(across ? x * n + l : l * n + x)] = Put(type, at, x);
      }
    }
    made.matrix.data = made.bytes.data();
    return made;
  }

  void CheckFloats(const Sampled& b) {
    std::vector<uint16_t> a(static_cast<size_t>(2 * m * k));
    for (uint16_t& bits : a) bits = SomeBFloat16();
    std::vector<float> by(static_cast<size_t>(n)), c(static_cast<size_t>(m * n), 1.0f), floats(a.size());
    for (size_t i = 0; i < a.size(); ++i) floats[i] = OfBFloat16(a[i]);
    for (float& factor : by) factor = static_cast<float>(Below(9)) / 8;
    const bool is_float = FloatPanels256() != nullptr && Below(3) == 0, more = !is_float && Below(2) == 1;
    const bool adds = Below(2) == 1, scales = Below(2) == 1;
    BestFloatPanels()({.m = m,
                       .n = n,
                       .k = k,
                       .a = is_float ? static_cast<const void*>(floats.data()) : a.data(),
                       .lda = k,
                       .b = b.matrix,
                       .c = c.data(),
                       .ldc = n,
                       .a_rest = more ? a.data() + m * k : nullptr,
                       .by = scales ? by.data() : nullptr,
                       .adds = adds,
                       .a_floats = is_float});
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, sizes = 1;
        for (int64_t p = 0; p < k; ++p) {
          const auto at = static_cast<size_t>(i * k + p);
          const float x = floats[at] + (more ? floats[at + static_cast<size_t>(m * k)] : 0);
          const double term = double{x} * double{b.values[static_cast<size_t>(p * n + j)]};
          sum += term, sizes += std::fabs(term);
        }
        if (scales) sum *= double{by[static_cast<size_t>(j)]};
        ASSERT_NEAR(c[static_cast<size_t>(i * n + j)], sum + adds, 1e-5 * sizes) << m << " " << n << " " << k;
      }
    }
  }

  void CheckBytes(const Sampled& b) {
    std::vector<uint8_t> a(static_cast<size_t>(m * k));
    for (uint8_t& byte : a) byte = static_cast<uint8_t>(rng());
    const auto zero = static_cast<uint8_t>(Below(256));
    std::vector<int32_t> c(static_cast<size_t>(m * n), 1);
    BestBytePanels()({.m = m,
                      .n = n,
                      .k = k,
                      .a = a.data(),
                      .lda = k,
                      .b = b.matrix,
                      .c = c.data(),
                      .ldc = n,
                      .a_zero = zero});
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int32_t sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += (a[static_cast<size_t>(i * k + p)] - zero) *
                 static_cast<int32_t>(b.values[static_cast<size_t>(p * n + j)]);
        ASSERT_EQ(c[static_cast<size_t>(i * n + j)], sum) << m << " " << n << " " << k;
      }
    }
  }
};

TEST_P(Panels, AreAsSumsOneByOne) {
  if (BestFloatPanels() == nullptr) GTEST_SKIP() << "the processor does not have the instructions";
  const int types = FloatPanels256() == nullptr ? 3 : 4;
  for (int round = 0; round < 48 * types; ++round) {
    const auto type = static_cast<PanelType>(round % types);
    const bool across = round / types % 2 == 1, tiled = round / types / 2 % 2 == 1;
    m = 1 + Below(round % 11 == 0 ? 110 : round % 3 == 0 ? 2 : 20), n = 1 + Below(300), k = 1 + Below(700);
    if (type == PanelType::kNibbles) n += n % 2, k += k % 2;
    const Sampled b = Sample(type, across, tiled);
    CheckFloats(b);
    if (type == PanelType::kBytes || type == PanelType::kNibbles) CheckBytes(b);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, Panels, ::testing::Values(0, 1, 2));

// Rows and columns of which only a vector is left, what is not a number beside them, and rows that are longer
// than what is taken at once.
TEST_P(Panels, TakeNothingFromBehindTheEnd) {
  if (FloatPanels256() == nullptr) GTEST_SKIP() << "for processors with AVX2 alone";
  for (const int64_t rows : {1, 2, 3}) {
    for (const bool across : {false, true}) {
      m = rows, n = 5, k = 16 * 1024 + 7;
      Sampled b = Sample(PanelType::kFloat16, across, false);
      const std::vector<float> a(static_cast<size_t>(m * k), 1.0f);
      std::vector<float> c(static_cast<size_t>(m * n + 1), NAN);
      BestFloatPanels()({.m = m,
                         .n = n,
                         .k = k,
                         .a = a.data(),
                         .lda = k,
                         .b = b.matrix,
                         .c = c.data(),
                         .ldc = n,
                         .a_floats = true});
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += double{b.values[static_cast<size_t>(p * n + j)]};
        EXPECT_NEAR(c[static_cast<size_t>((m - 1) * n + j)], sum, 0.05);
      }
      EXPECT_TRUE(std::isnan(c.back()));
    }
  }
}

}  // namespace
}  // namespace belay::ops
