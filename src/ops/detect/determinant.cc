#include <cmath>
#include <utility>
#include <vector>

#include "ops/detect/detect.h"

namespace belay::ops {
namespace {

// Elimination with the largest pivot of each column.
double Determinant(std::vector<double>& a, size_t m) {
  double product = 1;
  for (size_t k = 0; k < m; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < m; ++i) {
      if (std::abs(a[i * m + k]) > std::abs(a[pivot * m + k])) pivot = i;
    }
    if (a[pivot * m + k] == 0) return 0;
    if (pivot != k) {
      for (size_t j = 0; j < m; ++j) std::swap(a[pivot * m + j], a[k * m + j]);
      product = -product;
    }
    product *= a[k * m + k];
    for (size_t i = k + 1; i < m; ++i) {
      const double factor = a[i * m + k] / a[k * m + k];
      for (size_t j = k; j < m; ++j) a[i * m + j] -= factor * a[k * m + j];
    }
  }
  return product;
}

struct DeterminantBody {
  int x, out;
  int64_t count, m;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const float*>(frame.at[x]);
    auto* to = reinterpret_cast<float*>(frame.at[out]);
    std::vector<double> matrix;
    for (int64_t i = 0; i < count; ++i, from += m * m) {
      matrix.assign(from, from + m * m);
      to[i] = static_cast<float>(Determinant(matrix, static_cast<size_t>(m)));
    }
  }
};

}  // namespace

void PlanDeterminant(Plan& plan, const Operand& x, const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetBody(DeterminantBody{x.binding, out.binding, out.tensor->count(), x.shape().back(0)});
}

}  // namespace belay::ops
