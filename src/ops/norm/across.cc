// Lengths along a dimension whose elements lie apart: many lines side by side, as memory has them.
#include <algorithm>
#include <cmath>

#include "ops/loop_nest.h"
#include "ops/norm/norm_loops.h"
#include "ops/norm/normalise.h"
#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"

namespace belay::ops {
namespace {

template <class T>
struct AcrossBody {
  LoopNest lines;  // out, x: the first element of each
  Axis axis;
  Lane out, in;  // across the lines
  bool squares;
  int bindings[2];
  const NormLoops<T>* loops;

  static constexpr int64_t kTile = 256;
  static constexpr int64_t kGroup = 256;  // elements of a line whose sum goes on in f64

  void operator()(const Frame& frame) const {
    char* base[2] = {frame.at[bindings[0]] + lines.offset(0), frame.at[bindings[1]] + lines.offset(1)};
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / axis.size);
    ParallelFor(lines.count(), grain, [&](int64_t begin, int64_t end) {
      lines.Walk(base, begin, end, [&](char** at, int64_t n) {
        for (int64_t i = 0; i < n; i += kTile) {
          Tile(at[0] + i * lines.step(0), at[1] + i * lines.step(1), std::min(kTile, n - i));
        }
      });
    });
  }

  const T* Element(T* buffer, const char* src, int64_t k, int64_t n) const {
    return static_cast<const T*>(in.Load(buffer, src + k * axis.in_step, n));
  }

  void Tile(char* dst, const char* src, int64_t n) const {
    alignas(64) T factor[kTile], row[kTile];
    Factors(factor, src, n);
    for (int64_t k = 0; k < axis.size; ++k) {
      const T* x = Element(row, src, k, n);
      T* y = out.direct() ? reinterpret_cast<T*>(dst + k * axis.out_step) : row;
      loops->apply(y, x, factor, nullptr, T{0}, T{1}, n);
      if (y == row) out.Store(dst + k * axis.out_step, y, n, false);
    }
  }

  // 1 / the length of each line; of lines of zeros 0.
  void Factors(T* factor, const char* src, int64_t n) const {
    alignas(64) T sum[kTile], row[kTile];
    alignas(64) double total[kTile];
    std::fill_n(total, n, 0.0);
    for (int64_t k = 0; k < axis.size; k += kGroup) {
      std::fill_n(sum, n, T{0});
      for (int64_t i = k; i < std::min(axis.size, k + kGroup); ++i) {
        const T* x = Element(row, src, i, n);
        squares ? loops->add_squares(sum, x, n) : loops->add_sizes(sum, x, n);
      }
      for (int64_t i = 0; i < n; ++i) total[i] += static_cast<double>(sum[i]);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double length = squares ? std::sqrt(total[i]) : total[i];
      factor[i] = static_cast<T>(length == 0 ? 0 : 1 / length);
    }
  }
};

template <class T>
void PlanAcross(Plan& plan, DType compute, const Operand& x, const Operand& out, int dim, bool squares) {
  const Tensor in_rest = tensor::WithoutDim(*x.tensor, dim), out_rest = tensor::WithoutDim(*out.tensor, dim);
  AcrossBody<T> body;
  body.lines = LoopNest(in_rest.shape, {Operand{&out_rest}, Operand{&in_rest}});
  body.axis = {x.shape()[dim], tensor::StepOf(*x.tensor, dim), tensor::StepOf(*out.tensor, dim)};
  body.out = Lane(out.dtype(), compute, body.lines.step(0));
  body.in = Lane(x.dtype(), compute, body.lines.step(1));
  body.squares = squares;
  body.bindings[0] = out.binding;
  body.bindings[1] = x.binding;
  body.loops = &BestNormLoops<T>();
  plan.SetCost(50 + static_cast<uint64_t>(x.tensor->count()) / 2);
  plan.SetBody(body);
}

}  // namespace

void PlanLengthAlong(Plan& plan, const Normalisation& how, DType compute, const Operand& x,
                     const Operand& out, int dim) {
  if (out.tensor->empty()) return;
  if (x.tensor->strides[dim] == 1)
    return PlanNormalise(plan, how, compute, {x, out, {}, {}, {}, {}}, 1u << dim);
  const bool squares = how.statistic == Statistic::kLength;
  if (ComputeType(compute) == DType::kF64) return PlanAcross<double>(plan, compute, x, out, dim, squares);
  PlanAcross<float>(plan, compute, x, out, dim, squares);
}

}  // namespace belay::ops
