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

// Rows of the result that follow each other in a plane, and see equally many lines, equally far apart.
struct Band {
  int64_t row, rows;
  PoolSpan planes, lines;  // that the first sees
  int64_t apart;           // lines, from one to the next
  int64_t divisor;         // of what a line's windows add up, in the first two dimensions
};

int64_t DivisorOf(const PoolShape& s, const PoolSpan& z, const PoolSpan& y) {
  if (s.kind == PoolKind::kMax || s.divisor != 0) return s.divisor;
  return std::max<int64_t>(s.count_padding ? z.padded * y.padded : z.count * y.count, 1);
}

// How many lines of the result from `y` on, at most `most`, see what lies the same way.
int64_t Alike(const PoolShape& s, const PoolSpan& planes, const PoolSpan* lines, int64_t most) {
  int64_t count = 1;
  for (; count < most; ++count) {
    const PoolSpan &before = lines[count - 1], &next = lines[count];
    if (next.count != lines->count || next.step != lines->step ||
        next.first - before.first != lines[1].first - lines->first ||
        DivisorOf(s, planes, next) != DivisorOf(s, planes, *lines))
      break;
  }
  return count;
}

std::vector<Band> BandsOf(const PoolShape& s, int64_t together) {
  std::vector<Band> bands;
  for (int64_t z = 0; z < s.out[0]; ++z) {
    const PoolSpan& planes = s.spans[0][static_cast<size_t>(z)];
    for (int64_t y = 0, rows; y < s.out[1]; y += rows) {
      const PoolSpan* lines = &s.spans[1][static_cast<size_t>(y)];
      rows = Alike(s, planes, lines, std::min(together, s.out[1] - y));
      const int64_t apart = rows > 1 ? lines[1].first - lines->first : 0;
      bands.push_back({z * s.out[1] + y, rows, planes, *lines, apart, DivisorOf(s, planes, *lines)});
    }
  }
  return bands;
}

// How the work is laid out, from the shape alone.
struct PlaneWork {
  PoolShape shape;
  std::vector<Run> runs;
  Reach reach;
  // One window sees a whole row, and a plane is one: nothing is gathered.
  bool whole_rows;
  // The windows of a row end where it ends: those of the next go on behind them.
  bool seamless;
  int64_t pitch;  // of the rows in the scratch
  int64_t together;
  std::vector<Band> bands;

  explicit PlaneWork(const PoolShape& given)
      : shape(Flattened(given)), runs(RunsOf(shape.spans[2])), reach(shape.in[2], runs) {
    const PlaneWindows& w = runs[0].windows;
    const bool inside = reach.size() == shape.in[2];
    whole_rows = shape.out[0] * shape.out[1] == 1 && shape.in[0] * shape.in[1] == 1 && inside &&
                 runs.size() == 1 && w.count == 1;
    seamless = runs.size() == 1 && runs[0].start == 0 && inside && w.stride * w.count == shape.in[2];
    pitch = seamless ? shape.in[2] : reach.size() + PlaneWindows::kSlack;
    together = std::clamp<int64_t>((1 << 12) / pitch, 1, 16);
    bands = BandsOf(shape, together);
  }

  int64_t planes() const { return shape.batch * shape.channels; }
  int64_t scratch() const { return whole_rows ? 0 : together * pitch + PlaneWindows::kSlack; }
  bool pays() const { return shape.in[2] >= kShortestPooledRow && reach.size() <= 2 * shape.in[2] + 64; }
};

// What the sums of each band are multiplied by.
template <class T>
class Factors {
 public:
  explicit Factors(const PlaneWork& work) {
    if (work.shape.kind == PoolKind::kMax) return;
    std::map<int64_t, size_t> places;
    for (const Band& band : work.bands) {
      const auto [place, added] = places.emplace(band.divisor, rows_.size());
      if (added) rows_.push_back(RowsOf(work, band.divisor));
      of_band_.push_back(place->second);
    }
  }

  const T* Of(size_t band) const { return rows_.empty() ? nullptr : rows_[of_band_[band]].data(); }

 private:
  // A row's; where rows follow each other without a seam those of all.
  static std::vector<T> RowsOf(const PlaneWork& work, int64_t across) {
    const PoolShape& s = work.shape;
    std::vector<T> rows;
    for (int64_t r = 0; r < (work.seamless ? work.together : 1); ++r) {
      for (const PoolSpan& x : s.spans[2]) {
        const int64_t along = s.divisor != 0 ? 1 : s.count_padding ? x.padded : x.count;
        rows.push_back(T{1} / (static_cast<T>(across) * static_cast<T>(std::max<int64_t>(along, 1))));
      }
    }
    return rows;
  }

  std::vector<std::vector<T>> rows_;
  std::vector<size_t> of_band_;
};

template <class T>
struct PlaneBody {
  std::shared_ptr<const PlaneWork> work;
  std::shared_ptr<const Factors<T>> factors;
  const PlaneLoops<T>* loops;
  PackedOperand in, out;
  PieceScratch<T> rows;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const T*>(in.Loaded(frame));
    auto* result = reinterpret_cast<T*>(out.Result(frame));
    rows.For(frame, [&](int64_t begin, int64_t end, T* scratch) {
      work->whole_rows ? WholeRows(from, result, begin, end) : Bands(from, result, begin, end, scratch);
    });
    out.Store(frame);
  }

 private:
  bool max() const { return work->shape.kind == PoolKind::kMax; }
  T None() const { return max() ? -std::numeric_limits<T>::infinity() : T{0}; }

  void WholeRows(const T* from, T* to, int64_t begin, int64_t end) const {
    const int64_t width = work->shape.in[2];
    PlaneWindows windows = work->runs[0].windows;
    windows.rows = end - begin, windows.to_pitch = 1, windows.from_pitch = width;
    (max() ? loops->max_along : loops->add_along)(to + begin, from + begin * width, factors->Of(0), windows);
  }

  // A few rows at a time: what is read right after it was written, and not as it was written, waits for the
  // memory.
  void Bands(const T* from, T* to, int64_t begin, int64_t end, T* scratch) const {
    const PoolShape& s = work->shape;
    const auto bands = static_cast<int64_t>(work->bands.size());
    T* const rows = scratch - work->reach.low;
    for (int64_t i = 0; i < work->together; ++i) {
      std::fill(scratch + i * work->pitch, rows + i * work->pitch, None());
      std::fill(rows + i * work->pitch + s.in[2], scratch + (i + 1) * work->pitch, None());
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / bands, band = i % bands;
      const Band& b = work->bands[static_cast<size_t>(band)];
      T* result = to + (plane * s.out[0] * s.out[1] + b.row) * s.out[2];
      const bool plain = Gather(from + plane * s.in[0] * s.in[1] * s.in[2], b, rows);
      Slide(rows, factors->Of(static_cast<size_t>(band)), b.rows, plain, result);
    }
  }

  // The lines that the windows of each row of a band see, as one. True where these are numbers, of which none
  // is infinite; where that is not known it may be false.
  bool Gather(const T* image, const Band& band, T* rows) const {
    const PoolShape& s = work->shape;
    const PoolSpan &z = band.planes, &y = band.lines;
    const int64_t width = s.in[2];
    if (z.count * y.count == 0) {
      for (int64_t k = 0; k < band.rows; ++k) std::fill_n(rows + k * work->pitch, width, None());
      return false;
    }
    const T* first = image + (z.first * s.in[1] + y.first) * width;
    const PlaneLines<T> one{rows,    first,          band.rows, work->pitch, band.apart * width,
                            y.count, y.step * width, width,     false};
    const auto all = [&](auto* lines) {
      PlaneLines<T> each = one;
      bool plain = true;
      for (int64_t a = 0; a < z.count; ++a, each.from += z.step * s.in[1] * width, each.more = true)
        plain = lines(each) && plain;
      return plain;
    };
    if (!max()) return all(loops->add_lines), false;
    return all(loops->max_lines_of_numbers) || (all(loops->max_lines), false);
  }

  void Slide(const T* rows, const T* factors_of_row, int64_t count, bool plain, T* to) const {
    const auto along = !max() ? loops->add_along : plain ? loops->max_along_of_numbers : loops->max_along;
    for (const Run& run : work->runs) {
      PlaneWindows windows = run.windows;
      windows.rows = count, windows.to_pitch = work->shape.out[2], windows.from_pitch = work->pitch;
      if (work->seamless) windows.count *= count, windows.rows = 1;
      along(to + run.begin, rows + run.start, factors_of_row + (max() ? 0 : run.begin), windows);
    }
  }
};

template <class T>
bool PlanPlanesFor(Plan& plan, const PoolArgs& args, const PoolShape& given, const PlaneLoops<T>& loops,
                   DType type) {
  const auto work = std::make_shared<const PlaneWork>(given);
  if (!work->pays()) return false;
  const PoolShape& s = work->shape;
  PlaneBody<T> body{};
  body.work = work, body.factors = std::make_shared<const Factors<T>>(*work);
  body.loops = &loops;
  body.in = {plan, args.input, type, false, true}, body.out = {plan, args.out, type, false, false};
  const int64_t seen = s.spans[0][0].count * s.spans[1][0].count + s.spans[2][0].taps + 1;
  const auto bands = static_cast<int64_t>(work->bands.size());
  const int64_t rows_of_each = (s.out[0] * s.out[1] + bands - 1) / bands;
  body.rows = {plan, work->planes() * bands,
               std::max<int64_t>(1, LoopNest::kGrain / (seen * s.in[2] * rows_of_each)), work->scratch()};
  plan.SetCost(500 + static_cast<uint64_t>(args.input.tensor->count()) / 4);
  plan.SetBody(body);
  return true;
}

}  // namespace

bool PlanPlanePool(Plan& plan, const PoolArgs& args, const PoolShape& shape) {
  if (shape.kind == PoolKind::kNorm || args.places.present()) return false;
  const Tensor& x = *args.input.tensor;
  if (!SameLayout(x.shape, x.strides, PackedStrides(x.shape))) return false;
  if (PoolsAsFloats(x.dtype)) return PlanPlanesFor(plan, args, shape, BestPlaneLoopsF32(), DType::kF32);
  if (x.dtype == DType::kF64) return PlanPlanesFor(plan, args, shape, BestPlaneLoopsF64(), DType::kF64);
  return false;
}

}  // namespace belay::ops
