#include "ops/conv/plane_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace belay::ops {
namespace {

// The least distance of two lines that see the same remainder; the lines are sorted.
int64_t GapOf(const std::vector<PlaneAxis::Tap>& lines) {
  int64_t gap = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const int64_t between = lines[i].shift - lines[i - 1].shift;
    if (lines[i].remainder == lines[i - 1].remainder && (gap == 0 || between < gap)) gap = between;
  }
  return std::max<int64_t>(gap, 1);
}

// Of a column of taps: several columns of about the same length, where it is too long for one.
int64_t TapsTogether(int64_t taps) {
  const int64_t columns = (taps + PlaneColumn::kMost - 1) / PlaneColumn::kMost;
  return (taps + columns - 1) / std::max<int64_t>(columns, 1);
}

// Long rows begin at whole lines of the cache: fewer loads lie across two.
int64_t PitchOf(int64_t elements) {
  constexpr int64_t kLine = 16, kLong = 32;
  return elements < kLong ? elements : (elements + kLine - 1) / kLine * kLine;
}

// Of a plane of the result's.
int64_t SeenAt(const ConvGeometry& g, int64_t z, int64_t k) {
  constexpr int64_t kNothing = -1;
  if (!g.transposed) {
    const int64_t from = z * g.stride[0] - g.before[0] + k * g.dilation[0];
    return from >= 0 && from < g.in[0] ? from : kNothing;
  }
  const int64_t at = z + g.before[0] - k * g.dilation[0];
  return at >= 0 && at % g.stride[0] == 0 && at / g.stride[0] < g.in[0] ? at / g.stride[0] : kNothing;
}

// Up to four filters share what is read; a single one reads rows for four rows of the result instead.
std::vector<PlaneFilters> DealFilters(int64_t count) {
  std::vector<PlaneFilters> filters;
  for (int64_t first = 0, rest = count; rest > 0; first += filters.back().count, rest = count - first)
    filters.push_back({first, std::min<int64_t>(rest, 4)});
  return filters;
}

}  // namespace

PlaneAxis::PlaneAxis(const ConvGeometry& g, int d)
    : in(g.in[d]), out(g.out[d]), in_step(1), out_step(1), origin(0), reach(0) {
  g.transposed ? AddTransposed(g, d) : AddPlain(g, d);
}

void PlaneAxis::AddPlain(const ConvGeometry& g, int d) {
  in_step = g.stride[d], origin = g.before[d];
  taps.resize(1), seen.resize(static_cast<size_t>(g.stride[d]));
  for (int64_t k = 0; k < g.kernel[d]; ++k) {
    const int64_t at = k * g.dilation[d];
    taps[0].push_back({k, at % g.stride[d], at / g.stride[d]});
    seen[static_cast<size_t>(at % g.stride[d])] = true;
    reach = std::max(reach, at / g.stride[d]);
  }
}

void PlaneAxis::AddTransposed(const ConvGeometry& g, int d) {
  out_step = g.stride[d], seen = {true};
  for (int64_t p = 0; p < g.stride[d]; ++p) {
    std::vector<Tap>& of_remainder = taps.emplace_back();
    for (int64_t k = 0; k < g.kernel[d]; ++k) {
      const int64_t at = p + g.before[d] - k * g.dilation[d];
      if (at % g.stride[d] != 0) continue;
      of_remainder.push_back({k, 0, at / g.stride[d]});
      origin = std::max(origin, -at / g.stride[d]);
    }
  }
  for (auto& of_remainder : taps) {
    for (Tap& tap : of_remainder) reach = std::max(reach, tap.shift += origin);
  }
}

PlaneDepth::PlaneDepth(const ConvGeometry& g) {
  for (int64_t k = 0; k < g.kernel[0]; ++k) taps.push_back(k);
  if (g.transposed) {
    std::stable_sort(taps.begin(), taps.end(), [&g](int64_t a, int64_t b) {
      return a * g.dilation[0] % g.stride[0] < b * g.dilation[0] % g.stride[0];
    });
  }
  for (int64_t z = 0; z < g.out[0]; ++z) {
    Seen& of_plane = seen.emplace_back();
    for (size_t i = 0; i < taps.size(); ++i) {
      const int64_t from = SeenAt(g, z, taps[i]);
      if (from < 0) continue;
      if (of_plane.from.empty()) of_plane.first_tap = static_cast<int64_t>(i);
      of_plane.from.push_back(from);
    }
  }
}

int64_t PlaneDepth::most() const {
  size_t most = 0;
  for (const Seen& of_plane : seen) most = std::max(most, of_plane.from.size());
  return static_cast<int64_t>(most);
}

PlaneLayout::PlaneLayout(const ConvGeometry& geometry)
    : g(geometry),
      in_each(g.in_channels / g.groups),
      out_each(g.out_channels / g.groups),
      rows(g, 1),
      columns(g, 2),
      depth(g),
      planes(in_each * depth.most()),
      as_it_lies(LiesReady()),
      pitch(as_it_lies ? columns.in : PitchOf(columns.places() + columns.reach)),
      filters(DealFilters(out_each)),
      widest(1) {
  ChooseRows();
  for (size_t y = 0; y < rows.taps.size(); ++y) {
    for (size_t x = 0; x < columns.taps.size(); ++x) parts.push_back(PartOf(y, x));
  }
  for (const PlaneFilters& f : filters) widest = std::max(widest, f.count);
}

// Where no tap sees padding.
bool PlaneLayout::LiesReady() const {
  constexpr int64_t kFourRows = 4, kShortest = 8;
  const auto is_inside = [](const PlaneAxis& axis) {
    return axis.in_step == 1 && axis.out_step == 1 && axis.origin == 0 && axis.in >= axis.out + axis.reach;
  };
  return planes == 1 && out_each == 1 && g.kernel[0] == 1 && g.before[0] == 0 && g.in[0] == g.out[0] &&
         !g.transposed && is_inside(rows) && is_inside(columns) && rows.out >= kFourRows * g.dilation[1] &&
         columns.out >= kShortest;
}

// What one plane sees stays in the nearest cache, many in the one behind it.
void PlaneLayout::ChooseRows() {
  constexpr int64_t kNear = 1 << 13, kFar = 1 << 17;
  const int64_t floats = std::clamp(planes * kNear / 2, kNear, kFar);
  const int64_t fitting =
      floats / (pitch * rows.in_step * columns.in_step * std::max<int64_t>(planes, 1)) - rows.reach;
  rows_together = as_it_lies ? rows.places() : std::clamp<int64_t>(fitting, 1, rows.places());
  chunks = (rows.places() + rows_together - 1) / rows_together;
}

int64_t PlaneLayout::group_weights() const { return out_each * filter_weights(); }

// Taps of one column one after the other, as far as they can be added up together.
PlanePart PlaneLayout::PartOf(size_t y, size_t x) const {
  PlanePart part{static_cast<int64_t>(y), static_cast<int64_t>(x), 1, {}, {}, {}, {}, 0};
  std::vector<PlaneAxis::Tap> lines = rows.taps[y];
  std::sort(lines.begin(), lines.end(), [](const PlaneAxis::Tap& a, const PlaneAxis::Tap& b) {
    return std::pair(a.remainder, a.shift) < std::pair(b.remainder, b.shift);
  });
  part.gap = GapOf(lines);
  const int64_t together = TapsTogether(static_cast<int64_t>(lines.size()));
  for (const PlaneAxis::Tap& column : columns.taps[x]) {
    for (size_t i = 0; i < lines.size(); ++i) {
      const PlaneAxis::Tap& line = lines[i];
      const bool below =
          i > 0 && line.remainder == lines[i - 1].remainder && line.shift == lines[i - 1].shift + part.gap;
      if (!below || part.columns.back().count == together)
        part.columns.push_back({static_cast<int64_t>(part.offsets.size()), 0});
      ++part.columns.back().count;
      part.offsets.push_back(Block(line.remainder, column.remainder) + line.shift * pitch + column.shift);
      part.ys.push_back(line), part.xs.push_back(column);
    }
  }
  ForAllPlanes(&part);
  return part;
}

void PlaneLayout::ForAllPlanes(PlanePart* part) const {
  const size_t taps = part->offsets.size(), columns_of_one = part->columns.size();
  part->columns_of_a_plane = static_cast<int64_t>(columns_of_one);
  for (int64_t plane = 1; plane < planes; ++plane) {
    for (size_t t = 0; t < taps; ++t) part->offsets.push_back(part->offsets[t] + plane * plane_floats());
    for (size_t c = 0; c < columns_of_one; ++c) {
      const PlaneColumn column = part->columns[c];
      part->columns.push_back({column.first + plane * static_cast<int64_t>(taps), column.count});
    }
  }
}

namespace {

// Of one filter: [channel][depth][row][column].
class FilterWeights {
 public:
  FilterWeights(const PlaneLayout& layout, const float* weights, int64_t group, int64_t filter)
      : kernel_(layout.g.kernel[0] * layout.taps()),
        step_(layout.g.transposed ? layout.out_each * kernel_ : kernel_),
        at_(weights + (layout.g.transposed ? group * layout.in_each * layout.out_each + filter
                                           : (group * layout.out_each + filter) * layout.in_each) *
                          kernel_) {}

  float At(int64_t channel, int64_t tap) const { return at_[channel * step_ + tap]; }

 private:
  int64_t kernel_, step_;  // weights of a channel, and from one channel to the next
  const float* at_;
};

float* PackPart(const PlaneLayout& l, const PlanePart& part, const FilterWeights* filters,
                const PlaneFilters& f, float* to) {
  for (const int64_t z : l.depth.taps) {
    for (int64_t c = 0; c < l.in_each; ++c) {
      for (size_t t = 0; t < part.ys.size(); ++t) {
        const int64_t tap = (z * l.g.kernel[1] + part.ys[t].k) * l.g.kernel[2] + part.xs[t].k;
        for (int64_t o = 0; o < f.count; ++o) *to++ = filters[o].At(c, tap);
      }
    }
  }
  return to;
}

}  // namespace

void PackPlaneWeights(const PlaneLayout& l, const float* weights, float* packed) {
  float* to = packed;
  float* finite = packed + l.g.groups * l.group_weights();
  for (int64_t group = 0; group < l.g.groups; ++group) {
    for (const PlaneFilters& f : l.filters) {
      const FilterWeights one(l, weights, group, f.first);
      FilterWeights filters[4] = {one, one, one, one};
      for (int64_t o = 1; o < f.count; ++o) filters[o] = FilterWeights(l, weights, group, f.first + o);
      const float* begin = to;
      for (const PlanePart& part : l.parts) to = PackPart(l, part, filters, f, to);
      *finite++ = std::all_of(begin, static_cast<const float*>(to), [](float w) { return std::isfinite(w); });
    }
  }
}

}  // namespace belay::ops
