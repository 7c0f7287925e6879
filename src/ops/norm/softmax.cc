// Softmax along one dimension, and its logarithm. Each row is converted to f32 (or f64), and there the
// largest element is subtracted first, so nothing overflows. Rows that do not lie along memory are taken a
// few side by side, as their elements do. Of long rows nothing is kept between the passes: memory for it
// would be larger than the tensor, and computing an exponential again takes about as long as fetching it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "ops/half_rows.h"
#include "ops/kernels.h"
#include "ops/loop_nest.h"
#include "ops/norm/softmax_loops.h"
#include "ops/norm/turned_rows.h"
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
  int64_t lines;  // side by side in each of packed blocks; 0: the tensors are none, or their blocks too large
  const SoftmaxLoops<T>* loops;

  static constexpr int64_t kTile = 256;   // rows side by side
  static constexpr int64_t kGroup = 256;  // of their elements are added up before the sums go on to f64
  static constexpr int64_t kMostKept = (2 << 20) / sizeof(T);  // elements, by each core

  int64_t width() const { return side_by_side ? kTile : 1; }
  // A pass leaves something for the next one. Logarithms are made of the elements themselves.
  bool keeps() const { return !logarithm && std::max(axis.size, kBlock) * width() <= kMostKept; }
  bool buffered() const { return side_by_side || !in.direct() || !out.direct(); }
  // Of rows side by side the exponentials lie there until they are scaled.
  bool in_result() const { return side_by_side && out.direct() && !logarithm; }
  bool are_short() const { return !buffered() && axis.size <= loops->most_short; }

  static constexpr int64_t kFew = 8;  // blocks that are not worth turning

  bool are_packed() const {
    const int64_t bytes = axis.size * int64_t{sizeof(T)};
    return !buffered() && loops->packed_blocks != nullptr && axis.size <= kMostTurned && rows.row() >= kFew &&
           rows.step(0) == bytes && rows.step(1) == bytes;
  }

  void operator()(const Frame& frame) const {
    char* base[2] = {frame.at[bindings[0]] + rows.offset(0), frame.at[bindings[1]] + rows.offset(1)};
    if (lines > 1) return Blocks(reinterpret_cast<T*>(base[0]), reinterpret_cast<const T*>(base[1]));
    // Where rows are taken together none of them is cut: their sums do not depend on the number of cores.
    const int64_t unit = Together(rows.row()) > 1 ? rows.row() : 1;
    int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / axis.size / unit);
    ParallelFor(rows.count() / unit, grain, [&](int64_t begin, int64_t end) {
      auto buffer = buffered() && keeps() && !in_result()
                        ? std::make_unique_for_overwrite<T[]>(
                              static_cast<size_t>(std::max(axis.size, kBlock) * width()))
                        : nullptr;
      rows.Walk(base, begin * unit, end * unit,
                [&](char** at, int64_t n) { Rows(at[0], at[1], n, buffer.get()); });
    });
  }

  void Blocks(T* y, const T* x) const {
    const int64_t size = axis.size * lines, grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / size);
    ParallelFor(rows.count() / lines, grain, [&](int64_t begin, int64_t end) {
      loops->packed_blocks(y + begin * size, x + begin * size, end - begin, axis.size, lines, logarithm);
    });
  }

  // Of n rows side by side, whose elements k follow each other in memory: how many of these are taken as if
  // they were of as many rows more. A few would not fill a vector, and to unite those that are taken so costs
  // more than a few lines of short rows.
  int64_t Together(int64_t n) const {
    constexpr int64_t kFew = 32, kLines = 8, kVector = 16;
    const int64_t bytes = n * int64_t{sizeof(T)};
    const bool follow = in.direct() && out.direct() && axis.in_step == bytes && axis.out_step == bytes;
    if (!side_by_side || !follow || n > kFew) return 1;
    const int64_t whole = kVector / std::gcd(kVector, n), wanted = (axis.size + kLines - 1) / kLines;
    return std::min({kTile / n, axis.size, (wanted + whole - 1) / whole * whole});
  }

  void Rows(char* dst, const char* src, int64_t n, T* buffer) const {
    if (side_by_side) {
      // Long rows are taken so few at a time that a near cache holds them from pass to pass.
      constexpr int64_t kNear = 64 * 1024, kVector = 16;
      const int64_t width = std::clamp(kNear / axis.size / kVector * kVector, 6 * kVector, kTile);
      for (int64_t i = 0; i < n; i += width) {
        Tile(dst + i * rows.step(0), src + i * rows.step(1), std::min(width, n - i), buffer);
      }
      return;
    }
    constexpr int64_t kElement = sizeof(T);
    if (are_packed()) {
      loops->packed_blocks(reinterpret_cast<T*>(dst), reinterpret_cast<const T*>(src), n, axis.size, 1,
                           logarithm);
      return;
    }
    if (are_short()) {
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
      const auto sum = static_cast<double>(loops->exp_sum(nullptr, x, most, axis.size));
      loops->lower(y, x, most, static_cast<T>(std::log(sum)), axis.size);
    } else {
      loops->scale(y, 1 / loops->exp_sum(y, x, most, axis.size), axis.size);
    }
    if (out.direct()) return;
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      out.Store(dst + i * axis.out_step, y + i, std::min(kBlock, axis.size - i), false);
    }
  }

  const T* Gathered(const char* src, T* buffer) const {
    for (int64_t i = 0; i < axis.size; i += kBlock) {
      int64_t n = std::min(kBlock, axis.size - i);
      const void* block = in.Load(buffer + i, src + i * axis.in_step, n);
      if (block != buffer + i) std::copy_n(static_cast<const T*>(block), n, buffer + i);
    }
    return buffer;
  }

  // Each of n numbers is the largest of `together` parts, which all hold it then.
  static void UniteLargest(T* most, int64_t n, int64_t together) {
    for (int64_t k = 1; k < together; ++k) {
      for (int64_t i = 0; i < n; ++i) most[i] = std::max(most[i], most[k * n + i]);
    }
    for (int64_t k = 1; k < together; ++k) std::copy_n(most, n, most + k * n);
  }

  // visit(k, width) for a line of elements after the other; the last may be shorter.
  template <class Visit>
  void EachLine(int64_t n, int64_t together, Visit visit) const {
    const int64_t whole = axis.size / together, rest = axis.size - whole * together;
    for (int64_t k = 0; k < whole; ++k) visit(k, n * together);
    if (rest != 0) visit(whole, n * rest);
  }

  // `n` rows at a time; buffer holds element k of each row at buffer[k * n], if there is one.
  void Tile(char* dst, const char* src, int64_t n, T* buffer) const {
    alignas(64) T most[kTile], sum[kTile], row[kTile];
    alignas(64) double total[kTile];
    const int64_t together = Together(n), most_wide = n * together;
    std::fill_n(total, most_wide, 0.0);
    std::fill(most, most + most_wide, -std::numeric_limits<T>::infinity());
    std::fill(sum, sum + most_wide, T{0});
    const auto line = [&](int64_t k, int64_t width) {
      return static_cast<const T*>(in.Load(row, src + k * together * axis.in_step, width));
    };
    EachLine(n, together, [&](int64_t k, int64_t width) { loops->max_of(most, line(k, width), width); });
    UniteLargest(most, n, together);
    alignas(64) T last[kTile], unused[kTile];
    if (buffer == nullptr) std::fill_n(unused, most_wide, T{0});
    const auto place = [&](int64_t k) {
      if (out.direct()) return reinterpret_cast<T*>(dst + k * together * axis.out_step);
      return buffer == nullptr ? last : buffer + k * most_wide;
    };
    const auto exps = [&](int64_t k, int64_t width, T* sums) {
      loops->exp_add(logarithm ? last : place(k), sums, line(k, width), most, width);
    };
    EachLine(n, together, [&](int64_t k, int64_t width) {
      exps(k, width, sum);
      if ((k + 1) % kGroup != 0) return;
      for (int64_t i = 0; i < most_wide; ++i) total[i] += static_cast<double>(std::exchange(sum[i], T{0}));
    });
    for (int64_t k = 1; k < together; ++k) {
      for (int64_t i = 0; i < n; ++i) total[i] += total[k * n + i] + static_cast<double>(sum[k * n + i]);
    }
    for (int64_t i = 0; i < n; ++i) sum[i] = static_cast<T>(total[i] + static_cast<double>(sum[i]));
    (logarithm ? loops->logs : loops->inverses)(sum, n);
    for (int64_t k = 1; k < together; ++k) std::copy_n(sum, n, sum + k * n);
    const bool again = !logarithm && !out.direct() && buffer == nullptr;
    EachLine(n, together, [&](int64_t k, int64_t width) {
      T* y = place(k);
      if (again) exps(k, width, unused);
      logarithm ? loops->lower_by(y, line(k, width), most, sum, width) : loops->scale_by(y, sum, width);
      if (!out.direct()) out.Store(dst + k * together * axis.out_step, y, width, false);
    });
  }
};

// Where both tensors are packed blocks of the dimension and what is behind it, as SoftmaxBody::lines.
template <class T>
int64_t LinesOf(const SoftmaxLoops<T>& loops, const Tensor& in, const Tensor& out, int dim) {
  const auto is_packed = [](const Tensor& x) {
    return BytesOf(x.dtype) == sizeof(T) && IsPacked(x.shape, x.strides);
  };
  if (loops.packed_blocks == nullptr || !is_packed(in) || !is_packed(out)) return 0;
  int64_t lines = 1, blocks = 1;
  for (int d = 0; d < in.shape.rank(); ++d) (d < dim ? blocks : lines) *= d == dim ? 1 : in.shape[d];
  return in.shape[dim] * lines <= kMostTurned && blocks >= SoftmaxBody<T>::kFew ? lines : 0;
}

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
      (body.axis.in_step != element || size == 1) && body.rows.step(1) == element && body.rows.row() > 1;
  body.in = Lane(self.dtype(), self.dtype(), body.side_by_side ? body.rows.step(1) : body.axis.in_step);
  body.out = Lane(out.dtype(), self.dtype(), body.side_by_side ? body.rows.step(0) : body.axis.out_step);
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  body.logarithm = logarithm;
  body.lines = self.tensor->shape.rank() == 0 ? 0 : LinesOf(loops, *self.tensor, *out.tensor, dim);
  body.loops = &loops;
  plan.SetCost(50 + static_cast<uint64_t>(self.tensor->count()));
  plan.SetBody(body);
}

void PlanSoftmax(Plan& plan, DType compute, const Operand& self, int64_t dim, bool logarithm,
                 const Operand& out) {
  int wrapped = rules::WrapDim(self, dim);
  if (out.tensor->empty()) return;
  if (wrapped + 1 == self.shape().rank() && AreHalfRows(*self.tensor, *out.tensor)) {
    PlanHalfRows(plan, {self, out, {}, self.shape()[wrapped]},
                 [&](Plan& part, const Operand& x, auto, const Operand& y, auto) {
                   PlanRows(part, BestSoftmaxLoopsF32(), x, 1, logarithm, y);
                 });
  } else if (ComputeType(compute) == DType::kF64) {
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
