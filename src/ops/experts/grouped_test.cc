// Grouped products of more columns than are worked on together.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "ops/kernels.h"
#include "ops/reference/reference.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

TEST(GroupedProduct, OfLongRows) {
  std::mt19937 rng(17);
  constexpr int64_t kDepth = 24, kColumns = 2100;
  const std::vector<int64_t> counts = {9, 0, 1, 300, 2, 5, 0, 3, 1, 7, 4, 8};
  const auto groups = static_cast<int64_t>(counts.size()),
             rows = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  Sample x(DType::kF32, {rows, kDepth}), w(DType::kF32, {groups, kDepth, kColumns}),
      y(DType::kF32, {rows, kColumns});
  Sample bias(DType::kF32, {groups, kColumns}), list(DType::kI64, {groups});
  for (Sample* sample : {&x, &w, &bias}) sample->Randomise(rng, 3);
  std::copy(counts.begin(), counts.end(), static_cast<int64_t*>(list.tensor.data));
  PlanRef plan = testing::NewPlan();
  kernels::GroupedMatmulV4Arguments a{};
  a.x = {x.BoundTo(*plan, Access::kRead, "x")}, a.weight = {w.BoundTo(*plan, Access::kRead, "weight")};
  a.bias = {bias.BoundTo(*plan, Access::kRead, "bias")},
  a.group_list = list.BoundTo(*plan, Access::kRead, "list");
  a.results = {y.BoundTo(*plan, Access::kWrite, "y")};
  a.split_item = 3, a.group_list_type = 1;
  kernels::GroupedMatmulV4(*plan, DType::kF32, a);
  testing::RunPlan(*plan);
  int64_t row = 0;
  for (int64_t g = 0; g < groups; ++g) {
    for (const int64_t end = row + counts[static_cast<size_t>(g)]; row < end; ++row) {
      for (int64_t j = 0; j < kColumns; ++j) {
        float sum = Floats(bias)[g * kColumns + j];  // of multiples of 1/64: exact
        for (int64_t k = 0; k < kDepth; ++k)
          sum += Floats(x)[row * kDepth + k] * Floats(w)[(g * kDepth + k) * kColumns + j];
        ASSERT_EQ(Floats(y)[row * kColumns + j], sum) << g << ' ' << row << ' ' << j;
      }
    }
  }
}

}  // namespace
}  // namespace belay::ops
