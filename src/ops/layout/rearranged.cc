#include "ops/layout/rearranged.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/parallel.h"
#include "ops/layout/moved_axes.h"
#include "ops/layout/moves.h"
#include "ops/layout/shuffled.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// Neighbours in the result that are evenly spaced in the source.
struct Run {
  int64_t begin, count;
  int64_t source, step;  // bytes
  bool filled;
};

struct RearrangedBody {
  std::vector<MovedAxis> outer;  // outermost first
  MovedAxis inner;
  std::vector<Run> runs;  // of `inner`; none where its elements are better picked one by one
  bool gaps = false;      // some elements of `inner` are filled
  int64_t times = 0;      // that each element of the source stands in `inner`, packed, one behind the other
  int64_t rows = 1;
  int64_t element;  // bytes that move together
  std::vector<char> fill;
  int64_t offsets[2];
  int bindings[2];

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    int64_t grain = std::max<int64_t>(1, 256 * 1024 / (inner.size * element));
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      AxesCursor at(outer, begin);
      Placed last;
      for (int64_t row = begin; row < end; ++row, at.Advance())
        Place(out + at.out(), in + at.in(), at.filled(), last);
    });
  }

  // The last row, which another may be a copy of. An empty source may lie at nullptr, so it is the result
  // that tells whether there was one.
  struct Placed {
    char* out = nullptr;
    const char* in = nullptr;
  };

  void Place(char* out, const char* in, bool filled, Placed& last) const {
    if (filled) return Fill(out, inner.size);
    if (last.out != nullptr && last.in == in && inner.step == element) {
      // Rows of a result may share bytes.
      std::memmove(out, last.out, static_cast<size_t>(inner.size * element));
    } else {
      Row(out, in);
    }
    last = {out, in};
  }

  void Row(char* out, const char* in) const {
    if (times != 0) return RepeatRow(out, in + inner.sources[0], inner.size / times, times, element);
    if (runs.empty()) {
      return PickRow(out, inner.step, in, inner.sources.data(), inner.size, element,
                     gaps ? fill.data() : nullptr);
    }
    for (const Run& run : runs) {
      char* to = out + run.begin * inner.step;
      if (run.filled) {
        Fill(to, run.count);
      } else {
        MoveRow(to, inner.step, in + run.source, run.step, run.count, element);
      }
    }
  }

  void Fill(char* out, int64_t n) const {
    if (inner.step == element) return FillBytes(out, n * element);
    for (int64_t i = 0; i < n; ++i) FillBytes(out + i * inner.step, element);
  }

  void FillBytes(char* out, int64_t bytes) const {
    auto pattern = static_cast<int64_t>(fill.size());
    for (int64_t i = 0; i < bytes; i += pattern) {
      std::memcpy(out + i, fill.data(), static_cast<size_t>(std::min(pattern, bytes - i)));
    }
  }
};

std::vector<Run> RunsOf(const MovedAxis& axis) {
  if (axis.even()) return {{0, axis.size, 0, axis.in_step, false}};
  const std::vector<int64_t>& sources = axis.sources;
  std::vector<Run> runs;
  for (size_t i = 0; i < sources.size(); ++i) {
    int64_t source = sources[i];
    bool filled = source == kNoSource;
    Run* last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && last->filled == filled) {
      if (last->count == 1) last->step = source - last->source;
      if (filled || source == last->source + last->step * last->count) {
        ++last->count;
        continue;
      }
    }
    runs.push_back({static_cast<int64_t>(i), 1, source, 0, filled});
  }
  return runs;
}

// At least as long as an element.
std::vector<char> Pattern(const void* fill, int64_t bytes, int64_t element) {
  const auto times = static_cast<size_t>(std::max<int64_t>(256, element / bytes));
  std::vector<char> pattern(static_cast<size_t>(bytes) * times, 0);
  for (size_t i = 0; fill != nullptr && i < times; ++i) {
    std::memcpy(pattern.data() + i * static_cast<size_t>(bytes), fill, static_cast<size_t>(bytes));
  }
  return pattern;
}

// The elements of a row that repeats move together.
void WidenPeriods(MovedAxis& axis, int64_t* element) {
  constexpr int64_t kMostBytes = 64;
  const int64_t size = axis.size;
  if (axis.even() || axis.step != *element || axis.Source(0) < 0) return;
  int64_t period = 1;
  while (period < size && axis.Source(period) == axis.Source(0) + period * *element) ++period;
  if (period == 1 || size % period != 0 || period * *element > kMostBytes) return;
  for (int64_t i = period; i < size; ++i) {
    if (axis.Source(i) != axis.Source(i - period)) return;
  }
  *element *= period;
  axis = {size / period, *element, 0, {}};
}

// One axis of the places of both, as long as the rows that it makes are short ones. What is filled is left as
// runs.
void JoinShortRows(RearrangedBody& body) {
  constexpr int64_t kShort = 64, kLong = 1024, kMostBytes = 512, kWidest = 64;
  const auto is_whole = [](const MovedAxis& axis) {
    return axis.even() || std::count(axis.sources.begin(), axis.sources.end(), kNoSource) == 0;
  };
  while (!body.outer.empty() && body.element <= kWidest && is_whole(body.inner)) {
    const MovedAxis &outer = body.outer.back(), inner = body.inner;
    const bool is_short = inner.size <= kShort && inner.size * body.element <= kMostBytes;
    if (!is_short || outer.size * inner.size > kLong || inner.step != body.element ||
        outer.step != inner.size * inner.step || !is_whole(outer))
      return;
    MovedAxis joined{outer.size * inner.size, inner.step, 0, {}};
    for (int64_t i = 0; i < outer.size; ++i) {
      for (int64_t k = 0; k < inner.size; ++k) joined.sources.push_back(outer.Source(i) + inner.Source(k));
    }
    if (*std::min_element(joined.sources.begin(), joined.sources.end()) < 0) return;  // as kNoSource is
    body.inner = std::move(joined);
    body.outer.pop_back();
  }
}

void ChooseInner(RearrangedBody& body) {
  const std::vector<int64_t>& sources = body.inner.sources;
  body.gaps = std::count(sources.begin(), sources.end(), kNoSource) != 0;
  body.runs = RunsOf(body.inner);
  if (body.runs.size() > 4 && body.runs.size() * 4 > sources.size()) body.runs.clear();
  if (body.runs.empty() && !body.gaps && body.inner.step == body.element)
    body.times = TimesOf(body.inner, body.element);
}

[[noreturn]] void FailPad(int64_t size, int64_t before, int64_t after, const char* why) {
  Fail(tensor::kInvalidArgument, "op-pad", "a dimension of {} elements cannot be padded by {} and {}: {}",
       size, before, after, why);
}

// The place of i in a row of n that is continued as the mode says.
int64_t Continued(int64_t i, int64_t n, PadMode mode) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case PadMode::kConstant:
      return kNoSource;
    case PadMode::kEdge:
      return i < 0 ? 0 : n - 1;
    case PadMode::kWrap:
      return (i % n + n) % n;
    case PadMode::kReflect:
      break;
  }
  if (n == 1) return 0;
  int64_t period = 2 * (n - 1);
  int64_t k = (i % period + period) % period;
  return k < n ? k : period - k;
}

}  // namespace

AxisMap IdentityMap(int64_t size) { return SteppedMap(0, 1, size); }

void CheckMapLength(double elements) {
  const double most = static_cast<double>(MemoryLimit()) / 4 / sizeof(int64_t);
  if (elements <= most) return;
  Fail(tensor::kInvalidArgument, "op-map-length",
       "a dimension of {:.0f} elements would be put together; this machine's memory allows {:.0f}", elements,
       most);
}

AxisMap SteppedMap(int64_t start, int64_t step, int64_t count) {
  CheckMapLength(static_cast<double>(count));
  AxisMap map;
  map.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) map.push_back(start + i * step);
  return map;
}

AxisMap TiledMap(int64_t size, int64_t times) {
  CheckMapLength(static_cast<double>(size) * static_cast<double>(times));
  AxisMap map;
  for (int64_t i = 0; i < times * size; ++i) map.push_back(i % size);
  return map;
}

AxisMap PaddedMap(int64_t size, int64_t before, int64_t after, PadMode mode) {
  constexpr int64_t kMost = int64_t{1} << 33;
  for (int64_t padding : {before, after}) {
    if (padding > kMost || padding < -kMost) FailPad(size, before, after, "that is too much");
  }
  int64_t length = size + before + after;
  if (length < 0) FailPad(size, before, after, "more is cut off than there is");
  if (size == 0 && length > 0 && mode != PadMode::kConstant)
    FailPad(size, before, after, "it has no elements");
  CheckMapLength(static_cast<double>(length));
  AxisMap map;
  for (int64_t i = 0; i < length; ++i) map.push_back(Continued(i - before, size, mode));
  return map;
}

void PlanRearranged(Plan& plan, const Operand& self, const Operand& out, const std::vector<AxisMap>& maps,
                    const void* fill) {
  const Tensor& from = *self.tensor;
  const Tensor& to = *out.tensor;
  if (BytesOf(to.dtype) == 0) {
    Fail(tensor::kInvalidArgument, "op-numeric", "{} is {}, which this operator cannot move", out.name,
         NameOf(to.dtype));
  }
  if (to.empty()) return;
  const auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  MovedAxes moved;
  for (int d = 0; d < to.shape.rank(); ++d)
    moved.Add(maps[static_cast<size_t>(d)], to.strides[d] * bytes, from.strides[d] * bytes);
  const auto* one = static_cast<const char*>(fill);
  if (PlanShuffled(plan, moved,
                   {bytes, to.offset * bytes, from.offset * bytes, out.binding, self.binding, one}))
    return;
  RearrangedBody body;
  body.element = bytes;
  body.outer = std::move(moved.axes);
  const auto is_row = [&](const MovedAxis& axis) {
    return axis.even() && axis.step == bytes && axis.in_step == bytes;
  };
  if (body.outer.size() > 1 && is_row(body.outer.back())) {  // whole rows of both sides move together
    body.element *= body.outer.back().size;
    body.outer.pop_back();
  }
  if (body.outer.empty()) {
    body.inner = {1, bytes, 0, {}};
  } else {
    body.inner = std::move(body.outer.back());
    body.outer.pop_back();
  }
  WidenPeriods(body.inner, &body.element);
  JoinShortRows(body);
  body.fill = Pattern(fill, bytes, body.element);
  for (const MovedAxis& axis : body.outer) body.rows *= axis.size;
  ChooseInner(body);
  body.offsets[0] = to.offset * bytes;
  body.offsets[1] = from.offset * bytes + moved.first;
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  plan.SetCost(50 + static_cast<uint64_t>(to.count()) / 2);
  plan.SetBody(body);
}

}  // namespace belay::ops
