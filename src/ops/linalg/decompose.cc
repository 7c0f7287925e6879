// Matrices as products of orthogonal and diagonal or triangular ones. Computed in f64, a matrix at a time.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/layout/strided_copy.h"
#include "ops/linalg/linalg.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// A list of matrices (or of vectors), each of which is copied from or to a packed one of f64.
// Complex numbers are pairs of real ones there.
struct Matrices {
  Matrices() = default;
  Matrices(const Operand& operand, int dims, bool loads) : binding(operand.binding) {
    const Tensor& t = *operand.tensor;
    const int outer = t.shape.rank() - dims;
    at = OffsetsOf(t, 0, outer);
    for (int64_t& offset : at) offset += tensor::OffsetOf(t);
    Tensor one = tensor::DimsOf(t, outer, t.shape.rank());
    if (t.dtype == DType::kC64) {
      one = tensor::PartsOf(one, 0);
      one.shape.push_back(2), one.strides.push_back(1);
    }
    const Tensor packed = tensor::PackedOf(DType::kF64, one.shape);
    copy = loads ? StridedCopy(packed, one) : StridedCopy(one, packed);
  }
  bool present() const { return binding >= 0; }
  void Load(const Frame& frame, size_t i, double* to) const {
    copy.RunHere(reinterpret_cast<char*>(to), frame.at[binding] + at[i]);
  }
  void Store(const Frame& frame, size_t i, const double* from) const {
    if (present()) copy.RunHere(frame.at[binding] + at[i], reinterpret_cast<const char*>(from));
  }

  std::vector<int64_t> at;
  StridedCopy copy;
  int binding = -1;
};

double Dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Turns two vectors of n and what goes with them so that they become orthogonal. Whether they were not.
bool TurnPair(double* x, double* y, int64_t n, double* v, double* w, int64_t m) {
  const double a = Dot(x, x, n), b = Dot(y, y, n), c = Dot(x, y, n);
  if (std::fabs(c) <= 1e-15 * std::sqrt(a * b) || c == 0) return false;
  const double zeta = (b - a) / (2 * c);
  const double t = (zeta < 0 ? -1 : 1) / (std::fabs(zeta) + std::hypot(1.0, zeta));
  const double cosine = 1 / std::hypot(1.0, t), sine = cosine * t;
  const auto turn = [&](double* p, double* q, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double old = p[i];
      p[i] = cosine * old - sine * q[i];
      q[i] = sine * old + cosine * q[i];
    }
  };
  turn(x, y, n);
  turn(v, w, m);
  return true;
}

// Rows from `count` on become unit vectors of n that are orthogonal to all before them.
void Complete(double* rows, int64_t count, int64_t total, int64_t n) {
  int64_t next = 0;  // the unit vector that is tried
  for (; count < total && next < n; ++next) {
    double* row = rows + count * n;
    std::fill_n(row, n, 0.0);
    row[next] = 1;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < count; ++k) {
        const double along = Dot(rows + k * n, row, n);
        for (int64_t i = 0; i < n; ++i) row[i] -= along * rows[k * n + i];
      }
    }
    const double size = std::sqrt(Dot(row, row, n));
    if (size < 1e-3) continue;
    for (int64_t i = 0; i < n; ++i) row[i] /= size;
    ++count;
  }
}

// Singular values by turning pairs of columns (Jacobi, from one side). A matrix that is wider than high is
// taken transposed. Everything is kept by columns: those of the matrix become those of U times S.
struct SvdBody {
  Matrices a, s, u, v;
  int64_t rows, columns, u_columns, v_columns;
  PieceScratch<double> memory;

  bool wide() const { return columns > rows; }
  int64_t high() const { return std::max(rows, columns); }
  int64_t low() const { return std::min(rows, columns); }
  // The matrix, its columns (room for all of a square), V's, the results.
  int64_t Room() const { return 4 * high() * high() + 2 * high(); }

  void operator()(const Frame& frame) const {
    memory.For(frame, [&](int64_t begin, int64_t end, double* room) {
      for (int64_t i = begin; i < end; ++i) One(frame, static_cast<size_t>(i), room);
    });
  }

  void One(const Frame& frame, size_t at, double* room) const {
    const int64_t n = high(), k = low();
    double *matrix = room, *x = matrix + n * n, *y = x + n * n, *result = y + n * n, *values = result + n * n;
    a.Load(frame, at, matrix);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j)
        x[i * n + j] = wide() ? matrix[i * columns + j] : matrix[j * columns + i];
    }
    std::fill_n(y, k * k, 0.0);
    for (int64_t i = 0; i < k; ++i) y[i * k + i] = 1;
    Diagonalise(x, y, n, k);
    Order(x, y, values, n, k);
    s.Store(frame, at, values);
    if (!u.present()) return;
    int64_t found = 0;
    while (found < k && values[found] > 1e-13 * values[0]) ++found;
    for (int64_t i = 0; i < found; ++i) {
      for (int64_t j = 0; j < n; ++j) x[i * n + j] /= values[i];
    }
    Complete(x, found, wide() ? v_columns : u_columns, n);
    StoreColumns(frame, at, wide() ? v : u, x, n, wide() ? v_columns : u_columns, result);
    StoreColumns(frame, at, wide() ? u : v, y, k, k, result);
  }

  static void Diagonalise(double* x, double* y, int64_t n, int64_t k) {
    constexpr int kSweeps = 60;
    bool turned = true;
    for (int sweep = 0; sweep < kSweeps && turned; ++sweep) {
      turned = false;
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t j = i + 1; j < k; ++j) {
          turned = TurnPair(x + i * n, x + j * n, n, y + i * k, y + j * k, k) || turned;
        }
      }
    }
  }

  // The largest first.
  static void Order(double* x, double* y, double* values, int64_t n, int64_t k) {
    for (int64_t i = 0; i < k; ++i) values[i] = std::sqrt(Dot(x + i * n, x + i * n, n));
    for (int64_t i = 0; i < k; ++i) {
      const int64_t best = std::max_element(values + i, values + k) - values;
      if (best == i) continue;
      std::swap(values[i], values[best]);
      std::swap_ranges(x + i * n, x + (i + 1) * n, x + best * n);
      std::swap_ranges(y + i * k, y + (i + 1) * k, y + best * k);
    }
  }

  static void StoreColumns(const Frame& frame, size_t at, const Matrices& to, const double* columns,
                           int64_t n, int64_t count, double* result) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < n; ++j) result[j * count + i] = columns[i * n + j];
    }
    to.Store(frame, at, result);
  }
};

// By Householder's reflections, with the signs of LAPACK.
struct QrBody {
  Matrices a, q, r;
  int64_t rows, columns, kept;  // kept: the columns of Q and rows of R
  PieceScratch<double> memory;

  int64_t Room() const { return 2 * rows * columns + 2 * rows * std::max(rows, columns) + columns; }

  void operator()(const Frame& frame) const {
    memory.For(frame, [&](int64_t begin, int64_t end, double* room) {
      for (int64_t i = begin; i < end; ++i) One(frame, static_cast<size_t>(i), room);
    });
  }

  void One(const Frame& frame, size_t at, double* room) const {
    double *x = room, *tau = x + rows * columns, *result = tau + columns;
    a.Load(frame, at, x);
    const int64_t steps = std::min(rows, columns);
    for (int64_t k = 0; k < steps; ++k) tau[k] = Reflect(x, k);
    for (int64_t i = 0; i < kept; ++i) {
      for (int64_t j = 0; j < columns; ++j) result[i * columns + j] = j < i ? 0 : x[i * columns + j];
    }
    r.Store(frame, at, result);
    if (!q.present()) return;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < kept; ++j) result[i * kept + j] = i == j ? 1 : 0;
    }
    for (int64_t k = steps; k-- > 0;) Apply(x, k, tau[k], result, kept, 0);
    q.Store(frame, at, result);
  }

  // Makes column k below the diagonal zero; what reflects is kept there, without its first element, 1.
  double Reflect(double* x, int64_t k) const {
    double below = 0;
    for (int64_t i = k + 1; i < rows; ++i) below += x[i * columns + k] * x[i * columns + k];
    const double alpha = x[k * columns + k];
    if (below == 0) return 0;
    const double beta = -std::copysign(std::sqrt(alpha * alpha + below), alpha);
    for (int64_t i = k + 1; i < rows; ++i) x[i * columns + k] /= alpha - beta;
    const double tau = (beta - alpha) / beta;
    Apply(x, k, tau, x, columns, k + 1);
    x[k * columns + k] = beta;
    return tau;
  }

  // Reflects the columns of `to` from `first` on.
  void Apply(const double* x, int64_t k, double tau, double* to, int64_t width, int64_t first) const {
    if (tau == 0) return;
    for (int64_t j = first; j < width; ++j) {
      double along = to[k * width + j];
      for (int64_t i = k + 1; i < rows; ++i) along += x[i * columns + k] * to[i * width + j];
      along *= tau;
      to[k * width + j] -= along;
      for (int64_t i = k + 1; i < rows; ++i) to[i * width + j] -= along * x[i * columns + k];
    }
  }
};

// A = L * L's transpose, column after column. L is kept by rows; of A only the triangle below the diagonal is
// read, or that above it, which is the transpose of the former. A complex number x + iy is the matrix [x -y;
// y x], whose transpose is its conjugate, so that the triangle of these matrices is the complex one.
struct CholeskyBody {
  Matrices a, l;
  int64_t m;  // of real numbers
  bool upper, complex;
  PieceScratch<double> memory;

  int64_t Room() const { return 2 * m * m + (complex ? m * m / 2 : 0); }

  void operator()(const Frame& frame) const {
    memory.For(frame, [&](int64_t begin, int64_t end, double* room) {
      for (int64_t i = begin; i < end; ++i) One(frame, static_cast<size_t>(i), room);
    });
  }

  void One(const Frame& frame, size_t at, double* room) const {
    double *x = room, *lower = room + m * m, *pairs = lower + m * m;
    a.Load(frame, at, complex ? pairs : x);
    if (complex) Spread(pairs, x);
    std::fill_n(lower, m * m, 0.0);
    for (int64_t j = 0; j < m; ++j) {
      for (int64_t i = j; i < m; ++i) {
        const double rest = (upper ? x[j * m + i] : x[i * m + j]) - Dot(lower + i * m, lower + j * m, j);
        if (i == j && !(rest > 0)) {
          Fail(tensor::kRuntimeFailure, "not-positive-definite",
               "matrix {} has no Cholesky factor: its leading minor of order {} is not positive", at,
               complex ? j / 2 + 1 : j + 1);
        }
        lower[i * m + j] = i == j ? std::sqrt(rest) : rest / lower[j * m + j];
      }
    }
    if (upper) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < m; ++j) x[i * m + j] = lower[j * m + i];
      }
    }
    const double* result = upper ? x : lower;
    if (complex) Collect(result, pairs);
    l.Store(frame, at, complex ? pairs : result);
  }

  void Spread(const double* pairs, double* to) const {
    for (int64_t i = 0; i < m; i += 2) {
      for (int64_t j = 0; j < m; j += 2, pairs += 2) {
        const double real = pairs[0], imaginary = i == j ? 0 : pairs[1];
        to[i * m + j] = to[(i + 1) * m + j + 1] = real;
        to[(i + 1) * m + j] = imaginary, to[i * m + j + 1] = -imaginary;
      }
    }
  }

  void Collect(const double* from, double* pairs) const {
    for (int64_t i = 0; i < m; i += 2) {
      for (int64_t j = 0; j < m; j += 2, pairs += 2) {
        pairs[0] = from[i * m + j], pairs[1] = from[(i + 1) * m + j];
      }
    }
  }
};

Shape WithLast(const Operand& matrices, std::initializer_list<int64_t> last) {
  Shape shape = Shape::Of(matrices.tensor->shape.data(), matrices.shape().rank() - 2);
  for (int64_t size : last) shape.push_back(size);
  return shape;
}

void CheckMatrices(const Operand& self) {
  if (self.shape().rank() >= 2) return;
  Fail(tensor::kInvalidArgument, "op-rank", "{} has shape {}; it needs two dimensions or more", self.name,
       self.shape().ToString());
}

void CheckPart(const Operand& self, const Operand& part, const Shape& shape) {
  CheckSameType(self, part);
  CheckShape(part, shape);
}

}  // namespace

namespace kernels {

void Svd(Plan& plan, DType, const Operand& self, bool full, bool vectors, const Operand& s, const Operand& u,
         const Operand& v) {
  CheckMatrices(self);
  const Shape& shape = self.tensor->shape;
  SvdBody body;
  body.rows = shape.back(1), body.columns = shape.back(0);
  const int64_t low = body.low();
  body.u_columns = full ? body.rows : low, body.v_columns = full ? body.columns : low;
  CheckPart(self, s, WithLast(self, {low}));
  if (vectors) {
    CheckPart(self, u, WithLast(self, {body.rows, body.u_columns}));
    CheckPart(self, v, WithLast(self, {body.columns, body.v_columns}));
  }
  if (self.tensor->empty()) {
    if (!vectors || (u.tensor->empty() && v.tensor->empty())) return;
    Fail(tensor::kInvalidArgument, "op-rank", "{} has shape {}: full matrices of one without elements",
         self.name, shape.ToString());
  }
  body.a = Matrices(self, 2, true), body.s = Matrices(s, 1, false);
  if (vectors) body.u = Matrices(u, 2, false), body.v = Matrices(v, 2, false);
  body.memory = {plan, static_cast<int64_t>(body.a.at.size()), 1, body.Room()};
  plan.SetCost(1000 + static_cast<uint64_t>(self.tensor->count() * low) * 20);
  plan.SetBody(body);
}

void LinalgQr(Plan& plan, DType, const Operand& self, int64_t mode, const Operand& q, const Operand& r) {
  CheckMatrices(self);
  if (mode < 0 || mode > 2) {
    Fail(tensor::kInvalidArgument, "op-qr-mode", "mode is {}; it is 0 (reduced), 1 (complete) or 2 (r)",
         mode);
  }
  const Shape& shape = self.tensor->shape;
  QrBody body;
  body.rows = shape.back(1), body.columns = shape.back(0);
  body.kept = mode == 1 ? body.rows : std::min(body.rows, body.columns);
  CheckPart(self, r, WithLast(self, {body.kept, body.columns}));
  if (mode != 2) CheckPart(self, q, WithLast(self, {body.rows, body.kept}));
  const int64_t count = CountOf(WithLast(self, {}));
  if (count == 0 || body.rows == 0) return;
  body.a = Matrices(self, 2, true), body.r = Matrices(r, 2, false);
  if (mode != 2) body.q = Matrices(q, 2, false);
  body.memory = {plan, count, 1, body.Room()};
  plan.SetCost(1000 + static_cast<uint64_t>(count * body.rows * body.columns * body.kept) * 4);
  plan.SetBody(body);
}

void LinalgCholesky(Plan& plan, DType, const Operand& self, bool upper, const Operand& out) {
  CheckSquare(self);
  CheckPart(self, out, self.shape());
  if (out.tensor->empty()) return;
  CholeskyBody body;
  body.complex = self.dtype() == DType::kC64;
  body.a = Matrices(self, 2, true), body.l = Matrices(out, 2, false);
  body.m = self.shape().back(0) * (body.complex ? 2 : 1), body.upper = upper;
  const auto count = static_cast<int64_t>(body.a.at.size());
  body.memory = {plan, count, 1, body.Room()};
  plan.SetCost(1000 + static_cast<uint64_t>(count * body.m * body.m * body.m));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
