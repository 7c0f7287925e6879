#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/pipeline.h"
#include "ops/reduce/reduce.h"
#include "ops/reference/reference.h"
#include "ops/rules.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Layout;
using testing::Sample;

double SumError(DType from, DType to, const Shape& shape, Layout layout, std::vector<int64_t> dims, bool keep,
                std::mt19937& rng) {
  Sample in(from, shape, layout);
  in.Randomise(rng);
  Sample out(to, rules::Reduced({&in.tensor}, dims, keep),
             layout == Layout::kRepeated ? Layout::kPacked : layout);
  Sample want = out.Copied();
  reference::Sum(in.tensor, dims, keep, to, want.tensor);
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernels::ReduceSum(*plan, to, self, dims, keep, to, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  return testing::Distance(out.tensor, want.tensor);
}

double Allowed(DType type) {
  switch (type) {
    case DType::kF32:
      return 1e-6;
    case DType::kF16:
      return 1e-3;
    case DType::kBF16:
      return 8e-3;
    case DType::kF64:
      return 1e-14;
    default:
      return 0;
  }
}

TEST(Sum, AllTypesAndLayouts) {
  std::mt19937 rng(7);
  for (DType from : testing::kArithmetic) {
    for (DType to : testing::kArithmetic) {
      for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated}) {
        for (const std::vector<int64_t>& dims :
             std::vector<std::vector<int64_t>>{{0}, {1}, {-1}, {0, 2}, {1, 2}, {}}) {
          EXPECT_LE(SumError(from, to, {3, 70, 11}, layout, dims, dims.size() == 1, rng), Allowed(to))
              << NameOf(from) << " to " << NameOf(to) << " layout " << static_cast<int>(layout) << " dims "
              << dims.size();
        }
      }
    }
  }
}

TEST(Sum, OddShapes) {
  std::mt19937 rng(8);
  const Layout packed = Layout::kPacked;
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {}, packed, {}, false, rng), 0);
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {}, packed, {-1}, false, rng), 0);
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {0, 3}, packed, {0}, false, rng), 0);
  EXPECT_EQ(SumError(DType::kF32, DType::kF32, {3, 0}, packed, {0}, false, rng), 0);
  EXPECT_LE(SumError(DType::kF32, DType::kF32, {2, 3, 1, 2, 1, 2, 3, 2}, packed, {1, 3, 7}, true, rng), 1e-6);
  EXPECT_LE(SumError(DType::kF32, DType::kF32, {300000}, packed, {}, false, rng), 1e-6);
  EXPECT_LE(SumError(DType::kF16, DType::kF32, {9000, 3}, packed, {0}, false, rng), 1e-6);
  EXPECT_LE(SumError(DType::kF32, DType::kF32, {1000, 40}, packed, {0}, false, rng), 1e-6);
  for (DType from :
       {DType::kF32, DType::kF16, DType::kI32}) {  // more results side by side than are taken at once
    for (Layout layout : {packed, Layout::kStepped})
      EXPECT_LE(SumError(from, DType::kF32, {70, 2500}, layout, {0}, false, rng), 1e-6) << NameOf(from);
  }
}

// A plain running sum in f32 is wrong from the eighth digit on and stops growing at 2^24.
TEST(Sum, StaysAccurateOverManyElements) {
  const int64_t n = 20'000'000;
  Sample in(DType::kF32, {n}), out(DType::kF32, {});
  auto* x = static_cast<float*>(in.tensor.data);
  for (int64_t i = 0; i < n; ++i) x[i] = 1.1f;
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  kernels::ReduceSum(*plan, DType::kF32, self, {}, false, DType::kF32,
                     out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  EXPECT_NEAR(*static_cast<float*>(out.tensor.data) / (static_cast<double>(1.1f) * n), 1, 1e-7);
}

using reference::Real;

// The elements that fold into each result, by the result's index.
std::map<std::vector<int64_t>, std::vector<Real>> Groups(const Tensor& in, const std::vector<int64_t>& dims) {
  std::map<std::vector<int64_t>, std::vector<Real>> groups;
  reference::ForEach(in.shape, [&](const Shape& i) {
    std::vector<int64_t> key;
    for (int d = 0; d < i.rank(); ++d) {
      bool folded = dims.empty();
      for (int64_t dim : dims) folded = folded || (dim + i.rank()) % i.rank() == d;
      if (!folded) key.push_back(i[d]);
    }
    groups[key].push_back(reference::Get(in, i));
  });
  return groups;
}

using Values = const std::vector<Real>&;
struct FoldCase {
  const char* name;
  void (*plan)(Plan&, DType, const Operand& self, std::span<const int64_t> dims, const Operand& out);
  Real (*exact)(Values);
  double allowed = 2e-6;
};

template <auto kKernel>
void Plain(Plan& plan, DType type, const Operand& self, std::span<const int64_t> dims, const Operand& out) {
  kKernel(plan, type, self, dims, false, out);
}
template <int kP>
void Norm(Plan& plan, DType type, const Operand& self, std::span<const int64_t> dims, const Operand& out) {
  double p = kP > 90 ? INFINITY : kP;
  Scalar scalar(&p, DType::kF64);
  kernels::Norm(plan, type, self, {nullptr, &scalar, -1, "p"}, dims, false, out);
}
Real MeanOf(Values v) {
  Real sum = 0;
  for (Real x : v) sum += x;
  return sum / v.size();
}
Real VarianceOf(Values v) {
  Real mean = MeanOf(v), sum = 0;
  for (Real x : v) sum += (x - mean) * (x - mean);
  return sum / (v.size() - 1);
}
template <int kP>
Real PowersOf(Values v) {
  Real sum = 0;
  for (Real x : v) sum += std::pow(std::fabs(x), Real{kP});
  return std::pow(sum, Real{1} / kP);
}

const FoldCase kFoldCases[] = {
    {"Mean",
     [](Plan& plan, DType type, const Operand& self, std::span<const int64_t> dims, const Operand& out) {
       kernels::Mean(plan, type, self, dims, false, type, out);
     },
     MeanOf},
    {"Amax", Plain<kernels::Amax>, [](Values v) { return *std::max_element(v.begin(), v.end()); }},
    {"Amin", Plain<kernels::Amin>, [](Values v) { return *std::min_element(v.begin(), v.end()); }},
    {"LogSumExp", Plain<kernels::LogSumExp>,
     [](Values v) {
       Real sum = 0;
       for (Real x : v) sum += std::exp(x);
       return std::log(sum);
     }},
    {"Var",
     [](Plan& plan, DType type, const Operand& self, std::span<const int64_t> dims, const Operand& out) {
       kernels::Var(plan, type, self, dims, 1, false, out);
     },
     VarianceOf},
    {"Std",
     [](Plan& plan, DType type, const Operand& self, std::span<const int64_t> dims, const Operand& out) {
       kernels::Std(plan, type, self, dims, 1, false, out);
     },
     [](Values v) { return std::sqrt(VarianceOf(v)); }},
    {"L1", Norm<1>, PowersOf<1>},
    {"L2", Norm<2>, PowersOf<2>},
    {"L3", Norm<3>, PowersOf<3>},
    {"LInf", Norm<99>,
     [](Values v) {
       Real most = 0;
       for (Real x : v) most = std::max(most, std::fabs(x));
       return most;
     }},
};

double FoldError(const FoldCase& fold, DType type, Layout layout, const std::vector<int64_t>& dims,
                 std::mt19937& rng, const Shape& shape = {3, 70, 11}) {
  Sample in(type, shape, layout);
  in.Randomise(rng);
  Sample out(type, rules::Reduced({&in.tensor}, dims, false));
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  fold.plan(*plan, type, self, dims, out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
  Sample want = out.Copied();
  auto groups = Groups(in.tensor, dims);
  reference::ForEach(out.tensor.shape, [&](const Shape& i) {
    reference::Set(want.tensor, i, fold.exact(groups.at(std::vector<int64_t>(i.begin(), i.end()))));
  });
  return testing::Distance(out.tensor, want.tensor);
}

TEST(Folds, AgreeWithPlainOnes) {
  std::mt19937 rng(11);
  for (const FoldCase& fold : kFoldCases) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
      for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{0}, {1}, {-1}, {0, 2}, {}}) {
        EXPECT_LE(FoldError(fold, DType::kF32, layout, dims, rng), fold.allowed) << fold.name;
        EXPECT_LE(FoldError(fold, DType::kF64, layout, dims, rng), 1e-13) << fold.name;
        EXPECT_LE(FoldError(fold, DType::kF16, layout, dims, rng), 1.1e-3) << fold.name;
      }
    }
  }
  for (DType type : {DType::kI8, DType::kU8, DType::kI32, DType::kI64, DType::kBool}) {
    for (int k : {1, 2})
      EXPECT_EQ(FoldError(kFoldCases[k], type, Layout::kPacked, {1}, rng), 0) << NameOf(type);
  }
  const testing::InPieces pieces;
  for (DType type : {DType::kI8, DType::kU8}) {  // bytes are folded as bytes
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kRepeated}) {
      for (const std::vector<int64_t>& dims :
           std::vector<std::vector<int64_t>>{{0}, {-1}, {0, 2}, {0, 1}, {}}) {
        for (int k : {1, 2})
          EXPECT_EQ(FoldError(kFoldCases[k], type, layout, dims, rng), 0) << NameOf(type) << dims.size();
      }
    }
  }
}

// What lies behind rows of results is folded first; few columns and many, more rows than a group has.
TEST(Folds, OnBothSidesOfResults) {
  const testing::InPieces pieces;
  std::mt19937 rng(12);
  const std::pair<Shape, std::vector<int64_t>> cases[] = {
      {{70, 5, 7}, {0, 2}},         {{5, 66, 2, 3}, {1, 3}},     {{2, 5, 200, 6}, {1, 3}},
      {{2, 3, 4, 5, 7}, {0, 2, 4}}, {{3, 2, 2, 300}, {0, 1, 3}}, {{1, 1100, 2, 2}, {1, 3}}};
  for (const auto& [shape, dims] : cases) {
    for (const FoldCase& fold : kFoldCases) {
      EXPECT_LE(FoldError(fold, DType::kF32, Layout::kPacked, dims, rng, shape), fold.allowed)
          << fold.name << shape.ToString();
      EXPECT_LE(FoldError(fold, DType::kF16, Layout::kStepped, dims, rng, shape), 1.1e-3)
          << fold.name << shape.ToString();
    }
    EXPECT_EQ(SumError(DType::kI32, DType::kI64, shape, Layout::kPacked, dims, false, rng), 0);
  }
}

void FoldLast(const FoldCase& fold, Tensor& in, Sample& out) {
  PlanRef plan = testing::NewPlan();
  Operand self{&in, nullptr, plan->Bind(&in, Access::kRead, "self", plan->binding_count(), 0), "self"};
  const int64_t dims[] = {1};
  fold.plan(*plan, DType::kF32, self, std::span(dims), out.BoundTo(*plan, Access::kWrite, "out"));
  testing::RunPlan(*plan);
}

// Short rows are folded many at a time, and give what each gives alone: to the last bit.
TEST(Folds, RowsTogetherAreAsAlone) {
  std::mt19937 rng(13);
  for (const FoldCase& fold : kFoldCases) {
    for (int64_t size : {1, 2, 3, 4, 7, 8, 9, 16, 17, 24, 56, 63, 64, 65, 511}) {
      const Layout layout = size % 3 == 0 ? Layout::kStepped : Layout::kPacked;
      Sample in(DType::kF32, {37, size}, layout);
      in.Randomise(rng);
      Sample together(DType::kF32, {37}, layout), alone(DType::kF32, {1});
      FoldLast(fold, in.tensor, together);
      for (int64_t row = 0; row < 37; ++row) {
        Tensor one = in.tensor;
        one.shape[0] = 1;
        one.offset += row * one.strides[0];
        FoldLast(fold, one, alone);
        const Real a = reference::Get(together.tensor, {row}), b = reference::Get(alone.tensor, {0});
        EXPECT_TRUE(a == b || (a != a && b != b)) << fold.name << " of " << size << ": " << a << ", " << b;
      }
    }
  }
}

TEST(Folds, RowsOfIntegersTogether) {
  std::mt19937 rng(15);
  const int64_t dims[] = {1};
  for (int64_t size : {7, 8, 16, 24, 40, 64}) {
    Sample in(DType::kI32, {37, size}), out(DType::kI32, {37});
    in.Randomise(rng);
    PlanRef plan = testing::NewPlan();
    Operand self = in.BoundTo(*plan, Access::kRead, "self");
    kernels::Amax(*plan, DType::kI32, self, dims, false, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    for (int64_t row = 0; row < 37; ++row) {
      Real largest = reference::Get(in.tensor, {row, 0});
      for (int64_t k = 1; k < size; ++k) largest = std::max(largest, reference::Get(in.tensor, {row, k}));
      EXPECT_EQ(reference::Get(out.tensor, {row}), largest) << "row " << row << " of " << size;
    }
  }
}

// Of rows that do not follow each other, and more rows than are folded in one group.
TEST(Folds, OuterAndLastDimensions) {
  const testing::InPieces pieces;
  std::mt19937 rng(14);
  for (DType type : {DType::kF32, DType::kI64}) {
    for (const Shape& shape : {Shape{70, 3, 33}, Shape{40, 5, 7}, Shape{66, 1, 130}}) {
      EXPECT_LE(SumError(type, type, shape, Layout::kPacked, {0, 2}, false, rng), Allowed(type));
      EXPECT_LE(SumError(type, type, shape, Layout::kPacked, {0}, false, rng), Allowed(type));
      EXPECT_LE(SumError(type, type, shape, Layout::kStepped, {0}, false, rng), Allowed(type));
      EXPECT_LE(SumError(type, type, {5, shape[0], shape[2]}, Layout::kPacked, {1}, false, rng),
                Allowed(type));
    }
  }
}

// Dimensions that lie apart, short ones near each other in memory.
TEST(Folds, LargestOverDimensionsThatLieApart) {
  const testing::InPieces pieces;
  std::mt19937 rng(17);
  for (DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kF16}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed}) {
      const Shape shape = {31, 2, 23, 3, 4};
      Sample in(type, shape, layout), out(type, {31, 23, 4});
      in.Randomise(rng, 100);
      PlanRef plan = testing::NewPlan();
      const Operand self = in.BoundTo(*plan, Access::kRead, "self");
      const int64_t dims[] = {1, 3};
      kernels::Amax(*plan, type, self, dims, false, out.BoundTo(*plan, Access::kWrite, "out"));
      testing::RunPlan(*plan);
      reference::ForEach({31, 23, 4}, [&](const Shape& i) {
        Real largest = reference::Get(in.tensor, {i[0], 0, i[1], 0, i[2]});
        for (int64_t k = 0; k < 6; ++k)
          largest = std::max(largest, reference::Get(in.tensor, {i[0], k / 3, i[1], k % 3, i[2]}));
        ASSERT_EQ(reference::Get(out.tensor, i), largest) << NameOf(type) << " " << i.ToString();
      });
    }
  }
}

TEST(Folds, OfSingleElements) {
  std::mt19937 rng(16);
  for (DType type : {DType::kF32, DType::kF16, DType::kI64, DType::kI8}) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
      for (bool keep : {false, true}) {
        EXPECT_EQ(SumError(type, type, {31, 1, 43}, layout, {1}, keep, rng), 0) << NameOf(type);
        EXPECT_EQ(SumError(type, type, {1, 7, 1, 5}, layout, {0, 2}, keep, rng), 0) << NameOf(type);
      }
    }
  }
}

TEST(Folds, ColumnsOfAFewResults) {
  const testing::InPieces pieces;
  std::mt19937 rng(15);
  for (int64_t rows : {1, 2, 3, 7, 63, 64, 65, 1000, 70'000}) {
    for (int64_t n : {2, 3, 5, 8, 9, 16, 17, 40}) {
      if (rows > 1000 && n > 5) continue;
      EXPECT_LE(SumError(DType::kF32, DType::kF32, {rows, n}, Layout::kPacked, {0}, false, rng),
                Allowed(DType::kF32))
          << rows << " " << n;
      if (rows > 1000) continue;
      EXPECT_LE(SumError(DType::kF32, DType::kF32, {3, rows, n}, Layout::kPacked, {1}, false, rng),
                Allowed(DType::kF32))
          << rows << " " << n;
      EXPECT_EQ(SumError(DType::kI64, DType::kI64, {3, rows, n}, Layout::kPacked, {1}, false, rng), 0);
    }
  }
}

// Rows of few columns are folded many together; those that are left are more than a block, or less.
TEST(Folds, RowsThatAreLeftOfFewColumns) {
  std::mt19937 rng(18);
  for (int64_t n = 2; n <= 8; ++n) {
    for (int64_t left : {2 * kBlock / n - 1, kBlock / n + 1, kBlock / n, int64_t{1}}) {
      const Shape shape = {2 * (2 * kBlock / n) + left, n};
      for (const FoldCase& fold : kFoldCases) {
        EXPECT_LE(FoldError(fold, DType::kF32, Layout::kStepped, {0}, rng, shape), fold.allowed)
            << fold.name << shape.ToString();
        EXPECT_LE(FoldError(fold, DType::kF16, Layout::kPacked, {0}, rng, shape), 1.1e-3)
            << fold.name << shape.ToString();
      }
    }
  }
}

// Many matrices of a few columns: in place, of other types, of changed elements, around their means.
TEST(Folds, ColumnsOfManyMatrices) {
  const testing::InPieces pieces;
  std::mt19937 rng(18);
  for (int64_t rows : {1, 2, 7, 36, 131}) {
    for (int64_t n : {2, 3, 4, 5, 9, 65}) {
      for (DType type : {DType::kF32, DType::kF64, DType::kF16, DType::kI32, DType::kI64}) {
        EXPECT_LE(SumError(type, type, {11, rows, n}, Layout::kPacked, {1}, false, rng), Allowed(type))
            << NameOf(type) << " " << rows << " " << n;
      }
      for (const FoldCase& fold : kFoldCases) {
        if (rows == 1 || n > 5) continue;  // one has no variance
        EXPECT_LE(FoldError(fold, DType::kF32, Layout::kPacked, {1}, rng, {11, rows, n}), fold.allowed)
            << fold.name << " " << rows << " " << n;
      }
    }
  }
}

TEST(Folds, OneForTheFirstOfTheLargest) {
  const testing::InPieces pieces;
  std::mt19937 rng(15);
  for (DType type : {DType::kF32, DType::kF64, DType::kF16}) {
    for (int dim : {0, 1, 2}) {
      Sample in(type, {3, 7, 37}, Layout::kTransposed), out(type, {3, 7, 37});
      in.Randomise(rng, 3);
      PlanRef plan = testing::NewPlan();
      Operand self = in.BoundTo(*plan, Access::kRead, "self");
      PlanFirstMax(*plan, self, dim, out.BoundTo(*plan, Access::kWrite, "out"));
      testing::RunPlan(*plan);
      reference::ForEach(in.tensor.shape, [&](const Shape& i) {
        bool first = true;
        for (int64_t k = 0; k < in.tensor.shape[dim]; ++k) {
          Shape at = i;
          at[dim] = k;
          const Real x = reference::Get(in.tensor, at), own = reference::Get(in.tensor, i);
          if (k < i[dim] ? x >= own : x > own) first = false;
        }
        ASSERT_EQ(reference::Get(out.tensor, i), first ? 1 : 0) << NameOf(type) << " dim " << dim;
      });
    }
  }
}

TEST(Folds, TruthValues) {
  std::mt19937 rng(12);
  Sample in(DType::kF32, {40, 3});
  in.Randomise(rng, 1);
  for (bool all : {false, true}) {
    Sample out(DType::kBool, {40});
    PlanRef plan = testing::NewPlan();
    Operand self = in.BoundTo(*plan, Access::kRead, "self");
    const int64_t dims[] = {1};
    (all ? kernels::All : kernels::Any)(*plan, DType::kBool, self, std::span(dims), false,
                                        out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    auto groups = Groups(in.tensor, {1});
    for (int64_t i = 0; i < 40; ++i) {
      Values v = groups.at({i});
      bool want = all ? std::all_of(v.begin(), v.end(), [](Real x) { return x != 0; })
                      : std::any_of(v.begin(), v.end(), [](Real x) { return x != 0; });
      EXPECT_EQ(reference::Get(out.tensor, {i}), want);
    }
  }
}

TEST(Folds, OfNothing) {
  for (auto [type, least] :
       {std::pair<DType, Real>{DType::kF32, -INFINITY}, {DType::kI32, INT32_MIN}, {DType::kU8, 0}}) {
    Sample in(type, {2, 0}), out(type, {2});
    PlanRef plan = testing::NewPlan();
    Operand self = in.BoundTo(*plan, Access::kRead, "self");
    const int64_t dims[] = {1};
    kernels::Amax(*plan, type, self, dims, false, out.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    EXPECT_EQ(reference::Get(out.tensor, {1}), least);
  }
}

void ExpectPlaces(Sample& in, int dim, Extreme extreme) {
  const Shape shape = rules::ReducedOne({&in.tensor}, dim, true);
  Sample values(in.tensor.dtype, shape), indices(DType::kI32, shape);
  PlanRef plan = testing::NewPlan();
  Operand self = in.BoundTo(*plan, Access::kRead, "self");
  Operand v = values.BoundTo(*plan, Access::kWrite, "values");
  PlanArg(*plan, extreme, self, dim, v, indices.BoundTo(*plan, Access::kWrite, "indices"));
  testing::RunPlan(*plan);
  int64_t wrong = 0;
  reference::ForEach(shape, [&](Shape i) {
    Shape at = i;
    at[dim] = static_cast<int64_t>(reference::Get(indices.tensor, i));
    const Real best = reference::Get(values.tensor, i);
    wrong += reference::Get(in.tensor, at) != best;
    for (Shape k = i; k[dim] < in.tensor.shape[dim]; ++k[dim]) {
      const Real x = reference::Get(in.tensor, k);
      wrong += extreme.largest ? x > best : x < best;
      wrong += x == best && (extreme.last ? k[dim] > at[dim] : k[dim] < at[dim]);
    }
  });
  ASSERT_EQ(wrong, 0) << NameOf(in.tensor.dtype) << in.tensor.shape.ToString() << " dim " << dim;
}

constexpr Extreme kExtremes[] = {{true, false}, {true, true}, {false, false}};

TEST(Arg, FirstAndLastOfAllLayouts) {
  std::mt19937 rng(13);
  for (DType type : testing::kArithmetic) {
    for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped}) {
      for (int dim : {0, 1, 2}) {
        for (Extreme extreme : kExtremes) {
          Sample in(type, {2, 20, 600}, layout);
          in.Randomise(rng, 3);
          ExpectPlaces(in, dim, extreme);
        }
      }
      if (type != DType::kF32) break;
    }
  }
}

// Too short to be taken along, or few and long.
TEST(Arg, LinesAmongSeveralDimensions) {
  std::mt19937 rng(15);
  for (DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kF16, DType::kU8}) {
    for (const Shape& shape : {Shape{41, 3, 8, 3}, Shape{5, 7, 29, 2}, Shape{1, 1, 1500, 3},
                               Shape{9, 1, 2, 47}, Shape{300, 2, 5, 2}}) {
      for (Layout layout : {Layout::kPacked, Layout::kTransposed}) {
        for (int dim = 0; dim < 4; ++dim) {
          Sample in(type, shape, layout);
          in.Randomise(rng, 3);
          for (Extreme extreme : kExtremes) ExpectPlaces(in, dim, extreme);
        }
      }
    }
  }
}

TEST(Arg, ShortRowsTogether) {
  std::mt19937 rng(14);
  for (DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kF16}) {
    for (int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 40, 255, 256, 300}) {
      Sample in(type, {259, size});  // more than are taken at once, and three of the next
      in.Randomise(rng, 3);
      for (Extreme extreme : kExtremes) ExpectPlaces(in, 1, extreme);
    }
  }
}

TEST(Counts, OfANumberThatHasNoPlace) {
  for (const int64_t last : {2, 3, -1}) {
    Sample x(DType::kI64, {3}), out(DType::kF64, {3});
    for (int64_t i = 0; i < 3; ++i)
      reference::Set(x.tensor, {i}, static_cast<reference::Real>(i < 2 ? 2 * i : last));
    PlanRef plan = testing::NewPlan();
    const Operand self = x.BoundTo(*plan, Access::kRead, "self");
    kernels::Bincount(*plan, DType::kUndefined, self, {}, 0, out.BoundTo(*plan, Access::kWrite, "out"));
    if (last != 2) {
      EXPECT_THROW(testing::RunPlan(*plan), Error) << last;
      continue;
    }
    testing::RunPlan(*plan);
    EXPECT_EQ(reference::Get(out.tensor, {0}), 1);
    EXPECT_EQ(reference::Get(out.tensor, {2}), 2);
  }
}

}  // namespace
}  // namespace belay::ops
