#include "ops/matmul/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using testing::Sample;

double Value(const Tensor& t, int64_t i, int64_t j, int64_t row, int64_t column) {
  const auto* x = static_cast<const float*>(t.data) + t.offset;
  return x[i * t.strides[0] + j * t.strides[1] + row * t.strides[2] + column * t.strides[3]];
}

// Element c of row r of batch (i, j), one operation after the other.
double Want(const AttentionArgs& args, int64_t i, int64_t j, int64_t r, int64_t c) {
  const int64_t d = args.key.shape()[2], n = args.key.shape()[3];
  std::vector<double> scores(static_cast<size_t>(n));
  double sum = 0, result = 0;
  for (int64_t k = 0; k < n; ++k) {
    double score = 0;
    for (int64_t e = 0; e < d; ++e)
      score += Value(*args.query.tensor, i, j, r, e) * Value(*args.key.tensor, i, j, e, k);
    score *= args.scale;
    if (args.mask.present()) score += Value(*args.mask.tensor, i, j, r, k);
    sum += scores[static_cast<size_t>(k)] = std::exp(score);
  }
  for (int64_t k = 0; k < n; ++k)
    result += scores[static_cast<size_t>(k)] / sum * Value(*args.value.tensor, i, j, k, c);
  return result;
}

// m rows of query and n of key: one block of rows, several, the last of them short, and one row.
TEST(Attention, BlocksOfRows) {
  constexpr std::pair<int64_t, int64_t> kSizes[] = {{5, 7}, {70, 1100}, {1, 9}};
  for (auto [m, n] : kSizes) {
    for (bool masked : {false, true}) {
      std::mt19937 rng(4);
      Sample query(DType::kF32, {2, 3, m, 8}), key(DType::kF32, {2, 3, n, 8}),
          value(DType::kF32, {2, 3, n, 6});
      Sample mask(DType::kF32, {2, 1, 1, n}), out(DType::kF32, {2, 3, m, 6});
      for (Sample* s : {&query, &key, &value, &mask}) s->Randomise(rng, 2);
      const Shape scores{2, 3, m, n};
      mask.tensor.strides = BroadcastStrides(mask.tensor.shape, mask.tensor.strides, scores),
      mask.tensor.shape = scores;
      std::swap(key.tensor.shape[2], key.tensor.shape[3]),
          std::swap(key.tensor.strides[2], key.tensor.strides[3]);
      PlanRef plan = testing::NewPlan();
      AttentionArgs args;
      args.query = query.BoundTo(*plan, Access::kRead, "q"),
      args.key = key.BoundTo(*plan, Access::kRead, "k");
      args.value = value.BoundTo(*plan, Access::kRead, "v");
      if (masked) args.mask = mask.BoundTo(*plan, Access::kRead, "mask");
      args.out = out.BoundTo(*plan, Access::kWrite, "y");
      args.scale = 0.5f;
      PlanAttention(*plan, args);
      testing::RunPlan(*plan);
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t r = 0; r < m; ++r) {
          EXPECT_NEAR(Value(out.tensor, i, 1, r, 5), Want(args, i, 1, r, 5), 1e-5)
              << m << " x " << n << ", row " << r;
        }
      }
    }
  }
}

}  // namespace
}  // namespace belay::ops
