// Slices whose elements lie apart, while the slices themselves lie side by side: many of them at a time, as
// memory has them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/loop_nest.h"
#include "ops/norm/norm_loops.h"
#include "ops/norm/normalise.h"
#include "ops/pipeline.h"

namespace belay::ops {
namespace {

template <class T>
struct AcrossBody {
  LoopNest lines;  // out, x: the first element of each slice
  LoopNest slice;  // out, x: the elements of one
  Lane out, in;    // across the slices
  Normalisation how;
  int64_t tile;  // slices at a time: a cache holds what they have
  int bindings[2];
  const NormLoops<T>* loops;

  static constexpr int64_t kTile = 256;
  static constexpr int64_t kGroup = 256;  // elements of a slice whose sum goes on in f64

  void operator()(const Frame& frame) const {
    char* base[2] = {frame.at[bindings[0]] + lines.offset(0), frame.at[bindings[1]] + lines.offset(1)};
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / slice.count());
    ParallelFor(lines.count(), grain, [&](int64_t begin, int64_t end) {
      lines.Walk(base, begin, end, [&](char** at, int64_t n) {
        for (int64_t i = 0; i < n; i += tile) {
          Tile(at[0] + i * lines.step(0), at[1] + i * lines.step(1), std::min(tile, n - i));
        }
      });
    });
  }

 private:
  // y = (x - shift) * factor + bias
  struct Change {
    alignas(64) T shift[kTile], factor[kTile], bias[kTile];
  };

  // each(dst, x) for each element of the slices.
  template <class Each>
  void ForElements(char* dst, const char* src, int64_t n, const Each& each) const {
    alignas(64) T buffer[kTile];
    char* at[2] = {dst, const_cast<char*>(src)};
    slice.Walk(at, 0, slice.count(), [&](char** p, int64_t count) {
      for (int64_t k = 0; k < count; ++k) {
        each(p[0] + k * slice.step(0), static_cast<const T*>(in.Load(buffer, p[1] + k * slice.step(1), n)));
      }
    });
  }

  // total[i] = the sum of what add(sums, x) adds of the elements.
  template <class Add>
  void Total(double* total, const char* src, int64_t n, const Add& add) const {
    alignas(64) T sums[kTile];
    std::fill_n(total, n, 0.0);
    std::fill_n(sums, n, T{0});
    int64_t taken = 0;
    const auto move_on = [&] {
      for (int64_t i = 0; i < n; ++i) total[i] += static_cast<double>(std::exchange(sums[i], T{0}));
    };
    ForElements(nullptr, src, n, [&](char*, const T* x) {
      add(sums, x);
      if (++taken % kGroup == 0) move_on();
    });
    move_on();
  }

  void Tile(char* dst, const char* src, int64_t n) const {
    Change change;
    const bool centred = how.statistic == Statistic::kMoments;
    centred ? FromMoments(change, src, n) : FromSize(change, src, n);
    alignas(64) T row[kTile];
    ForElements(dst, src, n, [&](char* to, const T* x) {
      T* y = out.direct() ? reinterpret_cast<T*>(to) : row;
      if (centred) {
        loops->change(y, x, change.shift, change.factor, change.bias, n);
      } else {
        loops->apply(y, x, change.factor, nullptr, T{0}, T{1}, n);
      }
      if (y == row) out.Store(to, y, n, false);
    });
  }

  // 1 / the size of each slice; of slices of zeros 0.
  void FromSize(Change& change, const char* src, int64_t n) const {
    alignas(64) double total[kTile];
    const bool sizes = how.statistic == Statistic::kSizes;
    Total(total, src, n, [&](T* sums, const T* x) {
      sizes ? loops->add_sizes(sums, x, n) : loops->add_squares(sums, x, n);
    });
    const bool mean = how.statistic == Statistic::kMeanSquare;
    for (int64_t i = 0; i < n; ++i) {
      const double size = sizes ? total[i] : mean ? Root(total[i] * Share()) : std::sqrt(total[i]);
      change.factor[i] = static_cast<T>(size == 0 ? 0 : 1 / size);
    }
  }

  void FromMoments(Change& change, const char* src, int64_t n) const {
    alignas(64) double total[kTile], rest[kTile];
    alignas(64) T apart[kTile], one[kTile], none[kTile];
    Total(total, src, n, [&](T* sums, const T* x) { loops->add(sums, x, n); });
    for (int64_t i = 0; i < n; ++i) {
      change.shift[i] = static_cast<T>(total[i] * Share());
      one[i] = T{1}, none[i] = T{0}, rest[i] = 0;
    }
    Total(total, src, n, [&](T* sums, const T* x) {
      loops->change(apart, x, change.shift, one, none, n);
      loops->add_squares(sums, apart, n);
    });
    if (AnyIsFar(change, total, n)) {  // the deviations know what T lost of a mean
      Total(rest, src, n, [&](T* sums, const T* x) {
        loops->change(apart, x, change.shift, one, none, n);
        loops->add(sums, apart, n);
      });
    }
    for (int64_t i = 0; i < n; ++i) {
      const double more = rest[i] * Share(),
                   factor = 1 / Root(std::max(total[i] * Share() - more * more, 0.0));
      change.factor[i] = static_cast<T>(factor);
      change.bias[i] = static_cast<T>(-more * factor);
    }
  }

  bool AnyIsFar(const Change& change, const double* squares, int64_t n) const {
    constexpr double kFar = 16;  // of squares of means, in variances
    for (int64_t i = 0; i < n; ++i) {
      const auto mean = static_cast<double>(change.shift[i]);
      if (mean * mean > kFar * squares[i] * Share()) return true;
    }
    return false;
  }

  double Share() const { return 1 / static_cast<double>(slice.count()); }
  double Root(double square) const {
    return how.epsilon_outside ? std::sqrt(square) + how.epsilon : std::sqrt(square + how.epsilon);
  }
};

// Dimensions [of the mask] as they are, the others of one element.
Tensor Only(Tensor tensor, uint32_t mask) {
  for (int d = 0; d < tensor.shape.rank(); ++d) {
    if (!(mask >> d & 1)) tensor.shape[d] = 1;
  }
  return tensor;
}

template <class T>
bool PlanAcrossAs(Plan& plan, const Normalisation& how, DType compute, const Operand& x, const Operand& out,
                  uint32_t mask) {
  constexpr int64_t kFew = 8, kNear = 256 * 1024;  // slices, bytes
  const Tensor in_rest = Only(*x.tensor, ~mask), out_rest = Only(*out.tensor, ~mask),
               in_slice = Only(*x.tensor, mask), out_slice = Only(*out.tensor, mask);
  AcrossBody<T> body;
  body.lines = LoopNest(in_rest.shape, {Operand{&out_rest}, Operand{&in_rest}});
  body.slice = LoopNest(in_slice.shape, {Operand{&out_slice}, Operand{&in_slice}});
  const auto element = static_cast<int64_t>(BytesOf(x.dtype()));
  if (body.lines.step(1) != element || body.lines.row() < kFew || body.slice.step(1) == element) return false;
  body.out = Lane(out.dtype(), compute, body.lines.step(0));
  body.in = Lane(x.dtype(), compute, body.lines.step(1));
  body.how = how;
  body.tile = std::clamp<int64_t>(kNear / (body.slice.count() * element) / 16 * 16, 16, body.kTile);
  body.bindings[0] = out.binding;
  body.bindings[1] = x.binding;
  body.loops = &BestNormLoops<T>();
  plan.SetCost(50 + static_cast<uint64_t>(x.tensor->count()) / 2);
  plan.SetBody(body);
  return true;
}

}  // namespace

bool PlanAcross(Plan& plan, const Normalisation& how, DType compute, const NormOperands& o, uint32_t mask) {
  if (how.kept || o.weight.present() || o.bias.present() || o.shift.present() || o.factor.present())
    return false;
  if (ComputeType(compute) == DType::kF64) return PlanAcrossAs<double>(plan, how, compute, o.x, o.out, mask);
  return PlanAcrossAs<float>(plan, how, compute, o.x, o.out, mask);
}

}  // namespace belay::ops
