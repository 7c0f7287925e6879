// Pooling of small planes, sixteen at a time: they are turned so that each has a lane of the vectors, which
// then know nothing of the ends of rows. What the lines and columns of a window leave is found one after the
// other.
#include <algorithm>
#include <array>
#include <limits>

#include "ops/conv/channels_last.h"
#include "ops/layout/float_transpose.h"
#include "ops/pool/plane_loops.h"
#include "ops/pool/pool_shape.h"
#include "ops/pool/turned_loops.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr int64_t kLanes = kPlanesTurned;

// Neighbours along a dimension that see equally much, equally far apart: `count` places from `from` on,
// `step` apart, and each `stride` behind the one before it.
struct AlikeSpans {
  int64_t to, from, results, stride, count, step;
};

// Places [begin, end) of the result along a dimension, of what begins at `low`.
std::vector<AlikeSpans> AlikeSpansOf(const PoolSpans& spans, int64_t begin, int64_t end, int64_t low) {
  std::vector<AlikeSpans> all;
  for (int64_t i = begin; i < end; ++i) {
    const PoolSpan& span = spans[static_cast<size_t>(i)];
    AlikeSpans* last = all.empty() ? nullptr : &all.back();
    const int64_t stride = last == nullptr ? 0 : span.first - spans[static_cast<size_t>(i - 1)].first;
    if (last != nullptr && span.count == last->count && span.step == last->step &&
        (last->results == 1 || stride == last->stride)) {
      last->stride = stride, ++last->results;
    } else {
      all.push_back({i - begin, span.first - low, 1, 0, span.count, span.step});
    }
  }
  return all;
}

// Lines of the result that are found together, and the lines of each plane that they see.
struct LineBand {
  int64_t row, rows, low, high;
  std::vector<AlikeSpans> alike[3];  // along each dimension
};

// How the work is laid out, from the shape alone.
struct TurnedWork {
  PoolShape shape;
  std::vector<LineBand> bands;
  int64_t buffer = 0;           // elements of each of two arrays that hold what is found so far
  std::array<int, 3> order;     // of the dimensions, as they are folded
  std::vector<float> divisors;  // of means, for each position of a plane

  TurnedWork(const PoolShape& given, bool with_places) : shape(given) {
    const PoolShape& s = shape;
    constexpr int64_t kNear = 256 * 1024 / (kLanes * sizeof(float));  // elements of a plane
    const int64_t lines = std::max<int64_t>(1, kNear / std::max<int64_t>(1, s.in[0] * s.in[2]));
    int64_t most_lines = 0, most_rows = 0;
    for (int64_t row = 0, rows; row < s.out[1]; row += rows) {
      LineBand band{row, 0, s.in[1], 0, {}};
      for (rows = 0; row + rows < s.out[1] && Sees(band, row + rows, lines);) ++rows;
      band.rows = rows, band.low = std::min(band.low, band.high);
      band.alike[0] = AlikeSpansOf(s.spans[0], 0, s.out[0], 0);
      band.alike[1] = AlikeSpansOf(s.spans[1], row, row + rows, band.low);
      band.alike[2] = AlikeSpansOf(s.spans[2], 0, s.out[2], 0);
      bands.push_back(band);
      most_lines = std::max(most_lines, band.high - band.low), most_rows = std::max(most_rows, rows);
    }
    const int64_t in[3] = {s.in[0], most_lines, s.in[2]}, out[3] = {s.out[0], most_rows, s.out[2]};
    order = BestOrder(in, out);
    int64_t sizes[3] = {in[0], in[1], in[2]};
    buffer = kLanes * std::max(sizes[0] * sizes[1] * sizes[2], out[0] * out[1] * out[2]);
    for (int d : order) {
      sizes[d] = out[d];
      if (!with_places) buffer = std::max(buffer, kLanes * sizes[0] * sizes[1] * sizes[2]);
    }
    if (s.kind == PoolKind::kMean) AddDivisors();
  }

  int64_t planes() const { return shape.batch * shape.channels; }
  int64_t plane() const { return shape.in[0] * shape.in[1] * shape.in[2]; }
  int64_t blocks() const { return (planes() + kLanes - 1) / kLanes; }

 private:
  // Whether a line of the result still fits; its lines are the band's then. The first does in any case.
  bool Sees(LineBand& band, int64_t row, int64_t most) {
    const PoolSpan& span = shape.spans[1][static_cast<size_t>(row)];
    if (span.count == 0) return true;
    const int64_t low = std::min(band.low, span.first);
    const int64_t high = std::max(band.high, span.first + (span.count - 1) * span.step + 1);
    if (row != band.row && high - low > most) return false;
    band.low = low, band.high = high;
    return true;
  }

  // Each dimension is folded for as many places as the others have by then.
  std::array<int, 3> BestOrder(const int64_t (&in)[3], const int64_t (&out)[3]) const {
    constexpr int64_t kOfResult = 3;  // in steps of a fold
    std::array<int, 3> turn = {0, 1, 2}, best = turn;
    int64_t least = std::numeric_limits<int64_t>::max();
    do {
      int64_t sizes[3] = {in[0], in[1], in[2]}, cost = 0;
      for (int d : turn) {
        int64_t taps = 0;
        for (const PoolSpan& span : shape.spans[d]) taps = std::max(taps, span.count);
        sizes[d] = out[d];
        cost += sizes[0] * sizes[1] * sizes[2] * (taps + kOfResult);
      }
      if (cost < least) least = cost, best = turn;
    } while (std::next_permutation(turn.begin(), turn.end()));
    return best;
  }

  void AddDivisors() {
    for (const PoolSpan& z : shape.spans[0]) {
      for (const PoolSpan& y : shape.spans[1]) {
        for (const PoolSpan& x : shape.spans[2]) {
          const int64_t seen =
              shape.count_padding ? z.padded * y.padded * x.padded : z.count * y.count * x.count;
          const int64_t divisor = shape.divisor != 0 ? shape.divisor : std::max<int64_t>(seen, 1);
          divisors.push_back(static_cast<float>(divisor));
        }
      }
    }
  }
};

struct TurnedBody {
  std::shared_ptr<const TurnedWork> work;
  const TurnedLoops* loops;
  PackedOperand in, out, places;
  PieceScratch<float> arrays;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const float*>(in.Loaded(frame));
    auto* to = reinterpret_cast<float*>(out.Result(frame));
    auto* note = places.present() ? reinterpret_cast<int64_t*>(places.Result(frame)) : nullptr;
    const int64_t bands = std::ssize(work->bands);
    arrays.For(frame, [&](int64_t begin, int64_t end, float* scratch) {
      for (int64_t i = begin; i < end; ++i)
        Block(from, to, note, i / bands * kLanes, work->bands[static_cast<size_t>(i % bands)], scratch);
    });
    out.Store(frame);
    if (places.present()) places.Store(frame);
  }

 private:
  // One band of planes [first, first + kLanes), or of those that are left: the last lanes have planes then.
  void Block(const float* from, float* to, int64_t* note, int64_t first, const LineBand& band,
             float* here) const {
    const PoolShape& s = work->shape;
    const int64_t begin = std::max<int64_t>(0, std::min(first, work->planes() - kLanes));
    const int64_t count = std::min(kLanes, work->planes() - first), skipped = first - begin;
    float* there = here + work->buffer;
    TurnIn(from + begin * work->plane(), std::min(kLanes, work->planes()), band, here);
    const int64_t results = s.out[0] * s.out[1] * s.out[2];
    if (note != nullptr) {
      auto* found = reinterpret_cast<int32_t*>(there + work->buffer);
      FindPlaces(here, band, there, found);
      NotePlaces(found + skipped, band, first, count, note + first * results);
    } else {
      there = Folded(band, here, there);
    }
    TurnBack(there + skipped, band, count, to + first * results);
  }

  void TurnIn(const float* from, int64_t count, const LineBand& band, float* to) const {
    const PoolShape& s = work->shape;
    const int64_t n = (band.high - band.low) * s.in[2];
    if (count < kLanes) std::fill_n(to, s.in[0] * n * kLanes, 0.0f);
    for (int64_t z = 0; z < s.in[0]; ++z)
      TurnFloats(from + (z * s.in[1] + band.low) * s.in[2], work->plane(), to + z * n * kLanes, kLanes, count,
                 n);
  }

  // What windows leave, one dimension after the other, of what is in the one array and goes to the other and
  // back.
  float* Folded(const LineBand& band, float* here, float* there) const {
    const PoolShape& s = work->shape;
    const bool mean = s.kind == PoolKind::kMean;
    int64_t sizes[3] = {s.in[0], band.high - band.low, s.in[2]};
    const int64_t out[3] = {s.out[0], band.rows, s.out[2]};
    TurnedLoops::Fold* fold = mean ? loops->add : loops->max_of_numbers;
    if (!mean && !loops->are_numbers(here, sizes[0] * sizes[1] * sizes[2] * kLanes)) fold = loops->max;
    for (int d : work->order) {
      if (!SeesItself(band.alike[d], sizes[d], out[d])) {
        int64_t each = kLanes, times = 1;
        for (int other = 0; other < d; ++other) times *= sizes[other];
        for (int other = d + 1; other < 3; ++other) each *= sizes[other];
        for (int64_t i = 0; i < times; ++i)
          Fold(band.alike[d], each, here + i * sizes[d] * each, there + i * out[d] * each, fold);
        std::swap(here, there);
      }
      sizes[d] = out[d];
    }
    if (!mean) return here;
    Divide(band, here, there);
    return there;
  }

  // Each place of the result sees the one of its own, and nothing else.
  static bool SeesItself(const std::vector<AlikeSpans>& alike, int64_t in, int64_t out) {
    const AlikeSpans& a = alike[0];
    return alike.size() == 1 && in == out && a.from == 0 && a.count == 1 && (out == 1 || a.stride == 1);
  }

  // Of places with so many elements each.
  static void Fold(const std::vector<AlikeSpans>& alike, int64_t each, const float* from, float* to,
                   TurnedLoops::Fold* fold) {
    constexpr int64_t kFew = 4 * kLanes;
    for (const AlikeSpans& a : alike) {
      TurnedFold f{to + a.to * each, from + a.from * each, a.results, each,   a.stride * each,
                   a.count,          a.step * each,        each,      nullptr};
      if (a.stride == 1 && each < kFew) f.results = 1, f.n = a.results * each;  // one behind the other
      fold(f);
    }
  }

  void Divide(const LineBand& band, const float* from, float* to) const {
    const PoolShape& s = work->shape;
    const int64_t n = band.rows * s.out[2];
    for (int64_t z = 0; z < s.out[0]; ++z) {
      const float* divisors = work->divisors.data() + (z * s.out[1] + band.row) * s.out[2];
      loops->add({to + z * n * kLanes, from + z * n * kLanes, n, kLanes, kLanes, 1, 0, kLanes, divisors});
    }
  }

  void FindPlaces(const float* from, const LineBand& band, float* most, int32_t* found) const {
    const PoolShape& s = work->shape;
    const int64_t line = s.in[2] * kLanes, lines = (band.high - band.low) * line;
    const auto size = [&](int d) { return static_cast<int32_t>(s.in[d]); };
    TurnedWindow w{};
    for (int d = 0; d < 3; ++d) w.place_step[d] = 1;
    for (int d = 0; d < 3; ++d) {
      for (int other = 0; other < 3; ++other)
        if (s.column_major ? other < d : other > d) w.place_step[d] *= size(other);
    }
    int32_t steps[3] = {w.place_step[0], w.place_step[1], w.place_step[2]};
    for (const PoolSpan& z : s.spans[0]) {
      for (int64_t r = band.row; r < band.row + band.rows; ++r) {
        const PoolSpan& y = s.spans[1][static_cast<size_t>(r)];
        for (const PoolSpan& x : s.spans[2]) {
          const PoolSpan* seen[3] = {&z, &y, &x};
          const int64_t pitch[3] = {lines, line, kLanes};
          int32_t place = 0;
          for (int d = 0; d < 3; ++d) {
            w.count[d] = seen[d]->count, w.step[d] = seen[d]->step * pitch[d];
            w.place_step[d] = static_cast<int32_t>(seen[d]->step) * steps[d];
            place += static_cast<int32_t>(seen[d]->first) * steps[d];
          }
          const float* at = from + z.first * lines + (y.first - band.low) * line + x.first * kLanes;
          loops->max_with_places(most, found, at, place, w);
          most += kLanes, found += kLanes;
        }
      }
    }
  }

  void TurnBack(const float* found, const LineBand& band, int64_t count, float* to) const {
    const PoolShape& s = work->shape;
    const int64_t n = band.rows * s.out[2], results = s.out[0] * s.out[1] * s.out[2];
    for (int64_t z = 0; z < s.out[0]; ++z)
      TurnFloats(found + z * n * kLanes, kLanes, to + (z * s.out[1] + band.row) * s.out[2], results, n,
                 count);
  }

  void NotePlaces(const int32_t* found, const LineBand& band, int64_t first, int64_t count,
                  int64_t* note) const {
    const PoolShape& s = work->shape;
    const int64_t n = band.rows * s.out[2], results = s.out[0] * s.out[1] * s.out[2];
    for (int64_t c = 0; c < count; ++c) {
      const int64_t begin = s.places_in_plane ? 0 : (first + c) * work->plane();
      for (int64_t z = 0; z < s.out[0]; ++z) {
        int64_t* to = note + c * results + (z * s.out[1] + band.row) * s.out[2];
        const int32_t* of = found + z * n * kLanes + c;
        for (int64_t i = 0; i < n; ++i) to[i] = begin + of[i * kLanes];
      }
    }
  }
};

// Rows that fill vectors as they lie: those of windows that begin side by side, or share what they see, need
// more of them.
int64_t LongRow(const PoolShape& s) {
  const int64_t lanes = BestPlaneLoopsF32().lanes;
  const PoolSpans& spans = s.spans[2];
  if (spans.size() < 2) return 4 * lanes;
  const PoolSpan &last = spans.back(), &before = spans[spans.size() - 2];
  const int64_t apart = last.start - before.start;
  return apart == 1 ? 32 : apart >= before.taps && before.step == 1 ? 2 * lanes : 4 * lanes;
}

// Long rows are pooled as they lie, and so is what one window sees of a plane that it covers.
bool PaysToTurn(const PoolShape& s, bool with_places) {
  constexpr int64_t kFewPlanes = 8, kMostBytes = 2 * 1024 * 1024;
  const int64_t plane = s.in[0] * s.in[1] * s.in[2];
  if (s.kind == PoolKind::kNorm || plane == 0 || plane >= std::numeric_limits<int32_t>::max()) return false;
  if (s.in[0] > 1 && plane * kLanes * static_cast<int64_t>(sizeof(float)) > kMostBytes) return false;
  if (with_places) return true;
  return s.in[2] < LongRow(s) && s.batch * s.channels >= kFewPlanes && s.out[0] * s.out[1] * s.out[2] > 1;
}

}  // namespace

bool PlanTurnedPool(Plan& plan, const PoolArgs& args, const PoolShape& shape) {
  const Tensor& x = *args.input.tensor;
  const bool with_places = args.places.present();
  if (!PoolsAsFloats(x.dtype) || !SameLayout(x.shape, x.strides, PackedStrides(x.shape))) return false;
  if (!PaysToTurn(shape, with_places)) return false;
  const auto work = std::make_shared<const TurnedWork>(shape, with_places);
  TurnedBody body{};
  body.work = work, body.loops = &BestTurnedLoops();
  body.in = {plan, args.input, DType::kF32, false, true};
  body.out = {plan, args.out, DType::kF32, false, false};
  if (with_places) body.places = {plan, args.places, DType::kI64, false, false};
  const auto bands = std::ssize(work->bands);
  const int64_t each = kLanes * work->plane() / bands;
  body.arrays = {plan, work->blocks() * bands, std::max<int64_t>(1, LoopNest::kGrain / each),
                 (with_places ? 3 : 2) * work->buffer};
  plan.SetCost(500 + static_cast<uint64_t>(x.count()) / 4);
  plan.SetBody(body);
  return true;
}

}  // namespace belay::ops
