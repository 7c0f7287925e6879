#include <gtest/gtest.h>

#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"
#include "tensor/promote.h"

namespace belay::ops {
namespace {

using testing::kArithmetic;
using testing::Layout;
using testing::NewPlan;
using testing::Sample;

constexpr Layout kLayouts[] = {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated,
                               Layout::kOffset};

void CheckAdd(Sample& a, Sample& b, Sample& out, double alpha_value) {
  Scalar alpha(&alpha_value, DType::kF64);
  DType type = tensor::Promote(a.tensor.dtype, b.tensor.dtype);
  Sample want = out.Copied();
  reference::Elementwise([&](auto x, auto y) { return x + alpha_value * y; }, type, a.tensor, &b.tensor, 0,
                         want.tensor);
  PlanRef plan = NewPlan();
  Operand self = a.BoundTo(*plan, Access::kRead, "self");
  Operand other = b.BoundTo(*plan, Access::kRead, "other");
  kernels::Add(*plan, type, self, other, alpha, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  EXPECT_EQ(out.storage, want.storage)
      << a.tensor.ToString() << " + " << b.tensor.ToString() << " -> " << out.tensor.ToString();
}

class Elementwise : public testing::SimdLevels {
 protected:
  std::mt19937 rng_{20240811};
};
INSTANTIATE_TEST_SUITE_P(Simd, Elementwise, ::testing::Values(0, 1, 2));

TEST_P(Elementwise, AddOfAllTypes) {
  for (DType a : kArithmetic) {
    for (DType b : kArithmetic) {
      for (DType o : kArithmetic) {
        if (!tensor::CanCast(tensor::Promote(a, b), o)) continue;
        Sample x(a, {3, 37}), y(b, {37}), out(o, {3, 37});
        CheckAdd(x.Randomise(rng_), y.Randomise(rng_), out, 2);
      }
    }
  }
}

TEST_P(Elementwise, AddOfAllLayouts) {
  for (Layout a : kLayouts) {
    for (Layout b : kLayouts) {
      for (Layout o : kLayouts) {
        if (o == Layout::kRepeated) continue;
        Sample x(DType::kF32, {2, 3, 5, 7}, a), y(DType::kF16, {3, 1, 7}, b),
            out(DType::kF32, {2, 3, 5, 7}, o);
        CheckAdd(x.Randomise(rng_), y.Randomise(rng_), out, 1);
      }
    }
  }
}

TEST_P(Elementwise, AddOfOddShapes) {
  const Shape shapes[] = {
      {},     {1},       {0},      {2, 0, 3}, {1, 1, 1, 1, 1, 1, 1, 1}, {2, 1, 2, 1, 2, 1, 2, 3},
      {5000}, {1, 4097}, {3, 1031}};
  for (const Shape& shape : shapes) {
    Sample x(DType::kF32, shape), y(DType::kI8, {}), out(DType::kF32, shape);
    CheckAdd(x.Randomise(rng_), y.Randomise(rng_), out, -0.5);
  }
}

// One short row with many: as a scale of each channel with the pixels of an image.
TEST_P(Elementwise, AddOfRowsThatRepeat) {
  for (DType type : {DType::kF32, DType::kF64, DType::kI64, DType::kBF16}) {
    for (auto [rows, row] :
         {std::pair<int64_t, int64_t>{1, 8}, {3, 8}, {1000, 3}, {129, 96}, {7, 256}, {5, 257}}) {
      Sample x(type, {rows, row}), y(type, {1, row}), out(type, {rows, row});
      x.Randomise(rng_), y.Randomise(rng_);
      CheckAdd(x, y, out, 1);
      CheckAdd(y, x, out, 1);
      CheckAdd(y, y, out, 1);
    }
  }
}

TEST_P(Elementwise, AddInPlaceOverAnOperand) {
  Sample x(DType::kF16, {4, 700}), y(DType::kF16, {4, 700});
  x.Randomise(rng_), y.Randomise(rng_);
  Sample want = x.Copied();
  reference::Elementwise([](auto a, auto b) { return a + b; }, DType::kF16, want.tensor, &y.tensor, 0,
                         want.tensor);
  PlanRef plan = NewPlan();
  Operand self = x.BoundTo(*plan, Access::kReadWrite, "selfRef");
  int64_t one = 1;
  kernels::Add(*plan, DType::kF16, self, y.BoundTo(*plan, Access::kRead, "other"), Scalar(&one, DType::kI64),
               self);
  testing::RunPlan(*plan);
  EXPECT_EQ(x.storage, want.storage);
}

TEST_P(Elementwise, ScalarsTakePart) {
  for (DType type : kArithmetic) {
    Sample x(type, {3, 600}), out(type, {3, 600});
    x.Randomise(rng_);
    Sample want = out.Copied();
    float three = 3;
    Scalar other(&three, DType::kF32);
    reference::Elementwise([](auto a, auto b) { return a * b; }, type, x.tensor, nullptr, 3, want.tensor);
    PlanRef plan = NewPlan();
    Operand self = x.BoundTo(*plan, Access::kRead, "self");
    kernels::Mul(*plan, type, self, {nullptr, &other, -1, "other"},
                 out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    EXPECT_EQ(out.storage, want.storage) << NameOf(type);
  }
}

TEST_P(Elementwise, CopyConvertsAndBroadcasts) {
  std::vector<DType> types = kArithmetic;
  types.insert(types.end(), {DType::kU16, DType::kU32, DType::kU64});
  for (DType from : types) {
    for (DType to : types) {
      for (Layout layout : kLayouts) {
        Sample in(from, {5, 130}, layout);
        Sample out(to, {3, 5, 130}, layout == Layout::kRepeated ? Layout::kPacked : layout);
        in.Randomise(rng_, 300);
        Sample want = out.Copied();
        reference::Copy(in.tensor, want.tensor);
        PlanRef plan = NewPlan();
        Operand src = in.BoundTo(*plan, Access::kRead, "src");
        kernels::Copy(*plan, to, src, out.BoundTo(*plan, Access::kWrite, "selfRef"));
        testing::RunPlan(*plan);
        ASSERT_EQ(out.storage, want.storage) << NameOf(from) << " to " << NameOf(to);
      }
    }
  }
}

TEST_P(Elementwise, FillConvertsItsValue) {
  for (DType type : kArithmetic) {
    for (Layout layout : {Layout::kPacked, Layout::kStepped, Layout::kTransposed}) {
      Sample out(type, {7, 211}, layout);
      Sample want = out.Copied();
      int64_t value = 5;
      reference::Fill(5, want.tensor);
      PlanRef plan = NewPlan();
      kernels::Fill(*plan, type, Scalar(&value, DType::kI64), out.BoundTo(*plan, Access::kWrite, "selfRef"));
      testing::RunPlan(*plan);
      EXPECT_EQ(out.storage, want.storage);
    }
  }
}

// Results of this size are written past the cache, also where they are not aligned.
TEST(Large, AddCopyAndFill) {
  const int64_t n = (int64_t{8} << 20) + 1003;
  Sample a(DType::kF32, {n}), b(DType::kI32, {n}), out(DType::kF32, {n}, Layout::kOffset);
  auto* x = static_cast<float*>(a.tensor.data);
  auto* y = static_cast<int32_t*>(b.tensor.data);
  auto* z = static_cast<float*>(out.tensor.data) + out.tensor.offset;
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 1000), y[i] = static_cast<int32_t>(i % 7);
  auto run = [&](auto make) {
    std::fill(z, z + n, -1.0f);
    PlanRef plan = NewPlan();
    make(*plan);
    testing::RunPlan(*plan);
  };
  int64_t two = 2;
  run([&](Plan& plan) {
    Operand self = a.BoundTo(plan, Access::kRead, "self"), other = b.BoundTo(plan, Access::kRead, "other");
    kernels::Add(plan, DType::kF32, self, other, Scalar(&two, DType::kI64),
                 out.BoundTo(plan, Access::kWrite, "out"));
  });
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(z[i], x[i] + 2 * static_cast<float>(y[i])) << i;
  run([&](Plan& plan) {
    Operand src = b.BoundTo(plan, Access::kRead, "src");
    kernels::Copy(plan, DType::kF32, src, out.BoundTo(plan, Access::kWrite, "selfRef"));
  });
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(z[i], static_cast<float>(y[i])) << i;
  run([&](Plan& plan) {
    kernels::Fill(plan, DType::kF32, Scalar(&two, DType::kI64), out.BoundTo(plan, Access::kWrite, "selfRef"));
  });
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(z[i], 2) << i;
}

TEST(Plans, ReturnTheirSlots) {
  uint32_t before = g_plans.live();
  HandleBits handle = g_plans.Create("test");
  Plan* plan = g_plans.Find(handle);
  ASSERT_TRUE(plan->TryRef());
  EXPECT_EQ(g_plans.Retire(handle), plan);
  EXPECT_EQ(g_plans.Find(handle), nullptr);
  plan->Unref();
  plan->Unref();
  EXPECT_EQ(g_plans.live(), before);
}

TEST(Plans, HoldMoreBindingsAndBodiesThanFitInline) {
  struct Large {
    char bytes[2000];
    int* hits;
    void operator()(const Frame&) const { ++*hits; }
  };
  PlanRef plan = NewPlan();
  Sample sample(DType::kF32, {4});
  for (int i = 0; i < 10; ++i) sample.BoundTo(*plan, Access::kRead, "x");
  EXPECT_EQ(plan->binding_count(), 10);
  EXPECT_EQ(plan->binding(9).end, 16);
  int hits = 0;
  Large large{};
  large.hits = &hits;
  plan->SetBody(large);
  testing::RunPlan(*plan);
  EXPECT_EQ(hits, 1);
}

}  // namespace
}  // namespace belay::ops
