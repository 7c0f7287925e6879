#include "ops/linalg/linalg.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/channels_last.h"
#include "ops/layout/moves.h"
#include "ops/layout/strided_copy.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Puts the row with the largest element of column k at or below it in place k. Whether rows were swapped.
template <class T>
bool Pivot(T* a, int64_t columns, int64_t m, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < m; ++i) {
    if (std::abs(a[i * columns + k]) > std::abs(a[best * columns + k])) best = i;
  }
  if (best == k) return false;
  std::swap_ranges(a + best * columns, a + (best + 1) * columns, a + k * columns);
  return true;
}

// row -= factor * other, from column k on
template <class T>
void Subtract(T* row, const T* other, T factor, int64_t k, int64_t columns) {
  for (int64_t j = k; j < columns; ++j) row[j] -= factor * other[j];
}

// Elimination above and below the diagonal of the matrix with the identity beside it, for which there is room
// in a.
template <class T>
void Invert(const T* x, T* out, T* a, int64_t m) {
  const int64_t columns = 2 * m;
  for (int64_t i = 0; i < m; ++i) {
    std::copy_n(x + i * m, m, a + i * columns);
    std::fill_n(a + i * columns + m, m, T{0});
    a[i * columns + m + i] = 1;
  }
  for (int64_t k = 0; k < m; ++k) {
    Pivot(a, columns, m, k);
    T* row = a + k * columns;
    const T pivot = row[k];
    if (pivot == T{0})
      Fail(tensor::kRuntimeFailure, "singular-matrix", "a matrix of {} rows has no inverse", m);
    for (int64_t j = k; j < columns; ++j) row[j] /= pivot;
    for (int64_t i = 0; i < m; ++i) {
      if (i != k) Subtract(a + i * columns, row, a[i * columns + k], k, columns);
    }
  }
  for (int64_t i = 0; i < m; ++i) std::copy_n(a + i * columns + m, m, out + i * m);
}

// Elimination below the diagonal, up to a pivot that is zero. The sign that the swaps of rows leave.
double Triangulate(double* a, int64_t m) {
  double sign = 1;
  for (int64_t k = 0; k < m; ++k) {
    if (Pivot(a, m, m, k)) sign = -sign;
    const double* row = a + k * m;
    if (row[k] == 0) break;
    for (int64_t j = k + 1; j < m; ++j) Subtract(a + j * m, row, a[j * m + k] / row[k], k, m);
  }
  return sign;
}

// The same of a small matrix, whose rows have room for eight elements. Nothing is decided by jumps, which
// would be guessed wrongly as often as rightly.
constexpr int64_t kSmall = 8;
double TriangulateSmall(double* a, int64_t m) {
  double sign = 1;
  for (int64_t k = 0; k < m; ++k) {
    double* row = a + k * kSmall;
    int64_t best = k;
    double most = std::fabs(row[k]);
    for (int64_t i = k + 1; i < m; ++i) {
      const double size = std::fabs(a[i * kSmall + k]);
      best = size > most ? i : best;
      most = size > most ? size : most;
    }
    double* other = a + best * kSmall;
    sign = best != k ? -sign : sign;
    for (int64_t j = 0; j < kSmall; ++j) {
      const double x = row[j], y = other[j];
      other[j] = x, row[j] = y;
    }
    if (row[k] == 0) break;
    for (int64_t j = k + 1; j < m; ++j) {
      double* below = a + j * kSmall;
      const double factor = below[k] / row[k];
      for (int64_t i = 0; i < kSmall; ++i) below[i] -= factor * row[i];
    }
  }
  return sign;
}

// Of a matrix that is in triangles.
double ProductOfPivots(double sign, const double* a, int64_t columns, int64_t m) {
  double product = sign;
  for (int64_t k = 0; k < m; ++k) {
    const double pivot = a[k * columns + k];
    if (pivot == 0) return 0;
    product *= pivot;
  }
  return product;
}

double SmallDeterminant(const float* x, int64_t m) {
  double a[kSmall * kSmall] = {};
  for (int64_t i = 0; i < m; ++i) std::copy_n(x + i * m, m, a + i * kSmall);
  const double sign = TriangulateSmall(a, m);
  return ProductOfPivots(sign, a, kSmall, m);
}

struct DeterminantBody {
  int x, out;
  int64_t count, m;
  Scratch<double> matrix;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const float*>(frame.at[x]);
    auto* to = reinterpret_cast<float*>(frame.at[out]);
    if (m <= kSmall) {
      return ParallelFor(count, 256, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          to[i] = static_cast<float>(SmallDeterminant(from + i * m * m, m));
      });
    }
    double* a = matrix.At(frame);
    for (int64_t i = 0; i < count; ++i, from += m * m) {
      std::copy_n(from, m * m, a);
      const double sign = Triangulate(a, m);
      to[i] = static_cast<float>(ProductOfPivots(sign, a, m, m));
    }
  }
};

const double* Doubles(const PackedOperand& x, const Frame& frame) {
  return reinterpret_cast<const double*>(x.Loaded(frame));
}

double* DoublesOf(const PackedOperand& out, const Frame& frame) {
  return reinterpret_cast<double*>(out.Result(frame));
}

template <class T>  // double, or complex numbers of them
struct InverseBody {
  int x, out;                            // bindings
  std::vector<StridedCopy> load, store;  // the real parts, and the imaginary ones of what has them
  int64_t count, m;
  Scratch<T> matrices, both;

  void operator()(const Frame& frame) const {
    T* a = matrices.At(frame);
    if (load.size() * sizeof(double) < sizeof(T)) std::fill_n(a, matrices.count(), T{0});
    for (const StridedCopy& part : load) part.Run(reinterpret_cast<char*>(a), frame.at[x]);
    for (int64_t i = 0; i < count; ++i) Invert(a + i * m * m, a + i * m * m, both.At(frame), m);
    for (const StridedCopy& part : store) part.Run(frame.at[out], reinterpret_cast<const char*>(a));
  }
};

// The tensor itself, or the real and the imaginary parts of one that is complex.
std::vector<Tensor> PartsIn(const Tensor& t) {
  if (!IsComplex(t.dtype)) return {t};
  return {tensor::PartsOf(t, 0), tensor::PartsOf(t, 1)};
}

// Of what both have.
std::vector<StridedCopy> CopiesOfParts(const Tensor& to, const Tensor& from) {
  const std::vector<Tensor> made = PartsIn(to), given = PartsIn(from);
  std::vector<StridedCopy> copies;
  for (size_t i = 0; i < std::min(made.size(), given.size()); ++i) copies.emplace_back(made[i], given[i]);
  return copies;
}

template <class T>
void PlanInverseIn(Plan& plan, DType type, const Operand& x, const Operand& out, int64_t count) {
  const int64_t m = x.shape().back(0);
  const Tensor packed = tensor::PackedOf(type, x.shape());
  plan.SetCost(100 + static_cast<uint64_t>(count * m * m * m));
  plan.SetBody(InverseBody<T>{x.binding,
                              out.binding,
                              CopiesOfParts(packed, *x.tensor),
                              CopiesOfParts(*out.tensor, packed),
                              count,
                              m,
                              {plan, count * m * m},
                              {plan, 2 * m * m}});
}

struct LogDeterminantBody {
  PackedOperand x, sign, logarithm;
  int64_t count, m;
  Scratch<double> matrix;

  void operator()(const Frame& frame) const {
    const double* from = Doubles(x, frame);
    double *signs = DoublesOf(sign, frame), *sizes = DoublesOf(logarithm, frame);
    for (int64_t i = 0; i < count; ++i) {
      double* a = matrix.At(frame);
      std::copy_n(from + i * m * m, m * m, a);
      double &of_sign = signs[i], &of_size = sizes[i];
      of_sign = Triangulate(a, m), of_size = 0;
      for (int64_t k = 0; k < m; ++k) {
        const double pivot = a[k * m + k];
        of_sign *= static_cast<double>((pivot > 0) - (pivot < 0));
        of_size += std::log(std::fabs(pivot));
        if (pivot == 0) break;
      }
    }
    sign.Store(frame);
    logarithm.Store(frame);
  }
};

double Distance(const double* a, const double* b, int64_t size, double p) {
  double sum = 0;
  if (p == 2) {
    for (int64_t i = 0; i < size; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
  }
  for (int64_t i = 0; i < size; ++i) {
    const double gap = std::fabs(a[i] - b[i]);
    if (std::isinf(p)) {
      sum = std::isnan(gap) ? gap : std::max(sum, gap);  // NaN stays, whatever follows
    } else {
      sum += p == 0 ? static_cast<double>(gap != 0) : std::pow(gap, p);
    }
  }
  return std::isinf(p) || p == 0 ? sum : std::pow(sum, 1 / p);
}

struct PairDistancesBody {
  PackedOperand x, out;
  int64_t rows, size;
  double p;

  void operator()(const Frame& frame) const {
    const double* from = Doubles(x, frame);
    double* to = DoublesOf(out, frame);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = i + 1; j < rows; ++j) *to++ = Distance(from + i * size, from + j * size, size, p);
    }
    out.Store(frame);
  }
};

struct DistancesBody {
  PackedOperand x1, x2, out;
  std::vector<int64_t> a, b;  // the matrices of each batch, by number
  int64_t rows, others, size;
  double p;

  void operator()(const Frame& frame) const {
    const double *first = Doubles(x1, frame), *second = Doubles(x2, frame);
    double* to = DoublesOf(out, frame);
    const int64_t grain = std::max<int64_t>(1, 16 * 1024 / (others * size + 1));
    ParallelFor(static_cast<int64_t>(a.size()) * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto batch = static_cast<size_t>(i / rows);
        const double *row = first + (a[batch] * rows + i % rows) * size,
                     *other = second + b[batch] * others * size;
        for (int64_t j = 0; j < others; ++j) to[i * others + j] = Distance(row, other + j * size, size, p);
      }
    });
    out.Store(frame);
  }
};

// Which matrix of an operand each batch has, where batches broadcast.
std::vector<int64_t> BatchNumbers(const Operand& x, const Shape& batches) {
  const Tensor numbers =
      tensor::PackedOf(DType::kI8, Shape::Of(x.tensor->shape.data(), x.shape().rank() - 2));
  return OffsetsOf(tensor::Expanded(numbers, batches), 0, batches.rank());
}

int64_t MatricesIn(const Shape& shape) {
  int64_t count = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) count *= shape[i];
  return count;
}

}  // namespace

void PlanDeterminant(Plan& plan, const Operand& x, const Operand& out) {
  if (out.tensor->empty()) return;
  const int64_t m = x.shape().back(0);
  plan.SetBody(DeterminantBody{x.binding, out.binding, out.tensor->count(), m, {plan, m * m}});
}

void PlanInverse(Plan& plan, const Operand& x, const Operand& out) {
  if (out.tensor->empty()) return;
  const int64_t count = MatricesIn(x.shape());
  if (IsComplex(out.dtype())) return PlanInverseIn<std::complex<double>>(plan, DType::kC128, x, out, count);
  PlanInverseIn<double>(plan, DType::kF64, x, out, count);
}

void PlanLogDeterminant(Plan& plan, const Operand& x, const Operand& sign, const Operand& logarithm) {
  if (sign.tensor->empty()) return;
  const int64_t m = x.shape().back(0);
  plan.SetBody(LogDeterminantBody{{plan, x, DType::kF64, false, true},
                                  {plan, sign, DType::kF64, false, false},
                                  {plan, logarithm, DType::kF64, false, false},
                                  MatricesIn(x.shape()),
                                  m,
                                  {plan, m * m}});
}

void PlanPairDistances(Plan& plan, const Operand& x, double p, const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count() * x.shape()[1]));
  plan.SetBody(PairDistancesBody{{plan, x, DType::kF64, false, true},
                                 {plan, out, DType::kF64, false, false},
                                 x.shape()[0],
                                 x.shape()[1],
                                 p});
}

void PlanDistances(Plan& plan, const Operand& x1, const Operand& x2, double p, const Operand& out) {
  if (out.tensor->empty()) return;
  const Shape batches = Shape::Of(out.tensor->shape.data(), out.shape().rank() - 2);
  DistancesBody body{{plan, x1, DType::kF64, false, true},
                     {plan, x2, DType::kF64, false, true},
                     {plan, out, DType::kF64, false, false},
                     BatchNumbers(x1, batches),
                     BatchNumbers(x2, batches),
                     out.shape().back(1),
                     out.shape().back(0),
                     x1.shape().back(0),
                     p};
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count() * (body.size + 1)));
  plan.SetBody(body);
}

}  // namespace belay::ops
