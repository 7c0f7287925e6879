#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/kernels.h"
#include "ops/plan.h"

namespace belay::ops {
namespace {

using Matrix = std::vector<double>;  // by rows

Tensor Packed(const Shape& shape) {
  Tensor t;
  t.dtype = DType::kF64;
  t.shape = shape;
  t.strides = tensor::PackedStrides(shape);
  return t;
}

// U, S and V of one matrix.
struct Parts {
  Matrix u, s, v;
};

Parts Decomposed(const Matrix& a, int64_t rows, int64_t columns, bool full) {
  const int64_t low = std::min(rows, columns), us = full ? rows : low, vs = full ? columns : low;
  Parts parts{Matrix(static_cast<size_t>(rows * us)), Matrix(static_cast<size_t>(low)),
              Matrix(static_cast<size_t>(columns * vs))};
  Plan plan("Svd");
  const Tensor x = Packed({rows, columns}), s = Packed({low}), u = Packed({rows, us}),
               v = Packed({columns, vs});
  kernels::Svd(plan, DType::kF64, {&x, nullptr, 0, "A"}, full, true, {&s, nullptr, 1, "S"},
               {&u, nullptr, 2, "U"}, {&v, nullptr, 3, "V"});
  char* at[] = {const_cast<char*>(reinterpret_cast<const char*>(a.data())),
                reinterpret_cast<char*>(parts.s.data()), reinterpret_cast<char*>(parts.u.data()),
                reinterpret_cast<char*>(parts.v.data())};
  std::vector<std::max_align_t> workspace(plan.workspace_bytes() / sizeof(std::max_align_t) + 1);
  plan.Run({at, reinterpret_cast<char*>(workspace.data())});
  return parts;
}

// How far the columns of a matrix are from being orthogonal and of length one.
double Skew(const Matrix& m, int64_t rows, int64_t columns) {
  double worst = 0;
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double dot = i == j ? -1 : 0;
      for (int64_t k = 0; k < rows; ++k) {
        dot += m[static_cast<size_t>(k * columns + i)] * m[static_cast<size_t>(k * columns + j)];
      }
      worst = std::max(worst, std::fabs(dot));
    }
  }
  return worst;
}

void Check(const Matrix& a, int64_t rows, int64_t columns, bool full) {
  const Parts parts = Decomposed(a, rows, columns, full);
  const int64_t low = std::min(rows, columns), us = full ? rows : low, vs = full ? columns : low;
  EXPECT_LT(Skew(parts.u, rows, us), 1e-10);
  EXPECT_LT(Skew(parts.v, columns, vs), 1e-10);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < low; ++k) {
        sum += parts.u[static_cast<size_t>(i * us + k)] * parts.s[static_cast<size_t>(k)] *
               parts.v[static_cast<size_t>(j * vs + k)];
      }
      EXPECT_NEAR(sum, a[static_cast<size_t>(i * columns + j)], 1e-10);
    }
  }
  for (int64_t k = 0; k + 1 < low; ++k) {
    EXPECT_GE(parts.s[static_cast<size_t>(k)], parts.s[static_cast<size_t>(k + 1)]);
  }
}

TEST(Svd, ItsPartsMultiplyToTheMatrix) {
  const int64_t sizes[][2] = {{1, 1}, {2, 3}, {3, 2}, {4, 4}, {6, 2}, {2, 6}};
  for (const auto& size : sizes) {
    Matrix a;
    for (int64_t i = 0; i < size[0] * size[1]; ++i) a.push_back(std::sin(static_cast<double>(7 * i + 1)));
    Check(a, size[0], size[1], false);
    Check(a, size[0], size[1], true);
  }
}

TEST(Svd, OfLessThanFullRankItIsCompleted) {
  Check(Matrix(9, 0.0), 3, 3, false);
  Check({1, 2, 2, 4, 3, 6}, 3, 2, true);
  Check({1, 2, 3, 2, 4, 6}, 2, 3, true);
}

}  // namespace
}  // namespace belay::ops
