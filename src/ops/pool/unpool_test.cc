#include "ops/pool/unpool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

// Into the first corner of a result that may be larger; places outside of it are left out.
TEST(Unpool, ElementsOfEverySizeGoWhereTheirPlacesSay) {
  std::mt19937 rng(43);
  for (const DType type : {DType::kI8, DType::kF16, DType::kF32, DType::kI64}) {
    for (const bool larger : {false, true}) {
      const Shape natural = {2, 3, 5, 4}, shape = larger ? Shape{2, 3, 6, 5} : natural;
      Sample x(type, {2, 3, 2, 2}), places(DType::kI64, {2, 3, 2, 2}), y(type, shape);
      x.Randomise(rng);
      auto* at = static_cast<int64_t*>(places.tensor.data);
      for (int64_t i = 0; i < 24; ++i) at[i] = i * 5 + static_cast<int64_t>(rng() % 5);
      at[3] = -1, at[7] = 120;
      PlanRef plan = testing::NewPlan();
      const Operand from = x.BoundTo(*plan, Access::kRead, "x"),
                    where = places.BoundTo(*plan, Access::kRead, "places");
      PlanUnpool(*plan, from, where, natural, y.BoundTo(*plan, Access::kWrite, "y"));
      testing::RunPlan(*plan);
      const size_t bytes = BytesOf(type);
      std::vector<char> want(y.storage.size(), 0);
      for (size_t i = 0; i < 24; ++i) {
        if (at[i] < 0 || at[i] >= 120) continue;
        const int64_t p = at[i], row = p / 4 % 5, plane = p / 20;
        const int64_t to = (plane * shape[2] + row) * shape[3] + p % 4;
        std::memcpy(want.data() + static_cast<size_t>(to) * bytes, x.storage.data() + i * bytes, bytes);
      }
      EXPECT_EQ(y.storage, want) << NameOf(type) << " " << larger;
    }
  }
}

}  // namespace
}  // namespace belay::ops
