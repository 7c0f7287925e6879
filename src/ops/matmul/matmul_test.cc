#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/matmul/gemm.h"
#include "ops/reference/reference.h"
#include "ops/rules.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

struct Case {
  Shape a, b;
  DType type_a = DType::kF32, type_b = DType::kF32, type_out = DType::kF32;
  Layout layout_a = Layout::kPacked, layout_b = Layout::kPacked, layout_out = Layout::kPacked;
  int math_type = 0;
};

double ProductError(const Case& c) {
  std::mt19937 rng(3);
  Sample a(c.type_a, c.a, c.layout_a), b(c.type_b, c.b, c.layout_b);
  a.Randomise(rng, 2), b.Randomise(rng, 2);
  Sample out(c.type_out, rules::AnyMatrix({&a.tensor}, {&b.tensor}), c.layout_out);
  Sample want = out.Copied();
  reference::Matmul(a.tensor, b.tensor, want.tensor, c.math_type == 2);
  PlanRef plan = testing::NewPlan();
  Operand self = a.BoundTo(*plan, Access::kRead, "self");
  Operand mat2 = b.BoundTo(*plan, Access::kRead, "mat2");
  Operand result = out.BoundTo(*plan, Access::kWrite, "out");
  kernels::Matmul(*plan, rules::MatrixType(self, mat2, result), self, mat2, c.math_type, result);
  testing::RunPlan(*plan);
  return testing::Distance(out.tensor, want.tensor);
}

// Of 16 bits, which are read as they lie where panels are made of them. `mixed`: a is of floats.
void ExpectShortProducts(const Shape& a, const Shape& b, DType type, bool mixed) {
  const DType out = type == DType::kF16 || mixed ? DType::kF32 : type;
  for (const Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
    for (const bool of_a : {false, true}) {
      Case c{a, b, mixed ? DType::kF32 : type, type, out};
      (of_a ? c.layout_a : c.layout_b) = layout;
      EXPECT_LE(ProductError(c), out == DType::kBF16 ? 1.0 / 128 : 2e-5)
          << a.ToString() << " x " << b.ToString() << " " << static_cast<int>(layout) << of_a;
    }
  }
}

TEST(Matmul, ShortTypes) {
  const std::pair<Shape, Shape> shapes[] = {{{1, 300}, {300, 70}},  {{2, 130}, {130, 65}},
                                            {{9, 257}, {257, 40}},  {{2, 3, 90}, {2, 90, 60}},
                                            {{5, 80}, {3, 80, 77}}, {{300}, {300, 70}}};
  for (const auto& [a, b] : shapes) {
    for (const DType type : {DType::kBF16, DType::kF16}) {
      for (const bool mixed : {false, true}) ExpectShortProducts(a, b, type, mixed);
    }
  }
}

TEST(Matmul, ShapesAndBatches) {
  const std::pair<Shape, Shape> shapes[] = {{{2, 3}, {3, 4}},
                                            {{1, 1}, {1, 1}},
                                            {{65, 33}, {33, 70}},
                                            {{7}, {7}},
                                            {{7}, {7, 3}},
                                            {{3, 7}, {7}},
                                            {{2, 3, 7}, {7}},
                                            {{7}, {2, 7, 3}},
                                            {{5, 2, 3}, {5, 3, 4}},
                                            {{5, 2, 3}, {3, 4}},
                                            {{2, 3}, {5, 3, 4}},
                                            {{5, 1, 2, 3}, {6, 3, 2}},
                                            {{0, 3}, {3, 4}},
                                            {{2, 0}, {0, 4}},
                                            {{2, 3}, {3, 0}},
                                            {{0, 2, 3}, {0, 3, 4}},
                                            {{2, 1, 2, 2, 3, 2}, {2, 1, 2, 3}},
                                            {{1, 2, 3}, {4, 3, 2}}};
  for (const auto& [a, b] : shapes)
    EXPECT_LE(ProductError({a, b}), 1e-5) << a.ToString() << " x " << b.ToString();
}

// Around the sizes that have loops of their own.
TEST(Matmul, TinyOnesOfAllSizes) {
  const testing::InPieces pieces;
  for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
    for (int64_t n = 1; n <= 34; ++n) {
      const int64_t m = n * 7 % 9 + 1, k = n * 5 % 11 + 1;
      EXPECT_LE(ProductError({.a = {3, 2, m, k}, .b = {2, k, n}, .layout_a = layout, .layout_b = layout}),
                1e-5)
          << m << " x " << k << " x " << n;
    }
    for (int64_t k : {63, 64, 65})
      EXPECT_LE(ProductError({.a = {2, 5, k}, .b = {2, k, 3}, .layout_a = layout, .layout_b = layout}), 1e-5);
  }
}

TEST(Matmul, TinyOnesForSeveralCores) {
  const testing::InPieces pieces;
  constexpr int64_t kBatches = 1100, kSide = 16;
  Sample a(DType::kF32, {kBatches, kSide, kSide}), b(DType::kF32, {kBatches, kSide, kSide}),
      out(DType::kF32, {kBatches, kSide, kSide});
  for (int64_t i = 0; i < a.tensor.count(); ++i) {
    testing::Floats(a)[i] = static_cast<float>(i % 13 - 6);
    testing::Floats(b)[i] = static_cast<float>(i % 17 - 8);
  }
  PlanRef plan = testing::NewPlan();
  Operand self = a.BoundTo(*plan, Access::kRead, "self"), mat2 = b.BoundTo(*plan, Access::kRead, "mat2");
  kernels::Matmul(*plan, DType::kF32, self, mat2, 0, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  for (int64_t i = 0; i < out.tensor.count(); ++i) {
    const int64_t row = i / kSide * kSide, batch = i / (kSide * kSide) * kSide * kSide;
    float want = 0;
    for (int64_t k = 0; k < kSide; ++k)
      want += testing::Floats(a)[row + k] * testing::Floats(b)[batch + k * kSide + i % kSide];
    ASSERT_EQ(testing::Floats(out)[i], want) << i;
  }
}

TEST(Matmul, LayoutsAndTypes) {
  const Layout layouts[] = {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated,
                            Layout::kOffset};
  const std::tuple<DType, DType, DType, double> types[] = {
      {DType::kF32, DType::kF32, DType::kF32, 1e-5}, {DType::kF16, DType::kF16, DType::kF16, 1e-3},
      {DType::kF16, DType::kF16, DType::kF32, 1e-5}, {DType::kBF16, DType::kBF16, DType::kBF16, 8e-3},
      {DType::kF16, DType::kF32, DType::kF32, 1e-5}, {DType::kBF16, DType::kF32, DType::kF32, 1e-5}};
  for (const auto& [a, b, out, allowed] : types) {
    for (Layout la : layouts) {
      for (Layout lb : layouts) {
        for (Layout lc : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
          EXPECT_LE(ProductError({{3, 9, 17}, {3, 17, 5}, a, b, out, la, lb, lc}), allowed)
              << NameOf(a) << " x " << NameOf(b) << " layouts " << int(la) << int(lb) << int(lc);
        }
      }
    }
  }
}

TEST(Matmul, MathTypeTwoRoundsToHalf) {
  EXPECT_LE(ProductError({{8, 40},
                          {40, 8},
                          DType::kF32,
                          DType::kF32,
                          DType::kF32,
                          Layout::kPacked,
                          Layout::kPacked,
                          Layout::kPacked,
                          2}),
            1e-5);
  EXPECT_THROW(ProductError({{2, 2},
                             {2, 2},
                             DType::kF32,
                             DType::kF32,
                             DType::kF32,
                             Layout::kPacked,
                             Layout::kPacked,
                             Layout::kPacked,
                             4}),
               belay::Error);
}

void ExpectPlainAgrees(int64_t m, int64_t k, int64_t n, bool ta, bool tb) {
  std::mt19937 rng(9);
  Sample a(DType::kF32, {m, k}), b(DType::kF32, {k, n});
  a.Randomise(rng, 1), b.Randomise(rng, 1);
  std::vector<float> x(static_cast<size_t>(m * n)), y(x.size());
  Gemm g{m,
         n,
         k,
         {a.tensor.data, ta ? m : k, ta},
         {b.tensor.data, tb ? k : n, tb},
         x.data(),
         n,
         GemmType::kF32,
         GemmType::kF32};
  ASSERT_TRUE(PlainGemm().run(g));
  g.c = y.data();
  ASSERT_TRUE(BestGemm().run(g));
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], y[i], 1e-4) << m << " x " << k << " x " << n << " at " << i << ' ' << ta << tb;
}

TEST(Matmul, PlainLoopsAgreeWithTheBackend) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) ExpectPlainAgrees(37, 150, 300, ta, tb);
  }
}

// Rows that lie a large power of two apart are copied in blocks, not all of which are whole here.
TEST(Matmul, PlainLoopsAgreeWhereRowsMeetInTheCache) {
  for (bool ta : {false, true}) {
    ExpectPlainAgrees(64, 300, 512, ta, false);
    ExpectPlainAgrees(130, 64, 1280, ta, false);
    ExpectPlainAgrees(512, 520, 512, ta, false);
    ExpectPlainAgrees(768, 64, 100, ta, ta);
  }
}

}  // namespace
}  // namespace belay::ops
