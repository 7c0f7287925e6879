// Sums of taps along whole rows of planes that were laid out anew (plane_layout.h), the few elements between
// the rows included.
#include "ops/conv/plane_conv.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "ops/conv/conv_parts.h"
#include "ops/conv/phased_conv.h"
#include "ops/conv/plane_conv_loops.h"
#include "ops/conv/plane_layout.h"
#include "ops/conv/plane_operands.h"
#include "ops/conv/plane_product.h"
#include "ops/loop_nest.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr int64_t kMostStride = 16;

// What the chunks of a run have in common.
struct PlaneTensors {
  const float *from, *weights, *added;  // `added` may be null
  float* result;
};

// Some rows of one plane of a group's result: all its channels.
class PlaneChunk {
 public:
  PlaneChunk(const PlaneLayout& layout, const PlaneTensors& tensors, float* memory, int64_t i)
      : l_(layout), g_(layout.g), t_(tensors), sorted_(memory), sums_(memory + layout.input_floats()) {
    first_ = i % l_.chunks * l_.rows_together;
    z_ = i / l_.chunks % g_.out[0];
    group_ = i / l_.chunks / g_.out[0] % g_.groups;
    image_ = i / l_.chunks / g_.out[0] / g_.groups;
    seen_ = &l_.depth.seen[static_cast<size_t>(z_)];
    rows_ = std::min(l_.rows_together, l_.rows.places() - first_);
  }

  void Run() const {
    for (int64_t plane = 0; plane < Planes() && !l_.as_it_lies; ++plane)
      Sort(Image(plane), sorted_ + plane * l_.plane_floats());
    const float* weights = t_.weights + group_ * l_.group_weights();
    const auto count = static_cast<int64_t>(l_.filters.size());
    const float* finite = t_.weights + g_.groups * l_.group_weights() + group_ * count;
    for (int64_t i = 0; i < count; ++i) {
      const PlaneFilters& f = l_.filters[static_cast<size_t>(i)];
      const float* part_weights = weights + l_.WeightsOf(f);
      for (const PlanePart& part : l_.parts) {
        Add(f, part, part_weights, finite[i] != 0);
        part_weights += static_cast<int64_t>(part.ys.size()) * g_.kernel[0] * l_.in_each * f.count;
      }
    }
  }

 private:
  int64_t Planes() const { return static_cast<int64_t>(seen_->from.size()) * l_.in_each; }

  // The plane-th of those that are seen: channels of one depth after the other.
  const float* Image(int64_t plane) const {
    const int64_t channel = group_ * l_.in_each + plane % l_.in_each;
    const int64_t z = seen_->from[static_cast<size_t>(plane / l_.in_each)];
    return t_.from + ((image_ * g_.in_channels + channel) * g_.in[0] + z) * g_.in[1] * g_.in[2];
  }

  float* Target(int64_t filter) const {
    const int64_t channel = image_ * g_.out_channels + group_ * l_.out_each + filter;
    return t_.result + (channel * g_.out[0] + z_) * g_.out[1] * g_.out[2];
  }

  // The columns of the padding are zeros from the start, and stay so.
  void Sort(const float* image, float* to) const {
    const PlaneAxis &rows = l_.rows, &columns = l_.columns;
    const int64_t pitch = l_.pitch, count = rows_ + rows.reach;
    PlaneRows dealt{};
    dealt.to_pitch = pitch, dealt.apart = l_.lines() * pitch;
    dealt.step = columns.in_step, dealt.first = columns.origin;
    dealt.from_pitch = rows.in_step * columns.in;
    dealt.n = std::clamp<int64_t>(pitch * columns.in_step - columns.origin, 0, columns.in);
    for (int64_t q = 0; q < rows.in_step; ++q) {
      if (!rows.seen[static_cast<size_t>(q)]) continue;
      const int64_t top = first_ * rows.in_step + q - rows.origin;  // the line of the image for the first row
      const int64_t begin = std::clamp<int64_t>((-top + rows.in_step - 1) / rows.in_step, 0, count);
      const int64_t end =
          std::clamp<int64_t>((rows.in - top + rows.in_step - 1) / rows.in_step, begin, count);
      float* const lines = to + l_.Block(q, 0);
      ZeroRows(lines, begin);
      ZeroRows(lines + end * pitch, count - end);
      if (begin == end) continue;
      dealt.to = lines + begin * pitch, dealt.count = end - begin;
      dealt.from = image + (top + begin * rows.in_step) * columns.in;
      loops_.deal(dealt);
    }
  }

  void ZeroRows(float* to, int64_t count) const {
    for (int64_t p = 0; count > 0 && p < l_.columns.in_step; ++p, to += l_.lines() * l_.pitch)
      std::fill_n(to, count * l_.pitch, 0.0f);
  }

  // `weights`: of these filters in this part, whichever planes are seen.
  void Add(const PlaneFilters& f, const PlanePart& part, const float* weights, bool finite) const {
    const auto taps = static_cast<int64_t>(part.ys.size());
    weights += seen_->first_tap * l_.in_each * taps * f.count;
    float added[4] = {};
    if (t_.added != nullptr) std::copy_n(t_.added + group_ * l_.out_each + f.first, f.count, added);
    float* sums = sums_ + part.column * l_.sums_apart();
    if (!finite) {
      for (int64_t o = 0; o < f.count; ++o)
        SumsWithoutPadding(part, weights + o, f.count, added[o], sums + o * l_.result_floats());
    } else {
      const PlaneTaps all{l_.as_it_lies ? Image(0) : sorted_,
                          part.offsets.data(),
                          weights,
                          Planes() * taps,
                          added[0],
                          l_.low,
                          l_.high};
      if (f.count > 1 ? SomeFilters(f, all, added, sums) : OneFilter(part, all, Target(f.first), sums))
        return;
    }
    if (part.column + 1 < l_.columns.out_step) return;
    for (int64_t o = 0; o < f.count; ++o)
      Spread(part.row, sums_ + o * l_.result_floats(), Target(f.first + o));
  }

  int64_t SumsLength() const { return (rows_ - 1) * l_.pitch + l_.columns.places(); }

  // Places of the sums are places of the result.
  bool IsStraight() const { return l_.rows.out_step == 1 && l_.columns.out_step == 1; }

  // Rows by themselves need not be moved, but their last vectors are less than full.
  bool PaysRowByRow(int64_t taps) const {
    constexpr int64_t kMoved = 12;  // taps of a vector that takes as long as moving it
    const int64_t lanes = loops_.lanes, vectors = (l_.columns.places() + lanes - 1) / lanes;
    return IsStraight() && (vectors * lanes - l_.pitch) * taps <= kMoved * vectors * lanes;
  }

  // True: the sums are in the result already.
  bool SomeFilters(const PlaneFilters& f, const PlaneTaps& taps, const float* added, float* sums) const {
    const int64_t wide = l_.columns.places();
    if (IsStraight() && l_.pitch == wide) {  // the rows are one
      loops_.filters(Target(f.first) + first_ * wide, Target(1) - Target(0), taps, f.count, added,
                     {1, rows_ * wide, 0, 0});
      return true;
    }
    if (!PaysRowByRow(taps.taps)) {
      loops_.filters(sums, l_.result_floats(), taps, f.count, added, {1, SumsLength(), 0, 0});
      return false;
    }
    loops_.filters(Target(f.first) + first_ * wide, Target(1) - Target(0), taps, f.count, added,
                   {rows_, wide, l_.pitch, wide});
    return true;
  }

  // The same.
  bool OneFilter(const PlanePart& part, const PlaneTaps& taps, float* target, float* sums) const {
    const int64_t wide = l_.columns.places();
    if (IsStraight() && FourByFour(part, taps, target + first_ * g_.out[2], wide)) return true;
    if (!FourByFour(part, taps, sums, l_.pitch)) loops_.taps(sums, taps, SumsLength());
    return false;
  }

  // The last four may begin before those in front of them end. False: there are too few, or too short ones.
  bool FourByFour(const PlanePart& part, const PlaneTaps& given, float* to, int64_t to_pitch) const {
    if (rows_ < 4 * part.gap) return false;
    PlaneTaps taps = given;
    const PlaneLines four{4, l_.columns.places(), part.gap * l_.pitch, part.gap * to_pitch};
    for (int64_t p = 0; p < part.gap; ++p) {
      const int64_t rows = (rows_ - p + part.gap - 1) / part.gap;
      for (int64_t i = 0; i < rows; i += 4) {
        const int64_t r = p + std::min(i, rows - 4) * part.gap;
        taps.from = given.from + r * l_.pitch;
        if (!loops_.four_rows(to + r * to_pitch, four, taps, part.columns.data(),
                              Planes() * part.columns_of_a_plane))
          return false;
      }
    }
    return true;
  }

  // A weight that is no number would make one of every 0 of the padding. Weights are `step` apart.
  void SumsWithoutPadding(const PlanePart& part, const float* weights, int64_t step, float start,
                          float* sums) const {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t i = 0; i < l_.columns.places(); ++i) {
        float sum = start;
        const float* weight = weights;
        for (int64_t plane = 0; plane < Planes(); ++plane) {
          for (size_t t = 0; t < part.ys.size(); ++t, weight += step) {
            const int64_t y = PlaceOf(l_.rows, part.ys[t], first_ + r),
                          x = PlaceOf(l_.columns, part.xs[t], i);
            if (y >= 0 && y < l_.rows.in && x >= 0 && x < l_.columns.in)
              sum += Image(plane)[y * l_.columns.in + x] * *weight;
          }
        }
        sums[r * l_.pitch + i] = sum < l_.low ? l_.low : sum > l_.high ? l_.high : sum;
      }
    }
  }

  static int64_t PlaceOf(const PlaneAxis& axis, const PlaneAxis::Tap& tap, int64_t i) {
    return (i + tap.shift) * axis.in_step + tap.remainder - axis.origin;
  }

  // Where the sums of one remainder of the rows belong, those of all remainders of the columns.
  void Spread(int64_t row, const float* sums, float* target) const {
    const PlaneAxis &rows = l_.rows, &columns = l_.columns;
    const int64_t begin = first_ * rows.out_step + row;
    const int64_t lines = std::min(rows_, (rows.out - begin + rows.out_step - 1) / rows.out_step);
    loops_.weave({target + begin * columns.out, rows.out_step * columns.out, sums, l_.pitch, l_.sums_apart(),
                  lines, columns.out, columns.out_step});
  }

  const PlaneLayout& l_;
  const ConvGeometry& g_;
  const PlaneTensors& t_;
  const PlaneConvLoops& loops_ = BestPlaneConvLoops();
  float *sorted_, *sums_;
  int64_t image_, group_, z_, first_, rows_;
  const PlaneDepth::Seen* seen_;
};

struct PlaneConvBody {
  std::shared_ptr<const PlaneLayout> layout;
  PlaneOperands operands;
  Scratch<float> weights;  // where they are packed at each run
  PieceScratch<float> scratch;

  void operator()(const Frame& frame) const {
    const float* packed = operands.Weights(frame);
    if (!operands.has_constant_weights()) {
      PackPlaneWeights(*layout, packed, weights.At(frame));
      packed = weights.At(frame);
    }
    const PlaneTensors tensors{operands.Input(frame), packed, operands.Bias(frame), operands.Result(frame)};
    scratch.For(frame, [&](int64_t begin, int64_t end, float* memory) {
      std::fill_n(memory, layout->scratch_floats(), 0.0f);
      for (int64_t i = begin; i < end; ++i) PlaneChunk(*layout, tensors, memory, i).Run();
    });
    operands.Store(frame);
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
  return !g.transposed && g.is_image() && g.out_channels == g.groups && g.groups >= kManyChannels &&
         g.out[1] * g.out[2] < kFewPixels && g.batch * g.in_channels * g.in[1] * g.in[2] <= kNear;
}

// As they lie on both sides.
bool MayStayPlanes(const ConvArgs& args, const ConvGeometry& g) {
  const Tensor& y = *args.out.tensor;
  if (args.bf16 || IsPlaneProduct(args, g) || !SameLayout(y.shape, y.strides, PackedStrides(y.shape)))
    return false;
  SeenByAPlace seen{g.groups, g.in_channels / g.groups, 1, g.out_channels / g.groups, 1, g.transposed};
  for (int d = 0; d < 3; ++d) {
    const int64_t step = g.transposed ? g.stride[d] : 1;
    seen.taps *= (g.kernel[d] + step - 1) / step;
    if (d > 0) seen.places *= (g.out[d] + step - 1) / step;
  }
  if (!g.transposed && HalvesFillVectors(args, g)) return false;
  if (PaysInPhases(g, MultipliesHalves(args))) return false;
  return FewAreSeen(seen);
}

bool IsApart(const ConvGeometry& g, int d) {
  return g.kernel[d] == 1 && g.stride[d] == 1 && g.before[d] == 0 && g.in[d] == g.out[d];
}

// Planes of which each stands for itself as rows of one; pixels that do as four rows, which are summed
// together.
ConvGeometry Merged(ConvGeometry g) {
  if (!IsApart(g, 0) || !IsApart(g, 1)) return g;
  int64_t rows = g.in[0] * g.in[1], columns = g.in[2];
  if (IsApart(g, 2) && rows * columns % 4 == 0) columns = rows * columns / 4, rows = 4;
  if (!IsApart(g, 2) && g.in[0] == 1) return g;
  for (int64_t* sizes : {g.in, g.out}) sizes[0] = 1, sizes[1] = rows;
  if (IsApart(g, 2)) g.in[2] = g.out[2] = columns;
  return g;
}

}  // namespace

bool FewAreSeen(const SeenByAPlace& seen) {
  constexpr int64_t kManyPlaces = 100, kVector = 16, kHardlyAny = 32, kSomePlaces = 48, kFewChannels = 3;
  const int64_t products = seen.channels * seen.taps;
  // What is turned and added up pixel by pixel takes longest where there are few channels.
  const bool hardly_any = seen.transposed
                              ? products * seen.filters <= kHardlyAny
                              : products <= kHardlyAny && seen.channels <= kFewChannels && seen.groups == 1;
  if (seen.places < (hardly_any ? kSomePlaces : kManyPlaces)) return false;
  // Channels of the result that do not fill a vector are what others multiply slowly, too.
  if (seen.filters <= 4) return products <= 2048;
  // Taps that do not meet are one product of matrices.
  if (seen.transposed) return hardly_any || (seen.taps > 1 && products <= 1024);
  if (seen.filters < kVector) return products <= 160;
  return products <= (seen.groups > 1 ? 64 : 32);
}

bool IsPlaneConv(const ConvArgs& args, const ConvGeometry& whole) {
  const ConvGeometry g = Merged(whole);
  const bool depthwise = g.groups > 1 && g.groups == g.in_channels;
  return g.out[1] * g.out[2] >= 8 && Fits(g, 1) && Fits(g, 2) && g.stride[0] <= kMostStride && !IsDeep(g) &&
         LieAsPlanes(args) && (depthwise ? !PaysTurned(g) : MayStayPlanes(args, whole));
}

void PlanPlaneConv(Plan& plan, const ConvArgs& args, const ConvGeometry& whole) {
  const ConvGeometry g = Merged(whole);
  auto layout = std::make_shared<PlaneLayout>(g);
  FindClip(args.activation, &layout->low, &layout->high);
  PlaneConvBody body;
  body.operands = PlaneOperands(plan, args);
  if (body.operands.has_constant_weights()) {
    body.operands.PackWeights(layout->weight_floats(),
                              [&](const float* from, float* to) { PackPlaneWeights(*layout, from, to); });
  } else {
    body.weights = {plan, layout->weight_floats()};
  }
  const int64_t each = layout->rows_together * layout->pitch * layout->filter_weights() * layout->out_each;
  body.scratch = {plan, g.batch * g.groups * g.out[0] * layout->chunks,
                  std::max<int64_t>(1, 4 * LoopNest::kGrain / std::max<int64_t>(each, 1)),
                  layout->scratch_floats()};
  body.layout = std::move(layout);
  plan.SetProducts(ConvProducts(g));
  plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(g) / 100));
  plan.SetBody(body);
}

}  // namespace belay::ops
