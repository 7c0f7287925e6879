// Softmax along one dimension, and its logarithm. Each row is converted to f32 (or f64), and there the
// largest element is subtracted first, so nothing overflows. Rows that do not lie along memory are taken a
// few side by side, as their elements do. Of long rows nothing is kept between the passes: memory for it
// would be larger than the tensor, and computing an exponential again takes about as long as fetching it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "ops/kernels.h"
#include "ops/loop_nest.h"
#include "ops/norm/softmax_loops.h"
#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"
#include "ops/rules.h"

namespace belay::ops {
namespace {

template <class T>
struct SoftmaxBody {
  LoopNest rows;  // out, in: the first elements of the rows
  Axis axis;
  Lane in, out;  // along the rows, or across them when they lie side by side
  int bindings[2];
  bool side_by_side, logarithm;
  const SoftmaxLoops<T>* loops;

  static constexpr int64_t kTile = 256;   // rows side by side
  static constexpr int64_t kGroup = 256;  // of their elements are added up before the sums go on to f64
  static constexpr int64_t kMostKept = (2 << 20) / sizeof(T);  // elements, by each core

  int64_t width() const { return side_by_side ? kTile : 1; }
  // A pass leaves something for the next one. Logarithms are made of the elements themselves.
  bool keeps() const { return !logarithm && std::max(axis.size, kBlock) * width() <= kMostKept; }
  bool buffered() const { return side_by_side || !in.direct() || !out.direct(); }
  bool are_short() const { return !buffered() && axis.size <= loops->most_short; }

  void operator()(const Frame& frame) const {
    char* base[2] = {frame.at[bindings[0]] + rows.offset(0), frame.at[bindings[1]] + rows.offset(1)};
    int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / axis.size);
    ParallelFor(rows.count(), grain, [&](int64_t begin, int64_t end) {
      auto buffer = buffered() && keeps() ? std::make_unique_for_overwrite<T[]>(
                                                static_cast<size_t>(std::max(axis.size, kBlock) * width()))
                                          : nullptr;
      rows.Walk(base, begin, end, [&](char** at, int64_t n) { Rows(at[0], at[1], n, buffer.get()); });
    });
  }

  void Rows(char* dst, const char* src, int64_t n, T* buffer) const {
    if (side_by_side) {
      for (int64_t i = 0; i < n; i += kTile) {
        Tile(dst + i * rows.step(0), src + i * rows.step(1), std::min(kTile, n - i), buffer);
      }
      return;
    }
    if (are_short()) {
      constexpr int64_t kElement = sizeof(T);
      loops->short_rows(reinterpret_cast<T*>(dst), rows.step(0) / kElement, reinterpret_cast<const T*>(src),
                        rows.step(1) / kElement, n, axis.size, logarithm);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      char *to = dst + i * rows.step(0), *from = const_cast<char*>(src) + i * rows.step(1);
      buffered() && buffer == nullptr ? LongRow(to, from) : Row(to, from, buffer);
    }
  }

  // In blocks, whose sums are added in f64.
  void LongRow(char* dst, const char* src) const {
    alignas(64) T x[kBlock], y[kBlock];
    auto load = [&](int64_t i, int64_t n) {
      return static_cast<const T*>(in.Load(x, src + i * axis.in_step, n));
    };
    T most = -std::numeric_limits<T>::infinity();
    double sum = 0;
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      const int64_t n = std::min(kBlock, axis.size - i);
      const T of_block = loops->max(load(i, n), n);
      most = of_block > most || of_block != of_block ? of_block : most;
    }
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      const int64_t n = std::min(kBlock, axis.size - i);
      sum += static_cast<double>(loops->exp_sum(y, load(i, n), most, n));
    }
    const T factor = static_cast<T>(1 / sum), log = static_cast<T>(std::log(sum));
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      const int64_t n = std::min(kBlock, axis.size - i);
      if (logarithm) {
        loops->lower(y, load(i, n), most, log, n);
      } else {
        loops->exp_sum(y, load(i, n), most, n);
        loops->scale(y, factor, n);
      }
      out.Store(dst + i * axis.out_step, y, n, false);
    }
  }

  void Row(char* dst, const char* src, T* buffer) const {
    const T* x = in.direct() ? reinterpret_cast<const T*>(src) : Gathered(src, buffer);
    T* y = out.direct() ? reinterpret_cast<T*>(dst) : buffer;
    const T most = loops->max(x, axis.size);
    if (logarithm) {
      loops->lower(y, x, most, LogOfSum(x, most), axis.size);
    } else {
      loops->scale(y, 1 / loops->exp_sum(y, x, most, axis.size), axis.size);
    }
    if (out.direct()) return;
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      out.Store(dst + i * axis.out_step, y + i, std::min(kBlock, axis.size - i), false);
    }
  }

  T LogOfSum(const T* x, T most) const {
    alignas(64) T powers[kBlock];
    double sum = 0;
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      sum += static_cast<double>(loops->exp_sum(powers, x + i, most, std::min(kBlock, axis.size - i)));
    }
    return static_cast<T>(std::log(sum));
  }

  const T* Gathered(const char* src, T* buffer) const {
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      int64_t n = std::min(kBlock, axis.size - i);
      const void* block = in.Load(buffer + i, src + i * axis.in_step, n);
      if (block != buffer + i) std::copy_n(static_cast<const T*>(block), n, buffer + i);
    }
    return buffer;
  }

  // `n` rows at a time; buffer holds element k of each row at buffer[k * n], if there is one.
  void Tile(char* dst, const char* src, int64_t n, T* buffer) const {
    alignas(64) T most[kTile], sum[kTile], row[kTile];
    alignas(64) double total[kTile] = {};
    std::fill(most, most + n, -std::numeric_limits<T>::infinity());
    std::fill(sum, sum + n, T{0});
    for (int64_t k = 0; k < axis.size; ++k) {
      loops->max_of(most, static_cast<const T*>(in.Load(row, src + k * axis.in_step, n)), n);
    }
    alignas(64) T last[kTile], unused[kTile] = {};
    auto exps = [&](int64_t k, T* sums) {
      const auto* x = static_cast<const T*>(in.Load(row, src + k * axis.in_step, n));
      T* to = buffer == nullptr ? last : buffer + k * n;
      loops->exp_add(to, sums, x, most, n);
      return to;
    };
    for (int64_t k = 0; k < axis.size; ++k) {
      exps(k, sum);
      if ((k + 1) % kGroup != 0) continue;
      for (int64_t i = 0; i < n; ++i) total[i] += static_cast<double>(std::exchange(sum[i], T{0}));
    }
    for (int64_t i = 0; i < n; ++i) {
      const double whole = total[i] + static_cast<double>(sum[i]);
      sum[i] = static_cast<T>(logarithm ? std::log(whole) : 1 / whole);
    }
    for (int64_t k = 0; k < axis.size; ++k) {
      T* y = last;
      if (logarithm) {
        loops->lower_by(y, static_cast<const T*>(in.Load(row, src + k * axis.in_step, n)), most, sum, n);
      } else {
        y = buffer == nullptr ? exps(k, unused) : buffer + k * n;
        loops->scale_by(y, sum, n);
      }
      out.Store(dst + k * axis.out_step, y, n, false);
    }
  }
};

template <class T>
void PlanRows(Plan& plan, const SoftmaxLoops<T>& loops, const Operand& self, int dim, bool logarithm,
              const Operand& out) {
  Tensor in_rest = WithoutDim(*self.tensor, dim);
  Tensor out_rest = WithoutDim(*out.tensor, dim);
  SoftmaxBody<T> body;
  body.rows = LoopNest(in_rest.shape, {Operand{&out_rest}, Operand{&in_rest}});
  int64_t size = SizeOf(*self.tensor, dim);
  body.axis = {size, StepOf(*self.tensor, dim), StepOf(*out.tensor, dim)};
  auto element = static_cast<int64_t>(BytesOf(self.dtype()));
  body.side_by_side =
      body.axis.in_step != element && body.rows.step(1) == element && body.rows.row() > 1 && size > 1;
  body.in = Lane(self.dtype(), self.dtype(), body.side_by_side ? body.rows.step(1) : body.axis.in_step);
  body.out = Lane(out.dtype(), self.dtype(), body.side_by_side ? body.rows.step(0) : body.axis.out_step);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  body.logarithm = logarithm;
  body.loops = &loops;
  plan.SetCost(50 + static_cast<uint64_t>(self.tensor->count()));
  plan.SetBody(body);
}

void PlanSoftmax(Plan& plan, DType compute, const Operand& self, int64_t dim, bool logarithm,
                 const Operand& out) {
  int wrapped = rules::WrapDim(self, dim);
  if (out.tensor->empty()) return;
  if (ComputeType(compute) == DType::kF64) {
    PlanRows(plan, BestSoftmaxLoopsF64(), self, wrapped, logarithm, out);
  } else {
    PlanRows(plan, BestSoftmaxLoopsF32(), self, wrapped, logarithm, out);
  }
}

}  // namespace

namespace kernels {

void Softmax(Plan& plan, DType compute, const Operand& self, int64_t dim, const Operand& out) {
  PlanSoftmax(plan, compute, self, dim, false, out);
}

void LogSoftmax(Plan& plan, DType compute, const Operand& self, int64_t dim, const Operand& out) {
  PlanSoftmax(plan, compute, self, dim, true, out);
}

}  // namespace kernels
}  // namespace belay::ops
