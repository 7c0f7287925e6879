#include "ops/resize/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/parallel.h"
#include "ops/layout/checks.h"
#include "ops/layout/strided_copy.h"
#include "ops/resize/resample_loops.h"
#include "ops/scratch.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// The taps of a dimension that is innermost, as columns: tap k of all elements, then tap k + 1. Elements of
// fewer taps get more: their first one in halves, whose sum is what the whole would be.
struct Columns {
  int64_t taps = 0;  // 0: there are too many of them
  std::vector<int32_t> index;
  std::vector<float> weight;
};

Columns ColumnsOf(const AxisTaps& axis) {
  Columns columns;
  int64_t most = 0;
  for (size_t i = 0; i < axis.outside.size(); ++i) {
    const int64_t taps = axis.begin[i + 1] - axis.begin[i];
    if (taps == 0) return columns;
    most = std::max(most, taps);
  }
  if (most > kMostPicked || axis.in > std::numeric_limits<int32_t>::max()) return columns;
  columns.taps = most;
  for (int64_t k = 0; k < most; ++k) {
    for (size_t i = 0; i < axis.outside.size(); ++i) {
      const int64_t begin = axis.begin[i], more = most - (axis.begin[i + 1] - begin);
      const auto tap = static_cast<size_t>(begin + std::max<int64_t>(k - more, 0));
      const auto halved = static_cast<int>(k > more ? 0 : std::min(k + 1, more));
      columns.index.push_back(static_cast<int32_t>(axis.index[tap]));
      columns.weight.push_back(std::ldexp(static_cast<float>(axis.weight[tap]), -halved));
    }
  }
  return columns;
}

template <class T>
struct ResampleBody {
  std::vector<AxisTaps> taps;
  std::vector<int> order;  // of the dimensions that change
  Shape in_shape, out_shape;
  StridedCopy load, store;
  int64_t offsets[2];  // of the views, in elements
  bool extrapolates;
  T extrapolation;
  int bindings[2];
  std::vector<std::vector<T>> weights;  // of the taps
  Columns columns;                      // of the last dimension
  Scratch<T> parts[2];                  // what each dimension is taken from, and what becomes of it

  // What is packed is read and written where it is.
  bool loads() const { return load.packed_bytes() == 0; }
  bool stores() const { return store.packed_bytes() == 0; }

  void operator()(const Frame& frame) const {
    if (order.empty()) return Copy(frame);
    Shape shape = in_shape;
    const T* values = reinterpret_cast<const T*>(frame.at[bindings[1]]) + offsets[1];
    size_t next = 0;
    if (loads()) {
      T* to = parts[next++].At(frame);
      load.Run(reinterpret_cast<char*>(to), frame.at[bindings[1]]);
      values = to;
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const bool last = i + 1 == order.size() && !stores();
      T* to = last ? reinterpret_cast<T*>(frame.at[bindings[0]]) + offsets[0] : parts[next++ % 2].At(frame);
      Along(values, to, shape, order[i]);
      values = to;
    }
    if (stores()) store.Run(frame.at[bindings[0]], reinterpret_cast<const char*>(values));
  }

  void Copy(const Frame& frame) const {
    T* values = parts[0].At(frame);
    load.Run(reinterpret_cast<char*>(values), frame.at[bindings[1]]);
    store.Run(frame.at[bindings[0]], reinterpret_cast<const char*>(values));
  }

  // What shrinks comes before what grows, and the innermost first, whose elements cost most.
  void Prepare(Plan& plan) {
    for (int d = in_shape.rank() - 1; d >= 0; --d) {
      const AxisTaps& axis = taps[static_cast<size_t>(d)];
      weights.emplace(weights.begin(), axis.weight.begin(), axis.weight.end());
      if (!axis.identity()) order.push_back(d);
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const AxisTaps &one = taps[static_cast<size_t>(a)], &other = taps[static_cast<size_t>(b)];
      return static_cast<double>(one.out) * static_cast<double>(other.in) <
             static_cast<double>(other.out) * static_cast<double>(one.in);
    });
    if (std::is_same_v<T, float> && in_shape.rank() > 0) columns = ColumnsOf(taps.back());
    Shape shape = in_shape;
    int64_t most[2] = {0, 0};
    size_t next = 0;
    if (loads() || order.empty()) most[next++] = CountOf(shape);
    for (size_t i = 0; i < order.size(); ++i) {
      shape[order[i]] = taps[static_cast<size_t>(order[i])].out;
      if (i + 1 == order.size() && !stores()) break;
      most[next % 2] = std::max(most[next % 2], CountOf(shape));
      ++next;
    }
    for (int i = 0; i < 2; ++i) parts[i] = {plan, most[i]};
  }

  void Along(const T* from, T* to, Shape& shape, int d) const {
    const AxisTaps& axis = taps[static_cast<size_t>(d)];
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < d; ++i) outer *= shape[i];
    for (int i = d + 1; i < shape.rank(); ++i) inner *= shape[i];
    shape[d] = axis.out;
    if (inner == 0) return;
    if constexpr (std::is_same_v<T, float>) {
      if (d + 1 == shape.rank() && columns.taps != 0 && !extrapolates) return Picked(from, to, outer, axis);
    }
    int64_t grain = std::max<int64_t>(1, 16 * 1024 / inner);
    ParallelFor(outer * axis.out, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* source = from + row / axis.out * axis.in * inner;
        Row(source, to + row * inner, static_cast<size_t>(row % axis.out), inner, axis,
            weights[static_cast<size_t>(d)]);
      }
    });
  }

  void Picked(const float* from, float* to, int64_t rows, const AxisTaps& axis) const {
    const auto pick = BestResampleLoops().pick;
    ParallelFor(rows, std::max<int64_t>(1, 16 * 1024 / axis.out), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        pick(to + row * axis.out, from + row * axis.in, columns.index.data(), columns.weight.data(),
             columns.taps, axis.out);
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
    if constexpr (std::is_same_v<T, float>) {
      BestResampleLoops().weigh_rows(to, from, axis.index.data() + first, weight_of.data() + first,
                                     static_cast<int64_t>(end - first), inner);
    } else {
      for (int64_t i = 0; i < inner; ++i) {
        T sum = 0;
        for (size_t k = first; k < end; ++k) sum += weight_of[k] * from[axis.index[k] * inner + i];
        to[i] = sum;
      }
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
  body.offsets[0] = out.tensor->offset;
  body.offsets[1] = self.tensor->offset;
  body.Prepare(plan);
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
