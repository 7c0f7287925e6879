// Two ways of the same sums. Where a group has many input channels, each tap adds the products of panels of
// these and of output channels. Where it has few, a lane is an output channel with one of the input channels
// that it sees.
#include "ops/conv/weight_gradient.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/conv/weight_gradient_cut.h"
#include "ops/conv/weight_gradient_loops.h"
#include "ops/conv/weight_gradient_panels.h"

namespace belay::ops {
namespace {

// What is done by one worker: a block of channels over a slice of the pieces.
struct GradientUnits {
  bool dense;
  int64_t in_each, out_each, taps;
  int64_t blocks;  // of channels: panels of the inputs of each group, or lanes of outputs
  int64_t slices, pieces_each;
  int64_t sums_each;

  explicit GradientUnits(const GradientCut& cut) {
    const ConvGeometry& g = cut.geometry();
    in_each = g.in_channels / g.groups, out_each = g.out_channels / g.groups;
    taps = g.kernel[0] * cut.plane_taps();
    dense = in_each >= kGradientLanes;
    blocks = dense ? g.groups * panels() : (g.out_channels + kGradientLanes - 1) / kGradientLanes;
    sums_each = taps * (dense ? tiles() * kGradientRows * kGradientPanel : in_each * kGradientLanes);
    constexpr int64_t kUnits = 16, kLeast = 4;  // pieces of a slice
    slices = std::clamp<int64_t>(cut.pieces() / kLeast, 1, std::max<int64_t>(1, kUnits / blocks));
    pieces_each = (cut.pieces() + slices - 1) / slices;
    slices =
        (cut.pieces() + pieces_each - 1) / pieces_each;  // none without a piece: nobody would clear its sums
  }
  int64_t panels() const { return (in_each + kGradientPanel - 1) / kGradientPanel; }
  int64_t tiles() const { return (out_each + kGradientRows - 1) / kGradientRows; }
  int64_t units() const { return blocks * slices; }
};

// What a worker has for itself.
struct GradientScratch {
  float *pixels, *grad;
  TapRow* rows;
  int64_t* taps;  // how many rows each has, or where each sees

  // The room for it, in parts of a workspace.
  struct Sizes {
    int64_t pixels, grad, rows, taps;
    Sizes(const GradientCut& cut, const GradientUnits& units)
        : pixels(WorkspacePart(cut.pixels() * kGradientPanel * 4)),
          grad(WorkspacePart(cut.positions() * std::max(kGradientLanes, units.tiles() * kGradientRows) * 4)),
          rows(WorkspacePart(cut.rows() * cut.plane_taps() * static_cast<int64_t>(sizeof(TapRow)))),
          taps(WorkspacePart(cut.plane_taps() * 8)) {}
    int64_t all() const { return pixels + grad + rows + taps; }
  };

  GradientScratch(char* at, const Sizes& sizes)
      : pixels(reinterpret_cast<float*>(at)),
        grad(reinterpret_cast<float*>(at + sizes.pixels)),
        rows(reinterpret_cast<TapRow*>(at + sizes.pixels + sizes.grad)),
        taps(reinterpret_cast<int64_t*>(at + sizes.pixels + sizes.grad + sizes.rows)) {}
};

struct WeightGradientBody {
  GradientCut cut;
  GradientUnits units;
  PanelSource x, grad;
  PackedFloats out;
  int lanes;  // that work at the same time
  int64_t sums_at, scratch_at;
  WeightGradientLoops loops;

  void operator()(const Frame& frame) const {
    const FloatPieces::Elements from = x.Load(frame), by = grad.Load(frame);
    const GradientScratch::Sizes sizes(cut, units);
    ParallelFor(lanes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end; ++lane) {
        const GradientScratch scratch(frame.workspace + scratch_at + lane * sizes.all(), sizes);
        for (int64_t unit = lane; unit < units.units(); unit += lanes)
          Unit(from, by, unit, Sums(frame, unit), scratch);
      }
    });
    float* to = out.Begin(frame);
    const int64_t weights = units.taps * units.in_each;  // of an output channel
    ParallelFor(cut.geometry().out_channels, 1 + 65536 / weights, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) Gather(frame, o, to + o * weights);
    });
    out.Finish(frame);
  }

  double* Sums(const Frame& frame, int64_t unit) const {
    return reinterpret_cast<double*>(frame.workspace + sums_at) + unit * units.sums_each;
  }

  void Unit(const FloatPieces::Elements& from, const FloatPieces::Elements& by, int64_t unit, double* sums,
            const GradientScratch& scratch) const {
    const int64_t block = unit / units.slices, first = unit % units.slices * units.pieces_each;
    const int64_t end = std::min(cut.pieces(), first + units.pieces_each);
    for (int64_t piece = first; piece < end; ++piece)
      units.dense ? AddDense(from, by, block, piece, piece == first, sums, scratch)
                  : AddNarrow(from, by, block, piece, piece == first, sums, scratch);
  }

  // The channels of the gradient from one on, as kWidth of each position, and as many again from the next on
  // for each further panel; returns how many positions.
  template <int64_t kWidth>
  int64_t LoadGrad(const FloatPieces::Elements& by, int64_t piece, int64_t first, int64_t count,
                   float* to) const {
    int64_t positions = 0;
    for (int64_t c = 0; c < count; c += kWidth, to += cut.positions() * kWidth) {
      const PanelSource::Lanes lanes = grad.From(first + c, std::min(kWidth, count - c));
      if (lanes.count < kWidth) std::fill_n(to, cut.positions() * kWidth, 0.0f);
      positions = cut.EachGradient(
          piece, [&](const GradientCut::Rows& rows) { grad.Turn(by, rows, lanes, kWidth, to); });
    }
    return positions;
  }

  // Of each pixel that a tap may look at; zeros where it is no lane, or padding that is looked at.
  void LoadPixels(const FloatPieces::Elements& from, int64_t piece, int64_t depth,
                  const PanelSource::Lanes& lanes, int64_t width, float* to) const {
    if (lanes.count < width || (!units.dense && cut.has_padding()))
      std::fill_n(to, cut.pixels() * width, 0.0f);
    cut.EachSeen(piece, depth, [&](const GradientCut::Rows& rows) { x.Turn(from, rows, lanes, width, to); });
  }

  // The same as pairs, for the channels of a group's gradient from one on.
  void PairGrad(const FloatPieces::Elements& by, int64_t piece, int64_t first, float* to) const {
    const int64_t count = cut.positions() * kGradientRows;
    for (int64_t c = 0; c < units.out_each; c += kGradientRows, to += count) {
      const PanelSource::Lanes lanes = grad.From(first + c, std::min(kGradientRows, units.out_each - c));
      if (!grad.HasHalves(by, lanes)) {
        LoadGrad<kGradientRows>(by, piece, first + c, lanes.count, to);
        loops.pair_up(to, count, kGradientRows);
        continue;
      }
      uint16_t* halves = reinterpret_cast<uint16_t*>(to) + count;
      if (lanes.count < kGradientRows) std::fill_n(halves, count, uint16_t{0});
      cut.EachGradient(piece, [&](const GradientCut::Rows& rows) {
        grad.TurnHalves(by, rows, lanes, kGradientRows, halves);
      });
      loops.pair_halves(to, count, kGradientRows);
    }
  }

  void PairPixels(const FloatPieces::Elements& from, int64_t piece, int64_t depth,
                  const PanelSource::Lanes& lanes, int64_t width, float* to) const {
    const int64_t count = cut.pixels() * width, step = cut.step() * width;
    if (!x.HasHalves(from, lanes)) {
      LoadPixels(from, piece, depth, lanes, width, to);
      return loops.pair_up(to, count, step);
    }
    uint16_t* halves = reinterpret_cast<uint16_t*>(to) + count;
    if (lanes.count < width) std::fill_n(halves, count, uint16_t{0});
    cut.EachSeen(piece, depth,
                 [&](const GradientCut::Rows& rows) { x.TurnHalves(from, rows, lanes, width, halves); });
    loops.pair_halves(to, count, step);
  }

  // Sums [tap][tile][row][channel] of a panel.
  void AddDense(const FloatPieces::Elements& from, const FloatPieces::Elements& by, int64_t block,
                int64_t piece, bool first_piece, double* sums, const GradientScratch& scratch) const {
    const ConvGeometry& g = cut.geometry();
    const int64_t group = block / units.panels(), channel = block % units.panels() * kGradientPanel;
    const int64_t count = std::min(kGradientPanel, units.in_each - channel);
    const int64_t width = WidthOf(channel), taps = cut.plane_taps(), rows = cut.rows();
    const PanelSource::Lanes lanes = x.From(group * units.in_each + channel, count);
    loops.by_pairs
        ? PairGrad(by, piece, group * units.out_each, scratch.grad)
        : void(LoadGrad<kGradientRows>(by, piece, group * units.out_each, units.out_each, scratch.grad));
    for (int64_t depth = 0; depth < g.kernel[0]; ++depth) {
      loops.by_pairs ? PairPixels(from, piece, depth, lanes, width, scratch.pixels)
                     : LoadPixels(from, piece, depth, lanes, width, scratch.pixels);
      for (int64_t tap = 0; tap < taps; ++tap)
        scratch.taps[tap] = cut.SeenBy(piece, depth, tap, scratch.rows + tap * rows);
      for (int64_t tile = 0; tile < units.tiles(); ++tile) {
        const float* loaded = scratch.grad + tile * cut.positions() * kGradientRows;
        for (int64_t tap = 0; tap < taps; ++tap) {
          loops.add_outer(
              {scratch.rows + tap * rows, scratch.taps[tap], cut.step(), first_piece}, scratch.pixels, loaded,
              width, sums + ((depth * taps + tap) * units.tiles() + tile) * kGradientRows * kGradientPanel);
        }
      }
    }
  }

  // Of the panel from a channel of a group on: half of one where that holds what is left.
  int64_t WidthOf(int64_t channel) const {
    return units.in_each - channel <= kGradientLanes ? kGradientLanes : kGradientPanel;
  }

  // Sums [input channel of the group][tap][lane] of a block of output channels.
  void AddNarrow(const FloatPieces::Elements& from, const FloatPieces::Elements& by, int64_t block,
                 int64_t piece, bool first_piece, double* sums, const GradientScratch& scratch) const {
    const ConvGeometry& g = cut.geometry();
    const int64_t first = block * kGradientLanes, count = std::min(kGradientLanes, g.out_channels - first);
    const int64_t positions = LoadGrad<kGradientLanes>(by, piece, first, count, scratch.grad);
    // Padding adds nothing, but the product of its zeros and a gradient that is not finite is NaN.
    const bool each = cut.has_padding() && !loops.all_finite(scratch.grad, positions * kGradientLanes);
    const int64_t taps = cut.plane_taps();
    for (int64_t tap = 0; tap < taps; ++tap) scratch.taps[tap] = each ? 0 : cut.PixelOf(tap);
    for (int64_t depth = 0; depth < g.kernel[0]; ++depth) {
      int64_t rows = each ? 0 : cut.SeenByAll(piece, depth, scratch.rows);
      for (int64_t c = 0; c < units.in_each; ++c) {
        const PanelSource::Lanes lanes = SeenBeside(first, c);
        const int64_t panel = lanes.count;
        LoadPixels(from, piece, depth, lanes, panel, scratch.pixels);
        double* to = sums + (c * units.taps + depth * taps) * kGradientLanes;
        for (int64_t tap = 0; tap < taps; tap += each ? 1 : taps) {
          if (each) rows = cut.SeenBy(piece, depth, tap, scratch.rows);
          loops.add_lanes({scratch.rows, rows, cut.step(), first_piece}, scratch.pixels, panel, scratch.grad,
                          scratch.taps, each ? 1 : taps, to + tap * kGradientLanes);
        }
      }
    }
  }

  // Beside each output channel from `first` on, channel c of what its group sees, or that of all where it is
  // the same.
  PanelSource::Lanes SeenBeside(int64_t first, int64_t c) const {
    const int64_t last = cut.geometry().out_channels - 1;
    PanelSource::Lanes lanes;
    for (int64_t lane = 0; lane < kGradientLanes; ++lane)
      x.Add(std::min(first + lane, last) / units.out_each * units.in_each + c, &lanes);
    if (lanes.at[0] == lanes.at[kGradientLanes - 1]) lanes.count = 1;
    return lanes;
  }

  static void AddTo(double* totals, const double* sums, int64_t count) {
    if (count == kGradientPanel) {  // in vectors
      for (int64_t i = 0; i < kGradientPanel; ++i) totals[i] += sums[i];
      return;
    }
    for (int64_t i = 0; i < count; ++i) totals[i] += sums[i];
  }

  // The weights [input channel][tap] of an output channel.
  void Gather(const Frame& frame, int64_t o, float* to) const {
    const int64_t channels = units.in_each / cut.folded(), taps = units.taps * cut.folded();
    const int64_t together = units.dense ? kGradientPanel : 1;
    for (int64_t tap = 0; tap < units.taps; ++tap) {
      int64_t channel = 0, along = 0;
      for (int64_t c = 0; c < units.in_each;) {
        const double* sums = SumsOf(frame, o, tap, c);
        double totals[kGradientPanel] = {};
        const int64_t count = std::min(units.in_each - c, together);
        for (int64_t slice = 0; slice < units.slices; ++slice, sums += units.sums_each)
          AddTo(totals, sums, count);
        for (int64_t i = 0; i < count; ++i, ++c) {
          to[channel * taps + tap * cut.folded() + along] = static_cast<float>(totals[i]);
          if (++channel == channels) channel = 0, ++along;
        }
      }
    }
  }

  // Of the first slice, from an input channel on that begins a panel, where there are panels.
  const double* SumsOf(const Frame& frame, int64_t o, int64_t tap, int64_t c) const {
    if (!units.dense) {
      return Sums(frame, o / kGradientLanes * units.slices) + (c * units.taps + tap) * kGradientLanes +
             o % kGradientLanes;
    }
    const int64_t block = o / units.out_each * units.panels() + c / kGradientPanel, row = o % units.out_each;
    const int64_t tile = tap * units.tiles() + row / kGradientRows;
    return Sums(frame, block * units.slices) + tile * kGradientRows * kGradientPanel +
           row % kGradientRows * WidthOf(c);
  }
};

int64_t PlaneOf(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

}  // namespace

void PlanWeightGradient(Plan& plan, const ConvArgs& args, const Operand& grad_weight) {
  const GradientCut cut(CheckedGeometry(args));
  const GradientUnits units(cut);
  const ConvGeometry& g = cut.geometry();
  WeightGradientBody body{
      cut,
      units,
      PanelSource(args.input, g.in_channels, PlaneOf(g.in), cut.folded(), plan),
      PanelSource(args.out, g.out_channels, PlaneOf(g.out), 1, plan),
      PackedFloats(grad_weight, Flow::kOut, plan),
      static_cast<int>(std::min<int64_t>(units.units(), ParallelWidth())),
      0,
      0,
      BestWeightGradientLoops(args.input.dtype() == DType::kBF16 && args.out.dtype() == DType::kBF16)};
  body.sums_at = plan.AddWorkspace(units.units() * units.sums_each * 8);
  body.scratch_at = plan.AddWorkspace(body.lanes * GradientScratch::Sizes(cut, units).all());
  plan.SetCost(1000 + static_cast<uint64_t>(g.batch * g.out[0] * g.out[1] * g.out[2] * units.taps *
                                            units.in_each / 50) *
                          static_cast<uint64_t>(g.out_channels));
  plan.SetBody(body);
}

}  // namespace belay::ops
