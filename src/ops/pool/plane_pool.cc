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
    runs.push_back({static_cast<int64_t>(i), span.start, {1, 1, span.taps, span.step, 1, 0, 0}});
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
        const int64_t seen = s.count_padding ? z.padded * y.padded : z.count * y.count;
        const int64_t across = s.divisor != 0 ? s.divisor : std::max<int64_t>(seen, 1);
        const auto [place, added] = places.emplace(across, factors.size());
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
    for (int64_t r = begin, count; r < end; r += count) {
      count = std::min(end - r, together);
      Gather(from, r, count, rows);
      Slide(rows, to + r * s.out[2], count);
      if (s.kind != PoolKind::kMax) Divide(to, r, count);
    }
  }

  T None() const { return work->shape.kind == PoolKind::kMax ? -std::numeric_limits<T>::infinity() : T{0}; }

  // How many rows from `row` on, at most `most`, see what lies the same way in one plane.
  int64_t Alike(const Row& row, int64_t most) const {
    const PoolShape& s = work->shape;
    const PoolSpan* lines = &row.lines(s);
    int64_t count = 1;
    for (; count < std::min(most, s.out[1] - row.y); ++count) {
      const PoolSpan &before = lines[count - 1], &next = lines[count];
      if (next.count != lines->count || next.step != lines->step ||
          next.first - before.first != lines[1].first - lines->first)
        break;
    }
    return count;
  }

  // The rows that the windows of each of `count` rows of the result see, as one.
  void Gather(const T* from, int64_t first, int64_t count, T* rows) const {
    const PoolShape& s = work->shape;
    const int64_t each = EachRow(work->reach);
    Row row(s, first);
    for (int64_t i = 0, alike; i < count; i += alike, rows += alike * each) {
      alike = Alike(row, count - i);
      Lines(from, row, alike, rows);
      for (int64_t k = 0; k < alike; ++k) row.Next(s);
    }
  }

  void Lines(const T* from, const Row& row, int64_t alike, T* rows) const {
    const PoolShape& s = work->shape;
    const PoolSpan &z = row.planes(s), &y = row.lines(s);
    const int64_t each = EachRow(work->reach), width = s.in[2];
    if (z.count * y.count == 0) {
      for (int64_t k = 0; k < alike; ++k) std::fill_n(rows + k * each, width, None());
      return;
    }
    const int64_t apart = alike > 1 ? (&y)[1].first - y.first : 0;
    const T* image = from + row.image * s.in[0] * s.in[1] * width;
    PlaneLines<T> lines{rows, nullptr, alike, each, apart * width, y.count, y.step * width, width, false};
    for (int64_t a = 0; a < z.count; ++a) {
      lines.from = image + ((z.first + a * z.step) * s.in[1] + y.first) * width, lines.more = a > 0;
      (s.kind == PoolKind::kMax ? loops->max_lines : loops->add_lines)(lines);
    }
  }

  void Slide(const T* rows, T* to, int64_t count) const {
    for (const Run& run : work->runs) {
      PlaneWindows windows = run.windows;
      windows.rows = count, windows.to_pitch = work->shape.out[2], windows.from_pitch = EachRow(work->reach);
      (work->shape.kind == PoolKind::kMax ? loops->max_along : loops->add_along)(to + run.begin,
                                                                                 rows + run.start, windows);
    }
  }

  // Sums become means.
  void Divide(T* to, int64_t first, int64_t count) const {
    const PoolShape& s = work->shape;
    const Divisors<T>& d = work->divisors;
    Row row(s, first);
    const auto kind = [&] { return d.of_row[static_cast<size_t>(row.z * s.out[1] + row.y)]; };
    for (int64_t i = 0; i < count;) {
      const size_t factors = kind();
      const int64_t begin = i;
      for (; i < count && kind() == factors; ++i) row.Next(s);
      loops->scale(to + (first + begin) * s.out[2], d.factors[factors].data(), s.out[2], i - begin);
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
