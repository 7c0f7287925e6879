// A plane is laid out anew, padded, its rows and columns sorted by what is left of them when they are divided
// by the stride. There each tap of the kernel is a plain offset, whatever kernel, stride and dilation are:
// the sums run along memory over whole rows, the few elements between them included. A transposed convolution
// is one such for each remainder of the places of the result.
#include "ops/conv/plane_conv.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "ops/conv/conv_parts.h"
#include "ops/conv/plane_conv_loops.h"
#include "ops/conv/plane_operands.h"
#include "ops/loop_nest.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr int64_t kMostStride = 16;

// How one dimension is sorted: the element at place j of remainder q is that at j * in_step + q - origin.
// Place i of the result's remainder p is that at i * out_step + p; there a tap sees what lies `shift` places
// behind i.
struct Axis {
  struct Tap {
    int64_t k, remainder, shift;
  };
  int64_t in, out, in_step, out_step, origin, reach;
  std::vector<std::vector<Tap>> taps;  // by remainder of the result
  std::vector<bool> seen;              // remainders of the input

  int64_t places() const { return (out + out_step - 1) / out_step; }
};

Axis PlainAxis(const ConvGeometry& g, int d) {
  Axis axis{g.in[d], g.out[d], g.stride[d], 1, g.before[d], 0, {}, {}};
  axis.taps.resize(1), axis.seen.resize(static_cast<size_t>(g.stride[d]));
  for (int64_t k = 0; k < g.kernel[d]; ++k) {
    const int64_t at = k * g.dilation[d];
    axis.taps[0].push_back({k, at % g.stride[d], at / g.stride[d]});
    axis.seen[static_cast<size_t>(at % g.stride[d])] = true;
    axis.reach = std::max(axis.reach, at / g.stride[d]);
  }
  return axis;
}

Axis TransposedAxis(const ConvGeometry& g, int d) {
  Axis axis{g.in[d], g.out[d], 1, g.stride[d], 0, 0, {}, {true}};
  for (int64_t p = 0; p < g.stride[d]; ++p) {
    std::vector<Axis::Tap>& taps = axis.taps.emplace_back();
    for (int64_t k = 0; k < g.kernel[d]; ++k) {
      const int64_t at = p + g.before[d] - k * g.dilation[d];
      if (at % g.stride[d] != 0) continue;
      taps.push_back({k, 0, at / g.stride[d]});
      axis.origin = std::max(axis.origin, -at / g.stride[d]);
    }
  }
  for (auto& taps : axis.taps) {
    for (Axis::Tap& tap : taps) axis.reach = std::max(axis.reach, tap.shift += axis.origin);
  }
  return axis;
}

Axis AxisOf(const ConvGeometry& g, int d) { return g.transposed ? TransposedAxis(g, d) : PlainAxis(g, d); }

// One remainder of the result's places, with its taps.
struct PlanePart {
  int64_t row, column;  // the remainders
  int64_t gap;          // between the rows of the taps of a column
  std::vector<int64_t> offsets, weights;
  std::vector<PlaneColumn> columns;
};

// The least distance of two lines that see the same remainder; the lines are sorted.
int64_t GapOf(const std::vector<Axis::Tap>& lines) {
  int64_t gap = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const int64_t between = lines[i].shift - lines[i - 1].shift;
    if (lines[i].remainder == lines[i - 1].remainder && (gap == 0 || between < gap)) gap = between;
  }
  return std::max<int64_t>(gap, 1);
}

// Long rows begin at whole lines of the cache: fewer loads lie across two.
int64_t PitchOf(int64_t elements) {
  constexpr int64_t kLine = 16, kLong = 32;
  return elements < kLong ? elements : (elements + kLine - 1) / kLine * kLine;
}

struct Planes {
  ConvGeometry g;
  Axis rows, columns;
  int64_t pitch, rows_together, chunks;
  std::vector<PlanePart> parts;
  float low, high;

  explicit Planes(const ConvGeometry& geometry)
      : g(geometry),
        rows(AxisOf(g, 1)),
        columns(AxisOf(g, 2)),
        pitch(PitchOf(columns.places() + columns.reach)) {
    constexpr int64_t kFloats = 1 << 13;
    const int64_t fitting = kFloats / (pitch * rows.in_step * columns.in_step) - rows.reach;
    rows_together = std::clamp<int64_t>(fitting, 1, rows.places());
    chunks = (rows.places() + rows_together - 1) / rows_together;
    for (size_t y = 0; y < rows.taps.size(); ++y) {
      for (size_t x = 0; x < columns.taps.size(); ++x) parts.push_back(PartOf(y, x));
    }
  }

  int64_t lines() const { return rows_together + rows.reach; }
  int64_t input_floats() const {
    return rows.in_step * columns.in_step * lines() * pitch + PlaneTaps::kSlack;
  }
  int64_t result_floats() const { return rows_together * pitch + PlaneTaps::kSlack; }
  int64_t taps() const { return g.kernel[1] * g.kernel[2]; }
  int64_t scratch_floats() const { return input_floats() + result_floats() + taps(); }

  // Of a remainder's first line.
  int64_t Block(int64_t row, int64_t column) const {
    return (row * columns.in_step + column) * lines() * pitch;
  }

  // Taps of one column one after the other, as far as they can be added up together.
  PlanePart PartOf(size_t y, size_t x) const {
    PlanePart part{static_cast<int64_t>(y), static_cast<int64_t>(x), 1, {}, {}, {}};
    std::vector<Axis::Tap> lines = rows.taps[y];
    std::sort(lines.begin(), lines.end(), [](const Axis::Tap& a, const Axis::Tap& b) {
      return std::pair(a.remainder, a.shift) < std::pair(b.remainder, b.shift);
    });
    part.gap = GapOf(lines);
    for (const Axis::Tap& column : columns.taps[x]) {
      for (size_t i = 0; i < lines.size(); ++i) {
        const Axis::Tap& line = lines[i];
        const bool below =
            i > 0 && line.remainder == lines[i - 1].remainder && line.shift == lines[i - 1].shift + part.gap;
        if (!below || part.columns.back().count == PlaneColumn::kMost)
          part.columns.push_back({static_cast<int64_t>(part.offsets.size()), 0});
        ++part.columns.back().count;
        part.offsets.push_back(Block(line.remainder, column.remainder) + line.shift * pitch + column.shift);
        part.weights.push_back(line.k * g.kernel[2] + column.k);
      }
    }
    return part;
  }
};

struct PlaneConvBody {
  std::shared_ptr<const Planes> layout;
  PlaneOperands operands;
  PieceScratch<float> scratch;
  const PlaneConvLoops* loops = &BestPlaneConvLoops();

  void operator()(const Frame& frame) const {
    const float *from = operands.Input(frame), *weights = operands.Weights(frame);
    const float* added = operands.Bias(frame);
    float* result = operands.Result(frame);
    scratch.For(frame, [&](int64_t begin, int64_t end, float* memory) {
      std::fill_n(memory, layout->scratch_floats(), 0.0f);
      for (int64_t i = begin; i < end; ++i) Chunk(i, from, weights, added, result, memory);
    });
    operands.Store(frame);
  }

 private:
  // Some rows of one channel of the input, and all that comes of them.
  void Chunk(int64_t i, const float* from, const float* weights, const float* added, float* to,
             float* memory) const {
    const Planes& l = *layout;
    const ConvGeometry& g = l.g;
    const int64_t plane = i / l.chunks, first = i % l.chunks * l.rows_together;
    const int64_t channel = plane % g.in_channels, multiplier = g.out_channels / g.in_channels;
    const float* image = from + plane * g.in[1] * g.in[2];
    Sort(image, first, memory);
    for (int64_t m = 0; m < multiplier; ++m) {
      const int64_t result = channel * multiplier + m;
      const float* kernel = weights + result * l.taps();
      const float start = added == nullptr ? 0 : added[result];
      float* target = to + (plane / g.in_channels * g.out_channels + result) * g.out[1] * g.out[2];
      const bool finite = std::all_of(kernel, kernel + l.taps(), [](float w) { return std::isfinite(w); });
      for (const PlanePart& part : l.parts) {
        float* sums = memory + l.input_floats();
        if (!finite) {
          SumsWithoutPadding(part, kernel, start, image, first, sums);
        } else if (Sums(part, kernel, start, memory, Target{target + first * g.out[2], sums, Rows(first)})) {
          continue;
        }
        Spread(part, sums, first, target);
      }
    }
  }

  int64_t Rows(int64_t first) const { return std::min(layout->rows_together, layout->rows.places() - first); }

  // The columns of the padding are zeros from the start, and stay so.
  void Sort(const float* image, int64_t first, float* to) const {
    const Axis &rows = layout->rows, &columns = layout->columns;
    const int64_t pitch = layout->pitch, count = Rows(first) + rows.reach;
    PlaneRows dealt{};
    dealt.to_pitch = pitch, dealt.apart = layout->lines() * pitch;
    dealt.step = columns.in_step, dealt.first = columns.origin;
    dealt.from_pitch = rows.in_step * columns.in;
    dealt.n = std::clamp<int64_t>(pitch * columns.in_step - columns.origin, 0, columns.in);
    for (int64_t q = 0; q < rows.in_step; ++q) {
      if (!rows.seen[static_cast<size_t>(q)]) continue;
      const int64_t top = first * rows.in_step + q - rows.origin;  // the line of the image for the first row
      const int64_t begin = std::clamp<int64_t>((-top + rows.in_step - 1) / rows.in_step, 0, count);
      const int64_t end =
          std::clamp<int64_t>((rows.in - top + rows.in_step - 1) / rows.in_step, begin, count);
      float* const lines = to + layout->Block(q, 0);
      ZeroRows(lines, begin);
      ZeroRows(lines + end * pitch, count - end);
      if (begin == end) continue;
      dealt.to = lines + begin * pitch, dealt.count = end - begin;
      dealt.from = image + (top + begin * rows.in_step) * columns.in;
      loops->deal(dealt);
    }
  }

  void ZeroRows(float* to, int64_t count) const {
    for (int64_t p = 0; count > 0 && p < layout->columns.in_step; ++p, to += layout->lines() * layout->pitch)
      std::fill_n(to, count * layout->pitch, 0.0f);
  }

  struct Target {
    float *result, *sums;  // rows of the result, and those of the sums, a pitch apart
    int64_t rows;
  };

  // True: the sums are in the result already.
  bool Sums(const PlanePart& part, const float* kernel, float start, const float* sorted,
            const Target& to) const {
    const int64_t pitch = layout->pitch, wide = layout->columns.places();
    const bool straight = layout->rows.out_step == 1 && layout->columns.out_step == 1;
    float* weights = to.sums + layout->result_floats();
    for (size_t k = 0; k < part.weights.size(); ++k) weights[k] = kernel[part.weights[k]];
    const PlaneTaps taps{sorted, part.offsets.data(), weights,     static_cast<int64_t>(part.offsets.size()),
                         start,  layout->low,         layout->high};
    if (straight && FourByFour(part, taps, to.rows, to.result, wide)) return true;
    if (!FourByFour(part, taps, to.rows, to.sums, pitch))
      loops->taps(to.sums, taps, (to.rows - 1) * pitch + wide);
    return false;
  }

  // The last four may begin before those in front of them end. False: there are too few, or too short ones.
  bool FourByFour(const PlanePart& part, const PlaneTaps& given, int64_t count, float* to,
                  int64_t to_pitch) const {
    const int64_t pitch = layout->pitch, wide = layout->columns.places();
    if (count < 4 * part.gap) return false;
    PlaneTaps taps = given;
    for (int64_t p = 0; p < part.gap; ++p) {
      const int64_t rows = (count - p + part.gap - 1) / part.gap;
      for (int64_t i = 0; i < rows; i += 4) {
        const int64_t r = p + std::min(i, rows - 4) * part.gap;
        taps.from = given.from + r * pitch;
        if (!loops->four_rows(to + r * to_pitch, part.gap * to_pitch, taps, part.columns.data(),
                              static_cast<int64_t>(part.columns.size()), part.gap * pitch, wide))
          return false;
      }
    }
    return true;
  }

  // A weight that is no number would make one of every 0 of the padding.
  void SumsWithoutPadding(const PlanePart& part, const float* kernel, float start, const float* image,
                          int64_t first, float* sums) const {
    const Axis &rows = layout->rows, &columns = layout->columns;
    for (int64_t r = 0; r < Rows(first); ++r) {
      for (int64_t i = 0; i < columns.places(); ++i) {
        float sum = start;
        for (const Axis::Tap& line : rows.taps[static_cast<size_t>(part.row)]) {
          const int64_t y = (first + r + line.shift) * rows.in_step + line.remainder - rows.origin;
          if (y < 0 || y >= rows.in) continue;
          for (const Axis::Tap& tap : columns.taps[static_cast<size_t>(part.column)]) {
            const int64_t x = (i + tap.shift) * columns.in_step + tap.remainder - columns.origin;
            if (x >= 0 && x < columns.in)
              sum += image[y * columns.in + x] * kernel[line.k * layout->g.kernel[2] + tap.k];
          }
        }
        sums[r * layout->pitch + i] = sum < layout->low    ? layout->low
                                      : sum > layout->high ? layout->high
                                                           : sum;
      }
    }
  }

  // Where the sums of one remainder belong.
  void Spread(const PlanePart& part, const float* sums, int64_t first, float* target) const {
    const Axis &rows = layout->rows, &columns = layout->columns;
    const int64_t count = (columns.out - part.column + columns.out_step - 1) / columns.out_step;
    for (int64_t r = 0; r < Rows(first); ++r) {
      const int64_t y = (first + r) * rows.out_step + part.row;
      if (y >= rows.out) break;
      const float* from = sums + r * layout->pitch;
      float* to = target + y * columns.out + part.column;
      if (columns.out_step == 1) {
        std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      } else {
        for (int64_t i = 0; i < count; ++i) to[i * columns.out_step] = from[i];
      }
    }
  }
};

bool Fits(const ConvGeometry& g, int d) {
  const int64_t reach = g.transposed ? (g.kernel[d] - 1) * g.dilation[d] / g.stride[d] + g.before[d]
                                     : (g.kernel[d] - 1) * g.dilation[d] / g.stride[d];
  return g.stride[d] <= kMostStride && g.before[d] >= 0 && reach <= g.out[d] + 64;
}

// Small planes of many channels are quicker with a vector of channels for each pixel, turned there and back;
// where several filters share a channel they are not, nor where turning goes to memory.
bool PaysTurned(const ConvGeometry& g) {
  constexpr int64_t kManyChannels = 16, kFewPixels = 400, kNear = 1 << 18;
  return !g.transposed && g.out_channels == g.groups && g.groups >= kManyChannels &&
         g.out[1] * g.out[2] < kFewPixels && g.batch * g.in_channels * g.in[1] * g.in[2] <= kNear;
}

}  // namespace

bool IsPlaneConv(const ConvArgs& args, const ConvGeometry& g) {
  return g.groups > 1 && g.groups == g.in_channels && g.is_image() && !IsDeep(g) && !PaysTurned(g) &&
         g.out[1] * g.out[2] >= 8 && Fits(g, 1) && Fits(g, 2) && LieAsPlanes(args);
}

void PlanPlaneConv(Plan& plan, const ConvArgs& args, const ConvGeometry& g) {
  auto layout = std::make_shared<Planes>(g);
  FindClip(args.activation, &layout->low, &layout->high);
  PlaneConvBody body;
  body.operands = PlaneOperands(plan, args);
  const int64_t each = layout->rows_together * layout->pitch * layout->taps();
  body.scratch = {plan, g.batch * g.in_channels * layout->chunks,
                  std::max<int64_t>(1, 4 * LoopNest::kGrain / std::max<int64_t>(each, 1)),
                  layout->scratch_floats()};
  body.layout = std::move(layout);
  plan.SetProducts(ConvProducts(g));
  plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(g) / 100));
  plan.SetBody(body);
}

}  // namespace belay::ops
