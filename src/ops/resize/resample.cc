#include "ops/resize/resample.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "ops/layout/checks.h"
#include "ops/layout/strided_copy.h"
#include "ops/scratch.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

template <class T>
struct ResampleBody {
  std::vector<AxisTaps> taps;
  Shape in_shape, out_shape;
  StridedCopy load, store;
  bool extrapolates;
  T extrapolation;
  int bindings[2];
  std::vector<std::vector<T>> weights;  // of the taps
  Scratch<T> parts[2];                  // what each dimension is taken from, and what becomes of it

  void operator()(const Frame& frame) const {
    Shape shape = in_shape;
    T *values = parts[0].At(frame), *next = parts[1].At(frame);
    load.Run(reinterpret_cast<char*>(values), frame.at[bindings[1]]);
    for (int d = 0; d < shape.rank(); ++d) {
      const AxisTaps& axis = taps[static_cast<size_t>(d)];
      if (axis.identity()) continue;
      Along(values, next, shape, d, axis);
      std::swap(values, next);
    }
    store.Run(frame.at[bindings[0]], reinterpret_cast<const char*>(values));
  }

  void Reserve(Plan& plan) {
    Shape shape = in_shape;
    int64_t most[2] = {CountOf(shape), 0};
    for (int d = 0, to = 1; d < shape.rank(); ++d) {
      const AxisTaps& axis = taps[static_cast<size_t>(d)];
      weights.emplace_back(axis.weight.begin(), axis.weight.end());
      if (axis.identity()) continue;
      shape[d] = axis.out;
      most[to] = std::max(most[to], CountOf(shape));
      to = 1 - to;
    }
    for (int i = 0; i < 2; ++i) parts[i] = {plan, most[i]};
  }

  void Along(const T* from, T* to, Shape& shape, int d, const AxisTaps& axis) const {
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < d; ++i) outer *= shape[i];
    for (int i = d + 1; i < shape.rank(); ++i) inner *= shape[i];
    shape[d] = axis.out;
    int64_t grain = std::max<int64_t>(1, 16 * 1024 / inner);
    ParallelFor(outer * axis.out, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* source = from + row / axis.out * axis.in * inner;
        Row(source, to + row * inner, static_cast<size_t>(row % axis.out), inner, axis,
            weights[static_cast<size_t>(d)]);
      }
    });
  }

  void Row(const T* from, T* to, size_t at, int64_t inner, const AxisTaps& axis,
           const std::vector<T>& weight_of) const {
    if (extrapolates && axis.outside[at]) {
      std::fill(to, to + inner, extrapolation);
      return;
    }
    auto first = static_cast<size_t>(axis.begin[at]), end = static_cast<size_t>(axis.begin[at + 1]);
    if (end - first > kManyTaps) return ManyTaps(from, to, first, end, inner, axis, weight_of);
    if (inner == 1) {
      T sum = 0;
      for (size_t k = first; k < end; ++k) sum += weight_of[k] * from[axis.index[k]];
      *to = sum;
      return;
    }
    std::fill(to, to + inner, T{0});
    for (size_t k = first; k < end; ++k) {
      const T* x = from + axis.index[k] * inner;
      T weight = weight_of[k];
      for (int64_t i = 0; i < inner; ++i) to[i] += weight * x[i];
    }
  }

  static constexpr size_t kManyTaps = 1024;

  static void ManyTaps(const T* from, T* to, size_t first, size_t end, int64_t inner, const AxisTaps& axis,
                       const std::vector<T>& weights) {
    constexpr int64_t kTogether = 256;
    for (int64_t begin = 0; begin < inner; begin += kTogether) {
      const int64_t n = std::min(kTogether, inner - begin);
      double sums[kTogether] = {};
      for (size_t k = first; k < end; ++k) {
        const T* x = from + axis.index[k] * inner + begin;
        const auto weight = static_cast<double>(weights[k]);
        for (int64_t i = 0; i < n; ++i) sums[i] += weight * static_cast<double>(x[i]);
      }
      for (int64_t i = 0; i < n; ++i) to[begin + i] = static_cast<T>(sums[i]);
    }
  }
};

template <class T>
void PlanIn(Plan& plan, DType compute, const Operand& self, const Operand& out, std::vector<AxisTaps> taps,
            double extrapolation) {
  ResampleBody<T> body;
  body.in_shape = self.tensor->shape;
  body.out_shape = out.tensor->shape;
  body.load = StridedCopy(PackedOf(compute, body.in_shape), *self.tensor);
  body.store = StridedCopy(*out.tensor, PackedOf(compute, body.out_shape));
  body.extrapolates = false;
  for (const AxisTaps& axis : taps) {
    for (bool outside : axis.outside) body.extrapolates = body.extrapolates || outside;
  }
  body.extrapolation = static_cast<T>(extrapolation);
  body.taps = std::move(taps);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  body.Reserve(plan);
  plan.SetCost(200 + static_cast<uint64_t>(self.tensor->count() + out.tensor->count()) * 4);
  plan.SetBody(body);
}

}  // namespace

void PlanResample(Plan& plan, const Operand& self, const Operand& out, std::vector<AxisTaps> taps,
                  double extrapolation) {
  CheckSameType(self, out);
  Shape wanted;
  for (const AxisTaps& axis : taps) wanted.push_back(axis.out);
  CheckShape(out, wanted);
  if (out.tensor->empty()) return;
  if (out.dtype() == DType::kF64) {
    PlanIn<double>(plan, DType::kF64, self, out, std::move(taps), extrapolation);
  } else {
    PlanIn<float>(plan, DType::kF32, self, out, std::move(taps), extrapolation);
  }
}

}  // namespace belay::ops
