// Running sums and products. They are kept in f64 for floats, so that a long one loses nothing.
#include <algorithm>
#include <complex>
#include <type_traits>

#include "ops/pipeline.h"
#include "ops/reduce/along_axis.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/scan_loops.h"

namespace belay::ops {
namespace {

template <bool kProduct, bool kExclusive>
void ComplexSteps(std::complex<float>* results, const std::complex<float>* x, std::complex<double>* acc,
                  const ScanWay& way, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, results += way.along[0], x += way.along[1]) {
    for (int64_t i = 0; i < n; ++i) {
      const std::complex<double> before = acc[i], each = static_cast<std::complex<double>>(x[i]);
      acc[i] = kProduct ? before * each : before + each;
      results[i] = static_cast<std::complex<float>>(kExclusive ? before : acc[i]);
    }
  }
}

template <class T, class Acc>
struct ScanBody {
  LoopNest lines;  // out, in: the first elements, or the last ones where it runs backwards
  Axis axis;       // steps are negative where it runs backwards
  Lane in, out;    // along a line, or across lines that lie side by side
  int bindings[2];
  bool side_by_side;
  bool as_they_are;  // lines are taken as they lie in memory
  Scan how;
  ScanLoops<T, Acc> loops;

  void operator()(const Frame& frame) const {
    char* base[2];
    int64_t steps[2] = {axis.out_step, axis.in_step};
    for (int k = 0; k < 2; ++k) {
      base[k] = frame.at[bindings[k]] + lines.offset(k);
      if (steps[k] < 0) base[k] -= (axis.size - 1) * steps[k];
    }
    int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / 4 / axis.size);
    ParallelFor(lines.count(), grain, [&](int64_t begin, int64_t end) {
      lines.Walk(base, begin, end, [this](char** at, int64_t n) {
        if (as_they_are) return AsTheyAre(at[0], at[1], n);
        const int64_t width = !side_by_side ? 1 : in_place() ? kWide : kBlock;
        for (int64_t i = 0; i < n; i += width) {
          char* dst = at[0] + i * lines.step(0);
          const char* src = at[1] + i * lines.step(1);
          side_by_side ? Across(dst, src, std::min(width, n - i)) : Along(dst, src);
        }
      });
    });
  }

  // Rows so long that the memory ahead of them is fetched in time, and whose sums lie in a near cache.
  static constexpr int64_t kWide = 2048;
  bool in_place() const { return in.direct() && out.direct(); }

  ScanWay Way() const {
    constexpr auto kEach = static_cast<int64_t>(sizeof(T));
    return {{axis.out_step / kEach, axis.in_step / kEach}, {lines.step(0) / kEach, lines.step(1) / kEach}};
  }

  void AsTheyAre(char* dst, const char* src, int64_t n) const {
    (side_by_side ? loops.columns : loops.lines)(reinterpret_cast<T*>(dst), reinterpret_cast<const T*>(src),
                                                 Way(), axis.size, n);
  }

  T Next(Acc& acc, T x) const {
    Acc before = acc;
    acc = how.product ? acc * static_cast<Acc>(x) : acc + static_cast<Acc>(x);
    return static_cast<T>(how.exclusive ? before : acc);
  }

  void Along(char* dst, const char* src) const {
    alignas(64) T buffer[kBlock], results[kBlock];
    Acc acc = how.product ? 1 : 0;
    for (int64_t k = 0; k < axis.size; k += kBlock) {
      int64_t n = std::min(kBlock, axis.size - k);
      const auto* x = static_cast<const T*>(in.Load(buffer, src + k * axis.in_step, n));
      for (int64_t i = 0; i < n; ++i) results[i] = Next(acc, x[i]);
      out.Store(dst + k * axis.out_step, results, n, false);
    }
  }

  void Across(char* dst, const char* src, int64_t m) const {
    alignas(64) Acc acc[kWide];
    std::fill(acc, acc + m, Acc(how.product ? 1 : 0));
    if (in_place()) return AcrossInPlace(dst, src, acc, m);
    alignas(64) T buffer[kBlock], results[kBlock];
    for (int64_t k = 0; k < axis.size; ++k) {
      const auto* x = static_cast<const T*>(in.Load(buffer, src + k * axis.in_step, m));
      loops.steps(results, x, acc, {}, 1, m);
      out.Store(dst + k * axis.out_step, results, m, false);
    }
  }

  // Sums stay in registers for a few rows.
  void AcrossInPlace(char* dst, const char* src, Acc* acc, int64_t m) const {
    constexpr int64_t kRows = 4;
    for (int64_t k = 0; k < axis.size; k += kRows) {
      loops.steps(reinterpret_cast<T*>(dst + k * axis.out_step),
                  reinterpret_cast<const T*>(src + k * axis.in_step), acc, Way(),
                  std::min(kRows, axis.size - k), m);
    }
  }
};

template <class T, class Acc>
ScanLoops<T, Acc> ChosenLoops(Scan scan) {
  if constexpr (std::is_arithmetic_v<T>) {
    return BestScanLoops<T, Acc>(scan.product, scan.exclusive);
  } else {
    const auto step = scan.product ? scan.exclusive ? &ComplexSteps<true, true> : &ComplexSteps<true, false>
                      : scan.exclusive ? &ComplexSteps<false, true>
                                       : &ComplexSteps<false, false>;
    return {step, nullptr, nullptr};
  }
}

constexpr int64_t kFewScanned = 4, kShortRow = 128;

template <class T, class Acc>
void PlanScanAs(Plan& plan, Scan scan, DType type, const Operand& self, int dim, const Operand& out) {
  Tensor in_rest = WithoutDim(*self.tensor, dim), out_rest = WithoutDim(*out.tensor, dim);
  ScanBody<T, Acc> body;
  body.lines = LoopNest(in_rest.shape, {Operand{&out_rest}, Operand{&in_rest}});
  int64_t sign = scan.reverse ? -1 : 1;
  body.axis = {SizeOf(*self.tensor, dim), sign * StepOf(*self.tensor, dim), sign * StepOf(*out.tensor, dim)};
  body.loops = ChosenLoops<T, Acc>(scan);
  const auto element = static_cast<int64_t>(BytesOf(self.dtype()));
  const bool of_type =
      body.loops.lines != nullptr && self.dtype() == type && out.dtype() == type && ComputeType(type) == type;
  if (of_type && body.lines.row() < kFewScanned) body.lines.MakeRowsLong();
  body.side_by_side = body.lines.step(1) == element && body.lines.row() > 1;
  body.in = Lane(self.dtype(), type, body.side_by_side ? body.lines.step(1) : body.axis.in_step);
  body.out = Lane(out.dtype(), type, body.side_by_side ? body.lines.step(0) : body.axis.out_step);
  // Where rows are long, those that a few columns are of fall into few sets of a cache, and no memory is
  // fetched ahead: more columns are taken at a time.
  body.as_they_are = of_type && (!body.side_by_side || (body.out.direct() && body.lines.row() <= kShortRow));
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  body.how = scan;
  plan.SetCost(50 + static_cast<uint64_t>(self.tensor->count()));
  plan.SetBody(body);
}

}  // namespace

void PlanScan(Plan& plan, Scan scan, DType type, const Operand& self, int dim, const Operand& out) {
  if (out.tensor->empty()) return;
  switch (ComputeType(type)) {
    case DType::kF32:
      return PlanScanAs<float, double>(plan, scan, type, self, dim, out);
    case DType::kF64:
      return PlanScanAs<double, double>(plan, scan, type, self, dim, out);
    case DType::kC64:
      return PlanScanAs<std::complex<float>, std::complex<double>>(plan, scan, type, self, dim, out);
    case DType::kI64:
      return PlanScanAs<int64_t, uint64_t>(plan, scan, type, self, dim, out);
    default:
      return PlanScanAs<int32_t, uint32_t>(plan, scan, type, self, dim, out);
  }
}

}  // namespace belay::ops
