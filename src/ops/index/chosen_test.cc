// What is chosen by masks and by an index for each dimension, beyond the pieces that are looked at together.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "ops/index/advanced.h"
#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using reference::ForEach;
using reference::Get;
using reference::Real;
using testing::Layout;
using testing::Sample;

const Shape kShapes[] = {{1300},    {512},     {3},        {40, 33},   {700, 3},
                         {2000, 1}, {1, 1025}, {9, 4, 40}, {400, 1, 2}};
// Of a thousand elements so many are not 0.
constexpr int kDense[] = {0, 3, 40, 500, 1000};

Sample Sparse(const Shape& shape, DType type, int dense, std::mt19937& rng) {
  Sample sample(type, shape);
  std::uniform_int_distribution<int> draw(0, 999);
  ForEach(shape, [&](const Shape& i) { reference::Set(sample.tensor, i, draw(rng) < dense ? 1 : 0); });
  return sample;
}

std::vector<Shape> ChosenOf(const Sample& mask) {
  std::vector<Shape> chosen;
  ForEach(mask.tensor.shape, [&](const Shape& i) {
    if (Get(mask.tensor, i) != 0) chosen.push_back(i);
  });
  return chosen;
}

Shape ToldBy(const Plan& plan) { return plan.told_shapes()->front().second->told().value(); }

TEST(Chosen, PlacesOfWhatIsNotZero) {
  std::mt19937 rng(5);
  for (const Shape& shape : kShapes) {
    for (int dense : kDense) {
      for (bool columns : {false, true}) {
        SCOPED_TRACE(shape.ToString() + " " + std::to_string(dense) + (columns ? " columns" : ""));
        Sample x = Sparse(shape, dense % 2 == 0 ? DType::kF32 : DType::kBool, dense, rng);
        const int64_t n = tensor::CountOf(shape), rank = shape.rank();
        Sample y(DType::kI64, columns ? Shape{rank, n} : Shape{n, rank});
        PlanRef plan = testing::NewPlan();
        const Operand in = x.BoundTo(*plan, Access::kRead, "x"), out = y.BoundTo(*plan, Access::kWrite, "y");
        (columns ? kernels::NonzeroV2 : kernels::Nonzero)(*plan, x.tensor.dtype, in, out);
        testing::RunPlan(*plan);
        const std::vector<Shape> chosen = ChosenOf(x);
        const auto found = static_cast<int64_t>(chosen.size());
        ASSERT_EQ(ToldBy(*plan), (columns ? Shape{rank, found} : Shape{found, rank}));
        const auto* places = static_cast<const int64_t*>(y.tensor.data);
        for (int64_t i = 0; i < found; ++i) {
          for (int d = 0; d < rank; ++d)
            ASSERT_EQ(places[columns ? d * found + i : i * rank + d], chosen[static_cast<size_t>(i)][d]) << i;
        }
      }
    }
  }
}

// Bytes of truths that somebody else wrote.
TEST(Chosen, AnyByteButZeroIsTrue) {
  constexpr int64_t kRows = 31, kColumns = 60;
  Sample x(DType::kBool, {kRows, kColumns}), y(DType::kI64, {2, kRows * kColumns});
  auto* bytes = static_cast<uint8_t*>(x.tensor.data);
  int64_t found = 0;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    bytes[i] = i % 3 == 0 ? 0 : static_cast<uint8_t>(i % 5 == 0 ? 255 : i % 7 == 0 ? 128 : 1);
    found += bytes[i] != 0 ? 1 : 0;
  }
  PlanRef plan = testing::NewPlan();
  const Operand in = x.BoundTo(*plan, Access::kRead, "x"), out = y.BoundTo(*plan, Access::kWrite, "y");
  kernels::NonzeroV2(*plan, DType::kBool, in, out);
  testing::RunPlan(*plan);
  EXPECT_EQ(ToldBy(*plan), (Shape{2, found}));
}

TEST(Chosen, ElementsThatAMaskSelects) {
  std::mt19937 rng(6);
  for (DType type : {DType::kF32, DType::kI8, DType::kBF16, DType::kC64}) {
    for (int dense : kDense) {
      SCOPED_TRACE(dense);
      Sample x(type, {1300}), mask = Sparse({1300}, DType::kBool, dense, rng), y(type, {1300});
      for (size_t i = 0; i < x.storage.size(); ++i) x.storage[i] = static_cast<char>(rng());
      PlanRef plan = testing::NewPlan();
      const Operand in = x.BoundTo(*plan, Access::kRead, "x"),
                    by = mask.BoundTo(*plan, Access::kRead, "mask"),
                    out = y.BoundTo(*plan, Access::kWrite, "y");
      kernels::MaskedSelect(*plan, type, in, by, out);
      testing::RunPlan(*plan);
      const auto bytes = static_cast<int64_t>(BytesOf(type));
      const auto *from = static_cast<const char*>(x.tensor.data),
                 *to = static_cast<const char*>(y.tensor.data);
      for (const Shape& i : ChosenOf(mask)) {
        ASSERT_EQ(std::string(to, static_cast<size_t>(bytes)),
                  std::string(from + i[0] * bytes, static_cast<size_t>(bytes)));
        to += bytes;
      }
      EXPECT_EQ(ToldBy(*plan), (Shape{(to - static_cast<const char*>(y.tensor.data)) / bytes}));
    }
  }
}

Sample IndexOf(DType type, const Shape& shape, int64_t size, Layout layout, std::mt19937& rng) {
  Sample index(type, shape, layout);
  std::uniform_int_distribution<int64_t> pick(-size, size - 1);
  ForEach(shape, [&](const Shape& i) { reference::Set(index.tensor, i, static_cast<Real>(pick(rng))); });
  return index;
}

void RunIndex(Sample& x, std::vector<Sample>& indices, Sample& y) {
  PlanRef plan = testing::NewPlan();
  const Operand in = x.BoundTo(*plan, Access::kRead, "x");
  OperandList list;
  for (Sample& index : indices) list.push_back(index.BoundTo(*plan, Access::kRead, "index"));
  PlanIndex(*plan, in, list, y.BoundTo(*plan, Access::kWrite, "y"));
  testing::RunPlan(*plan);
}

// Index d has the last dimension only where d is odd, and is spread over the other.
TEST(Chosen, AnIndexForEachDimension) {
  std::mt19937 rng(7);
  const Shape sizes = {7, 5, 3, 2};
  for (Layout layout : {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kOffset}) {
    for (int rank : {1, 2, 3, 4}) {
      SCOPED_TRACE(rank);
      Sample x(rank == 2 ? DType::kBF16 : DType::kF32, Shape::Of(sizes.data(), rank), layout);
      x.Randomise(rng);
      std::vector<Sample> indices;
      for (int d = 0; d < rank; ++d) {
        const Shape shape = d % 2 == 1 ? Shape{600} : Shape{3, 600};
        indices.push_back(IndexOf(d == 2 ? DType::kI32 : DType::kI64, shape, sizes[d],
                                  d % 2 == 1 ? Layout::kPacked : layout, rng));
      }
      Sample y(x.tensor.dtype, {3, 600}, layout);
      RunIndex(x, indices, y);
      ForEach(y.tensor.shape, [&](const Shape& i) {
        Shape place;
        for (int d = 0; d < rank; ++d) {
          const auto given =
              static_cast<int64_t>(Get(indices[static_cast<size_t>(d)].tensor, d % 2 == 1 ? Shape{i[1]} : i));
          place.push_back(given < 0 ? given + sizes[d] : given);
        }
        ASSERT_EQ(Get(y.tensor, i), Get(x.tensor, place));
      });
    }
  }
}

TEST(Chosen, AnIndexBeyondItsDimensionIsAnError) {
  std::mt19937 rng(8);
  for (int wrong : {5, -6}) {
    Sample x(DType::kF32, {7, 5}), y(DType::kF32, {600});
    std::vector<Sample> indices;
    for (int64_t size : {7, 5}) indices.push_back(IndexOf(DType::kI64, {600}, size, Layout::kPacked, rng));
    reference::Set(indices[1].tensor, {599}, wrong);
    EXPECT_THROW(RunIndex(x, indices, y), Error);
  }
}

}  // namespace
}  // namespace belay::ops
