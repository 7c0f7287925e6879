#include "ops/conv/grouped_conv.h"

#include <algorithm>
#include <vector>

#include "ops/conv/grouped_conv_loops.h"
#include "ops/conv/own_backend.h"
#include "ops/conv/ready_conv.h"
#include "ops/conv/winograd_loops.h"

namespace belay::ops {
namespace {

// Floats of weights that stay in the nearest cache while pixels go by.
constexpr int64_t kNearWeights = 4 * 1024;

int64_t TapsOfImage(const ConvGeometry& g) { return g.kernel[1] * g.kernel[2]; }

// How channels are dealt out to vectors.
struct Panels {
  int64_t depth, width;         // channels of a group: of the input, of the result
  int64_t lanes, vectors;       // of a panel
  int64_t together, per_group;  // groups in a panel (fewer in the last one); or panels of a group
  bool spread() const { return together > 1; }
  int64_t columns() const { return lanes * vectors; }
  int64_t Weights(const ConvGeometry& g) const { return TapsOfImage(g) * depth * columns(); }  // of a panel

  explicit Panels(const ConvGeometry& g)
      : depth(g.in_channels / g.groups),
        width(g.out_channels / g.groups),
        lanes(BestGroupedConvLoops().lanes) {
    together = width < lanes && lanes % width == 0 && g.groups > 1 ? lanes / width : 1;
    const int64_t needed = (width + lanes - 1) / lanes;
    vectors = needed % 3 == 0 ? 3 : needed % 2 == 0 ? 2 : 1;
    per_group = needed / vectors;
  }
};

int64_t Reach(const ConvGeometry& g, int d) { return (g.kernel[d] - 1) * g.dilation[d] + 1; }

// The part of the result that is computed at a time, so that what it sees of a group stays in the nearest
// cache, or in the next one where that part would be so small that most pixels are gathered many times.
struct Tile {
  int64_t rows = 0, columns = 0;
  int64_t wide = 0, pixel = 0;  // pixels of a gathered line, floats of a pixel

  Tile(const ConvGeometry& g, const Panels& panels)
      : pixel(panels.spread() ? panels.depth * panels.lanes : panels.depth) {
    constexpr int64_t kMostColumns = 64, kNear = 6 * 1024, kMiddle = 24 * 1024, kFar = 64 * 1024;
    double best = 0;
    for (int64_t floats : {kNear, kMiddle, kFar}) {
      for (int64_t most = kMostColumns; most >= GroupedRow::kTogether; most /= 2) {
        const Tile tile(g, pixel, std::min(g.out[2], most), floats);
        const double cost = tile.Cost(g, panels, tile.Lines(g) * tile.wide * pixel <= kNear);
        if (rows == 0 || cost < best) best = cost, *this = tile;
      }
    }
  }

  int64_t Lines(const ConvGeometry& g) const { return (rows - 1) * g.stride[1] + Reach(g, 1); }

 private:
  Tile(const ConvGeometry& g, int64_t pixel_, int64_t columns_, int64_t floats)
      : columns(columns_), wide((Rounded() - 1) * g.stride[2] + Reach(g, 2)), pixel(pixel_) {
    rows = std::clamp<int64_t>((floats / (wide * pixel) - Reach(g, 1)) / g.stride[1] + 1, 1, g.out[1]);
  }

  int64_t Rounded() const {
    return (columns + GroupedRow::kTogether - 1) / GroupedRow::kTogether * GroupedRow::kTogether;
  }

  // About the cycles for a pixel of the result. Pixels that are far cost little where weights are taken a
  // part at a time, which come from far once a tile.
  double Cost(const ConvGeometry& g, const Panels& panels, bool near) const {
    constexpr double kGather = 1.2, kLine = 20, kNear = 0.6, kFar = 0.9, kFarInParts = 0.65, kWeight = 0.25;
    const auto lines = static_cast<double>(Lines(g)), across = static_cast<double>(wide),
               vectors = static_cast<double>(panels.spread() ? panels.depth : 1 + panels.depth / 8),
               weights = static_cast<double>(panels.Weights(g) * panels.per_group),
               products = static_cast<double>(TapsOfImage(g) * panels.depth * panels.vectors *
                                              panels.per_group * Rounded() * rows);
    const bool in_parts = panels.Weights(g) > kNearWeights;
    return (lines * (across * vectors * kGather + kLine) + (in_parts ? weights * kWeight : 0) +
            products * (near       ? kNear
                        : in_parts ? kFarInParts
                                   : kFar)) /
           static_cast<double>(rows * columns);
  }
};

struct Grouped {
  explicit Grouped(const ConvSpec& of) : spec(of), panels(of.geometry), tile(of.geometry, panels) {
    const ConvGeometry& g = spec.geometry;
    for (int64_t y = 0; y < g.kernel[1]; ++y) {
      for (int64_t x = 0; x < g.kernel[2]; ++x)
        taps.push_back((y * g.dilation[1] * tile.wide + x * g.dilation[2]) * tile.pixel);
    }
  }

  int64_t scratch_floats() const { return tile.Lines(spec.geometry) * tile.wide * tile.pixel; }

  ConvSpec spec;
  Panels panels;
  Tile tile;
  std::vector<int64_t> taps;
  GroupedConvLoops loops = BestGroupedConvLoops();
  WinogradLoops behind = BestWinogradLoops();  // for the activation
};

class GroupedRun {
 public:
  GroupedRun(const Grouped& grouped, const ConvCall& call)
      : c_(grouped), t_(grouped.tile), g_(grouped.spec.geometry), call_(call) {}

  void All() const {
    for (int64_t image = 0; image < g_.batch; ++image) {
      for (int64_t row = 0; row < g_.out[1]; row += t_.rows) {
        for (int64_t column = 0; column < g_.out[2]; column += t_.columns)
          Part({image, row, column, std::min(t_.rows, g_.out[1] - row),
                std::min(t_.columns, g_.out[2] - column)});
      }
    }
  }

 private:
  struct Place {
    int64_t image, row, column, rows, columns;  // of the result
  };

  void Part(const Place& place) const {
    const Panels& p = c_.panels;
    for (int64_t group = 0; group < g_.groups; group += p.together) {
      Gather(place, group);
      for (int64_t panel = 0; panel < p.per_group; ++panel) Rows(place, group, panel);
    }
    for (int64_t r = 0; r < place.rows; ++r)
      c_.behind.activate(c_.spec.activation, Result(place, r), place.columns * g_.out_channels);
  }

  float* Result(const Place& place, int64_t r) const {
    const int64_t pixel = (place.image * g_.out[1] + place.row + r) * g_.out[2] + place.column;
    return static_cast<float*>(call_.dst) + pixel * g_.out_channels;
  }

  // Lines of pixels of the groups from `group` on, with zeros outside of the image.
  void Gather(const Place& place, int64_t group) const {
    const int64_t channel = group * c_.panels.depth, groups = std::min(c_.panels.together, g_.groups - group);
    const auto* image =
        static_cast<const float*>(call_.src) + place.image * g_.in[1] * g_.in[2] * g_.in_channels;
    const int64_t top = place.row * g_.stride[1] - g_.before[1],
                  left = place.column * g_.stride[2] - g_.before[2];
    const int64_t begin = std::clamp<int64_t>(-left, 0, t_.wide),
                  end = std::clamp(g_.in[2] - left, begin, t_.wide);
    auto* to = static_cast<float*>(call_.scratch);
    const int64_t lines = (place.rows - 1) * g_.stride[1] + Reach(g_, 1);
    for (int64_t line = 0; line < lines; ++line, to += t_.wide * t_.pixel) {
      const int64_t y = top + line;
      if (y < 0 || y >= g_.in[1] || begin == end) {
        std::fill_n(to, t_.wide * t_.pixel, 0.0f);
        continue;
      }
      std::fill_n(to, begin * t_.pixel, 0.0f);
      std::fill_n(to + end * t_.pixel, (t_.wide - end) * t_.pixel, 0.0f);
      const float* from = image + (y * g_.in[2] + left + begin) * g_.in_channels + channel;
      if (c_.panels.spread()) {
        c_.loops.spread(from, g_.in_channels, {c_.panels.depth, c_.panels.width, groups}, end - begin,
                        to + begin * t_.pixel);
      } else {
        c_.loops.gather(from, g_.in_channels, c_.panels.depth, end - begin, to + begin * t_.pixel);
      }
    }
  }

  // What a panel has of weights is taken so much at a time that it stays in the nearest cache while the rows
  // go by: a few taps, or of one tap some of the channels.
  void Rows(const Place& place, int64_t group, int64_t panel) const {
    const Panels& p = c_.panels;
    const auto tap_count = static_cast<int64_t>(c_.taps.size());
    const int64_t most = std::max<int64_t>(kNearWeights / p.columns(), 1), depth = std::min(most, p.depth);
    const int64_t taps = std::min(std::max<int64_t>(most / p.depth, 1), tap_count);
    for (int64_t tap = 0; tap < tap_count; tap += taps) {
      for (int64_t first = 0; first < p.depth; first += depth) {
        SomeTaps(place, group, panel,
                 {tap, std::min(taps, tap_count - tap), first, std::min(depth, p.depth - first)});
      }
    }
  }

  struct TapsInTurn {
    int64_t first, count, channel, depth;
  };
  void SomeTaps(const Place& place, int64_t group, int64_t panel, const TapsInTurn& taps) const {
    const Panels& p = c_.panels;
    const int64_t channel = group * p.width + panel * p.columns();
    const bool is_first = taps.first == 0 && taps.channel == 0;
    const int64_t number = (group / p.together * p.per_group + panel) * static_cast<int64_t>(c_.taps.size());
    GroupedRow row{};
    row.from = static_cast<const float*>(call_.scratch) + taps.channel * (p.spread() ? p.lanes : 1);
    row.from_step = g_.stride[2] * t_.pixel;
    row.taps = c_.taps.data() + taps.first, row.tap_count = taps.count, row.depth = taps.depth;
    row.weights = static_cast<const float*>(call_.weights) +
                  ((number + taps.first) * p.depth + taps.channel) * p.columns();
    row.bias = c_.spec.bias && is_first ? static_cast<const float*>(call_.bias) + channel : nullptr;
    row.to_step = g_.out_channels, row.pixels = place.columns, row.add = c_.spec.residual || !is_first;
    row.channels =
        std::min(p.columns(), p.width * std::min(p.together, g_.groups - group) - panel * p.columns());
    for (int64_t r = 0; r < place.rows; ++r, row.from += g_.stride[1] * t_.wide * t_.pixel) {
      row.to = Result(place, r) + channel;
      if (p.spread()) {
        c_.loops.spread_row(row);
      } else {
        c_.loops.row(row, p.vectors);
      }
    }
  }

  const Grouped& c_;
  const Tile& t_;
  const ConvGeometry& g_;
  const ConvCall& call_;
};

// [panel][kernel row][kernel column][in][lanes of the panel]
bool GroupedLayout(const ConvSpec& spec, WeightLayout* layout) {
  if (!GroupedFits(spec)) return false;
  const ConvGeometry& g = spec.geometry;
  const Panels p(g);
  const auto sizes = WeightSizes(g);
  *layout = {};
  std::copy(sizes.begin(), sizes.end(), layout->sizes);
  std::copy(sizes.begin(), sizes.end(), layout->padded);
  layout->padded[0] = (g.groups + p.together - 1) / p.together * p.together;
  layout->padded[1] = p.spread() ? p.width : p.per_group * p.columns();
  const int64_t tap = p.depth * p.columns(), panel = TapsOfImage(g) * tap;
  const int64_t strides[] = {panel * p.per_group, panel, p.columns(), panel, g.kernel[2] * tap, tap};
  std::copy(std::begin(strides), std::end(strides), layout->strides);
  layout->block_count = p.spread() ? 2 : 1;
  if (p.spread()) layout->block_dims[0] = 0, layout->block_sizes[0] = p.together;
  const int last = layout->block_count - 1;
  layout->block_dims[last] = 1, layout->block_sizes[last] = p.spread() ? p.width : p.columns();
  return true;
}

constexpr ConvBackend kGrouped = OwnBackend<Grouped, GroupedRun, &GroupedLayout>::With([] {
  return BestGroupedConvLoops().lanes == 16  ? "grouped16"
         : BestGroupedConvLoops().lanes == 8 ? "grouped8"
                                             : "grouped";
});

// Taps far from each other, where oneDNN falls to a third of its speed.
bool ReachesFar(const ConvGeometry& g) {
  constexpr int64_t kFewChannels = 16, kFar = 16, kLongRow = 256;
  const auto reach = [&g](int d) { return g.dilation[d] > 1 ? (g.kernel[d] - 1) * g.dilation[d] : 0; };
  const int64_t far = std::max(reach(1), reach(2));
  // Its products of blocks for long rows of few channels take milliseconds to make besides.
  const bool slowly_made = g.out_channels < kFewChannels && g.out[2] >= kLongRow;
  return far >= kFar || (far > 0 && (g.in_channels >= kFewChannels || slowly_made));
}

// Of images so small that what oneDNN does for each takes longer than their products.
bool IsSmallPlane(const ConvGeometry& g) {
  constexpr int64_t kFewChannels = 3, kFewPixels = 64;
  return g.in_channels <= kFewChannels && g.out[1] * g.out[2] <= kFewPixels;
}

// Of many channels in steps of several pixels, where oneDNN is at two thirds of its speed without AVX-512. Of
// fewer pixels the weights come too often from far.
bool IsWideAndStrided(const ConvGeometry& g) {
  constexpr int64_t kManyChannels = 64, kManyPixels = 256;
  return g.stride[2] > 1 && TapsOfImage(g) > 1 && g.in_channels >= kManyChannels &&
         g.out[1] * g.out[2] >= kManyPixels;
}

}  // namespace

bool GroupedFits(const ConvSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  return spec.type == ConvType::kF32 && !g.transposed && g.is_image() &&
         HasActivationLoop(spec.activation.kind);
}

bool GroupedPays(const ConvSpec& spec) {
  constexpr int64_t kWidest = 48, kLongKernel = 9, kManyTaps = 81;
  const ConvGeometry& g = spec.geometry;
  const int64_t lanes = BestGroupedConvLoops().lanes;
  if (!GroupedFits(spec) || lanes < 8) return false;
  // oneDNN has kernels for groups of whole vectors with AVX-512.
  if (lanes == 16 && g.in_channels / g.groups % lanes == 0 && g.out_channels / g.groups % lanes == 0)
    return false;
  const int64_t widest = std::max(g.in_channels, g.out_channels) / g.groups;
  if (g.groups == 1)
    return ReachesFar(g) || IsSmallPlane(g) || (lanes == 8 && IsWideAndStrided(g)) ||
           (TapsOfImage(g) >= kManyTaps && g.in_channels > 3 && widest <= kWidest);
  if (widest == 1) return std::max(g.kernel[1], g.kernel[2]) >= kLongKernel;  // its own are for short ones
  return g.in_channels > g.groups && widest <= kWidest;
}

const ConvBackend& GroupedConv() { return kGrouped; }

}  // namespace belay::ops
