// Pooling of tensors whose channels come first, where they lie: no element is moved for it, and what the rows
// of a window leave is found once for all windows of a row.
#include <algorithm>
#include <map>

#include "ops/conv/channels_last.h"
#include "ops/pool/plane_loops.h"
#include "ops/pool/pool_shape.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

// Planes of at most so many elements that one window covers are a row each. Above it sums keep their rows, so
// that none has very many terms.
constexpr int64_t kLongRow = 1 << 14;

// Results side by side whose windows are equally large and equally far apart.
struct Run {
  int64_t begin, start;
  PlaneWindows windows;
};

std::vector<Run> RunsOf(const PoolSpans& spans) {
  std::vector<Run> runs;
  for (size_t i = 0; i < spans.size(); ++i) {
    const PoolSpan& span = spans[i];
    if (!runs.empty()) {
      Run& last = runs.back();
      PlaneWindows& w = last.windows;
      const int64_t stride = span.start - spans[i - 1].start;
      if (w.taps == span.taps && w.step == span.step && (w.count == 1 || w.stride == stride)) {
        w.stride = stride, ++w.count;
        continue;
      }
    }
    runs.push_back({static_cast<int64_t>(i), span.start, {1, 1, span.taps, span.step}});
  }
  return runs;
}

bool CoversAll(const PoolSpans& spans, int64_t in) {
  return spans.size() == 1 && spans[0].first == 0 && spans[0].count == in && spans[0].step == 1 &&
         spans[0].padded == in && spans[0].start == 0 && spans[0].taps == in;
}

// A window that sees a whole plane sees a row as well.
PoolShape Flattened(PoolShape s) {
  const int64_t all = s.in[0] * s.in[1] * s.in[2];
  if (all > kLongRow) return s;
  for (int d = 0; d < 3; ++d) {
    if (!CoversAll(s.spans[d], s.in[d])) return s;
  }
  s.in[0] = s.in[1] = 1, s.in[2] = all;
  s.spans[0] = s.spans[1] = {{0, 1, 1, 1}};
  s.spans[2] = {{0, all, 1, all}};
  return s;
}

// What the windows of one row read, from `low` to `high`: beyond the row, too, where they reach into the
// padding.
struct Reach {
  int64_t low, high;

  Reach(int64_t in, const std::vector<Run>& runs) : low(0), high(in) {
    for (const Run& run : runs) {
      const PlaneWindows& w = run.windows;
      low = std::min(low, run.start + std::min<int64_t>(0, (w.count - 1) * w.stride));
      high = std::max(high,
                      run.start + std::max<int64_t>(0, (w.count - 1) * w.stride) + (w.taps - 1) * w.step + 1);
    }
  }
  int64_t size() const { return high - low; }
};

// Elements of one such row in the scratch, and how many rows there are.
int64_t EachRow(const Reach& reach) { return reach.size() + PlaneWindows::kSlack; }
int64_t RowsAtOnce(const Reach& reach) { return std::clamp<int64_t>((1 << 12) / EachRow(reach), 1, 8); }

// What the results of a mean are multiplied by: rows of factors, and which of them a row of the result takes.
template <class T>
struct Divisors {
  std::vector<std::vector<T>> factors;
  std::vector<size_t> of_row;  // by plane and line

  explicit Divisors(const PoolShape& s) {
    if (s.kind == PoolKind::kMax) return;
    std::map<int64_t, size_t> places;
    for (const PoolSpan& z : s.spans[0]) {
      for (const PoolSpan& y : s.spans[1]) {
        const int64_t across = s.divisor != 0    ? s.divisor
                               : s.count_padding ? z.padded * y.padded
                                                 : z.count * y.count;
        const auto [place, added] = places.emplace(std::max<int64_t>(across, 1), factors.size());
        if (added) factors.push_back(RowOf(s, place->first));
        of_row.push_back(place->second);
      }
    }
  }

  static std::vector<T> RowOf(const PoolShape& s, int64_t across) {
    std::vector<T> row;
    for (const PoolSpan& x : s.spans[2]) {
      const int64_t along = s.divisor != 0 ? 1 : s.count_padding ? x.padded : x.count;
      row.push_back(T{1} / (static_cast<T>(across) * static_cast<T>(std::max<int64_t>(along, 1))));
    }
    return row;
  }
};

template <class T>
struct PlaneBody {
  struct Work {
    PoolShape shape;
    std::vector<Run> runs;
    Reach reach;
    Divisors<T> divisors;
  };
  std::shared_ptr<const Work> work;
  const PlaneLoops<T>* loops;
  PackedOperand in, out;
  PieceScratch<T> rows;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const T*>(in.Loaded(frame));
    auto* result = reinterpret_cast<T*>(out.Result(frame));
    rows.For(frame, [&](int64_t begin, int64_t end, T* row) { Rows(from, result, begin, end, row); });
    out.Store(frame);
  }

 private:
  // A row of the result, with what it sees of the first two dimensions.
  struct Row {
    int64_t image, z, y;

    Row(const PoolShape& s, int64_t r)
        : image(r / (s.out[0] * s.out[1])), z(r / s.out[1] % s.out[0]), y(r % s.out[1]) {}

    void Next(const PoolShape& s) {
      if (++y < s.out[1]) return;
      y = 0;
      if (++z == s.out[0]) z = 0, ++image;
    }
    const PoolSpan& planes(const PoolShape& s) const { return s.spans[0][static_cast<size_t>(z)]; }
    const PoolSpan& lines(const PoolShape& s) const { return s.spans[1][static_cast<size_t>(y)]; }
  };

  // A few rows at a time: what is read right after it was written, and not as it was written, waits for the
  // memory.
  void Rows(const T* from, T* to, int64_t begin, int64_t end, T* scratch) const {
    const PoolShape& s = work->shape;
    const Reach& reach = work->reach;
    const int64_t each = EachRow(reach), together = RowsAtOnce(reach);
    T* const rows = scratch - reach.low;
    for (int64_t i = 0; i < together; ++i) {
      std::fill(scratch + i * each, rows + i * each, None());
      std::fill(rows + i * each + s.in[2], scratch + (i + 1) * each, None());
    }
    Row seen(s, begin), summed = seen;
    for (int64_t r = begin, next; r < end; r = next) {
      next = std::min(end, r + together);
      for (int64_t i = r; i < next; ++i, seen.Next(s)) Gather(from, seen, rows + (i - r) * each);
      for (int64_t i = r; i < next; ++i) Slide(rows + (i - r) * each, to + i * s.out[2]);
      for (int64_t i = r; s.kind != PoolKind::kMax && i < next; ++i, summed.Next(s)) {
        const size_t row = static_cast<size_t>(summed.z * s.out[1] + summed.y);
        loops->scale(to + i * s.out[2], work->divisors.factors[work->divisors.of_row[row]].data(), s.out[2]);
      }
    }
  }

  T None() const { return work->shape.kind == PoolKind::kMax ? -std::numeric_limits<T>::infinity() : T{0}; }

  // The rows that the windows of a row of the result see, as one.
  void Gather(const T* from, const Row& result, T* row) const {
    const PoolShape& s = work->shape;
    const PoolSpan &z = result.planes(s), &y = result.lines(s);
    if (z.count * y.count == 0) return static_cast<void>(std::fill_n(row, s.in[2], None()));
    const T* image = from + result.image * s.in[0] * s.in[1] * s.in[2];
    for (int64_t a = 0; a < z.count; ++a) {
      const T* lines = image + ((z.first + a * z.step) * s.in[1] + y.first) * s.in[2];
      (s.kind == PoolKind::kMax ? loops->max_rows : loops->add_rows)(row, lines, y.count, y.step * s.in[2],
                                                                     s.in[2], a > 0);
    }
  }

  void Slide(const T* row, T* to) const {
    for (const Run& run : work->runs) {
      (work->shape.kind == PoolKind::kMax ? loops->max_along : loops->add_along)(
          to + run.begin, row + run.start, run.windows);
    }
  }
};

template <class T>
bool PlanPlanesFor(Plan& plan, const PoolArgs& args, const PoolShape& given, const PlaneLoops<T>& loops,
                   DType type) {
  const PoolShape s = Flattened(given);
  std::vector<Run> runs = RunsOf(s.spans[2]);
  const Reach reach(s.in[2], runs);
  if (s.in[2] < kShortestPooledRow || reach.size() > 2 * s.in[2] + 64) return false;
  PlaneBody<T> body{};
  body.work = std::make_shared<typename PlaneBody<T>::Work>(
      typename PlaneBody<T>::Work{s, std::move(runs), reach, Divisors<T>(s)});
  body.loops = &loops;
  body.in = {plan, args.input, type, false, true}, body.out = {plan, args.out, type, false, false};
  const int64_t seen = s.spans[0][0].count * s.spans[1][0].count + s.spans[2][0].taps + 1;
  body.rows = {plan, s.batch * s.channels * s.out[0] * s.out[1],
               std::max<int64_t>(1, LoopNest::kGrain / (seen * s.in[2])), RowsAtOnce(reach) * EachRow(reach)};
  plan.SetCost(500 + static_cast<uint64_t>(args.input.tensor->count()) / 4);
  plan.SetBody(body);
  return true;
}

}  // namespace

bool PlanPlanePool(Plan& plan, const PoolArgs& args, const PoolShape& shape) {
  if (shape.kind == PoolKind::kNorm || args.places.present()) return false;
  const Tensor& x = *args.input.tensor;
  if (!SameLayout(x.shape, x.strides, PackedStrides(x.shape))) return false;
  if (ComputeType(x.dtype) == DType::kF32)
    return PlanPlanesFor(plan, args, shape, BestPlaneLoopsF32(), DType::kF32);
  if (x.dtype == DType::kF64) return PlanPlanesFor(plan, args, shape, BestPlaneLoopsF64(), DType::kF64);
  return false;
}

}  // namespace belay::ops
