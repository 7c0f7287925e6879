// All channels of a pixel are worked on together, so tensors are taken channels last; others are
// converted around the work, as for convolutions, where planes cannot be pooled as they lie.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/conv/channels_last.h"
#include "ops/pool/pool_loops.h"
#include "ops/pool/pool_shape.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// Below everything: what windows hold that see nothing.
template <class T>
constexpr T kLeast = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();

// The windows of one output row.
template <class T>
class PoolRow {
 public:
  // `sums` are two sums of all channels.
  PoolRow(const PoolShape& shape, const PoolLoops<T>& loops, const T* image, int64_t n, T* sums)
      : s_(shape), loops_(loops), image_(image), n_(n), sums_(sums) {}

  static bool AddsByRows(const PoolShape& shape) {
    auto most = [](const PoolSpans& spans) {
      int64_t count = 0;
      for (const PoolSpan& span : spans) count = std::max(count, span.count);
      return count;
    };
    return shape.kind != PoolKind::kMax && most(shape.spans[1]) * most(shape.spans[2]) > kManyElements;
  }

  void Pixel(const PoolSpan& z, const PoolSpan& y, const PoolSpan& x, T* to, int64_t* places) const {
    const bool max = s_.kind == PoolKind::kMax;
    std::fill(to, to + s_.channels, max ? kLeast<T> : T{0});
    if (places != nullptr) std::fill(places, places + s_.channels, int64_t{0});
    if (!max && y.count * x.count > kManyElements) {
      AddByRows(z, y, x, to);
    } else if (places == nullptr && s_.kind != PoolKind::kNorm) {
      for (int64_t a = 0; a < z.count; ++a) TakePlane(z.first + a * z.step, y, x, to);
    } else {
      for (int64_t a = 0; a < z.count; ++a) {
        for (int64_t b = 0; b < y.count; ++b)
          TakeRow(z.first + a * z.step, y.first + b * y.step, x, to, places);
      }
    }
    Finish(z, y, x, to);
    if (places != nullptr) FinishPlaces(places);
  }

 private:
  static constexpr int64_t kManyElements = 1024;

  // Rows of a large window are added up, then planes, then all, so that no sum has very many terms.
  void AddByRows(const PoolSpan& z, const PoolSpan& y, const PoolSpan& x, T* to) const {
    T *plane = sums_, *row = sums_ + s_.channels;
    for (int64_t a = 0; a < z.count; ++a) {
      std::fill_n(plane, s_.channels, T{0});
      for (int64_t b = 0; b < y.count; ++b) {
        std::fill_n(row, s_.channels, T{0});
        TakeRow(z.first + a * z.step, y.first + b * y.step, x, row, nullptr);
        loops_.add(plane, row, s_.channels);
      }
      loops_.add(to, plane, s_.channels);
    }
  }

  void TakePlane(int64_t z, const PoolSpan& y, const PoolSpan& x, T* to) const {
    if (y.count == 0 || x.count == 0) return;  // in the padding: nothing lies there
    const int64_t row = s_.in[2] * s_.channels;
    const T* from = image_ + (z * s_.in[1] + y.first) * row + x.first * s_.channels;
    const PoolWindow window{y.count, y.step * row, x.count, x.step * s_.channels};
    (s_.kind == PoolKind::kMax ? loops_.max_window : loops_.add_window)(to, from, window, s_.channels);
  }

  void TakeRow(int64_t z, int64_t y, const PoolSpan& x, T* to, int64_t* places) const {
    for (int64_t c = 0; c < x.count; ++c) Take(z, y, x.first + c * x.step, to, places);
  }

  void Take(int64_t z, int64_t y, int64_t x, T* to, int64_t* places) const {
    const T* from = image_ + ((z * s_.in[1] + y) * s_.in[2] + x) * s_.channels;
    if (s_.kind == PoolKind::kMean) return loops_.add(to, from, s_.channels);
    if (s_.kind == PoolKind::kNorm) return TakeNorm(from, to);
    if (places == nullptr) return loops_.max(to, from, s_.channels);
    const int64_t place =
        s_.column_major ? (x * s_.in[1] + y) * s_.in[0] + z : (z * s_.in[1] + y) * s_.in[2] + x;
    loops_.max_place(to, places, from, place, s_.channels);
  }

  void TakeNorm(const T* from, T* to) const {
    if (s_.norm == 2) return loops_.add_square(to, from, s_.channels);
    if (s_.norm == 1) return loops_.add_size(to, from, s_.channels);
    for (int64_t c = 0; c < s_.channels; ++c) to[c] += static_cast<T>(std::pow(std::abs(from[c]), s_.norm));
  }

  void Finish(const PoolSpan& z, const PoolSpan& y, const PoolSpan& x, T* to) const {
    if (s_.kind == PoolKind::kNorm && s_.norm != 1) {
      for (int64_t c = 0; c < s_.channels; ++c)
        to[c] = s_.norm == 2 ? std::sqrt(to[c]) : static_cast<T>(std::pow(to[c], 1 / s_.norm));
    }
    if (s_.kind != PoolKind::kMean) return;
    const int64_t seen = s_.count_padding ? z.padded * y.padded * x.padded : z.count * y.count * x.count;
    const int64_t count = s_.divisor != 0 ? s_.divisor : std::max<int64_t>(seen, 1);
    loops_.scale(to, T{1} / static_cast<T>(count), s_.channels);
  }

  void FinishPlaces(int64_t* places) const {
    if (s_.places_in_plane) return;
    const int64_t plane = s_.in[0] * s_.in[1] * s_.in[2];
    for (int64_t c = 0; c < s_.channels; ++c) places[c] += (n_ * s_.channels + c) * plane;
  }

  const PoolShape& s_;
  const PoolLoops<T>& loops_;
  const T* image_;
  const int64_t n_;
  T* const sums_;
};

template <class T>
struct PoolBody {
  std::shared_ptr<const PoolShape> shape;
  const PoolLoops<T>* loops;
  PackedOperand in, out, places;
  PieceScratch<T> rows;

  void operator()(const Frame& frame) const {
    char* note = places.present() ? places.Result(frame) : nullptr;
    Rows(frame, reinterpret_cast<const T*>(in.Loaded(frame)), reinterpret_cast<T*>(out.Result(frame)),
         reinterpret_cast<int64_t*>(note));
    out.Store(frame);
    if (places.present()) places.Store(frame);
  }

  void Reserve(Plan& plan) {
    const PoolShape& s = *shape;
    const int64_t seen = s.spans[0][0].count * s.spans[1][0].count * s.spans[2][0].count + 1;
    const int64_t each = std::max<int64_t>(1, s.out[2] * s.channels * seen);
    rows = {plan, s.batch * s.out[0] * s.out[1], std::max<int64_t>(1, LoopNest::kGrain / each),
            PoolRow<T>::AddsByRows(s) ? 2 * s.channels : 0};
  }

  void Rows(const Frame& frame, const T* from, T* to, int64_t* note) const {
    const PoolShape& s = *shape;
    const int64_t row = s.out[2] * s.channels;
    const int64_t image = s.in[0] * s.in[1] * s.in[2] * s.channels;
    rows.For(frame, [&](int64_t begin, int64_t end, T* sums) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t y = r % s.out[1], z = r / s.out[1] % s.out[0], n = r / s.out[1] / s.out[0];
        PoolRow<T> windows(s, *loops, from + n * image, n, sums);
        for (int64_t x = 0; x < s.out[2]; ++x) {
          const int64_t at = r * row + x * s.channels;
          windows.Pixel(s.spans[0][static_cast<size_t>(z)], s.spans[1][static_cast<size_t>(y)],
                        s.spans[2][static_cast<size_t>(x)], to + at, note == nullptr ? nullptr : note + at);
        }
      }
    });
  }
};

PoolShape ShapeOf(const PoolArgs& args) {
  const Shape in = args.input.shape(), out = args.out.shape();
  const int spatial = in.rank() - 2;
  if (spatial < 1 || spatial > 3 || out.rank() != in.rank() || in[0] != out[0] || in[1] != out[1] ||
      args.spans.size() != static_cast<size_t>(spatial)) {
    Fail(tensor::kInvalidArgument, "pool-shape", "{} {} cannot be pooled to {} {}", args.input.name,
         in.ToString(), args.out.name, out.ToString());
  }
  PoolShape s{args.kind,
              in[0],
              in[1],
              {1, 1, 1},
              {1, 1, 1},
              {},
              args.count_padding,
              args.places_in_plane,
              args.column_major,
              args.divisor,
              args.norm};
  for (int d = 0; d < 3; ++d) {
    const int i = d - (3 - spatial);
    if (i < 0) {
      s.spans[d] = {{0, 1, 1, 1}};
      continue;
    }
    s.in[d] = in[i + 2], s.out[d] = out[i + 2];
    s.spans[d] = args.spans[static_cast<size_t>(i)];
    if (static_cast<int64_t>(s.spans[d].size()) != s.out[d]) {
      Fail(tensor::kInvalidArgument, "pool-shape", "{} has the shape {}, but there are {} windows",
           args.out.name, out.ToString(), s.spans[d].size());
    }
  }
  return s;
}

template <class T>
void PlanFor(Plan& plan, const PoolArgs& args, const PoolShape& shape, const PoolLoops<T>& loops,
             DType type) {
  PoolBody<T> body{};
  body.shape = std::make_shared<PoolShape>(shape);
  body.loops = &loops;
  body.in = {plan, args.input, type, true, true}, body.out = {plan, args.out, type, true, false};
  if (args.places.present()) body.places = {plan, args.places, DType::kI64, true, false};
  body.Reserve(plan);
  plan.SetCost(500 + static_cast<uint64_t>(args.input.tensor->count()) / 4);
  plan.SetBody(body);
}

// Sizes of results come from models, and may be anything where there is no batch.
PoolSpans RoomFor(int64_t windows) {
  constexpr int64_t kMost = int64_t{1} << 28;
  if (windows > kMost) {
    Fail(tensor::kInvalidArgument, "pool-shape", "a dimension has {} windows; at most {} are supported",
         windows, kMost);
  }
  PoolSpans spans;
  spans.reserve(static_cast<size_t>(std::max<int64_t>(windows, 0)));
  return spans;
}

}  // namespace

bool IsWindow(const PoolDimension& d) {
  constexpr int64_t kMost = int64_t{1} << 31;  // so that products of two of these numbers fit
  return std::min({d.kernel, d.stride, d.dilation}) >= 1 && std::min(d.before, d.after) >= 0 &&
         std::max({d.kernel, d.stride, d.dilation, d.before, d.after}) <= kMost;
}

int64_t PoolOutputSize(const PoolDimension& d, bool ceil) {
  const int64_t reach = d.in + d.before + d.after - ((d.kernel - 1) * d.dilation + 1);
  if (reach < 0 && !ceil) return 0;
  int64_t out = (reach + (ceil ? d.stride - 1 : 0)) / d.stride + 1;
  if (ceil && out > 1 && (out - 1) * d.stride >= d.in + d.before) --out;
  return std::max<int64_t>(out, 0);
}

PoolSpans SlidingSpans(const PoolDimension& d, int64_t out) {
  PoolSpans spans = RoomFor(out);
  for (int64_t i = 0; i < out; ++i) {
    const int64_t start = i * d.stride - d.before;
    auto taps_below = [&](int64_t limit) {  // how many taps lie before `limit`
      const int64_t room = limit - start;
      return room <= 0 ? 0 : std::min(d.kernel, (room + d.dilation - 1) / d.dilation);
    };
    const int64_t outside = taps_below(0);
    spans.push_back({start + outside * d.dilation, taps_below(d.in) - outside, d.dilation,
                     taps_below(d.in + d.after), start, d.kernel});
  }
  return spans;
}

PoolSpans AdaptiveSpans(int64_t in, int64_t out) {
  PoolSpans spans = RoomFor(out);
  for (int64_t i = 0; i < out; ++i) {
    const int64_t first = i * in / out, last = ((i + 1) * in + out - 1) / out;
    spans.push_back({first, last - first, 1, last - first});
  }
  return spans;
}

void PlanPool(Plan& plan, const PoolArgs& args) {
  if (args.out.tensor->empty()) return;
  const PoolShape shape = ShapeOf(args);
  if (PlanTurnedPool(plan, args, shape) || PlanPlanePool(plan, args, shape)) return;
  const DType type = args.input.dtype();
  if (args.kind == PoolKind::kMax && !args.places.present() && args.out.dtype() == type) {
    if (type == DType::kI8) return PlanFor(plan, args, shape, BestPoolLoopsI8(), type);
    if (type == DType::kU8) return PlanFor(plan, args, shape, BestPoolLoopsU8(), type);
  }
  // f64 holds all integers that matter here.
  if (PoolsAsFloats(type)) {
    PlanFor(plan, args, shape, BestPoolLoopsF32(), DType::kF32);
  } else {
    PlanFor(plan, args, shape, BestPoolLoopsF64(), DType::kF64);
  }
}

}  // namespace belay::ops
